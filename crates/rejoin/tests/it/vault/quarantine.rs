//! What becomes of a record that does not open: it is copied, told, named, and goes when its days are over.

use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{
    BlobNames, Change, MemoryStore, Note, PreviewUpdate, Put, Read, Rewritten, Safety, Space, Store,
};
use rejoin::{
    Archive, AuditAction, AuditQuery, ConversationId, ErrorKind, Event, EventKind, Message, Nature,
    SystemNature, Time,
};

use crate::vault::altered::kept;
use crate::vault::write::{NOW, conversation, inner_names, messages, open, say};
use crate::vault::{Inner, sealed};
use crate::vault_spaces::KEYS;

pub(super) const CHANGED: &str = "it was changed or moved since it was sealed";

/// A clock that is days ahead.
#[derive(Debug)]
pub(crate) struct Ahead(pub(crate) i64);

impl Nature for Ahead {
    fn now(&self) -> Time {
        Time::now().plus_micros(self.0 * 86_400_000_000)
    }

    fn fill(&self, bytes: &mut [u8]) {
        SystemNature.fill(bytes);
    }
}

/// A vault with three messages in a row, and the store inside.
pub(super) struct Stage {
    pub(super) inner: Arc<MemoryStore>,
    pub(super) name: ConversationId,
}

impl Stage {
    pub(super) fn new() -> Self {
        let inner = Arc::new(MemoryStore::new());
        let vault = sealed(inner.clone());
        open(&vault, conversation(1));
        let first = say(&vault, conversation(1), "a", None, "one").unwrap();
        let second = say(&vault, conversation(1), "b", Some(first), "two").unwrap();
        say(&vault, conversation(1), "c", Some(second), "three").unwrap();
        let name = inner_names(inner.as_ref())[0];
        Self { inner, name }
    }

    /// Changes a letter in the middle of a message, as somebody with a hex editor would.
    pub(super) fn damage(&self, place: usize) {
        self.alter(place, |body| flipped(body, body.len() / 2));
    }

    /// Replaces the sealed body of a message.
    pub(super) fn alter(&self, place: usize, other: impl FnOnce(&str) -> String) {
        let record = kept(self.inner.as_ref(), self.name).swap_remove(place);
        let body = other(&record.body);
        let row =
            self.inner.list(&rejoin::store::ListQuery { limit: 1, ..Default::default() }).unwrap().items;
        let messages = [Rewritten { id: record.id, link: record.link, body: &body }];
        let change = Change::Rewrite {
            messages: &messages,
            previews: PreviewUpdate { first: &row[0].first, last: &row[0].last },
        };
        self.inner.amend(self.name, None, &change, NOW).unwrap();
    }

    /// Changes a letter in the middle of the header.
    pub(super) fn damage_header(&self) {
        let rows = self.inner.list(&rejoin::store::ListQuery { limit: 1, ..Default::default() });
        let header = rows.unwrap().items.remove(0).header;
        let header = flipped(&header, header.len() / 2);
        let change = Change::Header { facets: &rejoin::store::Facets::default(), header: &header };
        self.inner.amend(self.name, None, &change, NOW).unwrap();
    }

    pub(super) fn archive(&self) -> Archive {
        self.archive_ahead(0)
    }

    pub(super) fn archive_ahead(&self, days: i64) -> Archive {
        self.ahead_on(self.inner.clone(), days)
    }

    /// The same, on another store around the one inside.
    pub(super) fn ahead_on(&self, inner: Arc<dyn Inner>, days: i64) -> Archive {
        Archive::with_vault(Arc::new(sealed(inner))).with_nature(Arc::new(Ahead(days)))
    }

    fn owned_blob(&self, space: Space) -> (Vec<u8>, Vec<u8>) {
        let mut found = None;
        let get = self.inner.get(space, Some(self.name), BlobNames::ALL, &mut |name, bytes| {
            found = Some((name.to_vec(), bytes.to_vec()));
            Ok(())
        });
        get.unwrap();
        found.unwrap()
    }

    fn blob(&self, space: Space) -> (Vec<u8>, Vec<u8>) {
        let mut found = None;
        let get = self.inner.get(space, None, BlobNames::ALL, &mut |name, bytes| {
            found = Some((name.to_vec(), bytes.to_vec()));
            Ok(())
        });
        get.unwrap();
        found.unwrap()
    }
}

/// The text with another letter at a place.
pub(super) fn flipped(text: &str, at: usize) -> String {
    let other = if &text[at..=at] == "A" { "B" } else { "A" };
    [&text[..at], other, &text[at + 1..]].concat()
}

pub(super) fn texts(messages: &[rejoin::StoredMessage]) -> Vec<String> {
    messages.iter().map(|stored| stored.message.text()).collect()
}

pub(super) fn told(events: Vec<Event>) -> Vec<(Option<ConversationId>, EventKind)> {
    events.into_iter().map(|event| (event.conversation, event.kind)).collect()
}

#[test]
fn whoever_follows_is_told_once_of_a_record_that_does_not_open() {
    let stage = Stage::new();
    let (archive, other) = (stage.archive(), stage.archive());
    stage.damage(2);
    let mut events = other.subscribe().unwrap();

    archive.path(conversation(1), None).unwrap_err();
    archive.path(conversation(1), None).unwrap_err();

    let quarantined = EventKind::Quarantined { what: "message".to_owned(), reason: CHANGED.to_owned() };
    let expected = vec![(Some(conversation(1)), quarantined)];
    assert_eq!(told(events.next(Duration::from_secs(10)).unwrap()), expected);
    assert_eq!(events.next(Duration::ZERO).unwrap(), []);
    let later = stage.archive().events_after(0).next(Duration::ZERO).unwrap();
    assert_eq!(told(later[later.len() - 1..].to_vec()), expected);
    let behind = later.last().unwrap().stamp;
    assert_eq!(told(stage.archive().events_after(behind).next(Duration::ZERO).unwrap()), expected);
    assert_eq!(stage.archive().events_after(behind + 1).next(Duration::ZERO).unwrap(), []);
}

#[test]
fn a_lost_message_goes_when_its_days_are_over_and_the_rest_can_be_read() {
    let stage = Stage::new();
    stage.damage(2);
    stage.archive().path(conversation(1), None).unwrap_err();

    let [early, late] = [6, 8].map(|days| stage.archive_ahead(days).vault().purge_quarantined(7).unwrap());

    let archive = stage.archive();
    assert_eq!((early.len(), late.len()), (0, 1));
    assert_eq!((late[0].what.as_str(), late[0].conversation), ("message", Some(conversation(1))));
    assert_eq!(archive.vault().quarantined().unwrap(), []);
    let texts: Vec<String> = archive
        .reader()
        .all_messages(conversation(1), rejoin::store::Order::OldestFirst, 0, 9)
        .unwrap()
        .iter()
        .map(|stored| stored.message.text())
        .collect();
    assert_eq!(texts, ["one", "two"]);
    assert!(archive.maintenance().verify(conversation(1)).unwrap().is_sound());
    let audit = archive.audit().query(&AuditQuery::default()).unwrap();
    let noted: Vec<_> =
        audit.iter().map(|entry| (&entry.action, entry.reason.as_str(), entry.messages)).collect();
    let reason = "corruption-detected";
    let actions = [AuditAction::PurgeCompleted, AuditAction::Purged, AuditAction::Quarantined];
    assert_eq!(noted, actions.each_ref().map(|action| (action, reason, 1)));
}

#[test]
fn a_message_that_was_put_right_stays() {
    let stage = Stage::new();
    let before = kept(stage.inner.as_ref(), stage.name);
    stage.damage(2);
    stage.archive().path(conversation(1), None).unwrap_err();
    let messages_before = [Rewritten { id: before[2].id, link: before[2].link, body: &before[2].body }];
    let row = stage.inner.list(&rejoin::store::ListQuery { limit: 1, ..Default::default() }).unwrap().items;
    let previews = PreviewUpdate { first: &row[0].first, last: &row[0].last };
    stage
        .inner
        .amend(stage.name, None, &Change::Rewrite { messages: &messages_before, previews }, NOW)
        .unwrap();

    stage.archive_ahead(8).vault().purge_quarantined(7).unwrap();

    assert_eq!(kept(stage.inner.as_ref(), stage.name), before);
    assert_eq!(stage.archive().vault().quarantined().unwrap(), []);
    assert_eq!(messages(&sealed(stage.inner.clone()), conversation(1)).unwrap().len(), 3);
}

#[test]
fn a_lost_blob_goes_with_its_copy() {
    let stage = Stage::new();
    stage.archive().state().remember("notice", Some("seen")).unwrap();
    let (name, mut bytes) = stage.blob(Space::State);
    *bytes.last_mut().unwrap() ^= 1;
    let put = Put { space: Space::State, owner: None, name: &name, bytes: Some(&bytes) };
    stage.inner.put(&[put], Safety::Synced).unwrap();
    let refused = stage.archive().state().recall("notice").unwrap_err().kind();

    stage.archive_ahead(8).vault().purge_quarantined(7).unwrap();

    assert_eq!(refused, ErrorKind::Corrupt);
    assert_eq!(stage.archive().state().recall("notice").unwrap(), None);
}

#[test]
fn a_lost_label_goes_and_its_message_can_be_read() {
    let stage = Stage::new();
    let archive = stage.archive();
    archive.marks().label(conversation(1), "c".parse().unwrap(), Some("dinner")).unwrap();
    let record = kept(stage.inner.as_ref(), stage.name).swap_remove(2);
    let label = record.label.unwrap();
    let label = flipped(&label, label.len() / 2);
    let note = Note { label: Some(&label), is_pinned: false };
    stage.inner.amend(stage.name, None, &Change::Note(record.id, note), NOW).unwrap();
    let refused = stage.archive().path(conversation(1), None).unwrap_err().kind();

    stage.archive_ahead(8).vault().purge_quarantined(7).unwrap();

    assert_eq!(refused, ErrorKind::Corrupt);
    let texts: Vec<_> = stage.archive().path(conversation(1), None).unwrap();
    assert_eq!(texts.iter().map(|stored| stored.message.text()).collect::<Vec<_>>(), ["one", "two", "three"]);
}

#[test]
fn a_torn_open_turn_is_passed_over_and_the_next_save_writes_it_whole() {
    let stage = Stage::new();
    let archive = stage.archive();
    let mut recorder = archive.record(archive.resume(conversation(1)).unwrap(), "1@1");
    assert!(recorder.save_open(&Message::assistant("In Al"), &[]));
    let owner = Some(stage.name);
    let mut torn = None;
    let get = stage.inner.get(Space::OpenTurn, owner, BlobNames::ALL, &mut |name, bytes| {
        torn = Some((name.to_vec(), bytes[..bytes.len() / 2].to_vec()));
        Ok(())
    });
    get.unwrap();
    let (name, half) = torn.unwrap();
    let put = Put { space: Space::OpenTurn, owner, name: &name, bytes: Some(&half) };
    stage.inner.put(&[put], Safety::Synced).unwrap();

    let while_torn = stage.archive().open_turns().list(conversation(1)).unwrap();
    let is_saved = recorder.save_open(&Message::assistant("In Alfama"), &[]);

    let whole: Vec<String> = stage
        .archive()
        .open_turns()
        .list(conversation(1))
        .unwrap()
        .iter()
        .map(|turn| turn.partial.text())
        .collect();
    assert_eq!((while_torn, is_saved, whole), (vec![], true, vec!["In Alfama".to_owned()]));
}

#[test]
fn what_was_cut_is_no_envelope_or_names_a_key_that_never_was_goes_too() {
    // The id of the key stands in the letters 6 to 25.
    let damages: [fn(&str) -> String; 4] = [
        |body| body[..body.len() / 2].to_owned(),
        |body| body[..20].to_owned(),
        |body| format!("!{}", &body[1..]),
        |body| flipped(body, 12),
    ];

    let left = damages.map(|damage| {
        let stage = Stage::new();
        stage.alter(2, damage);
        stage.archive().path(conversation(1), None).unwrap_err();
        let gone = stage.archive_ahead(8).vault().purge_quarantined(7).unwrap().len();
        (gone, texts(&stage.archive().path(conversation(1), None).unwrap()))
    });

    let expected = (1, vec!["one".to_owned(), "two".to_owned()]);
    assert_eq!(left, [expected.clone(), expected.clone(), expected.clone(), expected]);
}

#[test]
fn a_record_whose_key_is_missing_stays() {
    let stage = Stage::new();
    let put = Put { space: KEYS, owner: Some(stage.name), name: b"data", bytes: None };
    stage.inner.put(&[put], Safety::Synced).unwrap();
    stage.archive().path(conversation(1), None).unwrap_err();

    let went = stage.archive_ahead(8).vault().purge_quarantined(7).unwrap();

    assert_eq!(went, []);
    assert_eq!(kept(stage.inner.as_ref(), stage.name).len(), 3);
}

#[test]
fn what_is_in_quarantine_goes_with_its_conversation() {
    let stage = Stage::new();
    stage.damage(0);
    let archive = stage.archive();
    archive.path(conversation(1), None).unwrap_err();
    let before = archive.vault().quarantined().unwrap().len();

    let report =
        archive.removal().purge(&[conversation(1)], rejoin::PurgeReason::CorruptionDetected, &mut |_| {});

    assert_eq!((before, report.purged), (1, vec![conversation(1)]));
    assert_eq!(archive.vault().quarantined().unwrap(), []);
}

#[test]
fn a_record_that_is_read_often_counts_once() {
    let stage = Stage::new();
    stage.damage(2);
    let archive = stage.archive();
    (0..1_001).for_each(|_| drop(archive.path(conversation(1), None).unwrap_err()));

    stage.damage(1);
    archive.path(conversation(1), None).unwrap_err();

    assert_eq!(archive.vault().quarantined().unwrap().len(), 2);
}

#[test]
fn what_opens_can_be_read_and_what_is_missing_is_named() {
    let stage = Stage::new();
    stage.damage(1);
    let archive = stage.archive().passing_over_damage();

    let path = archive.path(conversation(1), None).unwrap();

    let message = kept(stage.inner.as_ref(), stage.name)[1].id;
    let id = conversation(1);
    let missing =
        format!("the message `{message}` of conversation `{id}`, number 2, does not open: {CHANGED}");
    assert_eq!(texts(&path), ["one", "three"]);
    assert_eq!(archive.reader().passed_over(), [missing]);
    assert_eq!(archive.reader().passed_over(), [""; 0]);
    assert_eq!(stage.archive().path(id, None).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn one_bad_open_turn_does_not_hide_the_others() {
    let stage = Stage::new();
    let archive = stage.archive();
    let resume = || archive.resume(conversation(1)).unwrap();
    let mut first = archive.record(resume(), "1@1");
    assert!(first.save_open(&Message::assistant("In Al"), &[]));
    let (name, bytes) = stage.owned_blob(Space::OpenTurn);
    let mut second = archive.record(resume(), "2@1");
    assert!(second.save_open(&Message::assistant("In Belém"), &[]));

    let put = Put {
        space: Space::OpenTurn,
        owner: Some(stage.name),
        name: &name,
        bytes: Some(&bytes[..bytes.len() / 2]),
    };
    stage.inner.put(&[put], Safety::Synced).unwrap();

    let turns = stage.archive().open_turns().list(conversation(1)).unwrap();
    assert_eq!(turns.iter().map(|turn| turn.partial.text()).collect::<Vec<_>>(), ["In Belém"]);
}
