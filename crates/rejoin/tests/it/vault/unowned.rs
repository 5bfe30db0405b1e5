//! A damaged blob that belongs to no conversation stands in the way of nothing but itself.

use std::sync::Arc;

use rejoin::store::{BlobNames, MemoryStore, Put, Read, Safety, Space, Store};
use rejoin::{Archive, AuditAction, AuditEntry, AuditQuery, ErrorKind, PurgeReason, Retention, Sweep, Swept};

use crate::vault::sealed;
use crate::vault::write::{conversation, open, say};

fn archive(inner: &Arc<MemoryStore>) -> Archive {
    Archive::with_vault(Arc::new(sealed(inner.clone())))
}

/// Changes the last byte of everything in a space that belongs to no conversation.
fn damage(inner: &MemoryStore, space: Space) {
    let mut found = Vec::new();
    let get = inner.get(space, None, BlobNames::ALL, &mut |name, bytes| {
        found.push((name.to_vec(), bytes.to_vec()));
        Ok(())
    });
    get.unwrap();
    for (name, bytes) in &mut found {
        *bytes.last_mut().unwrap() ^= 1;
        let put = Put { space, owner: None, name, bytes: Some(bytes) };
        inner.put(&[put], Safety::Synced).unwrap();
    }
}

#[test]
fn everything_is_purged_and_reported_although_something_remembered_is_damaged() {
    let inner = Arc::new(MemoryStore::new());
    let vault = sealed(inner.clone());
    open(&vault, conversation(1));
    say(&vault, conversation(1), "a", None, "one").unwrap();
    archive(&inner).state().remember("notice", Some("seen")).unwrap();
    damage(&inner, Space::State);

    let report =
        archive(&inner).removal().purge_everything(PurgeReason::WorkspaceReset, &mut |_| {}).unwrap();

    let audit = archive(&inner).audit().query(&AuditQuery::default()).unwrap();
    assert_eq!((report.purged, report.is_erased), (vec![conversation(1)], true));
    assert!(audit.iter().any(|entry| entry.action == AuditAction::PurgeCompleted), "{audit:?}");
    assert_eq!(archive(&inner).state().recall("notice").unwrap(), None);
    assert_eq!(archive(&inner).vault().quarantined().unwrap(), []);
}

#[test]
fn a_damaged_mark_of_the_clock_does_not_end_sweeps() {
    let inner = Arc::new(MemoryStore::new());
    open(&sealed(inner.clone()), conversation(1));
    let sweep = Sweep {
        project: None,
        retention: Retention::of_days(30).unwrap(),
        active: &[],
        is_alive: &|_| false,
    };
    archive(&inner).retention().sweep(&sweep).unwrap();
    damage(&inner, Space::State);
    let refused = archive(&inner).state().recall("retention.clock").unwrap_err().kind();

    let swept = archive(&inner).retention().sweep(&sweep).unwrap();

    assert_eq!(refused, ErrorKind::Corrupt);
    assert!(matches!(swept, Swept::Done(_)), "{swept:?}");
    assert!(archive(&inner).state().recall("retention.clock").unwrap().is_some());
}

#[test]
fn a_damaged_audit_entry_is_passed_over() {
    let inner = Arc::new(MemoryStore::new());
    let note = |reason: &str| archive(&inner).audit().note(AuditEntry::new(AuditAction::Exported, reason));
    note("one").unwrap();
    damage(&inner, Space::Audit);
    note("two").unwrap();

    let audit = archive(&inner).audit().query(&AuditQuery::default()).unwrap();

    let exported = audit.iter().filter(|entry| entry.action == AuditAction::Exported);
    assert_eq!(exported.map(|entry| entry.reason.as_str()).collect::<Vec<_>>(), ["two"]);
}
