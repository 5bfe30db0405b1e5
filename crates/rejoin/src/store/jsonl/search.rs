//! Searching: every message is looked at, and only a page of what matches is held.

use std::cmp::Reverse;

use crate::error::{Error, ErrorKind, Result};
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::line::is_json;
use crate::store::tip::searchable;
use crate::store::{Hit, ListQuery, Page, SearchQuery};

impl JsonlStore {
    pub(super) fn search_messages(&self, query: &SearchQuery<'_>) -> Result<Page<Hit>> {
        let only = query.conversation.map(|id| [id]);
        let listed = ListQuery {
            project: query.project,
            only: only.as_ref().map(<[_; 1]>::as_slice),
            limit: usize::MAX,
            ..ListQuery::default()
        };
        let mut hits: Vec<Hit> = Vec::new();
        let listed = self.list_rows(&listed)?;
        let mut damaged = listed.damaged;
        for row in listed.items {
            let Some((opened, known)) = self.glance_at(row.id)? else { continue };
            let seen = self.visit_held(&opened, known.kept.messages.iter(), &mut |seen| {
                let Some((text, time)) = searchable(seen.body) else {
                    // What is no JSON is damaged, and is named.
                    return if is_json(seen.body) { Ok(()) } else { Err(Error::corrupt("it is no JSON")) };
                };
                if !query.words.matches(&text) {
                    return Ok(());
                }
                let hit = Hit {
                    conversation: row.id,
                    message: seen.id,
                    seq: seen.seq,
                    time,
                    body: seen.body.to_owned(),
                };
                let is_after = query.after.is_none_or(|after| hit.cursor().key() < after.key());
                if is_after && query.since.is_none_or(|since| hit.time >= since) {
                    hits.push(hit);
                }
                // One more than the page tells that there is a next one.
                if hits.len() > query.limit.saturating_mul(2).saturating_add(64) {
                    hits.sort_by_key(|hit| Reverse(hit.cursor().key()));
                    hits.truncate(query.limit.saturating_add(1));
                }
                Ok(())
            });
            match seen {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                other => damaged.extend(other?),
            }
        }
        Ok(Page { damaged, ..query.page_of(hits) })
    }
}
