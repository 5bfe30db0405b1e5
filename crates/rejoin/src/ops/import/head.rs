//! Where the head of an imported conversation belongs: where the program would
//! go on, unless someone went on here.

use crate::error::Result;
use crate::formats::SOURCE;
use crate::model::{Message, MessageId};
use crate::ops::import::bookmark::Bookmark;
use crate::ops::import::growing::Growing;
use crate::ops::import::route::ImportRoute;
use crate::store::{Change, Order, Selection};

impl Growing<'_> {
    /// The bookmark that is there, or the one that is needed.
    pub(super) fn needed_bookmark(&self) -> Result<Option<Bookmark>> {
        let head = self.stored.as_ref().and_then(|row| row.head).map(|head| head.id);
        if matches!(self.route, ImportRoute::Into(_)) {
            // A branch that was cut off has left the head in it.
            let left = if self.exists { Bookmark::left(self.into.store, self.id)? } else { None };
            let left = left.filter(|left| head.is_some() && left.left_at == head);
            return Ok(left.or_else(|| head.map(|head| Bookmark::of(Some(head)))));
        }
        let is_of_someone = match head {
            Some(head) => self.source_of(head)?.is_none(),
            None => false,
        };
        // In a file of ours, what was imported looks like what was said here.
        let was_left_since = is_of_someone && !self.format.is_own();
        if self.exists
            && !was_left_since
            && let Some(left) = Bookmark::left(self.into.store, self.id)?
        {
            return Ok(Some(left));
        }
        // Whoever went on here and then back to an earlier message is where he wants to be.
        let here = head.filter(|_| is_of_someone || self.has_own || self.format.is_own());
        Ok((here.is_some() || self.found.head.is_some()).then_some(Bookmark::of(here)))
    }

    /// The head as it is now. Someone who went on here since the import began is who it belongs to.
    pub(super) fn notice_head(&mut self) -> Result<Option<MessageId>> {
        if !self.exists {
            return Ok(None);
        }
        let head = self.into.row_of(self.id)?.and_then(|row| row.head).map(|head| head.id);
        if let Some(id) = head
            && !self.known.contains_key(&id)
            && self.source_of(id)?.is_none()
        {
            self.bookmark = Some(Bookmark::of(Some(id)));
        }
        Ok(head)
    }

    /// Notices who went on here just before an append moved the head away.
    fn notice_newest(&mut self) -> Result<()> {
        let Some(row) = self.into.row_of(self.id)? else { return Ok(()) };
        if row.messages <= self.known.len() as u64 {
            return Ok(());
        }
        let mut newest = None;
        let all = Selection::All { order: Order::NewestFirst, offset: 0, limit: u64::MAX };
        self.into.store.read(self.id, all, &mut |seen| {
            if newest.is_none() && !self.known.contains_key(&seen.id) {
                let is_imported = Message::from_body(seen.body)?.extra.field(SOURCE).is_some();
                newest = Some(seen.id).filter(|_| !is_imported);
            }
            Ok(())
        })?;
        if newest.is_some() {
            self.bookmark = Some(Bookmark::of(newest));
        }
        Ok(())
    }

    /// The head at the source, if it is not the last message.
    pub(super) fn learnt_head(&self) -> Option<String> {
        self.head().and(self.found.head.clone())
    }

    /// The message that the program would go on from, if it is not the last one of the source.
    pub(super) fn head(&self) -> Option<MessageId> {
        let head = self.found.head.as_deref().map(|head| self.name(head))?;
        (self.known.contains_key(&head) && Some(head) != self.last).then_some(head)
    }

    /// True when a file of ours has everything that is here, so that its head counts.
    /// Only when it was read is that known.
    fn follows_source(&self, here: MessageId) -> bool {
        let is_all_met = || self.known.keys().all(|id| self.met.contains(id));
        self.format.is_own()
            && !matches!(self.route, ImportRoute::Into(_))
            && self.met.contains(&here)
            && is_all_met()
    }

    /// Moves the head to where the program would go on, unless someone went on here.
    pub(super) fn place_head(&mut self) -> Result<()> {
        let was_cut_off = self.exists && Bookmark::left(self.into.store, self.id)?.is_some();
        if self.added == 0 && self.regrown.is_empty() && !was_cut_off {
            return Ok(());
        }
        let now = self.notice_head()?;
        self.notice_newest()?;
        let here = self.bookmark.and_then(|bookmark| bookmark.here);
        let here = here.filter(|here| !self.follows_source(*here));
        let head = here.or_else(|| self.head()).or(self.last);
        if head.is_some() && head != now {
            self.into.store.amend(self.id, None, &Change::Head(head), self.into.now)?;
        }
        if was_cut_off { Bookmark::erase(self.into.store, self.id) } else { Ok(()) }
    }
}
