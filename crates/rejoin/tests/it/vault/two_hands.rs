//! Two handles of one vault that take turns, so that each meets what the other did.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rejoin::Result;
use rejoin::store::Store;
use rejoin::vault::VaultStore;

use crate::doubles::{Around, Write, a_store};
use crate::vault::{Inner, sealed};

/// Of so many calls the second handle gets the last two.
const CALLS: usize = 9;

/// A vault that is used through two handles.
pub(crate) struct TwoHands {
    hands: [VaultStore; 2],
    calls: AtomicUsize,
}

impl TwoHands {
    pub(crate) fn over(inner: Arc<dyn Inner>) -> Self {
        let hands = [sealed(Arc::clone(&inner)), sealed(inner)];
        Self { hands, calls: AtomicUsize::new(0) }
    }

    fn next(&self) -> &VaultStore {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) % CALLS;
        &self.hands[usize::from(call >= CALLS - 2)]
    }
}

a_store!(TwoHands);

impl Around for TwoHands {
    fn inner(&self) -> &dyn Store {
        &self.hands[1]
    }

    fn writing<T>(&self, _: Write, work: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        work(self.next())
    }
}
