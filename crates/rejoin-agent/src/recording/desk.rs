//! The thread that saves: orders in, receipts and the state of saving out.

use std::error::Error as StdError;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rejoin::{Message, Receipt, Recorder, Saved, interrupted};
use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::recording::slot::{Slot, Urgency};
use crate::recording::{News, Order, SavingState, Unsaved};

/// What has arrived of a reply is saved so long after its first unsaved piece: at most once a second, and a reply that
/// is complete sooner needs no open turn at all.
const OPEN_TURN_PAUSE: Duration = Duration::from_secs(1);

/// With nothing to do, the desk waits for an order; the time only has to be some time.
const NOTHING_TO_DO: Duration = Duration::from_secs(3600);

/// What the thread works with.
pub(super) struct Desk {
    recorder: Recorder,
    slot: Slot,
    state: Arc<watch::Sender<SavingState>>,
    /// When to look into the slot.
    due: Option<Instant>,
    news: Arc<Mutex<News>>,
}

impl Desk {
    pub(super) fn new(
        recorder: Recorder,
        slot: Slot,
        state: Arc<watch::Sender<SavingState>>,
        news: Arc<Mutex<News>>,
    ) -> Self {
        Self { recorder, slot, state, due: None, news }
    }

    pub(super) fn work(mut self, inbox: &mpsc::Receiver<Order>) {
        loop {
            match inbox.recv_timeout(self.patience()) {
                Ok(Order::Append(messages, answer)) => {
                    let saved = self.append(messages);
                    self.tell_state();
                    let _ = answer.send(saved);
                }
                Ok(Order::Look(urgency)) => self.look(urgency),
                Ok(Order::Use(work)) => work(&mut self.recorder),
                Ok(Order::Close(answer)) => {
                    let closed = self.close();
                    if let Some(answer) = answer {
                        let _ = answer.send(closed);
                    }
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return drop(self.close()),
            }
            self.do_what_is_due();
            self.tell_state();
        }
    }

    fn append(&mut self, messages: Vec<Message>) -> Result<Option<Receipt>> {
        match self.recorder.append(messages) {
            Ok(Saved::Now(receipt)) => Ok(Some(receipt)),
            Ok(Saved::Later) => Ok(None),
            Err(error) => {
                // What had arrived of it cannot be kept either.
                if let Err(error) = self.recorder.discard_open() {
                    tracing::warn!(?error, "the open turn of a refused reply was not removed");
                }
                Err(Error::from(error))
            }
        }
    }

    fn look(&mut self, urgency: Urgency) {
        let at = match urgency {
            Urgency::Now => Instant::now(),
            Urgency::Soon => Instant::now() + OPEN_TURN_PAUSE,
        };
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// How long to wait for an order before there is something else to do.
    fn patience(&self) -> Duration {
        let open = self.due.map(|due| due.saturating_duration_since(Instant::now()));
        let retry = (self.recorder.waiting() > 0).then(|| self.recorder.pause());
        open.into_iter().chain(retry).min().unwrap_or(NOTHING_TO_DO)
    }

    fn do_what_is_due(&mut self) {
        if self.recorder.waiting() > 0
            && let Err(error) = self.recorder.retry()
        {
            tracing::error!(?error, "a message that waited cannot be saved");
        }
        if self.due.is_some_and(|due| due <= Instant::now()) {
            self.due = None;
            if let Some((partial, results)) = self.slot.snapshot()
                && !self.recorder.save_open(&partial, &results)
            {
                // It is tried again with the newest, when the store may be tried again.
                self.due = Some(Instant::now() + self.recorder.pause().max(OPEN_TURN_PAUSE));
            }
        }
    }

    /// Saves what can be saved, and gives back the rest.
    fn close(&mut self) -> std::result::Result<(), Unsaved> {
        if let Err(error) = self.recorder.flush() {
            tracing::error!(?error, "a message that waited cannot be saved");
        }
        let kept = match self.slot.snapshot() {
            Some((partial, results)) if !self.recorder.flush_open(&partial, &results) => {
                interrupted(partial, results)
            }
            Some(_) => Vec::new(),
            None => {
                // What was saved of a reply that came to nothing must not be offered later.
                if let Err(error) = self.recorder.discard_open() {
                    tracing::warn!(?error, "the open turn of a void reply was not removed");
                }
                Vec::new()
            }
        };
        self.tell_state();
        let messages = self.recorder.take_waiting();
        if messages.is_empty() && kept.is_empty() {
            return Ok(());
        }
        Err(Unsaved { messages, interrupted: kept, reason: self.reason() })
    }

    fn tell_state(&mut self) {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        news.conversation = self.recorder.conversation();
        news.begun_again.extend(self.recorder.take_begun_again());
        news.strains.extend(self.recorder.take_strains());
        drop(news);
        let state = match (self.recorder.waiting(), self.recorder.cause()) {
            (0, None) => SavingState::Saved,
            (messages, _) => SavingState::Waiting { messages, reason: self.reason() },
        };
        self.state.send_if_modified(|old| {
            let is_news = *old != state;
            *old = state;
            is_news
        });
    }

    /// Why the store fails, with every cause.
    fn reason(&self) -> String {
        let Some(error) = self.recorder.cause() else {
            return "the store was not tried again yet".to_owned();
        };
        let mut reason = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            reason.push_str(": ");
            reason.push_str(&error.to_string());
            cause = error.source();
        }
        reason
    }
}
