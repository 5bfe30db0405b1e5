//! One turn: what is said, shown while it happens, and stopped when somebody wants it to.

use std::pin::pin;

use rejoin::{Message, SavingState, SavingWatch};
use rejoin_agent::{Talk, TurnEvent};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::TypedAhead;
use super::show::{ArrivedReply, Course, Hushed, TICK, TurnDisplay, TurnEnd};
use crate::config::choices::OnSaveError;
use crate::error::{Failure, Kind};

/// How a turn went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnOutcome {
    Complete,
    Interrupted,
}

/// Says something, shows what happens, and returns when the reply is complete or was stopped.
///
/// Ctrl+C stops it, and Esc where what is typed is kept; what had arrived of the reply is kept.
pub(crate) async fn turn(
    talk: &mut Talk,
    message: Message,
    show: &mut dyn TurnDisplay,
    ahead: &mut TypedAhead,
    on_error: OnSaveError,
) -> Result<TurnOutcome, Failure> {
    let _hushed = Hushed::begin();
    let mut interrupts =
        signal(SignalKind::interrupt()).map_err(|error| Failure::io("watch for Ctrl+C", error))?;
    let mut state = talk.recorder().watch();
    let (events, mut heard) = mpsc::unbounded_channel();
    let course = {
        let mut turn = pin!(talk.turn(message, &events));
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            if ahead.poll() {
                break TurnWay::Stopped(Ok(()));
            }
            tokio::select! {
                biased;
                _ = interrupts.recv() => break TurnWay::Stopped(Ok(())),
                Some(event) = heard.recv() => match show.event(event) {
                    Ok(Course::Go) => {}
                    Ok(Course::Stop) => break TurnWay::Stopped(Ok(())),
                    Err(failure) => break TurnWay::Stopped(Err(failure)),
                },
                Some(now) = state.changed() => {
                    if let Err(failure) = heed(&now, show, on_error) {
                        break TurnWay::Stopped(Err(failure));
                    }
                }
                outcome = &mut turn => break TurnWay::Ended(outcome),
                _ = ticks.tick() => show.tick()?,
            }
        }
    };
    let shown = show_rest(&mut heard, show);
    let way = match course {
        TurnWay::Ended(Ok(ended)) => {
            let now = state.state();
            shown.and_then(|()| heed(&now, show, on_error))?;
            let (model, fullness) = (talk.model().to_owned(), talk.fullness());
            let conversation = talk.recorder().conversation();
            show.end(&TurnEnd::Complete { ended, conversation, model, fullness })?;
            return Ok(TurnOutcome::Complete);
        }
        TurnWay::Ended(Err(error)) => Err(Failure::from(error)),
        TurnWay::Stopped(why) => why,
    };
    // A reply that cannot be kept must not hide why the turn ended.
    let kept = if talk.interrupt(&events).await.unwrap_or(false) {
        ArrivedReply::Part
    } else {
        ArrivedReply::Nothing
    };
    shown.and(show_rest(&mut heard, show)).ok();
    match way {
        Ok(()) => {
            let conversation = talk.recorder().conversation();
            show.end(&TurnEnd::Interrupted { kept, conversation })?;
            Ok(TurnOutcome::Interrupted)
        }
        Err(failure) => {
            show.end(&TurnEnd::Failed).ok();
            Err(failure)
        }
    }
}

enum TurnWay {
    Ended(rejoin_agent::Result<rejoin_agent::Ended>),
    Stopped(Result<(), Failure>),
}

fn show_rest(
    heard: &mut mpsc::UnboundedReceiver<TurnEvent>,
    show: &mut dyn TurnDisplay,
) -> Result<(), Failure> {
    while let Ok(event) = heard.try_recv() {
        show.event(event)?;
    }
    Ok(())
}

/// Tells whether what was said is saved; it is a failure where the user wants it to be one.
fn heed(state: &SavingState, show: &mut dyn TurnDisplay, on_error: OnSaveError) -> Result<(), Failure> {
    if let (SavingState::Waiting { reason, .. }, OnSaveError::Fail) = (state, on_error) {
        return Err(not_saved(reason));
    }
    show.saving(state)
}

pub(crate) fn not_saved(reason: &str) -> Failure {
    let failure = Failure::new(Kind::Unavailable, "save what was said");
    if reason.is_empty() { failure } else { failure.because(reason.to_owned()) }
}

/// Waits until no message waits to be saved, as long as `patience` lets it. Returns what is left.
pub(crate) async fn settle(state: &mut SavingWatch, patience: impl Future<Output = ()>) -> SavingState {
    let mut patience = pin!(patience);
    let mut now = state.state();
    while now.waiting() > 0 {
        tokio::select! {
            changed = state.changed() => match changed {
                Some(state) => now = state,
                None => break,
            },
            () = &mut patience => break,
        }
    }
    now
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use rejoin::{Archive, AsyncRecorder, Conversation, ConversationId};
    use rejoin_agent::{Api, Future as Reply, History, Listener, Piece, Provider, Request};

    use super::*;

    /// Says some words, then nothing more.
    #[derive(Debug)]
    struct Stalled;

    impl Provider for Stalled {
        fn name(&self) -> &str {
            "stalled"
        }

        fn api(&self) -> Api {
            Api::Chat
        }

        fn reply<'a>(
            &'a self,
            _: Request<'a>,
            listen: &'a mut Listener<'_>,
        ) -> Reply<'a, rejoin_agent::Result<rejoin_agent::Reply>> {
            Box::pin(async move {
                listen(Piece::Text("In Alfama ".to_owned()));
                std::future::pending().await
            })
        }
    }

    /// Answers the first text in its own way.
    struct Reader {
        answer: fn() -> Result<Course, Failure>,
        ends: Vec<ArrivedReply>,
    }

    impl TurnDisplay for Reader {
        fn event(&mut self, event: TurnEvent) -> Result<Course, Failure> {
            match event {
                TurnEvent::Piece(Piece::Text(_)) => (self.answer)(),
                _ => Ok(Course::Go),
            }
        }

        fn tick(&mut self) -> Result<(), Failure> {
            Ok(())
        }

        fn saving(&mut self, _: &SavingState) -> Result<(), Failure> {
            Ok(())
        }

        fn end(&mut self, end: &TurnEnd) -> Result<(), Failure> {
            if let TurnEnd::Interrupted { kept, .. } = end {
                self.ends.push(*kept);
            }
            Ok(())
        }
    }

    fn begun() -> (Archive, ConversationId, Talk) {
        let archive = Archive::open("memory:").unwrap();
        let handle = archive.start(Conversation::new()).unwrap();
        let id = handle.id();
        let recording = AsyncRecorder::start(archive.record(handle, "1@1"));
        (archive, id, Talk::new(Arc::new(Stalled), "none", recording, History::default()))
    }

    fn kept(archive: &Archive, id: ConversationId) -> Vec<(String, Option<String>)> {
        let path = archive.path(id, None).unwrap();
        path.into_iter().map(|stored| (stored.message.text(), stored.message.finish)).collect()
    }

    fn words_and_a_part() -> Vec<(String, Option<String>)> {
        vec![("Where to eat?".to_owned(), None), ("In Alfama ".to_owned(), Some("interrupted".to_owned()))]
    }

    #[tokio::test]
    async fn a_turn_that_is_stopped_keeps_what_had_arrived() {
        let (archive, id, mut talk) = begun();
        let mut reader = Reader { answer: || Ok(Course::Stop), ends: Vec::new() };

        let outcome = turn(
            &mut talk,
            Message::user("Where to eat?"),
            &mut reader,
            &mut TypedAhead::ignored(),
            OnSaveError::Warn,
        )
        .await
        .unwrap();

        assert_eq!((outcome, reader.ends), (TurnOutcome::Interrupted, vec![ArrivedReply::Part]));
        assert_eq!(kept(&archive, id), words_and_a_part());
    }

    #[tokio::test]
    async fn nobody_waits_for_a_store_that_fails_when_no_message_waits() {
        let failing = |messages| SavingState::Waiting { messages, reason: "the disk is full".to_owned() };

        let nothing_waits = settle(&mut failing(0).into(), std::future::pending()).await;
        let two_wait = settle(&mut failing(2).into(), std::future::ready(())).await;

        assert_eq!((nothing_waits, two_wait), (failing(0), failing(2)));
    }

    #[tokio::test]
    async fn a_screen_that_goes_away_ends_the_turn_and_loses_nothing() {
        let (archive, id, mut talk) = begun();
        let gone = || Err(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)));
        let mut reader = Reader { answer: gone, ends: Vec::new() };

        let outcome = turn(
            &mut talk,
            Message::user("Where to eat?"),
            &mut reader,
            &mut TypedAhead::ignored(),
            OnSaveError::Warn,
        )
        .await;

        assert!(outcome.unwrap_err().is_broken_pipe());
        assert_eq!(kept(&archive, id), words_and_a_part());
    }
}
