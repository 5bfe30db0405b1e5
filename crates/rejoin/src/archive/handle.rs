//! A conversation held open: knows its own head, and appends after it.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use crate::archive::audit::{AuditAction, AuditBlob, AuditEntry};
use crate::archive::{ATTEMPTS, Archive, StoreUrl};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    Conversation, ConversationId, Digest, Head, Message, MessageId, Receipt, StoredConversation,
    StoredMessage, Time,
};
use crate::ops::{Detached, Preparation, ReadyTurn, SettledCard, in_line, settle};
use crate::store::{Anchor, Entry, Facets, Note, Opening, PreviewUpdate, Put, Safety, Stale, Turn};

/// A conversation held open.
///
/// The handle keeps its own head. When another writer has appended after that head meanwhile, the next append
/// becomes a branch and its receipt says so; nothing is lost and nothing is interleaved.
#[derive(Clone)]
pub struct Handle {
    archive: Archive,
    id: ConversationId,
    head: Option<Head>,
    /// The named branch that this handle goes on with.
    branch: Option<MessageId>,
    /// The conversation's size when it was last looked at, and what this handle has added since.
    bytes: u64,
    /// Set until the first turn has stored the conversation.
    unstored: Option<Arc<Unstored>>,
}

/// A conversation that is stored with its first turn.
#[derive(Debug)]
pub(super) struct Unstored {
    pub(super) conversation: Conversation,
    pub(super) facets: Facets,
    pub(super) header: String,
    pub(super) created: Time,
}

impl Handle {
    pub(super) const fn new(archive: Archive, id: ConversationId, head: Option<Head>, bytes: u64) -> Self {
        Self { archive, id, head, branch: None, bytes, unstored: None }
    }

    /// The same, of a conversation that is stored with its first turn.
    pub(super) fn opening(mut self, unstored: Unstored) -> Self {
        self.unstored = Some(Arc::new(unstored));
        self
    }

    /// The same, going on with a named branch.
    pub(super) const fn on_branch(mut self, branch: Option<MessageId>) -> Self {
        self.branch = branch;
        self
    }

    /// The archive it is held in.
    pub const fn archive(&self) -> &Archive {
        &self.archive
    }

    /// The conversation's id.
    pub const fn id(&self) -> ConversationId {
        self.id
    }

    /// The message the next one will follow.
    pub fn head(&self) -> Option<MessageId> {
        self.head.map(|head| head.id)
    }

    /// What is known about the conversation. A [draft](Archive::draft) is not found before its first turn.
    pub fn conversation(&self) -> Result<StoredConversation> {
        self.archive.conversation(self.id)
    }

    /// What a conversation in the place of this one would begin with.
    pub(super) fn header(&self) -> Result<Conversation> {
        match &self.unstored {
            Some(unstored) => Ok(unstored.conversation.clone()),
            None => Ok(self.conversation()?.conversation),
        }
    }

    /// Appends one message. It is on disk when this returns.
    pub fn append(&mut self, message: Message) -> Result<Receipt> {
        self.append_turn(vec![message])
    }

    /// Appends the messages of one turn, each after the one before. They are on
    /// disk when this returns, or none is.
    pub fn append_turn(&mut self, messages: Vec<Message>) -> Result<Receipt> {
        self.append_stale(messages, Stale::Branch)
    }

    /// Appends like [`Handle::append_turn`], but answers a conflict when the
    /// head is no longer the conversation's.
    pub fn append_linear(&mut self, messages: Vec<Message>) -> Result<Receipt> {
        self.append_stale(messages, Stale::Refuse)
    }

    fn append_stale(&mut self, messages: Vec<Message>, stale: Stale) -> Result<Receipt> {
        self.write(in_line(messages), stale)
    }

    /// Appends messages of which each follows the head, or an earlier one of this call, by position.
    ///
    /// All are stored or none; their ids come back in the order given.
    pub fn append_tree(&mut self, messages: Vec<(Option<usize>, Message)>) -> Result<Receipt> {
        self.write(messages, Stale::Branch)
    }

    /// Starts the next message at the root: a new tree in the same conversation.
    pub fn restart(&mut self) {
        self.head = None;
    }

    /// Starts a named branch at one of the conversation's messages and returns a handle on it.
    pub fn fork(&self, at: MessageId, title: &str) -> Result<Self> {
        let branch = self.archive.fork(self.id, at, title)?;
        Ok(self.archive.resume_at(self.id, at)?.on_branch(Some(branch.id)))
    }

    /// Moves the head, of the handle and of the conversation, to one of its messages.
    pub fn rewind(&mut self, to: MessageId) -> Result<()> {
        let head = self.archive.head_at(self.id, to)?;
        self.archive.rewind(self.id, to)?;
        self.head = Some(head);
        Ok(())
    }

    /// The messages from the root to this handle's head.
    pub fn path(&self) -> Result<Vec<StoredMessage>> {
        match self.head {
            Some(head) => self.archive.path(self.id, Some(head.id)),
            None => Ok(Vec::new()),
        }
    }

    fn write(
        &mut self,
        messages: impl IntoIterator<Item = (Option<usize>, Message)>,
        stale: Stale,
    ) -> Result<Receipt> {
        let messages = messages.into_iter().map(|(parent, message)| (parent, Cow::Owned(message)));
        let mut prepared = self.prepare(messages, 0)?;
        self.commit(&mut prepared, stale, &[])
    }

    /// Makes a turn ready to be stored after the head, with ids that stay the same when it is tried again.
    ///
    /// `ahead` is how many bytes will be stored before it. Nothing is read, so the only
    /// failure is a turn that is wrong in itself.
    pub(super) fn prepare<'m>(
        &self,
        messages: impl IntoIterator<Item = (Option<usize>, Cow<'m, Message>)>,
        ahead: u64,
    ) -> Result<PreparedTurn> {
        let preparation = Preparation {
            redactor: self.archive.redactor(),
            limits: &self.archive.limits,
            now: self.archive.now(),
            stored: self.bytes + ahead,
        };
        let turn = preparation.turn(messages, self.head.map(|head| head.digest))?;
        let ids = self.fresh_ids(&turn);
        Ok(PreparedTurn { base: self.head, turn, ids })
    }

    /// Stores a prepared turn after the head it was prepared for, with blobs that land in the same sync.
    ///
    /// After a failure the same turn can be tried again: what was stored all
    /// the same is recognised by its ids.
    pub(super) fn commit(
        &mut self,
        prepared: &mut PreparedTurn,
        stale: Stale,
        blobs: &[Put<'_>],
    ) -> Result<Receipt> {
        if let Some(receipt) = self.store_first(prepared, blobs)? {
            return Ok(receipt);
        }
        // Order: attachments before the messages that refer to them, so that
        // nothing ever refers to what is not there.
        let settled = self.keep_attachments(prepared)?;
        let blobs: Vec<Put<'_>> =
            blobs.iter().copied().chain(settled.iter().map(|card| card.put(self.id))).collect();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                self.rename(prepared);
            }
            match self.write_once(prepared, None, stale, &blobs) {
                // An id that is taken is replaced; a stale head is the caller's to solve.
                Err(error)
                    if error.kind() == ErrorKind::Conflict && self.still_holds(prepared.base, stale)? => {}
                Err(error) => return Err(error),
                Ok(receipt) => {
                    if receipt.replayed && !settled.is_empty() {
                        // What already exists has stored nothing with it.
                        let cards: Vec<Put<'_>> = settled.iter().map(|card| card.put(self.id)).collect();
                        self.archive.store.put(&cards, Safety::Synced)?;
                    }
                    self.follow(&receipt, prepared);
                    let kept = self.archive.attachment_writer(self.id).confirm(&prepared.turn.detached);
                    kept.map_err(|error| error.during("the turn is stored, but not all of its attachments"))?;
                    return Ok(receipt);
                }
            }
        }
        Err(Error::conflict("no free message id was found"))
    }

    /// Stores the first turn of a conversation together with the conversation.
    /// None when that is stored already.
    fn store_first(&mut self, prepared: &mut PreparedTurn, blobs: &[Put<'_>]) -> Result<Option<Receipt>> {
        let Some(unstored) = self.unstored.clone() else { return Ok(None) };
        let Unstored { facets, header, created, .. } = unstored.as_ref();
        let opening = Opening { facets, header, created: *created };
        for _ in 0..ATTEMPTS {
            match self.open(prepared, opening, blobs) {
                Err(error) if error.kind() == ErrorKind::Conflict => match self.archive.conversation(self.id)
                {
                    // Two messages of the turn have the same id.
                    Err(missing) if missing.kind() == ErrorKind::NotFound => self.rename(prepared),
                    Err(error) => return Err(error),
                    // A clone of this handle has stored the conversation.
                    Ok(_) => {
                        self.unstored = None;
                        return Ok(None);
                    }
                },
                Err(error) => return Err(error),
                Ok(receipt) => {
                    self.unstored = None;
                    self.follow(&receipt, prepared);
                    return Ok(Some(receipt));
                }
            }
        }
        Err(Error::conflict("no free message id was found"))
    }

    /// Goes on after a turn that was stored.
    fn follow(&mut self, receipt: &Receipt, prepared: &PreparedTurn) {
        self.head = Some(Head { id: receipt.head, digest: receipt.digest });
        self.bytes += prepared.bytes();
    }

    /// Keeps what was taken out of the messages, and returns what has to be stored along with them.
    fn keep_attachments(&self, prepared: &PreparedTurn) -> Result<Vec<SettledCard>> {
        if !prepared.turn.detached.is_empty() {
            let there = self.archive.attachments().list(self.id)?;
            let known: HashMap<Digest, u64> =
                there.iter().map(|attachment| (attachment.digest, attachment.byte_length)).collect();
            let all: HashMap<Digest, u64> =
                prepared.turn.detached.iter().map(Detached::size).chain(known).collect();
            let attached: u64 = all.values().sum();
            self.archive.limits.check_attachments(self.bytes + prepared.bytes() + attached)?;
        }
        let writer = self.archive.attachment_writer(self.id);
        prepared.turn.detached.iter().try_for_each(|detached| writer.keep(detached))?;
        let referred: BTreeSet<Digest> =
            prepared.turn.messages.iter().flat_map(|message| message.referred.iter().copied()).collect();
        settle(self.archive.store(), self.id, referred)
    }

    /// Stores a prepared turn that opens its conversation.
    pub(super) fn open(
        &self,
        prepared: &PreparedTurn,
        opening: Opening<'_>,
        blobs: &[Put<'_>],
    ) -> Result<Receipt> {
        let attachments = self.archive.attachment_writer(self.id).together(&prepared.turn.detached)?;
        let mut all = attachments.puts(self.id);
        all.extend_from_slice(blobs);
        self.write_once(prepared, Some(opening), Stale::Refuse, &all)
    }

    /// Gives the messages of a turn that is not stored other ids.
    pub(super) fn rename(&self, prepared: &mut PreparedTurn) {
        prepared.ids = self.fresh_ids(&prepared.turn);
    }

    fn fresh_ids(&self, turn: &ReadyTurn) -> Vec<MessageId> {
        turn.messages.iter().map(|_| self.archive.fresh_id()).collect()
    }

    /// Looks again at what this handle follows, after a turn could not be stored there.
    ///
    /// A head that was rewritten is followed as it is now. One that is gone is replaced by the conversation's
    /// own head, which fell back to the nearest message that is left.
    pub(super) fn look_again(&mut self) -> Result<()> {
        let stored = self.archive.conversation(self.id)?;
        self.head = match self.head.map(|head| self.archive.head_at(self.id, head.id)) {
            None => None,
            Some(Ok(head)) => Some(head),
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => stored.head,
            Some(Err(error)) => return Err(error),
        };
        Ok(())
    }

    /// The same place in another opening of the same store, which is closed before.
    ///
    /// What a process knows about a file, SQLite shares among its connections; a new one would know the file
    /// as it was. Until it can be opened, the handle has an empty store.
    pub(super) fn reopen(&mut self, open: &mut dyn FnMut() -> Result<Archive>) -> Result<()> {
        self.archive.store = StoreUrl::Memory.open()?;
        let opened = open()?;
        let redacting = opened.redacting.clone().or_else(|| self.archive.redacting.clone());
        self.archive = Archive { redacting, ..opened };
        Ok(())
    }

    fn write_once(
        &self,
        prepared: &PreparedTurn,
        opening: Option<Opening<'_>>,
        stale: Stale,
        blobs: &[Put<'_>],
    ) -> Result<Receipt> {
        let PreparedTurn { base, turn: ReadyTurn { messages, previews, tally, detached: _ }, ids } = prepared;
        let entries: Vec<Entry<'_>> = messages
            .iter()
            .zip(ids)
            .map(|(message, id)| Entry {
                id: *id,
                parent: match message.parent {
                    Some(parent) => Some(Anchor { id: ids[parent], link: messages[parent].digest }),
                    None => base.map(|head| Anchor { id: head.id, link: head.digest }),
                },
                link: message.digest,
                note: Note { label: message.label.as_deref(), is_pinned: false },
                body: &message.body,
            })
            .collect();
        let audited = self.audited(prepared);
        let blobs: Vec<Put<'_>> = blobs.iter().copied().chain(audited.as_ref().map(AuditBlob::put)).collect();
        let now = self.archive.now();
        let turn = Turn {
            conversation: self.id,
            opening,
            stale,
            entries: &entries,
            previews: PreviewUpdate { first: &previews.first, last: &previews.last },
            branch: self.branch,
            active: now,
            now,
            blobs: &blobs,
        };
        let appended = self.archive.store.append(&turn)?;
        let last = entries.last().expect("a turn without messages was refused");
        Ok(Receipt {
            conversation: self.id,
            messages: ids.clone(),
            head: last.id,
            seq: appended.seq,
            digest: last.link,
            forked: appended.forked,
            replayed: appended.replayed,
            redacted: tally.to_redacted(),
        })
    }

    /// What the audit log says of a turn that something was taken out of. It lands in the turn's own sync.
    fn audited(&self, prepared: &PreparedTurn) -> Option<AuditBlob> {
        let messages = prepared.turn.messages.iter().filter(|message| message.is_redacted).count() as u64;
        if messages == 0 {
            return None;
        }
        let entry = AuditEntry::new(AuditAction::Redacted, "append").to(self.id).counting(messages, 0);
        Some(self.archive.audit_blob(entry.ruled(&prepared.turn.tally.to_redacted())))
    }

    /// True when the turn could still be written, so that a conflict can only have been about an id.
    fn still_holds(&self, base: Option<Head>, stale: Stale) -> Result<bool> {
        let stored = self.archive.conversation(self.id)?;
        let parent_holds = match base {
            Some(head) => self.archive.head_at(self.id, head.id)? == head,
            None => true,
        };
        Ok(parent_holds && (stale == Stale::Branch || stored.head == base))
    }
}

/// A turn that is ready to be stored after the head it was prepared for.
#[derive(Debug)]
pub(super) struct PreparedTurn {
    /// What its digests continue, wherever the handle has gone since.
    base: Option<Head>,
    turn: ReadyTurn,
    ids: Vec<MessageId>,
}

impl PreparedTurn {
    /// How many bytes its messages take.
    pub(super) fn bytes(&self) -> u64 {
        self.turn.bytes()
    }

    /// Names the messages, so that whoever prepares the same turn again stores it once.
    pub(super) fn named(mut self, ids: Vec<MessageId>) -> Self {
        debug_assert_eq!(ids.len(), self.turn.messages.len(), "every message has a name");
        self.ids = ids;
        self
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("id", &self.id).field("head", &self.head).finish_non_exhaustive()
    }
}
