//! The acceptance criteria of the document that the service comes from, one test each.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::service::{
    AttachmentRef, ConversationRecordInput, ConversationStorageService, ListOptions, MessageFrame,
    RecoverySnapshot,
};
use rejoin::store::{Change, ListQuery, MemoryStore, Order, PreviewUpdate, Rewritten, Selection, Store};
use rejoin::testing::Place;
use rejoin::{
    Archive, AttachmentKind, AuditAction, AuditQuery, Error, ErrorKind, PurgeReason, Retention, Strain, Time,
};

use super::{BEGAN, everywhere, frame, id_of, input, open, said, saying};
use crate::archive::Lab;
use crate::archive::moody::{Mood, Moody};
use crate::doubles::{Around, Write, a_store};
use crate::residue::holding;
use crate::stores::{Directory, File, Memory};
use crate::vault::{Ahead, InnerPlace, Vault, sealed};

const DAY: i64 = 86_400;
const NOWHERE: [PathBuf; 0] = [];

fn titles(service: &ConversationStorageService, options: &ListOptions) -> Vec<String> {
    service.list_records(options).unwrap().items.into_iter().map(|item| item.title).collect()
}

fn everything() -> ListOptions {
    ListOptions { include_expired: true, ..ListOptions::default() }
}

/// Ends nine sessions, and tells the time that the middle one took.
fn commit_nine(place: &dyn Place, directory: &Path) -> Duration {
    let service = open(place);
    let mut took: Vec<Duration> = (1..=9)
        .map(|number| {
            let record = input(number, &format!("session {number}"));
            let begun = Instant::now();
            service.commit_conversation(&record).unwrap();
            begun.elapsed()
        })
        .collect();
    took.sort();
    let expected: Vec<String> = (1..=9).rev().map(|number| format!("session {number}")).collect();
    assert_eq!(titles(&service, &ListOptions::default()), expected);
    assert_eq!(holding(directory, &["build failing", "session 1", "Agent Voice"]), NOWHERE);
    took[4]
}

#[test]
fn ac_001_a_session_that_ends_is_sealed_stored_in_time_and_listed_first() {
    let (file, files) = (File::new(), Directory::new());
    let paths = [file.0.path(), files.0.path()].map(Path::to_owned);

    let took = [commit_nine(&Vault(file), &paths[0]), commit_nine(&Vault(files), &paths[1])];

    assert!(took.iter().all(|took| *took < Duration::from_millis(150)), "{took:?}");
}

#[test]
fn ac_002_after_a_crash_the_snapshot_opens_and_restores_the_talk_in_time() {
    let file = File::new();
    let directory = file.0.path().to_owned();
    let place = Vault(file);
    let service = open(&place);
    service.create_record(&input(1, "talk")).unwrap();
    let snapshot = RecoverySnapshot {
        conversation_id: id_of(1),
        saved_at: BEGAN,
        messages: vec![frame(2, "The lint step is failing on unused imports.")],
        ..RecoverySnapshot::default()
    };
    service.commit_snapshot(&snapshot).unwrap();
    // A process that is killed closes nothing.
    std::mem::forget(service);
    assert_eq!(holding(&directory, &["unused imports"]), NOWHERE);

    let begun = Instant::now();
    let service = open(&place);
    let restored = service.get_snapshot(&id_of(1)).unwrap();
    let mut state = ConversationRecordInput::from(service.get_record(&id_of(1)).unwrap().unwrap());
    let took = begun.elapsed();

    assert_eq!(restored, Some(snapshot.clone()));
    assert!(took < Duration::from_secs(2), "{took:?}");
    state.messages.extend(snapshot.messages);
    service.commit_conversation(&state).unwrap();
    let expected = ["Why is the build failing?", "The lint step is failing on unused imports."];
    assert_eq!(
        (said(&service, 1), service.get_snapshot(&id_of(1)).unwrap()),
        (expected.map(str::to_owned).to_vec(), None)
    );
}

/// A record that says something of its own.
fn saying_only(number: u8, title: &str, words: &str) -> ConversationRecordInput {
    ConversationRecordInput { messages: vec![frame(1, words)], ..input(number, title) }
}

/// Lets one of two records expire, and tells how many the store inside has before and after.
fn fifteen_days_with_fourteen(place: &dyn Place, inside: &dyn Place) -> [usize; 2] {
    let lab = Lab::new();
    let rows = || inside.open().list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap().items.len();
    let start = || {
        let archive = Archive::with_store(place.open()).with_nature(lab.clone());
        ConversationStorageService::new(archive).with_retention(Retention::of_days(14).unwrap())
    };
    start().create_record(&saying_only(1, "old", "zanzibar quokka")).unwrap();
    lab.turn_clock(10 * DAY);
    start().create_record(&saying_only(2, "new", "lisbon quetzal")).unwrap();
    lab.turn_clock(5 * DAY);
    let before = rows();

    let service = start();
    let listed = titles(&service, &ListOptions::default());
    let report = service.sweep().unwrap().unwrap();

    assert_eq!((listed, titles(&service, &everything())), (vec!["new".to_owned()], vec!["new".to_owned()]));
    let told = (report.reason, report.purged_count, report.failures.len());
    assert_eq!(told, (PurgeReason::RetentionExpired, 1, 0));
    assert_eq!(service.get_record(&id_of(1)).unwrap(), None);
    [before, rows()]
}

#[test]
fn ac_003_after_fifteen_days_with_fourteen_records_are_gone_and_not_listed() {
    let (file, files) = (File::new(), Directory::new());
    let paths = [file.0.path(), files.0.path()].map(Path::to_owned);
    let sealed = (Vault(File::new()), Vault(Directory::new()));

    let counts = [
        fifteen_days_with_fourteen(&file, &file),
        fifteen_days_with_fourteen(&files, &files),
        fifteen_days_with_fourteen(&sealed.0, &sealed.0.0),
        fifteen_days_with_fourteen(&sealed.1, &sealed.1.0),
    ];

    assert_eq!(counts, [[2, 1]; 4]);
    // What stays can be read in plain files, and of what went nothing is left there.
    assert!(paths.iter().all(|path| holding(path, &["lisbon quetzal"]) != NOWHERE));
    assert_eq!(paths.map(|path| holding(&path, &["zanzibar quokka"])), [NOWHERE; 2]);
}

/// Attaches a file to a record, with a frame that names it, and returns the name.
fn attach(service: &ConversationStorageService, number: u8, bytes: &[u8]) -> AttachmentRef {
    let id = id_of(number).parse().unwrap();
    let attached = service
        .archive()
        .unwrap()
        .attachments()
        .add(id, AttachmentKind::Transcript, &mut &bytes[..])
        .unwrap();
    let named = AttachmentRef::from(attached);
    let said = MessageFrame { attachments: vec![named.clone()], ..frame(2, "Here it is.") };
    service.update_record(&id_of(number), &saying(vec![said])).unwrap();
    named
}

#[test]
fn an_attachment_is_named_in_its_frame_and_kept_by_the_archive() {
    everywhere(|place| {
        let service = open(place);
        service.create_record(&input(1, "with a file")).unwrap();

        let named = attach(&service, 1, b"a recording");

        let record = open(place).get_record(&id_of(1)).unwrap().unwrap();
        assert_eq!(
            (&record.messages[1].content[..], &record.messages[1].attachments[..]),
            ("Here it is.", &[named][..])
        );
        let (id, archive) = (id_of(1).parse().unwrap(), service.archive().unwrap());
        let mut bytes = Vec::new();
        archive
            .attachments()
            .read(id, archive.attachments().list(id).unwrap()[0].digest, &mut bytes)
            .unwrap();
        assert_eq!(bytes, b"a recording");
    });
}

#[test]
fn ac_004_a_purge_on_privacy_grounds_removes_everything_and_tells_its_reason() {
    let inner = Memory(MemoryStore::new());
    let archive = Archive::with_vault(Arc::new(sealed(inner.inner())));
    let service = ConversationStorageService::new(archive);
    service.create_record(&input(1, "private")).unwrap();
    attach(&service, 1, b"a recording");
    service.commit_snapshot(&RecoverySnapshot { conversation_id: id_of(1), ..Default::default() }).unwrap();
    let mut events = service.subscribe().unwrap();

    service.delete_record(&id_of(1), PurgeReason::PrivacyPolicyChange).unwrap();

    let told: Vec<(&str, Option<String>)> = events
        .next(Duration::from_secs(10))
        .unwrap()
        .iter()
        .map(|event| (event.kind.name(), event.kind.reason().map(str::to_owned)))
        .collect();
    let reason = || Some("privacy-policy-change".to_owned());
    assert_eq!(told, [("conversationDeleted", reason()), ("privacy.purge.completed", reason())]);
    assert_eq!(service.get_record(&id_of(1)).unwrap(), None);
    let left = inner.open().list(&ListQuery { limit: 9, ..ListQuery::default() }).unwrap().items;
    assert_eq!(left, []);
    assert_eq!(service.archive().unwrap().attachments().list(id_of(1).parse().unwrap()).unwrap(), []);
    let audited = service.archive().unwrap().audit().query(&AuditQuery::default()).unwrap();
    let audited: Vec<(AuditAction, String)> =
        audited.into_iter().map(|entry| (entry.action, entry.reason)).collect();
    let why = || "privacy-policy-change".to_owned();
    assert!(audited.contains(&(AuditAction::Purged, why())), "{audited:?}");
    assert!(audited.contains(&(AuditAction::PurgeCompleted, why())), "{audited:?}");
}

/// Changes a letter of the newest message of the one conversation that a store holds.
fn tamper(inner: &dyn Store) {
    let row = inner.list(&ListQuery { limit: 1, ..ListQuery::default() }).unwrap().items.remove(0);
    let newest = Selection::All { order: Order::NewestFirst, offset: 0, limit: 1 };
    let mut found = None;
    let read = inner.read(row.id, newest, &mut |seen| {
        found = Some((seen.id, seen.link, seen.body.to_owned()));
        Ok(())
    });
    read.unwrap();
    let (id, link, mut body) = found.unwrap();
    let middle = body.len() / 2;
    let other = if &body[middle..=middle] == "A" { "B" } else { "A" };
    body.replace_range(middle..=middle, other);
    let messages = [Rewritten { id, link, body: &body }];
    let previews = PreviewUpdate { first: &row.first, last: &row.last };
    inner.amend(row.id, None, &Change::Rewrite { messages: &messages, previews }, BEGAN).unwrap();
}

#[test]
fn ac_005_a_record_that_was_tampered_with_is_quarantined_and_told_and_can_be_purged() {
    let inner = Memory(MemoryStore::new());
    let service = ConversationStorageService::new(Archive::with_vault(Arc::new(sealed(inner.inner()))));
    service.create_record(&input(2, "tampered")).unwrap();
    tamper(inner.open().as_ref());
    service.create_record(&input(1, "sound")).unwrap();

    let mut events = service.subscribe().unwrap();

    let error = service.get_record(&id_of(2)).unwrap_err();

    let copies = service.archive().unwrap().vault().quarantined().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    assert_eq!((copies.len(), copies[0].conversation.map(|id| id.to_string())), (1, Some(id_of(2))));
    let told: Vec<_> = events
        .next(Duration::from_secs(10))
        .unwrap()
        .into_iter()
        .map(|event| (event.kind.name(), event.conversation.map(|id| id.to_string())))
        .collect();
    assert_eq!(told, [("record.quarantined", Some(id_of(2)))]);
    assert_eq!(said(&service, 1), ["Why is the build failing?"]);
    service.delete_record(&id_of(2), PurgeReason::CorruptionDetected).unwrap();
    assert_eq!(titles(&service, &everything()), ["sound"]);
}

#[test]
fn ac_005_a_sweep_purges_what_was_in_quarantine_for_a_week() {
    let inner = Memory(MemoryStore::new());
    let ahead = |days| {
        let store = Arc::new(sealed(inner.inner()));
        ConversationStorageService::new(Archive::with_vault(store).with_nature(Arc::new(Ahead(days))))
    };
    ahead(0).create_record(&input(1, "tampered")).unwrap();
    tamper(inner.open().as_ref());
    ahead(0).get_record(&id_of(1)).unwrap_err();
    let mut events = ahead(0).subscribe().unwrap();

    let left = [6, 8].map(|days| {
        let service = ahead(days);
        let report = service.sweep().unwrap().unwrap();
        (report.purged_count, service.archive().unwrap().vault().quarantined().unwrap().len())
    });

    assert_eq!(left, [(0, 1), (0, 0)]);
    let told = events.next(Duration::from_secs(10)).unwrap();
    let purged = told.iter().find(|event| event.kind.name() == "privacy.purge.completed").unwrap();
    assert_eq!(purged.kind.reason(), Some("corruption-detected"));
    assert_eq!(said(&ahead(8), 1), [""; 0]);
}

#[test]
fn ac_006_on_a_full_disk_a_write_warns_and_waits_and_is_made_after_a_purge() {
    let store = Arc::new(Moody::new());
    let service = ConversationStorageService::new(Archive::with_store(Arc::clone(&store) as Arc<dyn Store>));
    service.create_record(&input(1, "old")).unwrap();
    store.set(Mood::Full);

    let refused = service.create_record(&input(2, "new")).unwrap_err();
    let more = service.update_record(&id_of(2), &saying(vec![frame(2, "Lint.")])).unwrap_err();
    let told = service.take_strains();
    let waiting = service.waiting_writes();
    store.set(Mood::Well);
    service.delete_record(&id_of(1), PurgeReason::UserRequested).unwrap();
    service.create_record(&input(3, "newest")).unwrap();

    let sentence = "there is no room left to save; the record waits and is saved once some space is free";
    assert_eq!((refused.kind(), refused.to_string().as_str()), (ErrorKind::Unavailable, sentence));
    assert_eq!((more.to_string().as_str(), told, waiting), (sentence, vec![Strain::Exhausted], 2));
    assert_eq!(
        (titles(&service, &everything()).join(" "), service.waiting_writes()),
        ("newest new".to_owned(), 0)
    );
    assert_eq!(said(&service, 2), ["Why is the build failing?", "Lint."]);
    let events = service.archive().unwrap().events_after(0).next(Duration::ZERO).unwrap();
    assert!(events.iter().any(|event| event.kind.name() == "storage.capacity.exhausted"), "{events:?}");
}

#[test]
fn what_waits_for_room_goes_with_the_record_that_is_purged() {
    let store = Arc::new(Moody::new());
    let service = ConversationStorageService::new(Archive::with_store(Arc::clone(&store) as Arc<dyn Store>));
    service.create_record(&input(1, "one")).unwrap();
    store.set(Mood::Full);
    service.update_record(&id_of(1), &saying(vec![frame(2, "private")])).unwrap_err();
    service.create_record(&input(2, "two")).unwrap_err();
    store.set(Mood::Well);

    service.delete_record(&id_of(1), PurgeReason::UserRequested).unwrap();
    let left = titles(&service, &everything());
    store.set(Mood::Full);
    service.create_record(&input(3, "three")).unwrap_err();
    store.set(Mood::Well);
    let report = service.purge_all(PurgeReason::WorkspaceReset).unwrap();

    assert_eq!(left, ["two"]);
    assert_eq!((report.purged_count, service.waiting_writes()), (1, 0));
    assert_eq!(titles(&service, &everything()), [""; 0]);
}

#[test]
fn a_store_that_failed_is_opened_again_before_the_next_write() {
    let place = Memory(MemoryStore::new());
    let failing = Arc::new(Moody::over(MemoryStore::new()));
    let store = place.open();
    let service =
        ConversationStorageService::new(Archive::with_store(Arc::clone(&failing) as Arc<dyn Store>))
            .reopening(move || Ok(Archive::with_store(Arc::clone(&store))));
    failing.set(Mood::Full);
    service.create_record(&input(1, "one")).unwrap_err();

    let left = service.retry().unwrap();

    assert_eq!((left, titles(&open(&place), &everything())), (0, vec!["one".to_owned()]));
}

#[test]
fn a_report_of_a_purge_is_spelled_as_in_the_document() {
    let lab = Lab::new();
    let archive = Archive::with_store(Arc::new(MemoryStore::new())).with_nature(lab);
    let service = ConversationStorageService::new(archive);
    service.create_record(&input(1, "one")).unwrap();
    service.create_record(&input(2, "two")).unwrap();

    let report = service.purge_all(PurgeReason::WorkspaceReset).unwrap();

    let now = Time::from_micros(1_800_000_000_000_000);
    let expected = serde_json::json!({
        "reason": "workspace-reset", "startedAt": now, "completedAt": now, "purgedCount": 2, "failures": [],
    });
    let shown = serde_json::to_value(&report).unwrap();
    assert_eq!(shown, expected);
    assert_eq!(serde_json::from_value::<rejoin::service::PurgeReport>(shown).unwrap(), report);
}

/// A store whose files somebody reads all the time, so that what was removed is not erased from them.
struct Watched(MemoryStore);

a_store!(Watched);

impl Around for Watched {
    fn inner(&self) -> &dyn Store {
        &self.0
    }

    fn writing<T>(
        &self,
        write: Write,
        work: impl FnOnce(&dyn Store) -> rejoin::Result<T>,
    ) -> rejoin::Result<T> {
        match write {
            Write::Maintain => Err(Error::new(ErrorKind::Locked, "somebody reads it")),
            _ => work(self.inner()),
        }
    }
}

#[test]
fn a_report_of_a_purge_tells_that_traces_are_left() {
    let service = ConversationStorageService::new(Archive::with_store(Arc::new(Watched(MemoryStore::new()))));
    service.create_record(&input(1, "one")).unwrap();

    let report = service.purge_all(PurgeReason::WorkspaceReset).unwrap();

    assert_eq!((report.purged_count, report.erased), (1, false));
    assert_eq!(serde_json::to_value(&report).unwrap()["erased"], false);
}
