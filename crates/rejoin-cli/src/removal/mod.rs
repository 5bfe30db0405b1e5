//! Deleting at the user's wish: how it is recorded, and how what goes is described before and after.

use rejoin::{Archive, ConversationId, Hold, PurgeKeys, StoredConversation};
use serde::Serialize;

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

/// What becomes of something that was to go, as programs read it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FateShape {
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

/// What becomes of one thing that was to go.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It waits for its turn, or would go if this were not a dry run.
    Planned,
    /// It is gone, and took this many bytes.
    Deleted(u64),
    /// Somebody used, kept or deleted it after it was looked at.
    PassedBy,
    /// Nothing has its name.
    Missing(Failure),
    Failed(Failure),
}

impl Fate {
    /// The same as programs read it.
    pub(crate) const fn outcome(&self) -> FateShape {
        match self {
            Self::Planned => FateShape::Planned,
            Self::Deleted(_) => FateShape::Deleted,
            Self::PassedBy => FateShape::PassedBy,
            Self::Missing(_) => FateShape::Missing,
            Self::Failed(_) => FateShape::Failed,
        }
    }

    pub(crate) const fn is_deleted(&self) -> bool {
        matches!(self, Self::Deleted(_))
    }

    /// The bytes that were freed.
    pub(crate) const fn bytes(&self) -> u64 {
        match self {
            Self::Deleted(bytes) => *bytes,
            Self::Planned | Self::PassedBy | Self::Missing(_) | Self::Failed(_) => 0,
        }
    }

    pub(crate) const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Missing(failure) | Self::Failed(failure) => Some(failure),
            Self::Planned | Self::Deleted(_) | Self::PassedBy => None,
        }
    }
}

/// What becomes of conversations that are old, as programs read it.
#[derive(Debug, Serialize)]
pub(crate) struct RemovedShape<Item> {
    pub(crate) items: Vec<Item>,
    pub(crate) deleted: u64,
    pub(crate) bytes: u64,
    pub(crate) failed: usize,
}

impl<Item> RemovedShape<Item> {
    /// The sums of what became of each item.
    pub(crate) fn of<'f>(items: Vec<Item>, fates: impl Iterator<Item = &'f Fate> + Clone) -> Self {
        Self {
            items,
            deleted: fates.clone().filter(|fate| fate.is_deleted()).count() as u64,
            bytes: fates.clone().map(Fate::bytes).sum(),
            failed: fates.filter(|fate| fate.failure().is_some()).count(),
        }
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

/// Success, or the failure that makes the exit code, such as `2 of 3 could not be purged`.
pub(crate) fn verdict(failed: usize, of: Option<usize>, done: &str) -> Result<(), Failure> {
    let all = of.map(|all| format!(" of {all}")).unwrap_or_default();
    match failed {
        0 => Ok(()),
        failed => {
            Err(Failure::new(Kind::Other, format!("{failed}{all} could not be {done}"))
                .hint(SEE_WHAT_IS_WRONG))
        }
    }
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
