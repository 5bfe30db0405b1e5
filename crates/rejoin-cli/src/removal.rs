//! Deleting at the user's wish: how it is recorded, and how what goes is described before and after.

use rejoin::{Archive, ConversationId, Hold, PurgeKeys, StoredConversation};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::named;
use crate::ui::size;

/// Why something was deleted, as the events and the audit tell it.
pub(crate) const REASON: &str = "user-requested";

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

/// What becomes of something that was to go, as programs read it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Outcome {
    Planned,
    /// It goes within the days of notice.
    Soon,
    Deleted,
    #[serde(rename = "passed by")]
    PassedBy,
    /// It was not there.
    Missing,
    Failed,
}

/// What becomes of conversations that are old, as programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct Removed<Item> {
    pub(crate) items: Vec<Item>,
    pub(crate) deleted: u64,
    pub(crate) bytes: u64,
    pub(crate) failed: usize,
}

/// Where the user stands, so that what lies elsewhere or is in use can be pointed out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    project: Option<String>,
    active: Option<ConversationId>,
}

impl Standing {
    pub(crate) fn here(archive: &Archive, context: &Context) -> Result<Self, Failure> {
        let project = Some(context.project_key(archive)?);
        Ok(Self { project, active: context.active_conversation(archive)? })
    }
}

/// A conversation with what a person should know before it goes: `"Lisbon" (12 messages, 3.4 kB, held)`. The
/// title stands in it as it is, so only `consent` may show it.
pub(crate) fn describe_as_it_is(stored: &StoredConversation, standing: &Standing) -> String {
    describe_titled(&named::title_as_it_is(stored), stored, standing)
}

/// The same for a conversation that is gone, safe to print.
pub(crate) fn describe(stored: &StoredConversation) -> String {
    describe_titled(&named::title(stored), stored, &Standing::default())
}

fn describe_titled(title: &str, stored: &StoredConversation, standing: &Standing) -> String {
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
