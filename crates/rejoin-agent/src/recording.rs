//! The recorder on a thread of its own: the store is synchronous, and the talk must not wait for what it need not.
//!
//! Appends are answered when they are on disk. The open turn is saved at most once a second, the newest only, and
//! nobody waits for it.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rejoin::{Message, Receipt, Recorder, Saved};
use tokio::sync::{oneshot, watch};

use crate::error::{Error, ErrorKind, Result};

/// The open turn is saved at most this often.
const OPEN_TURN_PAUSE: Duration = Duration::from_secs(1);

/// Whether everything that was said is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavingState {
    /// It is.
    Saved,
    /// It is not: so many messages wait in memory, for this reason.
    Waiting {
        /// How many.
        messages: usize,
        /// Why.
        reason: String,
    },
}

/// A recorder on a thread of its own.
#[derive(Debug)]
pub struct Recording {
    orders: mpsc::Sender<Order>,
    state: watch::Receiver<SavingState>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Append(Vec<Message>, oneshot::Sender<Result<Option<Receipt>>>),
    Open(Box<Message>, Vec<Message>, Urgency),
    Close,
    Use(Box<dyn FnOnce(&mut Recorder) + Send>),
}

/// Whether the open turn may wait for its next second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    Now,
    Soon,
}

impl Recording {
    /// Starts the thread.
    pub fn start(recorder: Recorder) -> Self {
        let (orders, inbox) = mpsc::channel();
        let (tell, state) = watch::channel(SavingState::Saved);
        let thread = thread::spawn(move || Desk { recorder, tell, open: None, opened: None }.work(&inbox));
        Self { orders, state, thread: Some(thread) }
    }

    /// Saves finished messages as one turn. The answer is a receipt once they are on disk, or none when they have to
    /// wait because the store fails.
    pub async fn append(&self, messages: Vec<Message>) -> Result<Option<Receipt>> {
        let (answer, answered) = oneshot::channel();
        self.send(Order::Append(messages, answer))?;
        answered.await.map_err(|_| gone())?
    }

    /// Saves what has arrived of a reply, within a second. Returns at once.
    pub(crate) fn save_open(&self, partial: Message, results: Vec<Message>, urgency: Urgency) {
        let _ = self.send(Order::Open(Box::new(partial), results, urgency));
    }

    /// Lets a function use the recorder on its thread: to fork, to rewind, to look.
    pub async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Recorder) -> T + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        self.send(Order::Use(Box::new(move |recorder| {
            let _ = answer.send(work(recorder));
        })))?;
        answered.await.map_err(|_| gone())
    }

    /// Whether everything is on disk; can be watched.
    pub fn state(&self) -> watch::Receiver<SavingState> {
        self.state.clone()
    }

    fn send(&self, order: Order) -> Result<()> {
        self.orders.send(order).map_err(|_| gone())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Store, "the recorder has stopped")
}

/// What the thread works with.
struct Desk {
    recorder: Recorder,
    tell: watch::Sender<SavingState>,
    /// The newest of the reply that is not saved yet.
    open: Option<(Message, Vec<Message>)>,
    opened: Option<Instant>,
}

impl Desk {
    fn work(mut self, inbox: &mpsc::Receiver<Order>) {
        loop {
            match inbox.recv_timeout(self.patience()) {
                Ok(Order::Append(messages, answer)) => {
                    self.open = None;
                    let saved = self.recorder.append(messages);
                    let _ = answer.send(saved.map(receipt).map_err(Error::from));
                }
                Ok(Order::Open(partial, results, urgency)) => {
                    self.open = Some((*partial, results));
                    if urgency == Urgency::Now {
                        self.opened = None;
                    }
                }
                Ok(Order::Use(work)) => work(&mut self.recorder),
                Ok(Order::Close) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.recorder.retry();
                }
            }
            self.save_open_when_due();
            self.tell_state();
        }
        let _ = self.recorder.retry();
        self.tell_state();
    }

    /// How long to wait for an order before there is something else to do.
    fn patience(&self) -> Duration {
        let open = self.open.as_ref().map(|_| self.until_due());
        let retry = (self.recorder.waiting() > 0).then(|| self.recorder.pause());
        open.into_iter().chain(retry).min().unwrap_or(Duration::from_secs(3600))
    }

    fn until_due(&self) -> Duration {
        self.opened.map_or(Duration::ZERO, |at| OPEN_TURN_PAUSE.saturating_sub(at.elapsed()))
    }

    fn save_open_when_due(&mut self) {
        if !self.until_due().is_zero() {
            return;
        }
        if let Some((partial, results)) = self.open.take() {
            self.opened = Some(Instant::now());
            if let Err(error) = self.recorder.save_open(&partial, &results) {
                tracing::warn!(%error, "the open turn was not saved");
            }
        }
    }

    fn tell_state(&self) {
        let state = match (self.recorder.waiting(), self.recorder.cause()) {
            (0, _) => SavingState::Saved,
            (messages, cause) => {
                SavingState::Waiting { messages, reason: cause.map(ToString::to_string).unwrap_or_default() }
            }
        };
        self.tell.send_if_modified(|old| {
            let is_new = *old != state;
            *old = state;
            is_new
        });
    }
}

fn receipt(saved: Saved) -> Option<Receipt> {
    match saved {
        Saved::Now(receipt) => Some(receipt),
        Saved::Later => None,
    }
}
