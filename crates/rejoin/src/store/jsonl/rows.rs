//! `Rows` of plain files: a conversation is opened once for a snapshot, and stays as it was then.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::backend::{CommitHint, ConversationRow, Node, Presence, Rows, State, VisitMessage, Which};
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::files::{OpenScan, Purpose};
use crate::store::jsonl::read::told;
use crate::store::{BlobNames, ListQuery, Order, Space, VisitBlob};

/// A snapshot of one conversation; others are read when they are asked for.
pub(super) struct JsonlRows<'s> {
    store: &'s Jsonl,
    /// The conversation that is going to be written to. The lock of those who write is held.
    written: Option<ConversationId>,
    is_made: bool,
    /// The conversation that was looked at last, or the one that is going to be written to.
    seen: RefCell<Option<ConversationFile>>,
}

/// A conversation, and its file if it has one.
type ConversationFile = (ConversationId, Option<Rc<OpenScan>>);

impl<'s> JsonlRows<'s> {
    pub(super) const fn to_read(store: &'s Jsonl) -> Self {
        Self { store, written: None, is_made: false, seen: RefCell::new(None) }
    }

    pub(super) const fn to_write(store: &'s Jsonl, hint: &CommitHint<'_>) -> Self {
        Self { store, written: hint.conversation, is_made: hint.is_made, seen: RefCell::new(None) }
    }

    /// The file that was decided about, if there is one.
    pub(super) fn into_decided(self, id: ConversationId) -> Result<Option<Rc<OpenScan>>> {
        self.look(id)
    }

    fn look(&self, id: ConversationId) -> Result<Option<Rc<OpenScan>>> {
        if let Some(seen) = self.seen(id) {
            return Ok(seen);
        }
        let purpose = if self.written == Some(id) { Purpose::Write } else { Purpose::Read };
        let look = self.store.look(purpose, id)?.map(Rc::new);
        if self.written.is_none_or(|written| written == id) {
            self.seen.replace(Some((id, look.clone())));
        }
        Ok(look)
    }

    /// What was seen of a conversation, if that is remembered.
    fn seen(&self, id: ConversationId) -> Option<Option<Rc<OpenScan>>> {
        self.seen.borrow().as_ref().filter(|(own, _)| *own == id).map(|(_, look)| look.clone())
    }

    /// A conversation's file, if it holds one.
    fn there(&self, id: ConversationId) -> Result<Option<Rc<OpenScan>>> {
        Ok(self.look(id)?.filter(|look| !look.1.is_nothing()))
    }

    /// The same for one who comes from another conversation and goes on to the
    /// next: it is not worth remembering.
    fn passing(&self, id: ConversationId) -> Result<Option<Rc<OpenScan>>> {
        if let Some(seen) = self.seen(id) {
            return Ok(seen.filter(|look| !look.1.is_nothing()));
        }
        Ok(self.store.glance_at(id)?.map(|(opened, known)| Rc::new((opened, Arc::new(known)))))
    }
}

impl Rows for JsonlRows<'_> {
    fn has(&self, id: ConversationId) -> Result<bool> {
        Ok(self.store.keys_in_lines(id).is_some() || self.there(id)?.is_some())
    }

    fn state(&self, id: ConversationId) -> Result<Presence> {
        let look = self.look(id)?;
        if let Some(known) = look.as_ref().map(|look| &look.1).filter(|known| !known.is_nothing()) {
            return Ok(Presence::Stored(known.kept.tree.state()));
        }
        // A file that another program made is told to readers. It is nothing to remove or to change.
        let is_foreign = || -> Result<bool> { Ok(look.is_some() && !self.store.is_acknowledged(id)?) };
        if self.is_made || (self.written == Some(id) && is_foreign()?) {
            return Ok(Presence::Absent);
        }
        let loss = self.store.loss_of(id, look.as_deref())?;
        Ok(loss.map_or(Presence::Absent, |loss| Presence::Lost(Error::corrupt(loss))))
    }

    fn active(&self, _: ConversationId, state: &State) -> Result<Time> {
        Ok(state.active)
    }

    fn node(&self, id: ConversationId, message: MessageId) -> Result<Option<Node>> {
        let Some(look) = self.there(id)? else { return Ok(None) };
        let tree = &look.1.kept.tree;
        Ok(tree.seq_of(message).and_then(|seq| tree.node(seq)).copied())
    }

    fn vouches(&self, node: &Node, link: Digest) -> bool {
        node.link == link
    }

    fn nodes(&self, id: ConversationId, visit: &mut dyn FnMut(&Node) -> Result<()>) -> Result<()> {
        let Some(look) = self.there(id)? else { return Ok(()) };
        look.1.kept.tree.messages().iter().try_for_each(|held| visit(&held.node))
    }

    fn messages(&self, id: ConversationId, which: Which<'_>, visit: &mut VisitMessage<'_>) -> Result<()> {
        let Some(look) = self.passing(id)? else { return Ok(()) };
        let (opened, known) = &*look;
        let (tree, store) = (&known.kept.tree, self.store);
        let mut damage = match which {
            // A message that is asked for by itself was found, whatever became of other lines.
            Which::These(seqs) => {
                let these = seqs.iter().filter_map(|seq| tree.message(*seq));
                return told(store.visit_held(opened, these, visit)?);
            }
            Which::Path(target) => store.visit_held(opened, tree.path_to(target).into_iter(), visit)?,
            Which::Range(order, offset, limit) => {
                let [offset, limit] = [offset, limit].map(|many| usize::try_from(many).unwrap_or(usize::MAX));
                let all = tree.messages().iter();
                match order {
                    Order::OldestFirst => store.visit_held(opened, all.skip(offset).take(limit), visit)?,
                    Order::NewestFirst => {
                        store.visit_held(opened, all.rev().skip(offset).take(limit), visit)?
                    }
                }
            }
        };
        damage.splice(..0, opened.damage(known));
        told(damage)
    }

    fn conversation(&self, id: ConversationId) -> Result<Option<ConversationRow>> {
        Ok(self.there(id)?.map(|look| look.1.kept.row()))
    }

    fn conversations(&self, visit: &mut dyn FnMut(ConversationRow) -> Result<()>) -> Result<()> {
        let page = self.store.list_page(&ListQuery { limit: usize::MAX, ..ListQuery::default() })?;
        page.items.into_iter().try_for_each(visit)?;
        told(page.damaged)
    }

    fn blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        if let Some(written) = self.written.filter(|written| owner == Some(*written))
            && let Some(look) = self.there(written)?
        {
            return self.store.visit_blobs_of(&look.1.kept, space, named, visit);
        }
        self.store.visit_blobs(space, owner, named, visit)
    }
}
