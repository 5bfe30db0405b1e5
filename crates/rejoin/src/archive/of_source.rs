//! Listing and searching what came from one program.
//!
//! A store knows nothing of programs, so the header of each conversation that it offers is looked at. Lists
//! and searches of every source pay nothing for this.

use std::collections::HashMap;

use crate::archive::query::{List, Listed};
use crate::archive::{Archive, ArchiveReader, decode};
use crate::error::{ErrorKind, Result};
use crate::model::{Conversation, ConversationId, StoredConversation, Time};
use crate::store::{Cursor, Hit, ListQuery, Page, Row, SearchOrder, SearchQuery};

/// How many rows or hits are looked at in one read.
const PAGE: usize = 200;

impl Conversation {
    /// True for an import of this format; the empty name means what began here.
    fn is_of_source(&self, source: &str) -> bool {
        self.origin.as_ref().map_or("", |origin| origin.format.as_str()) == source
    }
}

fn is_of_source(row: &Row, source: &str) -> bool {
    Conversation::from_header(&row.header).is_ok_and(|header| header.is_of_source(source))
}

impl Archive {
    /// A page of what a query lists of one source.
    pub(super) fn list_of_source(
        &self,
        source: &str,
        mut query: ListQuery<'_>,
        now: Time,
    ) -> Result<Listed<StoredConversation>> {
        let limit = query.limit;
        query.limit = PAGE;
        let mut found: Vec<Row> = Vec::new();
        let mut left_out = Vec::new();
        loop {
            let page = self.page(&query, now)?;
            self.note_left_out(&page.damaged);
            for damage in page.damaged {
                if !left_out.contains(&damage) {
                    left_out.push(damage);
                }
            }
            found.extend(page.items.into_iter().filter(|row| is_of_source(row, source)));
            query.after = page.next;
            if found.len() > limit || query.after.is_none() {
                break;
            }
        }
        let has_more = found.len() > limit;
        found.truncate(limit);
        let after = |row: &Row| Cursor { time: row.active, conversation: row.id, seq: 0 }.to_text();
        Ok(Listed {
            next_cursor: found.last().filter(|_| has_more).map(after),
            items: found.into_iter().map(decode).collect::<Result<_>>()?,
            left_out,
        })
    }

    /// A page of what a query finds in conversations of one source.
    pub(super) fn search_of_source(&self, source: &str, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        let mut known: HashMap<ConversationId, bool> = HashMap::new();
        let limit = query.limit;
        let mut query = SearchQuery { limit: limit.max(PAGE), ..*query };
        let mut found: Vec<Hit> = Vec::new();
        let mut damaged: Vec<String> = Vec::new();
        loop {
            let page = self.store().search(&query)?;
            let is_full = page.items.len() >= query.limit;
            damaged.extend(page.damaged);
            for hit in page.items {
                let is_meant = match known.get(&hit.conversation) {
                    Some(is_meant) => *is_meant,
                    None => self.is_of_source(hit.conversation, source)?,
                };
                known.insert(hit.conversation, is_meant);
                found.extend(is_meant.then_some(hit));
            }
            match (query.order, page.next) {
                (SearchOrder::Newest, Some(next)) if found.len() <= limit => query.after = Some(next),
                // The best are one page, so a longer one is asked for.
                (SearchOrder::Best, _) if found.len() < limit && is_full => {
                    query.limit = query.limit.saturating_mul(4);
                    found.clear();
                }
                _ => break,
            }
        }
        damaged.sort();
        damaged.dedup();
        let has_more = found.len() > limit && query.order == SearchOrder::Newest;
        found.truncate(limit);
        let next = found.last().filter(|_| has_more).map(Hit::cursor);
        Ok(Page { items: found, next, total: None, excepted: None, damaged })
    }

    fn is_of_source(&self, id: ConversationId, source: &str) -> Result<bool> {
        match self.conversation(id) {
            Ok(stored) => Ok(stored.conversation.is_of_source(source)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl ArchiveReader<'_> {
    /// Counts what a list has of its source, on all pages, and what it leaves out for its kind.
    pub(super) fn count_of_source(&self, list: &List) -> Result<(u64, u64)> {
        let mut all = List { cursor: None, ..list.clone() };
        let except = all.except_kind.take();
        let (mut listed, mut excepted) = (0, 0);
        self.each_conversation(&all, &mut |stored: StoredConversation| {
            match Some(&stored.conversation.kind) == except.as_ref() {
                true => excepted += 1,
                false => listed += 1,
            }
            Ok(())
        })?;
        Ok((listed, excepted))
    }
}
