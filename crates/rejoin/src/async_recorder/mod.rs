//! A recorder for async programs: it owns a thread, so that a task never waits for the disk.
//!
//! Orders go through one channel and are carried out in the order of the calls. Each call sends its order
//! before it returns a future, so dropping the future cancels nothing and reorders nothing.

mod open_reply;
mod saving;
mod thread;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::archive::{BegunAgain, Recorder, Strain};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Message, Receipt};

pub use open_reply::OpenReply;
pub use saving::{SavingState, SavingWatch, Unsaved};
use thread::Worker;

/// How long an append may take before the program goes on: longer than a store waits for another process.
const PATIENCE: Duration = Duration::from_secs(15);

/// The same while it is known that the store fails.
const PATIENCE_IN_TROUBLE: Duration = Duration::from_millis(250);

/// A [`Recorder`] on a thread of its own, for async programs.
///
/// ```
/// use rejoin::{Archive, AsyncRecorder, Conversation, Message};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let archive = Archive::open("memory:")?;
/// let handle = archive.start(Conversation::titled("Lisbon"))?;
/// let recorder = AsyncRecorder::start(archive.record(handle, "my-agent"));
///
/// recorder.append(vec![Message::user("Where to eat?")]).await?; // on disk before the model is asked
///
/// let reply = recorder.open_reply(); // what arrives is saved within a second
/// reply.push_text("Try a tasca ");
/// reply.push_text("in Alfama.");
/// let (reply, _) = reply.take();
/// let receipt = recorder.append(vec![reply]).await?;
/// assert!(receipt.is_some());
/// # recorder.close().await.unwrap();
/// # Ok::<(), rejoin::Error>(()) }).unwrap();
/// ```
///
/// When the store fails, messages wait in memory and are tried again; [`AsyncRecorder::watch`] tells.
///
/// End it with [`AsyncRecorder::close`]. Dropping it saves the same, but reports nothing, and blocks the
/// thread that drops it until the store has answered: in a task, that is a thread of the runtime. It cannot
/// deadlock, because saving does not need the runtime.
#[derive(Debug)]
pub struct AsyncRecorder {
    orders: mpsc::Sender<ThreadOrder>,
    open_reply: OpenReply,
    state: Arc<watch::Sender<SavingState>>,
    notices: Arc<Mutex<Notices>>,
    thread: Option<JoinHandle<()>>,
}

/// What happened on the thread and was not reported yet.
#[derive(Debug)]
struct Notices {
    conversation: ConversationId,
    begun_again: Vec<BegunAgain>,
    strains: Vec<Strain>,
}

/// What the thread is asked to do.
enum ThreadOrder {
    Append(Vec<Message>, oneshot::Sender<Result<Option<Receipt>>>),
    /// The open reply has something to save.
    SaveOpen(Urgency),
    Use(Box<dyn FnOnce(&mut Recorder) + Send>),
    Close(Option<oneshot::Sender<std::result::Result<(), Unsaved>>>),
}

/// Whether the open reply may wait for its next second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgency {
    Now,
    Soon,
}

impl AsyncRecorder {
    /// Starts the thread.
    pub fn start(recorder: Recorder) -> Self {
        let (orders, inbox) = mpsc::channel();
        let state = Arc::new(watch::Sender::new(SavingState::Saved));
        let open_reply = OpenReply::new(orders.clone());
        let conversation = recorder.conversation();
        let notices = Notices { conversation, begun_again: Vec::new(), strains: Vec::new() };
        let notices = Arc::new(Mutex::new(notices));
        let worker = Worker::new(recorder, open_reply.clone(), Arc::clone(&state), Arc::clone(&notices));
        let thread = std::thread::spawn(move || worker.run(&inbox));
        Self { orders, open_reply, state, notices, thread: Some(thread) }
    }

    /// The conversation that messages go to: a new one after the first was deleted.
    pub fn conversation(&self) -> ConversationId {
        self.notices().conversation
    }

    /// The conversations that were deleted since the last call, each with the one that replaced it.
    pub fn take_begun_again(&self) -> Vec<BegunAgain> {
        std::mem::take(&mut self.notices().begun_again)
    }

    /// Signs of a store under strain since the last call.
    pub fn take_strains(&self) -> Vec<Strain> {
        std::mem::take(&mut self.notices().strains)
    }

    fn notices(&self) -> MutexGuard<'_, Notices> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends finished messages as one turn. The result is a receipt once they are on disk, or none when
    /// they wait in memory because the store fails or has not answered for long.
    ///
    /// The messages are on their way when this returns, also if the future is dropped. A turn that is invalid
    /// in itself, such as one that is too large, is an error and is not kept.
    pub fn append(
        &self,
        messages: Vec<Message>,
    ) -> impl Future<Output = Result<Option<Receipt>>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let count = messages.len();
        let patience = match *self.state.borrow() {
            SavingState::Saved => PATIENCE,
            SavingState::Waiting { .. } => PATIENCE_IN_TROUBLE,
        };
        let sent = self.send(ThreadOrder::Append(messages, answer));
        let state = Arc::clone(&self.state);
        async move {
            sent?;
            if let Ok(answer) = timeout(patience, answered).await {
                return answer.map_err(|_| stopped())?;
            }
            state.send_if_modified(|state| {
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

    /// Lets a function use the recorder on its thread: to fork, to rewind, to end the conversation, to read.
    ///
    /// The function runs in its turn, also if the future is dropped.
    pub fn with<T, W>(&self, work: W) -> impl Future<Output = Result<T>> + Send + use<T, W>
    where
        T: Send + 'static,
        W: FnOnce(&mut Recorder) -> T + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let sent = self.send(ThreadOrder::Use(Box::new(move |recorder| {
            let _ = answer.send(work(recorder));
        })));
        async move {
            sent?;
            answered.await.map_err(|_| stopped())
        }
    }

    /// Whether everything is on disk.
    pub fn state(&self) -> SavingState {
        self.state.borrow().clone()
    }

    /// Follows whether everything is on disk.
    pub fn watch(&self) -> SavingWatch {
        SavingWatch::new(self.state.subscribe())
    }

    /// The reply that is being received. What is put into it is saved as the open turn.
    pub fn open_reply(&self) -> OpenReply {
        self.open_reply.clone()
    }

    /// Tries once more to save what waits and what has arrived of a reply, and ends the thread. When the
    /// future is ready, the store is no longer used.
    ///
    /// The order is on its way when this returns. Dropping the future, as a timeout does, waits for nothing:
    /// the thread goes on alone, and what it has not saved when the program ends is lost.
    pub fn close(mut self) -> impl Future<Output = std::result::Result<(), Unsaved>> + Send + use<> {
        let (answer, answered) = oneshot::channel();
        let sent = self.send(ThreadOrder::Close(Some(answer)));
        // The answer is waited for, so nothing is left to wait for when this is dropped.
        self.thread = None;
        async move {
            let nothing =
                |_| Unsaved { messages: Vec::new(), interrupted: Vec::new(), reason: stopped().to_string() };
            sent.map_err(nothing)?;
            answered.await.map_err(|_| nothing(stopped()))?
        }
    }

    fn send(&self, order: ThreadOrder) -> Result<()> {
        self.orders.send(order).map_err(|_| stopped())
    }
}

impl Drop for AsyncRecorder {
    fn drop(&mut self) {
        let _ = self.orders.send(ThreadOrder::Close(None));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn stopped() -> Error {
    Error::new(ErrorKind::Unavailable, "the recorder has stopped")
}
