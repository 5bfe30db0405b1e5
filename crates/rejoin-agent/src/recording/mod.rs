//! The recorder on a thread of its own: the store is synchronous, and the talk must not wait for what it need not.
//!
//! Appends are answered when they are on disk. What has arrived of a reply lies in a slot that the thread looks into
//! when it is due, so a piece costs the talk a copy into memory and nothing more. It is due a second after the first piece
//! that is not saved, and at once when a reply asks for tools. A reply that is complete sooner costs one sync.

mod arriving;
mod desk;
mod slot;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rejoin::{BegunAgain, ConversationId, Message, Receipt, Recorder, Strain};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::error::{Error, ErrorKind, Result};
use crate::providers::Future;
use desk::Desk;
pub(crate) use slot::{Slot, Urgency};

/// How long an append may take before the talk goes on: longer than a store waits for another process.
const PATIENCE: Duration = Duration::from_secs(15);

/// The same while it is known that the store fails.
const PATIENCE_IN_TROUBLE: Duration = Duration::from_millis(250);

/// Whether everything that was said is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavingState {
    /// It is.
    Saved,
    /// It is not: so many messages wait in memory, for this reason. With none, it is the arriving reply that could not
    /// be saved.
    Waiting {
        /// How many.
        messages: usize,
        /// Why.
        reason: String,
    },
}

impl SavingState {
    /// How many messages wait in memory.
    pub const fn waiting(&self) -> usize {
        match self {
            Self::Saved => 0,
            Self::Waiting { messages, .. } => *messages,
        }
    }
}

/// What could not be saved when a recording was closed.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsaved {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// What would be kept of a reply that was arriving, if it could not be saved either.
    pub interrupted: Vec<Message>,
    /// Why.
    pub reason: String,
}

/// A recorder on a thread of its own.
///
/// Dropping it saves what it can, like [`Recording::close`], but says nothing.
#[derive(Debug)]
pub struct Recording {
    orders: mpsc::Sender<Order>,
    slot: Slot,
    state: Arc<watch::Sender<SavingState>>,
    news: Arc<Mutex<News>>,
    thread: Option<JoinHandle<()>>,
}

/// Where the talk is recorded, and what nobody was told yet.
#[derive(Debug)]
struct News {
    conversation: ConversationId,
    begun_again: Vec<BegunAgain>,
    /// Signs that the store is under strain.
    strains: Vec<Strain>,
}

/// What the thread is asked to do.
enum Order {
    Append(Vec<Message>, oneshot::Sender<Result<Option<Receipt>>>),
    /// There is something in the slot.
    Look(Urgency),
    Use(Box<dyn FnOnce(&mut Recorder) + Send>),
    Close(Option<oneshot::Sender<std::result::Result<(), Unsaved>>>),
}

impl Recording {
    /// Starts the thread.
    pub fn start(recorder: Recorder) -> Self {
        let (orders, inbox) = mpsc::channel();
        let state = Arc::new(watch::Sender::new(SavingState::Saved));
        let slot = Slot::new(orders.clone());
        let conversation = recorder.conversation();
        let news = News { conversation, begun_again: Vec::new(), strains: Vec::new() };
        let news = Arc::new(Mutex::new(news));
        let desk = Desk::new(recorder, slot.clone(), Arc::clone(&state), Arc::clone(&news));
        let thread = thread::spawn(move || desk.work(&inbox));
        Self { orders, slot, state, news, thread: Some(thread) }
    }

    /// The conversation that has what is said: another one after the first was deleted.
    pub fn conversation(&self) -> ConversationId {
        self.news().conversation
    }

    /// The conversations that were deleted, since this was last asked, so that the talk went on in others.
    pub fn take_begun_again(&self) -> Vec<BegunAgain> {
        std::mem::take(&mut self.news().begun_again)
    }

    /// Signs that the store is under strain, since this was last asked.
    pub fn take_strains(&self) -> Vec<Strain> {
        std::mem::take(&mut self.news().strains)
    }

    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Saves finished messages as one turn. The answer is a receipt once they are on disk, or none when they have to
    /// wait because the store fails, or has not answered for long.
    ///
    /// A turn that is wrong in itself, such as one that is too large, is an error and is not kept.
    pub async fn append(&self, messages: Vec<Message>) -> Result<Option<Receipt>> {
        let (answer, answered) = oneshot::channel();
        let count = messages.len();
        let patience = match *self.state.borrow() {
            SavingState::Saved => PATIENCE,
            SavingState::Waiting { .. } => PATIENCE_IN_TROUBLE,
        };
        self.send(Order::Append(messages, answer))?;
        match timeout(patience, answered).await {
            Ok(answer) => answer.map_err(|_| gone())?,
            Err(_elapsed) => {
                self.state.send_if_modified(|state| {
                    let is_news = *state == SavingState::Saved;
                    if is_news {
                        let reason = "the store does not answer".to_owned();
                        *state = SavingState::Waiting { messages: count, reason };
                    }
                    is_news
                });
                Ok(None)
            }
        }
    }

    /// Lets a function use the recorder on its thread: to fork, to rewind, to end the talk, to look.
    pub async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Recorder) -> T + Send + 'static,
    ) -> Result<T> {
        self.later(work).await
    }

    /// The same as a future that needs no recording to be held.
    pub(crate) fn later<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Recorder) -> T + Send + 'static,
    ) -> Future<'static, Result<T>> {
        let orders = self.orders.clone();
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let order = Order::Use(Box::new(move |recorder| {
                let _ = answer.send(work(recorder));
            }));
            orders.send(order).map_err(|_| gone())?;
            answered.await.map_err(|_| gone())
        })
    }

    /// Whether everything is on disk; can be watched.
    pub fn state(&self) -> watch::Receiver<SavingState> {
        self.state.subscribe()
    }

    /// Tries once more to save what waits and what has arrived of a reply, and ends the thread.
    pub async fn close(self) -> std::result::Result<(), Unsaved> {
        let (answer, answered) = oneshot::channel();
        let nothing =
            |_| Unsaved { messages: Vec::new(), interrupted: Vec::new(), reason: gone().to_string() };
        self.send(Order::Close(Some(answer))).map_err(|_| nothing(()))?;
        answered.await.map_err(|_| nothing(()))?
    }

    /// Where what has arrived of a reply is put.
    pub(crate) fn slot(&self) -> Slot {
        self.slot.clone()
    }

    fn send(&self, order: Order) -> Result<()> {
        self.orders.send(order).map_err(|_| gone())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Close(None));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Store, "the recorder has stopped")
}
