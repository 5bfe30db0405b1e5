//! Purging, and what those who follow are told of it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::store::{BlobNames, Space, SqliteStore};
use rejoin::{
    Archive, AuditAction, AuditEntry, AuditQuery, Conversation, ConversationId, ErrorKind, EventKind, Hold,
    List, PurgeOutcome, PurgeReason, Time, UnpurgedConversation,
};

use super::{Lab, archive, archive_at, archive_in, talk};
use crate::vault_spaces::QUARANTINE;

fn say(archive: &Archive, title: &str) -> ConversationId {
    let mut handle = archive.start(Conversation::titled(title)).unwrap();
    handle.append_turn(talk(&["question", "answer"])).unwrap();
    handle.id()
}

#[test]
fn a_purge_reports_what_went_and_what_did_not() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let (one, two) = (say(&archive, "one"), say(&archive, "two"));
    let bytes = archive.conversation(one).unwrap().bytes + archive.conversation(two).unwrap().bytes;
    let missing: ConversationId = "018f0000-0000-7000-8000-000000000000".parse().unwrap();
    let mut told = Vec::new();

    let report = archive
        .removal()
        .purge(&[one, missing, two], PurgeReason::WorkspaceReset, &mut |done| told.push(done));

    let now = Time::from_micros(1_800_000_000_000_000);
    let failure = UnpurgedConversation {
        conversation: missing,
        kind: ErrorKind::NotFound,
        error: format!("no conversation `{missing}`"),
    };
    let expected = PurgeOutcome {
        reason: PurgeReason::WorkspaceReset,
        started_at: now,
        completed_at: now,
        purged: vec![one, two],
        messages: 4,
        bytes,
        failures: vec![failure],
        is_erased: true,
        keys: rejoin::PurgeKeys::None,
    };
    assert_eq!((report, told), (expected, vec![1, 2, 3]));
}

/// Starts a run of a sub-agent under a conversation.
fn run_of(archive: &Archive, parent: ConversationId, name: &str) -> ConversationId {
    let asked = archive.conversation(parent).unwrap().head.unwrap().id;
    let mut run = archive.subagents().start(parent, asked, name, "1").unwrap();
    run.append_turn(talk(&["look", "looked"])).unwrap();
    run.id()
}

#[test]
fn the_runs_of_sub_agents_are_purged_before_what_started_them() {
    let archive = archive();
    let (one, other) = (say(&archive, "one"), say(&archive, "other"));
    let run = run_of(&archive, one, "scout");
    let deeper = run_of(&archive, run, "deeper");
    let kept = run_of(&archive, other, "scout");
    archive.update(deeper, |header| header.hold = Hold::User).unwrap();
    let mut told = Vec::new();

    let along: Vec<ConversationId> =
        archive.removal().purged_along(&[one]).unwrap().iter().map(|stored| stored.id).collect();
    let report =
        archive.removal().purge(&[one, one], PurgeReason::UserRequested, &mut |done| told.push(done));

    assert_eq!(along, [run, deeper]);
    assert_eq!((report.purged, report.messages, report.failures), (vec![deeper, run, one], 6, vec![]));
    assert_eq!(told, [1, 2, 3]);
    let left: HashSet<ConversationId> =
        archive.maintenance().survey().unwrap().conversations.into_iter().collect();
    assert_eq!(left, HashSet::from([other, kept]));
}

#[test]
fn a_run_that_is_named_with_what_started_it_is_purged_once() {
    let archive = archive();
    let one = say(&archive, "one");
    let run = run_of(&archive, one, "scout");

    let report = archive.removal().purge(&[one, run], PurgeReason::UserRequested, &mut |_| ());

    assert_eq!((report.purged, report.failures), (vec![one, run], vec![]));
    assert_eq!(archive.removal().purged_along(&[]).unwrap(), []);
}

/// The fifth document's fourth acceptance criterion.
#[test]
fn a_purge_on_privacy_grounds_tells_its_reason_and_its_counts() {
    let archive = archive();
    let id = say(&archive, "one");
    let bytes = archive.conversation(id).unwrap().bytes;
    let mut events = archive.subscribe().unwrap();

    archive.removal().purge(&[id], PurgeReason::PrivacyPolicyChange, &mut |_| ());

    let reason = || "privacy-policy-change".to_owned();
    let kinds: Vec<EventKind> =
        events.next(Duration::ZERO).unwrap().into_iter().map(|event| event.kind).collect();
    let completed = EventKind::PurgeCompleted {
        reason: reason(),
        conversations: 1,
        messages: 2,
        bytes,
        failures: 0,
        is_erased: true,
    };
    assert_eq!(kinds, [EventKind::Deleted { reason: reason() }, completed]);
    let audited = archive.audit().query(&AuditQuery::default()).unwrap();
    let told: Vec<(AuditAction, String, u64)> =
        audited.into_iter().map(|entry| (entry.action, entry.reason, entry.conversations)).collect();
    assert_eq!(told, [(AuditAction::PurgeCompleted, reason(), 1), (AuditAction::Purged, reason(), 1)]);
}

#[test]
fn a_purge_in_another_process_is_told_to_who_waits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.db");
    let archive = archive_at(&path);
    let id = say(&archive, "one");
    let mut events = archive_at(&path).subscribe().unwrap();

    let told = std::thread::scope(|scope| {
        let follower = scope.spawn(move || {
            let mut kinds = Vec::new();
            while !kinds.iter().any(|kind| matches!(kind, EventKind::PurgeCompleted { .. })) {
                let page = events.next(Duration::from_secs(20)).unwrap();
                assert!(!page.is_empty(), "nothing was told: {kinds:?}");
                kinds.extend(page.into_iter().map(|event| event.kind));
            }
            kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>()
        });
        archive.removal().purge(&[id], PurgeReason::UserRequested, &mut |_| ());
        follower.join().unwrap()
    });

    assert_eq!(told, ["conversationDeleted", "privacy.purge.completed"]);
}

#[test]
fn a_purge_that_was_cut_off_is_not_told_as_completed() {
    let archive = archive();
    let id = say(&archive, "one");
    let target = rejoin::store::Target::Conversation(id);
    archive.store().remove(&[target], "user-requested", archive.now()).unwrap();

    let told: Vec<EventKind> =
        archive.events_after(0).next(Duration::ZERO).unwrap().into_iter().map(|event| event.kind).collect();

    assert_eq!(told.last(), Some(&EventKind::Deleted { reason: "user-requested".to_owned() }));
}

#[test]
fn purging_everything_leaves_the_audit_log_only() {
    let archive = archive();
    say(&archive, "one");
    say(&archive, "two");
    archive.state().remember("prompt.history:/home/ada/trip", Some("[\"a secret\"]")).unwrap();

    let report = archive.removal().purge_everything(PurgeReason::WorkspaceReset, &mut |_| ()).unwrap();

    let mut left = 0;
    for space in [Space::State, Space::Project, Space::Attachment, QUARANTINE] {
        let mut count = |_: &[u8], _: &[u8]| {
            left += 1;
            Ok(())
        };
        archive.store().get(space, None, BlobNames::ALL, &mut count).unwrap();
    }
    let everything = List { includes_expired: true, ..List::default() };
    assert_eq!((report.purged.len(), left, archive.reader().count(&everything).unwrap()), (2, 0, 0));
    let audited: Vec<AuditEntry> = archive.audit().query(&AuditQuery::default()).unwrap();
    assert_eq!(audited.len(), 3);
}

#[test]
fn a_purge_takes_less_than_half_a_second_a_record() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.db");
    let archive = Archive::with_store(Arc::new(SqliteStore::open(path).unwrap()));
    let ids: Vec<ConversationId> = (0..4)
        .map(|_| {
            let mut handle = archive.start(Conversation::titled("long")).unwrap();
            for _ in 0..20 {
                handle.append_turn(talk(&["some words that are indexed"; 50])).unwrap();
            }
            handle.id()
        })
        .collect();
    archive.maintenance().run(rejoin::store::Task::Index, Duration::MAX).unwrap();

    let began = Instant::now();
    let report = archive.removal().purge(&ids, PurgeReason::UserRequested, &mut |_| ());

    let each = began.elapsed() / 4;
    assert_eq!((report.purged.len(), report.messages, report.is_erased), (4, 4_000, true));
    assert!(each < Duration::from_millis(500), "{each:?}");
}

/// What is told to whoever begins behind a stamp.
fn told_after(archive: &Archive, stamp: u64) -> Vec<&'static str> {
    let events = archive.events_after(stamp).next(Duration::ZERO).unwrap();
    events.iter().map(|event| event.kind.name()).collect()
}

#[test]
fn a_follower_that_stopped_before_a_purge_ended_is_told_at_the_next_follow() {
    let archive = archive();
    let (one, two) = (say(&archive, "one"), say(&archive, "two"));
    // Something else happens between the last deletion and the end.
    let mut begin = |done| {
        if done == 2 {
            archive.start(Conversation::titled("meanwhile")).unwrap();
        }
    };

    archive.removal().purge(&[one, two], PurgeReason::UserRequested, &mut begin);

    let stamps: Vec<u64> =
        archive.events_after(0).next(Duration::ZERO).unwrap().iter().map(|event| event.stamp).collect();
    let [first, second, meanwhile] = [stamps[4], stamps[5], *stamps.last().unwrap()];
    let (deleted, completed, stored) =
        ("conversationDeleted", "privacy.purge.completed", "conversationStored");
    assert_eq!(told_after(&archive, first), [deleted, stored, completed]);
    assert_eq!(told_after(&archive, second), [stored, completed]);
    assert_eq!(told_after(&archive, meanwhile), [completed]);
    archive.start(Conversation::titled("later")).unwrap();
    assert_eq!(told_after(&archive, meanwhile), [completed, stored]);
    assert_eq!(told_after(&archive, meanwhile + 1), [""; 0]);
}

#[test]
fn a_reason_is_one_of_those_there_are() {
    let reasons: Vec<PurgeReason> =
        PurgeReason::ALL.iter().map(|reason| reason.as_str().parse().unwrap()).collect();

    let refused = "because".parse::<PurgeReason>().unwrap_err();
    let unread = serde_json::from_str::<PurgeReason>("7").unwrap_err();

    let all = PurgeReason::ALL.map(PurgeReason::as_str).join(", ");
    assert_eq!(refused.to_string(), format!("`because` is not a reason; expected one of {all}"));
    assert_eq!((reasons, unread.is_data()), (PurgeReason::ALL.to_vec(), true));
}

#[test]
fn a_report_says_in_words_what_failed() {
    let archive = archive();
    let gone = ConversationId::from_bytes([7; 16]);

    let report = archive.removal().purge(&[gone], PurgeReason::UserRequested, &mut |_| ());

    let at = archive.now();
    assert_eq!(
        serde_json::to_value(&report).unwrap(),
        serde_json::json!({
            "reason": "user-requested", "started_at": at, "completed_at": at, "purged": [], "messages": 0, "bytes": 0,
            "failures": [
                {"conversation": gone, "kind": "not found", "error": format!("no conversation `{gone}`")}
            ],
            "is_erased": true, "keys": null,
        })
    );
}
