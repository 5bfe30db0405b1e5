//! Whether what was recorded is on disk.

use std::sync::Arc;

use tokio::sync::watch;

use crate::model::Message;

/// Whether everything that was recorded is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavingState {
    /// It is.
    Saved,
    /// Messages wait in memory, for this reason. With none, it is the arriving reply that could not be saved.
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

/// Follows the state of a recorder.
#[derive(Clone, Debug)]
pub struct SavingWatch {
    states: watch::Receiver<SavingState>,
    /// Of a state that never changes: what keeps its channel open.
    _fixed: Option<Arc<watch::Sender<SavingState>>>,
}

impl SavingWatch {
    pub(super) fn new(states: watch::Receiver<SavingState>) -> Self {
        Self { states, _fixed: None }
    }

    /// The state now.
    pub fn state(&self) -> SavingState {
        self.states.borrow().clone()
    }

    /// Waits for the next change and returns the new state, or none once the recorder is gone.
    ///
    /// Dropping the future misses no change.
    pub async fn changed(&mut self) -> Option<SavingState> {
        self.states.changed().await.ok()?;
        Some(self.states.borrow_and_update().clone())
    }
}

/// A watch of a state that never changes, where nothing is recorded.
impl From<SavingState> for SavingWatch {
    fn from(state: SavingState) -> Self {
        let (sender, states) = watch::channel(state);
        Self { states, _fixed: Some(Arc::new(sender)) }
    }
}

/// What could not be saved when a recorder was closed.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsaved {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// What would be kept of a reply that was arriving, if it could not be saved either.
    pub interrupted: Vec<Message>,
    /// Why.
    pub reason: String,
}
