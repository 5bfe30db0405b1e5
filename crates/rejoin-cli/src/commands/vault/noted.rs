//! What was done to the keys of a vault, in its audit log: counts and ids, never a secret.

use rejoin::{Archive, AuditAction, AuditEntry, Fields, Json, StoreUrl};

use crate::context::Context;
use crate::removal::REASON;

/// Writes an entry into the audit log of a store. What is done is done, so a log
/// that cannot be written is a warning.
pub(super) fn audit(url: &StoreUrl, action: AuditAction, facts: &[(&str, Json)], context: &Context) {
    let mut extra = Fields::new();
    for (name, value) in facts {
        extra.set(*name, value.clone());
    }
    let entry = AuditEntry { extra, ..AuditEntry::new(action, REASON) };
    let noted = context.access().and_then(|access| {
        let archive = Archive::open_at(url, &access)?;
        Ok(archive.audit().note(entry)?)
    });
    if let Err(failure) = noted {
        context.manner.warn(&format!("the audit log was not written: {}", failure.summary()), None);
    }
}

/// A fact of an entry.
pub(super) fn fact(value: &impl serde::Serialize) -> Json {
    Json::of(value).expect("a fact is plain")
}
