//! Which rows a list has, and in which order: for backends without an index that answers it.

use crate::model::Status;
use crate::store::backend::ConversationRow;
use crate::store::{ListQuery, Page};

impl ListQuery<'_> {
    /// True when a row has the kind that is left out.
    fn excepts(&self, row: &ConversationRow) -> bool {
        self.except_kind.is_some_and(|kind| row.facets.kind == kind)
    }

    /// True when a row passes every filter but that for the kind that is left out.
    fn admits(&self, row: &ConversationRow) -> bool {
        self.project.is_none_or(|project| row.facets.project == project)
            && self.status.is_none_or(|status| self.status_of(row) == status)
            && self.kind.is_none_or(|kind| row.facets.kind == kind)
            && self.only.is_none_or(|only| only.contains(&row.id))
            && self.unexpired_at.is_none_or(|now| row.facets.expires.is_none_or(|expires| expires > now))
    }

    /// The status that a row is filtered by.
    fn status_of(&self, row: &ConversationRow) -> Status {
        match row.facets.status {
            Status::Active if self.idle_since.is_some_and(|since| row.active <= since) => Status::Paused,
            status => status,
        }
    }

    /// Returns the page of these rows: filters, orders and counts them. For an index that holds its rows in
    /// memory.
    pub fn page_of(&self, rows: Vec<ConversationRow>) -> Page<ConversationRow> {
        self.page_among(rows.iter())
    }

    /// The page of these rows, of which only those on it are copied.
    pub(crate) fn page_among<'r>(
        &self,
        rows: impl Iterator<Item = &'r ConversationRow>,
    ) -> Page<ConversationRow> {
        let mut rows: Vec<&ConversationRow> = rows.filter(|row| self.admits(row)).collect();
        let all = rows.len();
        rows.retain(|row| !self.excepts(row));
        let total = self.counts_total.then_some(rows.len() as u64);
        let excepted = self.counts_total.then_some((all - rows.len()) as u64);
        if let Some(after) = self.after {
            rows.retain(|row| (row.active, row.id) < (after.time, after.conversation));
        }
        rows.sort_by_key(|row| std::cmp::Reverse((row.active, row.id)));
        let more = rows.len() > self.limit;
        let items: Vec<ConversationRow> = rows.into_iter().take(self.limit).cloned().collect();
        let next = items.last().filter(|_| more).map(ConversationRow::cursor);
        Page { items, next, total, excepted, damaged: Vec::new() }
    }
}
