//! `Rows` of a vault: the inner snapshot, decrypted.
//!
//! A visit goes on past records that do not decrypt, and then ends with an error that names each of them, so
//! that nobody takes a part for the whole.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest, Head, MessageId, Time};
use crate::store::backend::{
    Amend, Amendment, ConversationRow, MessageRow, NewBody, Node, Presence, Removal, Rows, State,
    VisitMessage, Which, unknown,
};
use crate::store::sealed::decrypt_pipeline::{BundleDesk, DecryptPipeline, OpenedMessage, Opener};
use crate::store::sealed::failed::{Failures, gone_past, to_error};
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::keys::key_cache::{DATA, DataKeys, OpenError};
use crate::store::sealed::keys::names::InnerNames;
use crate::store::sealed::keys::workspace::Workspace;
use crate::store::sealed::records::message::{DigestChain, PlainMessage, SealedNote};
use crate::store::sealed::records::row::{DecryptedRow, SealedTrailer};
use crate::store::sealed::records::trailer_cache::Trailer;
use crate::store::sealed::{KEYS, Sealed};
use crate::store::{BlobNames, Order, Space, VisitBlob};

/// A snapshot of the inner backend, decrypted.
pub(crate) struct SealedRows<'r> {
    pub(crate) vault: &'r Sealed,
    pub(crate) rows: &'r dyn Rows,
    workspace: Arc<Workspace>,
    /// Keys of this snapshot, by owner.
    keys: RefCell<BTreeMap<Option<ConversationId>, Arc<DataKeys>>>,
    /// Messages that do not open. They are known by their inner names.
    nameless: RefCell<BTreeSet<MessageId>>,
}

impl<'r> SealedRows<'r> {
    pub(crate) fn new(vault: &'r Sealed, rows: &'r dyn Rows) -> Self {
        Self {
            vault,
            rows,
            workspace: vault.key_cache.workspace(),
            keys: RefCell::default(),
            nameless: RefCell::default(),
        }
    }

    pub(crate) fn names(&self) -> &InnerNames {
        self.workspace.names()
    }

    /// The inner name of a message. One that does not open is named by it.
    pub(crate) fn message_name(&self, inner: ConversationId, id: MessageId) -> MessageId {
        if self.nameless.borrow().contains(&id) { id } else { self.names().message(inner, id) }
    }

    /// The keys of an owner, who is named by the inner name.
    pub(crate) fn keys(&self, inner: Option<ConversationId>) -> Result<Arc<DataKeys>, OpenError> {
        if let Some(keys) = self.keys.borrow().get(&inner) {
            return Ok(Arc::clone(keys));
        }
        let mut wrapped = None;
        self.rows.blobs(KEYS, inner, BlobNames::One(DATA), &mut |_, bytes| {
            wrapped = Some(bytes.to_vec());
            Ok(())
        })?;
        let keys = self.vault.key_cache.unwrapped(inner, wrapped.ok_or(Broken::NoKey)?)?;
        self.keys.borrow_mut().insert(inner, Arc::clone(&keys));
        Ok(keys)
    }

    /// What is encrypted of a conversation beside its header and messages. What does
    /// not open is as if it were not there.
    pub(crate) fn trailer(&self, inner: ConversationId, state: &State) -> Result<Trailer> {
        let keys = match self.keys(Some(inner)) {
            Ok(keys) => Some(keys),
            Err(OpenError::Broken(_)) => None,
            Err(OpenError::Failed(error)) => return Err(error),
        };
        if let Some(trailer) = keys.as_ref().and_then(|keys| self.vault.trailers().get(inner, state, keys)) {
            return Ok(trailer);
        }
        if let Some(trailer) = self.opened_trailer(&self.raw(inner)?)? {
            return Ok(trailer);
        }
        match self.known(inner)? {
            Some(known) => Ok(known.into_trailer(state)),
            None => Err(unknown(inner)),
        }
    }

    /// The trailer of a conversation as the backend has it; none when it does not open.
    pub(crate) fn opened_trailer(&self, raw: &ConversationRow) -> Result<Option<Trailer>> {
        let mut owner_keys = self.vault.key_cache.owner_keys(Some(raw.id));
        match SealedTrailer::open(&mut owner_keys, raw.id, &raw.last) {
            Ok(last) => Ok(Some(last.into_trailer())),
            Err(OpenError::Broken(_)) => Ok(None),
            Err(OpenError::Failed(error)) => Err(error),
        }
    }

    /// The trailer that a change leaves of a conversation with this one. The
    /// change is in the backend's terms.
    pub(crate) fn amended_trailer(
        &self,
        mut trailer: Trailer,
        state: &State,
        amend: &Amend<'_>,
    ) -> Result<Trailer> {
        let inner = amend.conversation;
        trailer.numbers.amend(state, amend);
        match &amend.change {
            Amendment::Head(None) => trailer.head = None,
            Amendment::Head(Some((_, seq))) => trailer.head = self.message(inner, *seq, head_of)?,
            Amendment::Rewrite(bodies, ..) => {
                if let Some(new) = bodies.iter().find(|new| Some(new.seq) == state.head) {
                    trailer.head = self.message_with(inner, new.seq, Some(new), head_of)?;
                }
            }
            Amendment::Header(..) | Amendment::Note(..) | Amendment::Branch(..) | Amendment::Unbranch(_) => {}
        }
        Ok(trailer)
    }

    /// The trailer that a removal leaves of a conversation with this one. The
    /// removal is in the backend's terms.
    pub(crate) fn trimmed_trailer(
        &self,
        mut trailer: Trailer,
        state: &State,
        removal: &Removal<'_>,
    ) -> Result<Trailer> {
        let inner = removal.conversation;
        if trailer.numbers.loses_head(removal) {
            trailer.head = match removal.head {
                Some((_, seq)) => self.message(inner, seq, head_of)?,
                None => None,
            };
        }
        trailer.numbers.remove(state, &self.raw(inner)?.branches, removal);
        Ok(trailer)
    }

    /// What the backend says of a conversation, by its inner name, which is there.
    pub(crate) fn stored(&self, inner: ConversationId) -> Result<State> {
        match self.rows.state(inner)? {
            Presence::Stored(state) => Ok(state),
            Presence::Absent | Presence::Lost(_) => Err(unknown(inner)),
        }
    }

    /// A conversation, by its inner name, as the backend has it.
    pub(crate) fn raw(&self, inner: ConversationId) -> Result<ConversationRow> {
        self.rows.conversation(inner)?.ok_or_else(|| unknown(inner))
    }

    /// A conversation, by its inner name, opened.
    pub(crate) fn known(&self, inner: ConversationId) -> Result<Option<DecryptedRow>> {
        let raw = self.rows.conversation(inner)?;
        raw.map(|raw| self.vault.open_row(raw, None)).transpose()
    }

    /// Opens one message; none when it does not open.
    pub(crate) fn message<T>(
        &self,
        inner: ConversationId,
        seq: u32,
        read: impl FnOnce(&PlainMessage<'_>) -> T,
    ) -> Result<Option<T>> {
        self.message_with(inner, seq, None, read)
    }

    /// The same of a message that gets another body.
    fn message_with<T>(
        &self,
        inner: ConversationId,
        seq: u32,
        new: Option<&NewBody<'_>>,
        read: impl FnOnce(&PlainMessage<'_>) -> T,
    ) -> Result<Option<T>> {
        let mut owner_keys = self.vault.key_cache.owner_keys(Some(inner));
        let (mut buffer, mut read, mut found) = (Vec::new(), Some(read), None);
        let visited = self.rows.messages(inner, Which::These(&[seq]), &mut |row| {
            let row = new.map_or(*row, |new| MessageRow { link: new.link, body: new.body, ..*row });
            match PlainMessage::open(&mut owner_keys, self.names(), inner, &row, &mut buffer) {
                Ok(plain) => found = read.take().map(|read| read(&plain)),
                Err(OpenError::Broken(_)) => {}
                Err(OpenError::Failed(error)) => return Err(error),
            }
            Ok(())
        });
        gone_past(self.vault.backend.capabilities(), visited)?;
        Ok(found)
    }

    /// The error in the words of those who asked.
    fn renamed(&self, error: Error, id: ConversationId) -> Error {
        error.renamed(&[(self.names().conversation(id).to_string(), id.to_string())])
    }
}

impl Rows for SealedRows<'_> {
    fn has(&self, id: ConversationId) -> Result<bool> {
        self.rows.has(self.vault.inner_name(id))
    }

    fn state(&self, id: ConversationId) -> Result<Presence> {
        let is_nameless = self.vault.refuse_unnamed(id);
        let inner = self.vault.inner_name(id);
        Ok(match self.rows.state(inner)? {
            Presence::Absent => Presence::Absent,
            Presence::Lost(error) => Presence::Lost(self.renamed(error, id)),
            Presence::Stored(state) => match is_nameless {
                Err(error) => Presence::Lost(error),
                Ok(()) => Presence::Stored(state),
            },
        })
    }

    fn active(&self, id: ConversationId, state: &State) -> Result<Time> {
        Ok(self.trailer(self.vault.inner_name(id), state)?.active)
    }

    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>> {
        let inner = self.vault.inner_name(id);
        let node = self.rows.node(inner, self.message_name(inner, message))?;
        Ok(node.map(|node| Node { id: message, ..node }))
    }

    fn vouches(&self, node: &Node, link: Digest) -> bool {
        node.link == self.names().link(link)
    }

    fn nodes(&self, id: ConversationId, visit: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
        let inner = self.vault.inner_name(id);
        let mut ids = BTreeMap::new();
        let (mut owner_keys, mut buffer) = (self.vault.key_cache.owner_keys(Some(inner)), Vec::new());
        let all = Which::Range(Order::OldestFirst, 0, u64::MAX);
        let visited = self.rows.messages(inner, all, &mut |row| {
            match PlainMessage::open(&mut owner_keys, self.names(), inner, row, &mut buffer) {
                Ok(plain) => drop(ids.insert(row.seq, plain.id)),
                Err(OpenError::Broken(_)) => {}
                Err(OpenError::Failed(error)) => return Err(error),
            }
            Ok(())
        });
        gone_past(self.vault.backend.capabilities(), visited)?;
        self.rows.nodes(inner, &mut |node| {
            let id = ids.get(&node.seq).copied().unwrap_or_else(|| {
                self.nameless.borrow_mut().insert(node.id);
                node.id
            });
            visit(&Node { id, ..*node })
        })
    }

    fn messages(&self, id: ConversationId, which: Which<'_>, visit: &mut VisitMessage<'_>) -> Result<()> {
        let inner = self.vault.inner_name(id);
        let opener = Opener::new(self.vault.key_cache.owner_keys(Some(inner)), self.names(), inner);
        let (desk, mut chain, mut failures) =
            (BundleDesk::default(), DigestChain::default(), Failures::default());
        let mut show = |sealed: &MessageRow<'_>, opened: Result<OpenedMessage<'_>, OpenError>| {
            let opened = opened.and_then(|opened| Ok(chain.follow(&opened.plain).map(|()| opened)?));
            let OpenedMessage { plain, note } = match opened {
                Ok(opened) => opened,
                Err(failure) => return failures.add(id, sealed, "message", sealed.body, failure),
            };
            let note = match note {
                Ok(note) => note,
                Err(failure) => {
                    failures.add(id, sealed, "note", sealed.label.unwrap_or_default(), failure)?;
                    SealedNote::default()
                }
            };
            visit(&MessageRow {
                id: plain.id,
                parent: plain.parent.map(|parent| parent.id),
                link: plain.digest,
                label: note.label.as_deref().map(str::as_bytes),
                is_pinned: note.pinned,
                body: plain.body.as_bytes(),
                ..*sealed
            })
        };
        let visited = thread::scope(|scope| {
            let (mut ahead, mut is_cut) = (DecryptPipeline::new(scope, &desk, opener), false);
            let visited = self.rows.messages(inner, which, &mut |sealed| {
                ahead.take(sealed, &mut show).inspect_err(|_| is_cut = true)
            });
            // What the backend showed before it failed is shown.
            let rest = if is_cut { Ok(()) } else { ahead.rest(&mut show) };
            rest.and(visited)
        });
        if !failures.is_empty() {
            self.vault.learn_name(inner, id);
        }
        let told = failures.settle(self.vault, inner);
        let unread = gone_past(self.vault.backend.capabilities(), visited);
        let read = unread.and_then(|unread| to_error(unread.into_iter().chain(told).collect()));
        read.map_err(|error| self.renamed(error, id))
    }

    fn conversation(&self, id: ConversationId) -> Result<Option<ConversationRow>> {
        Ok(self.known(self.vault.inner_name(id))?.map(|known| known.row))
    }

    fn conversations(&self, visit: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()> {
        self.rows.conversations(&mut |raw| visit(self.vault.open_row(raw, None)?.row))
    }

    fn blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.vault.visit_blobs(
            &|space, inner, named, visit| self.rows.blobs(space, inner, named, visit),
            space,
            owner,
            named,
            visit,
        )
    }
}

/// A message as a head.
pub(crate) fn head_of(plain: &PlainMessage<'_>) -> Head {
    Head { id: plain.id, digest: plain.digest }
}
