//! A store that fails when it is told to, before or after the work is done.

use std::sync::{Arc, Mutex};

use rejoin::store::{MemoryStore, Store};
use rejoin::{Error, ErrorKind, Result};

use crate::doubles::{Around, Write, a_store};

/// What becomes of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Nothing is done.
    Failing(ErrorKind),
    /// It is done, and an error comes back.
    Forgetful,
    /// Nothing is done, because the disk is full.
    Full,
}

/// A store that fails when it is told to.
pub(crate) struct Moody {
    inner: Box<dyn Store>,
    mood: Mutex<Mood>,
    /// How often a write was tried.
    tried: Mutex<usize>,
    /// What happens while it writes.
    pace: Mutex<Arc<dyn Fn() + Send + Sync>>,
}

impl Moody {
    pub(crate) fn new() -> Self {
        Self::over(MemoryStore::new())
    }

    pub(crate) fn over(inner: impl Store + 'static) -> Self {
        Self::around(Box::new(inner))
    }

    pub(crate) fn around(inner: Box<dyn Store>) -> Self {
        let pace: Arc<dyn Fn() + Send + Sync> = Arc::new(|| {});
        let (mood, tried, pace) = (Mutex::new(Mood::Well), Mutex::new(0), Mutex::new(pace));
        Self { inner, mood, tried, pace }
    }

    /// Sets what happens while it writes.
    pub(crate) fn while_writing(&self, pace: impl Fn() + Send + Sync + 'static) {
        *self.pace.lock().unwrap() = Arc::new(pace);
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// How often a write was tried since this was last asked.
    pub(crate) fn tried(&self) -> usize {
        std::mem::take(&mut self.tried.lock().unwrap())
    }

    fn write<T>(&self, work: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        *self.tried.lock().unwrap() += 1;
        let pace = Arc::clone(&self.pace.lock().unwrap());
        pace();
        let failure = |kind| Error::new(kind, "the store is in a mood");
        match *self.mood.lock().unwrap() {
            Mood::Well => work(self.inner.as_ref()),
            Mood::Failing(kind) => Err(failure(kind)),
            Mood::Full => {
                let cause = std::io::Error::new(std::io::ErrorKind::StorageFull, "the disk is full");
                Err(Error::new(ErrorKind::Unavailable, "append a turn").because(cause).during("write"))
            }
            Mood::Forgetful => work(self.inner.as_ref()).and_then(|_| Err(failure(ErrorKind::Unavailable))),
        }
    }
}

a_store!(Moody);

impl Around for Moody {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn writing<T>(&self, write: Write, work: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        if write == Write::Maintain { work(self.inner()) } else { self.write(work) }
    }
}
