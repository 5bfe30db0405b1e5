//! The handle that programs hold: conversations, with ids, digests, previews and limits looked after.
//!
//! An archive knows no particular store. It makes ids, computes digests, checks limits and
//! reads bodies; the store keeps the bytes.
//!
//! A file with the name of a module of `ops` is what an archive adds to it: which
//! conversations are meant, the audit log, and what is told afterwards. Only `url.rs`,
//! `copies.rs` and `convert.rs` name concrete stores.

mod attachment;
mod audit;
mod change;
mod damage;
mod delete;
mod describe;
mod events;
mod exact;
#[cfg(feature = "formats")]
mod export;
mod files;
mod handle;
#[cfg(feature = "formats")]
mod import;
#[cfg(feature = "formats")]
mod imports;
mod marks;
mod name;
mod of_source;
mod order;
mod parts;
mod path_reader;
mod place;
mod purge;
mod quarantine;
mod query;
mod record;
mod redact;
mod retention;
mod runs;
#[cfg(feature = "redact")]
mod scrub;
mod sources;
mod state;
mod status;
mod subagent;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use audit::{AuditAction, AuditEntry, AuditFailure, AuditQuery};
pub use delete::{Deleted, DeletedMessages};
pub use events::{Event, EventKind, Events};
pub use files::FileKeeper;
pub use handle::Handle;
use handle::Unstored;
#[cfg(feature = "formats")]
pub use imports::{DeletedHere, Imports};
pub use name::Named;
pub use parts::{
    ArchiveAttachments, ArchiveAudit, ArchiveExports, ArchiveFiles, ArchiveImports, ArchiveMaintenance,
    ArchiveMarks, ArchiveNames, ArchiveOpenTurns, ArchiveProjects, ArchiveReader, ArchiveRedaction,
    ArchiveRemoval, ArchiveRetention, ArchiveState, ArchiveStatus, ArchiveSubagents, ArchiveVault,
};
pub use path_reader::PathReader;
pub use place::{Access, Existing, Restored, Stage, StoreUrl};
#[cfg(feature = "vault")]
pub use place::{Converted, Leftover};
pub use purge::{PurgeKeys, PurgeOutcome, PurgeReason, UnpurgedConversation};
pub use query::{List, Listed, Search, SearchHit, Snippet, Stats, Tally};
pub use record::{BegunAgain, OpenTurn, Recorder, Saved, Strain};
pub(crate) use record::{Breaker, Strains, is_for_want_of_room, is_in_doubt};
pub use retention::{Cause, Expiring, Retention, RetentionPlan, Sweep, Swept};
pub use state::Project;
pub use status::{EndReason, Ending};
pub use subagent::{Parent, Subagent, Subagents};

use crate::archive::damage::Damage;
use crate::archive::redact::Redacting;
use crate::clock::{Nature, SystemNature};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Conversation, ConversationId, Head, Message, MessageId, SHORT_LENGTH, StoredConversation, StoredMessage,
    Time,
};
pub use crate::ops::Limits;
use crate::ops::{KeepKey, Survey, Verification, absent, fill, survey, verify_conversation};
use crate::store::{
    Facets, ListQuery, Opening, Order, PreviewUpdate, Progress, Row, Seen, Selection, Stale, Store, Task,
    Turn,
};
use crate::vault::VaultAdmin;

/// How often an id that is taken is replaced by another before it is an error.
const ATTEMPTS: usize = 10;

/// A branch's id is not looked up before it is used, so it is long enough never to be taken.
const BRANCH_LENGTH: usize = 10;

/// Conversations in one store.
#[derive(Clone)]
pub struct Archive {
    store: Arc<dyn Store>,
    /// What the store is besides, where it is a vault.
    vault: Option<Arc<dyn VaultAdmin>>,
    nature: Arc<dyn Nature>,
    limits: Limits,
    redacting: Option<Arc<Redacting>>,
    keep_key: Option<Arc<KeepKey>>,
    leaving: Leaving,
    /// What was passed over, where that is allowed.
    damage: Option<Arc<Damage>>,
}

/// Which conversations may leave the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    Exportable,
    All,
}

/// Tells the time.
pub(crate) type Clock = Box<dyn Fn() -> Time + Send + Sync>;

impl Archive {
    /// Opens the store that a URL names, such as `sqlite:history.db` or `memory:`.
    ///
    /// Relative paths are relative to the working directory.
    pub fn open(url: &str) -> Result<Self> {
        Self::open_with(url, &Access::default())
    }

    /// Opens the store that a URL names, with what it takes: keys for a vault
    /// such as `vault+sqlite:history.db`.
    pub fn open_with(url: &str, access: &Access) -> Result<Self> {
        Self::open_at(&StoreUrl::parse(url)?, access)
    }

    /// The same, for a URL that was read before.
    pub fn open_at(url: &StoreUrl, access: &Access) -> Result<Self> {
        let (store, vault) = url.open_parts(access)?;
        Ok(Self { vault, ..Self::with_store(store) })
    }

    /// Opens a store again that was open before. One that is gone is not created.
    pub fn reopen_at(url: &StoreUrl, access: &Access) -> Result<Self> {
        url.refuse_missing()?;
        Self::open_at(url, access)
    }

    /// An archive over a store that the caller made.
    pub fn with_store(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            vault: None,
            nature: Arc::new(SystemNature),
            limits: Limits::default(),
            redacting: None,
            keep_key: None,
            leaving: Leaving::Exportable,
            damage: None,
        }
    }

    /// An archive over a vault that the caller made.
    #[cfg(feature = "vault")]
    pub fn with_vault<V: Store + VaultAdmin + 'static>(vault: Arc<V>) -> Self {
        Self { vault: Some(Arc::clone(&vault) as Arc<dyn VaultAdmin>), ..Self::with_store(vault) }
    }

    /// Sets how large things may become.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets where times and random bytes come from.
    #[must_use]
    pub fn with_nature(mut self, nature: Arc<dyn Nature>) -> Self {
        self.nature = nature;
        self
    }

    /// Lets conversations leave the store that are marked as not exportable. Whoever does that asks
    /// first, and notes it in the audit log.
    #[must_use]
    pub fn exporting_all(mut self) -> Self {
        self.leaving = Leaving::All;
        self
    }

    /// How large things may become.
    pub(crate) const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The store underneath.
    pub(crate) fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// The time now, as the archive sees it.
    pub fn now(&self) -> Time {
        self.nature.now()
    }

    /// What tells that time also when the archive is closed.
    pub(crate) fn clock(&self) -> Clock {
        let nature = Arc::clone(&self.nature);
        Box::new(move || nature.now())
    }

    /// Starts a conversation. It is on disk when this returns.
    ///
    /// In a vault it may not be exported until [`Archive::update`] says so.
    pub fn start(&self, conversation: Conversation) -> Result<Handle> {
        let (conversation, now) = (self.admitted(conversation), self.now());
        for _ in 0..ATTEMPTS {
            let id = self.fresh_conversation_id(now);
            match self.create(id, &conversation, now, now) {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                other => return other.map(|()| Handle::new(self.clone(), id, None, 0)),
            }
        }
        Err(Error::conflict("no free conversation id was found"))
    }

    /// Prepares a conversation that is stored together with its first turn, in one
    /// sync. Nothing of it is on disk before.
    ///
    /// Like one that is [started](Archive::start), it may not be exported from a vault.
    pub fn draft(&self, conversation: Conversation) -> Result<Handle> {
        let (conversation, created) = (self.admitted(conversation), self.now());
        let (facets, header) = self.encode(&conversation)?;
        let unstored = Unstored { conversation, facets, header, created };
        Ok(Handle::new(self.clone(), self.fresh_conversation_id(created), None, 0).opening(unstored))
    }

    /// A conversation as it may begin in this store.
    fn admitted(&self, mut conversation: Conversation) -> Conversation {
        self.store.capabilities().restrict(&mut conversation);
        conversation
    }

    fn fresh_conversation_id(&self, now: Time) -> ConversationId {
        let mut random = [0; 10];
        self.nature.fill(&mut random);
        ConversationId::new(now, random)
    }

    fn create(
        &self,
        id: ConversationId,
        conversation: &Conversation,
        created: Time,
        active: Time,
    ) -> Result<()> {
        let (facets, header) = self.encode(conversation)?;
        let turn = Turn {
            conversation: id,
            opening: Some(Opening { facets: &facets, header: &header, created }),
            stale: Stale::Branch,
            entries: &[],
            previews: PreviewUpdate::default(),
            branch: None,
            active,
            now: self.now(),
            blobs: &[],
        };
        self.store.append(&turn).map(drop).map_err(|error| error.during("start a conversation"))
    }

    /// Takes up a conversation at its head.
    pub fn resume(&self, id: ConversationId) -> Result<Handle> {
        let stored = self.conversation(id)?;
        let head = self.head_past_damage(id, stored.head)?;
        Ok(Handle::new(self.clone(), id, head, stored.bytes))
    }

    /// Takes up a conversation at one of its messages; what is appended there becomes a branch if the message
    /// has a child. At the head of a named branch, that branch goes on.
    pub fn resume_at(&self, id: ConversationId, message: MessageId) -> Result<Handle> {
        let (head, stored) = (self.readable_head_at(id, message)?, self.conversation(id)?);
        let branch = stored.branches.iter().find(|branch| branch.head == message).map(|branch| branch.id);
        Ok(Handle::new(self.clone(), id, head, stored.bytes).on_branch(branch))
    }

    fn head_at(&self, id: ConversationId, message: MessageId) -> Result<Head> {
        let mut head = None;
        self.store.read(id, Selection::Ids(&[message]), &mut |seen| {
            head = Some(Head { id: seen.id, digest: seen.link });
            Ok(())
        })?;
        Ok(head.expect("a missing message is an error"))
    }

    /// What is known about a conversation.
    pub fn conversation(&self, id: ConversationId) -> Result<StoredConversation> {
        let query = ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() };
        let mut page = self.store.list(&query)?;
        match (page.items.pop(), page.damaged.into_iter().next()) {
            (Some(row), _) => decode(row),
            (None, Some(damage)) => Err(Error::corrupt(damage)),
            (None, None) => Err(absent(self.store.as_ref(), id)),
        }
    }

    /// The messages from the root to `target`, or to the conversation's head; never the target's children.
    pub fn path(&self, id: ConversationId, target: Option<MessageId>) -> Result<Vec<StoredMessage>> {
        self.collect(id, Selection::Path(target))
    }

    /// These messages, in the order asked for. A missing one is an error.
    pub fn messages(&self, id: ConversationId, ids: &[MessageId]) -> Result<Vec<StoredMessage>> {
        self.collect(id, Selection::Ids(ids))
    }

    /// The messages from the root to the head as they are stored: what is an attachment stays a reference.
    pub(crate) fn bare_path(&self, id: ConversationId) -> Result<Vec<StoredMessage>> {
        self.collect_bare(id, Selection::Path(None))
    }

    fn collect(&self, id: ConversationId, what: Selection<'_>) -> Result<Vec<StoredMessage>> {
        let mut messages = self.collect_bare(id, what)?;
        let filled = fill(self.store(), id, messages.iter_mut().map(|stored| &mut stored.message));
        self.or_passed_over(filled)?;
        Ok(messages)
    }

    fn collect_bare(&self, id: ConversationId, what: Selection<'_>) -> Result<Vec<StoredMessage>> {
        let mut messages = Vec::new();
        self.reader().visit(id, what, &mut |seen| {
            messages.push(decode_message(&seen)?);
            Ok(())
        })?;
        Ok(messages)
    }

    /// A header as it is stored.
    fn encode(&self, conversation: &Conversation) -> Result<(Facets, String)> {
        let stored = self.redacted_header(conversation);
        let header = stored.to_header();
        self.limits.check_header(header.len())?;
        Ok((Facets::of(&stored), header))
    }

    /// Refuses a header that could not be stored.
    pub(crate) fn check_header(&self, conversation: &Conversation) -> Result<()> {
        self.encode(conversation).map(drop)
    }

    fn fresh_id(&self) -> MessageId {
        self.fresh_id_of(SHORT_LENGTH)
    }

    fn fresh_id_of(&self, length: usize) -> MessageId {
        let mut random = [0; 8];
        self.nature.fill(&mut random);
        MessageId::with_length(length, random)
    }
}

impl ArchiveReader<'_> {
    /// All messages of a conversation, on every branch, in order of arrival or newest first.
    pub fn all_messages(
        &self,
        id: ConversationId,
        order: Order,
        offset: u64,
        limit: u64,
    ) -> Result<Vec<StoredMessage>> {
        self.archive.collect(id, Selection::All { order, offset, limit })
    }

    /// Visits every message of a conversation as it is stored, oldest first:
    /// what is an attachment stays a reference.
    ///
    /// One is in memory at a time, however long the conversation is.
    pub fn each_message(
        &self,
        id: ConversationId,
        visit: &mut dyn FnMut(StoredMessage) -> Result<()>,
    ) -> Result<()> {
        let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        self.archive.store.read(id, all, &mut |seen| visit(decode_message(&seen)?))
    }
}

impl ArchiveMaintenance<'_> {
    /// Does background work for about `budget`; returns how much is left.
    pub fn run(&self, task: Task, budget: Duration) -> Result<u64> {
        Ok(self.archive.store.maintain(task, budget)?.left)
    }

    /// Looks for damage in the store's own structure, and for writes that did not end.
    pub fn check(&self) -> Result<Progress> {
        self.archive.store.maintain(Task::Check, Duration::MAX)
    }

    /// Checks the messages of a conversation against their digests, and its counts against its messages.
    ///
    /// A conversation that is there and cannot be read is a verdict, not an error.
    pub fn verify(&self, id: ConversationId) -> Result<Verification> {
        verify_conversation(self.archive.store.as_ref(), id)
    }

    /// Finds every conversation, also in a damaged store, as far as it can be read.
    pub fn survey(&self) -> Result<Survey> {
        survey(self.archive.store.as_ref())
    }
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").field("capabilities", &self.store.capabilities()).finish_non_exhaustive()
    }
}

fn decode(row: Row) -> Result<StoredConversation> {
    let conversation = Conversation::from_header(&row.header)
        .map_err(|error| error.during(format!("read conversation `{}`", row.id)))?;
    Ok(StoredConversation {
        id: row.id,
        version: row.version,
        conversation,
        head: row.head,
        branches: row.branches,
        created_at: row.created,
        last_active_at: row.active,
        messages: row.messages,
        bytes: row.bytes,
        first: row.first,
        last: row.last,
    })
}

fn decode_message(seen: &Seen<'_>) -> Result<StoredMessage> {
    let mut message =
        Message::from_body(seen.body).map_err(|error| error.during(format!("read message `{}`", seen.id)))?;
    message.label = seen.note.label.map(str::to_owned);
    Ok(StoredMessage {
        id: seen.id,
        parent: seen.parent,
        seq: seen.seq,
        turn: seen.turn,
        digest: seen.link,
        is_pinned: seen.note.is_pinned,
        message,
    })
}
