//! The thread of an async recorder: orders in, receipts and the state of saving out.

use std::error::Error as StdError;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::archive::{Recorder, Saved};
use crate::async_recorder::{Notices, OpenReply, SavingState, ThreadOrder, Unsaved, Urgency};
use crate::error::Result;
use crate::model::{Message, Receipt};

/// What has arrived of a reply is saved so long after its first unsaved piece: at most once a second, and a
/// reply that is complete sooner needs no open turn at all.
const OPEN_TURN_PAUSE: Duration = Duration::from_secs(1);

/// How long to wait for an order with nothing else to do. Any long time would do.
const NOTHING_TO_DO: Duration = Duration::from_secs(3600);

/// What the thread works with.
pub(super) struct Worker {
    recorder: Recorder,
    open_reply: OpenReply,
    state: Arc<watch::Sender<SavingState>>,
    /// When to save the open reply.
    due: Option<Instant>,
    notices: Arc<Mutex<Notices>>,
}

impl Worker {
    pub(super) fn new(
        recorder: Recorder,
        open_reply: OpenReply,
        state: Arc<watch::Sender<SavingState>>,
        notices: Arc<Mutex<Notices>>,
    ) -> Self {
        Self { recorder, open_reply, state, due: None, notices }
    }

    pub(super) fn run(mut self, inbox: &mpsc::Receiver<ThreadOrder>) {
        loop {
            match inbox.recv_timeout(self.patience()) {
                Ok(ThreadOrder::Append(messages, answer)) => {
                    let saved = self.append(messages);
                    self.report();
                    let _ = answer.send(saved);
                }
                Ok(ThreadOrder::SaveOpen(urgency)) => self.schedule(urgency),
                Ok(ThreadOrder::Use(work)) => work(&mut self.recorder),
                Ok(ThreadOrder::Close(answer)) => {
                    let closed = self.close();
                    // The store is closed before it is said to be.
                    drop(self);
                    if let Some(answer) = answer {
                        let _ = answer.send(closed);
                    }
                    return;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return drop(self.close()),
            }
            self.do_what_is_due();
            self.report();
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
                Err(error)
            }
        }
    }

    fn schedule(&mut self, urgency: Urgency) {
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
            if let Some((partial, results)) = self.open_reply.snapshot()
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
        let kept = match self.open_reply.snapshot() {
            Some((partial, results)) if !self.recorder.flush_open(&partial, &results) => {
                partial.interrupted(results)
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
        self.report();
        let messages = self.recorder.take_waiting();
        if messages.is_empty() && kept.is_empty() {
            return Ok(());
        }
        Err(Unsaved { messages, interrupted: kept, reason: self.reason() })
    }

    fn report(&mut self) {
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        notices.conversation = self.recorder.conversation();
        notices.begun_again.extend(self.recorder.take_begun_again());
        notices.strains.extend(self.recorder.take_strains());
        drop(notices);
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
