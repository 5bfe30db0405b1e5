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
use crate::store::sealed::decrypt_pipeline::{Ahead, Desk, Opened, Opener};
use crate::store::sealed::failed::{Failures, gone_past, to_error};
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::keys::held::{DATA, DataKeys, Trouble};
use crate::store::sealed::keys::names::Names;
use crate::store::sealed::keys::workspace::Workspace;
use crate::store::sealed::records::message::{Chain, Plain, SealedNote};
use crate::store::sealed::records::row::{Known, SealedLast};
use crate::store::sealed::records::tips::Tip;
use crate::store::sealed::{KEYS, Sealed};
use crate::store::{Named, Order, Space, VisitBlob};

/// A snapshot of the inner backend, decrypted.
pub(crate) struct Moment<'r> {
    pub(crate) vault: &'r Sealed,
    pub(crate) rows: &'r dyn Rows,
    workspace: Arc<Workspace>,
    /// Keys of this snapshot, by owner.
    keys: RefCell<BTreeMap<Option<ConversationId>, Arc<DataKeys>>>,
    /// Messages that do not open. They are known by their inner names.
    nameless: RefCell<BTreeSet<MessageId>>,
}

impl<'r> Moment<'r> {
    pub(crate) fn new(vault: &'r Sealed, rows: &'r dyn Rows) -> Self {
        Self {
            vault,
            rows,
            workspace: vault.held.workspace(),
            keys: RefCell::default(),
            nameless: RefCell::default(),
        }
    }

    pub(crate) fn names(&self) -> &Names {
        self.workspace.names()
    }

    /// The inner name of a message. One that does not open is named by it.
    pub(crate) fn message_name(&self, inner: ConversationId, id: MessageId) -> MessageId {
        if self.nameless.borrow().contains(&id) { id } else { self.names().message(inner, id) }
    }

    /// The keys of an owner, who is named by the inner name.
    pub(crate) fn keys(&self, inner: Option<ConversationId>) -> Result<Arc<DataKeys>, Trouble> {
        if let Some(keys) = self.keys.borrow().get(&inner) {
            return Ok(Arc::clone(keys));
        }
        let mut wrapped = None;
        self.rows.blobs(KEYS, inner, Named::One(DATA), &mut |_, bytes| {
            wrapped = Some(bytes.to_vec());
            Ok(())
        })?;
        let keys = self.vault.held.unwrapped(inner, wrapped.ok_or(Broken::NoKey)?)?;
        self.keys.borrow_mut().insert(inner, Arc::clone(&keys));
        Ok(keys)
    }

    /// What is encrypted of a conversation beside its header and messages. What does not open is as if it were not there.
    pub(crate) fn tip(&self, inner: ConversationId, state: &State) -> Result<Tip> {
        let keys = match self.keys(Some(inner)) {
            Ok(keys) => Some(keys),
            Err(Trouble::Broken(_)) => None,
            Err(Trouble::Failed(error)) => return Err(error),
        };
        if let Some(tip) = keys.as_ref().and_then(|keys| self.vault.tips().get(inner, state, keys)) {
            return Ok(tip);
        }
        if let Some(tip) = self.opened_tip(&self.raw(inner)?)? {
            return Ok(tip);
        }
        match self.known(inner)? {
            Some(known) => Ok(known.into_tip(state)),
            None => Err(unknown(inner)),
        }
    }

    /// The tip of a conversation as the backend has it; none when it does not open.
    pub(crate) fn opened_tip(&self, raw: &ConversationRow) -> Result<Option<Tip>> {
        let mut ring = self.vault.held.ring(Some(raw.id));
        match SealedLast::open(&mut ring, raw.id, &raw.last) {
            Ok(last) => Ok(Some(last.into_tip())),
            Err(Trouble::Broken(_)) => Ok(None),
            Err(Trouble::Failed(error)) => Err(error),
        }
    }

    /// The tip that a change leaves of a conversation with this one. The change is in the backend's terms.
    pub(crate) fn amended_tip(&self, mut tip: Tip, state: &State, amend: &Amend<'_>) -> Result<Tip> {
        let inner = amend.conversation;
        tip.numbers.amend(state, amend);
        match &amend.change {
            Amendment::Head(None) => tip.head = None,
            Amendment::Head(Some((_, seq))) => tip.head = self.message(inner, *seq, head_of)?,
            Amendment::Rewrite(bodies, ..) => {
                if let Some(new) = bodies.iter().find(|new| Some(new.seq) == state.head) {
                    tip.head = self.message_with(inner, new.seq, Some(new), head_of)?;
                }
            }
            Amendment::Header(..) | Amendment::Note(..) | Amendment::Branch(..) | Amendment::Unbranch(_) => {}
        }
        Ok(tip)
    }

    /// The tip that a removal leaves of a conversation with this one. The removal is in the backend's terms.
    pub(crate) fn trimmed_tip(&self, mut tip: Tip, state: &State, removal: &Removal<'_>) -> Result<Tip> {
        let inner = removal.conversation;
        if tip.numbers.loses_head(removal) {
            tip.head = match removal.head {
                Some((_, seq)) => self.message(inner, seq, head_of)?,
                None => None,
            };
        }
        tip.numbers.remove(state, &self.raw(inner)?.branches, removal);
        Ok(tip)
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
    pub(crate) fn known(&self, inner: ConversationId) -> Result<Option<Known>> {
        let raw = self.rows.conversation(inner)?;
        raw.map(|raw| self.vault.open_row(raw, None)).transpose()
    }

    /// Opens one message; none when it does not open.
    pub(crate) fn message<T>(
        &self,
        inner: ConversationId,
        seq: u32,
        read: impl FnOnce(&Plain<'_>) -> T,
    ) -> Result<Option<T>> {
        self.message_with(inner, seq, None, read)
    }

    /// The same of a message that gets another body.
    fn message_with<T>(
        &self,
        inner: ConversationId,
        seq: u32,
        new: Option<&NewBody<'_>>,
        read: impl FnOnce(&Plain<'_>) -> T,
    ) -> Result<Option<T>> {
        let mut ring = self.vault.held.ring(Some(inner));
        let (mut buffer, mut read, mut found) = (Vec::new(), Some(read), None);
        let visited = self.rows.messages(inner, Which::These(&[seq]), &mut |row| {
            let row = new.map_or(*row, |new| MessageRow { link: new.link, body: new.body, ..*row });
            match Plain::open(&mut ring, self.names(), inner, &row, &mut buffer) {
                Ok(plain) => found = read.take().map(|read| read(&plain)),
                Err(Trouble::Broken(_)) => {}
                Err(Trouble::Failed(error)) => return Err(error),
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

impl Rows for Moment<'_> {
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
        Ok(self.tip(self.vault.inner_name(id), state)?.active)
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
        let (mut ring, mut buffer) = (self.vault.held.ring(Some(inner)), Vec::new());
        let all = Which::Range(Order::OldestFirst, 0, u64::MAX);
        let visited = self.rows.messages(inner, all, &mut |row| {
            match Plain::open(&mut ring, self.names(), inner, row, &mut buffer) {
                Ok(plain) => drop(ids.insert(row.seq, plain.id)),
                Err(Trouble::Broken(_)) => {}
                Err(Trouble::Failed(error)) => return Err(error),
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
        let opener = Opener::new(self.vault.held.ring(Some(inner)), self.names(), inner);
        let (desk, mut chain, mut failures) = (Desk::default(), Chain::default(), Failures::default());
        let mut show = |sealed: &MessageRow<'_>, opened: Result<Opened<'_>, Trouble>| {
            let opened = opened.and_then(|opened| Ok(chain.follow(&opened.plain).map(|()| opened)?));
            let Opened { plain, note } = match opened {
                Ok(opened) => opened,
                Err(trouble) => return failures.add(id, sealed, "message", sealed.body, trouble),
            };
            let note = match note {
                Ok(note) => note,
                Err(trouble) => {
                    failures.add(id, sealed, "note", sealed.label.unwrap_or_default(), trouble)?;
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
            let (mut ahead, mut is_cut) = (Ahead::new(scope, &desk, opener), false);
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
        named: Named<'_>,
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
pub(crate) fn head_of(plain: &Plain<'_>) -> Head {
    Head { id: plain.id, digest: plain.digest }
}
