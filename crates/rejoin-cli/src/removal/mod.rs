//! Removing at the user's wish: one plan and one report for `delete`, `clean`, `expire`, `purge` and `scrub`.
//!
//! A plan shows what will go and asks; a report says what became of each item, counts, warns and makes the
//! exit code. How an item is described before and after is here, too.

mod plan;
mod report;

pub(crate) use plan::RemovalPlan;
pub(crate) use report::{Fate, FateShape, RemovalReport, RemovedShape};

use rejoin::{Archive, ConversationId, Hold, PurgeKeys, StoredConversation};

use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::named;
use crate::ui::size;

/// Why something was deleted, as the events and the audit tell it.
pub(crate) const REASON: &str = "user-requested";

/// What helps where something could not be deleted.
pub(crate) const SEE_WHAT_IS_WRONG: &str = "run `rejoin doctor` to see what is wrong";

/// How many things a question lists before it only counts the rest: a small screen must hold all of it.
pub(crate) const LISTED: usize = 10;

/// Deletes a conversation and returns the bytes its messages took.
pub(crate) fn delete_conversation(archive: &Archive, id: ConversationId) -> Result<u64, Failure> {
    let mut deleted = archive.removal().delete(&[id], REASON);
    match deleted.failed.pop() {
        Some((_, why)) => Err(Failure::new(Kind::Other, why)),
        None => Ok(deleted.bytes()),
    }
}

/// Where the user stands, so that what lies elsewhere or is in use can be pointed out.
#[derive(Clone, Debug, Default)]
pub(crate) struct UserStanding {
    project: Option<String>,
    active: Option<ConversationId>,
}

impl UserStanding {
    pub(crate) fn here(archive: &Archive, context: &Context) -> Result<Self, Failure> {
        let project = Some(context.project_key(archive)?);
        Ok(Self { project, active: context.active_conversation(archive)? })
    }
}

/// A conversation with what a person should know before it goes: `"Lisbon" (12 messages, 3.4 kB, held)`. The
/// title stands in it as it is, so only `consent` may show it.
pub(crate) fn describe_as_it_is(stored: &StoredConversation, standing: &UserStanding) -> String {
    describe_titled(&named::title_as_it_is(stored), stored, standing)
}

/// The same for a conversation that is gone, safe to print.
pub(crate) fn describe(stored: &StoredConversation) -> String {
    describe_titled(&named::title(stored), stored, &UserStanding::default())
}

fn describe_titled(title: &str, stored: &StoredConversation, standing: &UserStanding) -> String {
    let mut facts = vec![size::count(stored.messages, "message", "messages"), size::bytes(stored.bytes)];
    facts.extend(match stored.conversation.hold {
        Hold::None => None,
        Hold::Import => Some("held since its import".to_owned()),
        Hold::User => Some("held".to_owned()),
    });
    facts.extend((standing.active == Some(stored.id)).then(|| "active".to_owned()));
    let is_elsewhere = standing.project.is_some() && standing.project != stored.conversation.project;
    facts.extend(is_elsewhere.then(|| "not of this project".to_owned()));
    format!("\"{title}\" ({})", facts.join(", "))
}

/// The question before something is deleted: `Delete 2 conversations (3.4 kB) for good?`.
pub(crate) fn question(what: &str, bytes: u64) -> String {
    format!("Delete {what} ({}) for good?", size::bytes(bytes))
}

/// Warns that something is still there. `done` is what failed, such as `deleted`.
pub(crate) fn warn_of_failure(done: &str, what: &str, why: &str, hint: Option<&str>, context: &Context) {
    context.manner.warn(&format!("not {done}: {what}: {why}"), hint);
}

/// `1 conversation`, `3 messages`, or both.
pub(crate) fn amount(conversations: u64, messages: u64) -> String {
    let counts = [
        (conversations, size::count(conversations, "conversation", "conversations")),
        (messages, size::count(messages, "message", "messages")),
    ];
    let told: Vec<String> =
        counts.into_iter().filter(|(count, _)| *count > 0).map(|(_, told)| told).collect();
    told.join(" and ")
}

/// Warns when what was purged can still be opened in an older copy of the vault with the keys of today.
pub(crate) fn warn_of_keys(keys: PurgeKeys, context: &Context) {
    match keys {
        PurgeKeys::Kept => context.manner.warn(
            "a slot of another machine kept its secret, so an older copy of the vault opens with it",
            Some("run `rejoin vault rotate` there too, or remove the slot"),
        ),
        PurgeKeys::Failed => context.manner.warn(
            "the keys of the vault were not replaced, so an older copy of it opens with those of today",
            Some("unlock the keyring and run `rejoin expire`, or `rejoin vault rotate`"),
        ),
        _ => {}
    }
}
