//! Finding and searching: every message that may be meant is opened and looked at.

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::tip::searchable;
use crate::store::vault::VaultStore;
use crate::store::{Found, Hit, Order, Page, Read, Row, SearchQuery, Seen, Selection};

impl VaultStore {
    pub(super) fn find_opened(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        let mut rows = self.all_rows()?;
        rows.sort_by_key(|known| known.row.id);
        let digits = text.replace('-', "").to_lowercase();
        let is_meant = |row: &Row| {
            (!digits.is_empty() && row.id.to_string().replace('-', "").starts_with(&digits))
                || row.id.short().as_str().starts_with(text)
                || row.facets.slug == text
        };
        let conversations = rows.iter().filter(|known| is_meant(&known.row));
        let mut found: Vec<Found> = conversations
            .map(|known| Found { conversation: known.row.id, message: None })
            .take(limit)
            .collect();
        for known in rows.iter().filter(|known| known.is_named) {
            if found.len() >= limit {
                break;
            }
            let conversation = known.row.id;
            self.each_message(conversation, &mut |seen| {
                if seen.id.as_str().starts_with(text) && found.len() < limit {
                    found.push(Found { conversation, message: Some(seen.id) });
                }
            })?;
        }
        Ok(found)
    }

    pub(super) fn search_opened(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        let mut hits = Vec::new();
        for known in self.all_rows()?.iter().filter(|known| known.is_named) {
            let conversation = known.row.id;
            if query.conversation.is_some_and(|only| only != conversation)
                || query.project.is_some_and(|project| known.row.facets.project != project)
            {
                continue;
            }
            self.each_message(conversation, &mut |seen| {
                let Some((text, time)) = searchable(seen.body) else { return };
                if query.words.matches(&text) {
                    let body = seen.body.to_owned();
                    hits.push(Hit { conversation, message: seen.id, seq: seen.seq, time, body });
                }
            })?;
        }
        Ok(query.page_of(hits))
    }

    /// Shows every message of a conversation that opens. One that was removed meanwhile has none.
    fn each_message(&self, id: ConversationId, visit: &mut dyn FnMut(&Seen<'_>)) -> Result<()> {
        use crate::error::ErrorKind::{Corrupt, NotFound};
        let mut offset = 0;
        loop {
            let rest = Selection::All { order: Order::OldestFirst, offset, limit: u64::MAX };
            let read = self.read(id, rest, &mut |seen| {
                offset += 1;
                visit(&seen);
                Ok(())
            });
            match read {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == NotFound => return Ok(()),
                // It is in quarantine, and what comes after it can be found.
                Err(error) if error.kind() == Corrupt && self.count(id)? > offset => offset += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn count(&self, id: ConversationId) -> Result<u64> {
        let inner = self.held.workspace().names().conversation(id);
        Ok(self.row_now(inner)?.map_or(0, |known| known.raw.messages))
    }
}
