//! The order of a list: newest activity first, and last what a clock that was wrong has dated far ahead.
//!
//! ```text
//! in the store   2200  2199  │  today  yesterday  …
//! in a list      today  yesterday  …  │  2200  2199
//! ```
//! A cursor beyond the present continues among those at the end.

use crate::archive::Archive;
use crate::error::Result;
use crate::model::{ConversationId, Time};
use crate::store::{Cursor, ListQuery, Page, Row};

impl Archive {
    /// A page of a list.
    pub(super) fn page(&self, query: &ListQuery<'_>, now: Time) -> Result<Page<Row>> {
        match query.after {
            Some(after) if after.time.is_far_ahead_of(now) => return self.page_ahead(query, now),
            Some(_) => {}
            None => {
                let page = self.store().list(query)?;
                if !page.items.first().is_some_and(|row| row.active.is_far_ahead_of(now)) {
                    return Ok(page);
                }
            }
        }
        let greatest = ConversationId::from_bytes([u8::MAX; 16]);
        // The greatest time that is not ahead of now, and the first row at it.
        let first = Cursor { time: now.a_day_later(), conversation: greatest, seq: 0 };
        let after = query.after.unwrap_or(first);
        let mut page = self.store().list(&ListQuery { after: Some(after), ..*query })?;
        if page.next.is_none() {
            let rest = ListQuery { after: None, limit: query.limit - page.items.len(), ..*query };
            let ahead = self.page_ahead(&rest, now)?;
            page.items.extend(ahead.items);
            page.next = ahead.next;
        }
        Ok(page)
    }

    /// The rows at the end of a list. A limit of none still says whether there are any.
    fn page_ahead(&self, query: &ListQuery<'_>, now: Time) -> Result<Page<Row>> {
        let mut page = self.store().list(&ListQuery { limit: query.limit.max(1), ..*query })?;
        let all = page.items.len();
        page.items.retain(|row| row.active.is_far_ahead_of(now));
        if page.items.len() < all {
            page.next = None;
        }
        if query.limit == 0 && page.items.pop().is_some() {
            let conversation = ConversationId::from_bytes([u8::MAX; 16]);
            page.next = Some(Cursor { time: Time::from_micros(i64::MAX), conversation, seq: 0 });
        }
        Ok(page)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archive::List;
    use crate::model::Conversation;
    use crate::store::{Facets, MemoryStore, Opening, PreviewUpdate, Stale, Store, Turn};

    const YEAR: i64 = 365 * 86_400_000_000;

    /// Titles on each page of a list, in which these were active so many years from now.
    fn pages(years: &[i64], limit: usize) -> Vec<Vec<String>> {
        let store = Arc::new(MemoryStore::new());
        for (place, year) in (1..).zip(years) {
            let header = Conversation::titled(year.to_string());
            let active = Time::now().plus_micros(year * YEAR);
            let (facets, bytes) = (Facets::of(&header), header.to_header());
            let turn = Turn {
                conversation: ConversationId::from_bytes([place; 16]),
                opening: Some(Opening { facets: &facets, header: &bytes, created: active }),
                stale: Stale::Branch,
                entries: &[],
                previews: PreviewUpdate::default(),
                branch: None,
                active,
                now: active,
                blobs: &[],
            };
            store.append(&turn).unwrap();
        }
        let archive = Archive::with_store(store);
        let (mut pages, mut list) = (Vec::new(), List { limit, ..List::default() });
        loop {
            let page = archive.list(&list).unwrap();
            pages.push(page.items.iter().map(|stored| stored.title().to_owned()).collect());
            list.cursor = page.next_cursor;
            if list.cursor.is_none() {
                return pages;
            }
        }
    }

    #[test]
    fn what_is_dated_far_ahead_comes_last_on_whatever_page() {
        let years = [-2, 200, 0, 100, -1];

        let told =
            [pages(&years, 9), pages(&years, 3), pages(&years, 4), pages(&[5, 6], 1), pages(&[-1, 0], 1)];

        let expected: [&[&[&str]]; 5] = [
            &[&["0", "-1", "-2", "200", "100"]],
            &[&["0", "-1", "-2"], &["200", "100"]],
            &[&["0", "-1", "-2", "200"], &["100"]],
            &[&["6"], &["5"]],
            &[&["0"], &["-1"]],
        ];
        assert_eq!(told, expected.map(|pages| pages.iter().map(|page| page.to_vec()).collect::<Vec<_>>()));
    }
}
