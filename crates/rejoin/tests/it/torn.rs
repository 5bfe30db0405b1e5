//! What is torn when it is read is looked at once more, since it may just be replaced, and not a third time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rejoin::service::{ConversationRecordInput, ConversationStorageService, RecoverySnapshot};
use rejoin::store::{BlobNames, MemoryStore, Read, Space, Store};
use rejoin::{Archive, Conversation, ConversationId, Message, Result, Time};

use crate::doubles::{Around, a_store};

/// A store that shows the first half of what conversations own in a space, some times, and counts who looks.
struct Tearing {
    inner: MemoryStore,
    space: Space,
    torn: AtomicUsize,
    looks: AtomicUsize,
}

impl Tearing {
    fn new(space: Space) -> Arc<Self> {
        let (torn, looks) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { inner: MemoryStore::new(), space, torn, looks })
    }

    /// Shows halves to those who look next, so many times. The count begins anew.
    fn tear(&self, times: usize) {
        self.torn.store(times, Ordering::Relaxed);
        self.looks.store(0, Ordering::Relaxed);
    }

    fn looks(&self) -> usize {
        self.looks.load(Ordering::Relaxed)
    }
}

a_store!(Tearing);

impl Around for Tearing {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn visit_blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        if space != self.space || owner.is_none() {
            return self.inner.get(space, owner, named, visit);
        }
        let is_torn = self.looks.fetch_add(1, Ordering::Relaxed) < self.torn.load(Ordering::Relaxed);
        self.inner.get(space, owner, named, &mut |name, bytes| {
            visit(name, if is_torn { &bytes[..bytes.len() / 2] } else { bytes })
        })
    }
}

#[test]
fn a_torn_open_turn_is_looked_at_once_more() {
    let store = Tearing::new(Space::OpenTurn);
    let archive = Archive::with_store(store.clone());
    let mut recorder = archive.record(archive.start(Conversation::titled("Lisbon")).unwrap(), "1@1");
    recorder.append(vec![Message::user("Where to eat?")]).unwrap();
    recorder.save_open(&Message::assistant("In Alf"), &[]);

    let seen = [0, 1, 2].map(|times| {
        store.tear(times);
        let turns = archive.open_turns().list(recorder.conversation()).unwrap();
        (turns.iter().map(|turn| turn.partial.text()).collect::<String>(), store.looks())
    });

    assert_eq!(seen, [("In Alf".to_owned(), 1), ("In Alf".to_owned(), 2), (String::new(), 2)]);
}

#[test]
fn an_open_turn_that_was_torn_twice_is_whole_after_the_next_save() {
    let store = Tearing::new(Space::OpenTurn);
    let archive = Archive::with_store(store.clone());
    let mut recorder = archive.record(archive.start(Conversation::titled("Lisbon")).unwrap(), "1@1");
    recorder.append(vec![Message::user("Where to eat?")]).unwrap();
    recorder.save_open(&Message::assistant("In Alf"), &[]);
    store.tear(2);
    let while_torn = archive.open_turns().list(recorder.conversation()).unwrap();

    recorder.save_open(&Message::assistant("In Alfama, by"), &[]);

    let whole = archive.open_turns().list(recorder.conversation()).unwrap();
    assert_eq!((while_torn, whole[0].partial.text()), (vec![], "In Alfama, by".to_owned()));
}

#[test]
fn a_torn_snapshot_is_looked_at_once_more_and_then_made_again() {
    let store = Tearing::new(Space::State);
    let service = ConversationStorageService::new(Archive::with_store(store.clone()));
    let id = ConversationId::from_bytes([7; 16]).to_string();
    let record = ConversationRecordInput {
        conversation_id: id.clone(),
        title: "Lisbon".to_owned(),
        ..ConversationRecordInput::default()
    };
    let record = service.create_record(&record).unwrap();
    let saved_at = Time::from_micros(1_800_000_000_000_000);
    let whole = RecoverySnapshot { conversation_id: id.clone(), saved_at, ..RecoverySnapshot::default() };
    service.commit_snapshot(&whole).unwrap();

    let seen = [0, 1, 2].map(|times| {
        store.tear(times);
        (service.get_snapshot(&id).unwrap().unwrap(), store.looks())
    });

    let again = RecoverySnapshot { saved_at: record.last_interaction_at, ..whole.clone() };
    assert_eq!(seen, [(whole.clone(), 1), (whole, 2), (again, 2)]);
}
