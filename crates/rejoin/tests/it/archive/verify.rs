//! Checking a conversation that others change meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rejoin::store::{MemoryStore, Seen, Selection, Store};
use rejoin::{Archive, Conversation, ConversationId, Message, Result};

use crate::doubles::{Around, a_store};

/// A store to which somebody appends right before messages are read.
struct Growing {
    inner: Arc<dyn Store>,
    left: AtomicUsize,
}

impl Around for Growing {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn visit(
        &self,
        id: ConversationId,
        what: Selection<'_>,
        visit: &mut dyn FnMut(Seen<'_>) -> Result<()>,
    ) -> Result<()> {
        let is_due = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if is_due.is_ok() {
            Archive::with_store(Arc::clone(&self.inner)).resume(id)?.append(Message::user("meanwhile"))?;
        }
        self.inner.read(id, what, visit)
    }
}

a_store!(Growing);

#[test]
fn what_others_append_while_a_conversation_is_checked_is_no_damage() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut talk = Archive::with_store(Arc::clone(&inner)).start(Conversation::titled("Lisbon")).unwrap();
    talk.append(Message::user("one")).unwrap();
    let growing = Arc::new(Growing { inner, left: AtomicUsize::new(3) });

    let verdict = Archive::with_store(Arc::clone(&growing) as _).maintenance().verify(talk.id()).unwrap();

    assert_eq!((verdict.messages, verdict.faults), (4, vec![]));
    assert_eq!(growing.left.load(Ordering::Relaxed), 0);
}
