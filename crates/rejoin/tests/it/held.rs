//! An archive and the store that it was opened over, for tests that look below the archive.

use std::ops::Deref;
use std::sync::Arc;

use rejoin::store::Store;
use rejoin::{Archive, Limits, Nature, Redaction, StoreUrl};

#[derive(Clone)]
pub(crate) struct Held {
    archive: Archive,
    store: Arc<dyn Store>,
}

impl Held {
    pub(crate) fn over(store: Arc<dyn Store>) -> Self {
        Self { archive: Archive::with_store(store.clone()), store }
    }

    /// Opens a store that is no vault.
    pub(crate) fn open(url: &str) -> Self {
        Self::over(StoreUrl::parse(url).unwrap().open().unwrap())
    }

    /// Changes how the archive is set up.
    pub(crate) fn map(self, change: impl FnOnce(Archive) -> Archive) -> Self {
        Self { archive: change(self.archive), ..self }
    }

    pub(crate) fn with_nature(self, nature: Arc<dyn Nature>) -> Self {
        self.map(|archive| archive.with_nature(nature))
    }

    pub(crate) fn with_limits(self, limits: Limits) -> Self {
        self.map(|archive| archive.with_limits(limits))
    }

    pub(crate) fn with_redaction(self, redaction: Redaction) -> Self {
        self.map(|archive| archive.with_redaction(redaction))
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }
}

impl Deref for Held {
    type Target = Archive;

    fn deref(&self) -> &Archive {
        &self.archive
    }
}
