//! A purge whose process ends in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rejoin::store::{MemoryStore, Store};
use rejoin::{Archive, Conversation, Error, ErrorKind, Message, PurgeReason, Result};

use crate::doubles::{Around, Write, a_store};

/// A store that does nothing more once something was removed from it.
struct Dying {
    inner: Arc<dyn Store>,
    is_dead: AtomicBool,
}

impl Around for Dying {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn writing<T>(&self, write: Write, work: impl FnOnce(&dyn Store) -> Result<T>) -> Result<T> {
        if self.is_dead.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Unavailable, "the process ended"));
        }
        let done = work(self.inner());
        self.is_dead.store(matches!(write, Write::Remove), Ordering::Relaxed);
        done
    }
}

a_store!(Dying);

#[test]
fn a_purge_that_is_cut_off_after_the_removal_leaves_a_mark_until_it_is_finished() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let archive = Archive::with_store(Arc::clone(&inner));
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    talk.append(Message::user("one")).unwrap();
    let dying = Dying { inner, is_dead: AtomicBool::new(false) };

    Archive::with_store(Arc::new(dying)).removal().purge(
        &[talk.id()],
        PurgeReason::UserRequested,
        &mut |_| (),
    );

    let marked = archive.removal().has_traces().unwrap();
    let is_finished = archive.removal().finish_erasing().unwrap();
    assert_eq!((marked, is_finished, archive.removal().has_traces().unwrap()), (true, true, false));
}
