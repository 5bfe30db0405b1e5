//! Looking up what a person typed.

use crate::error::Result;
use crate::model::MessageId;
use crate::store::Found;
use crate::store::ListQuery;
use crate::store::jsonl::JsonlStore;

impl JsonlStore {
    pub(super) fn find_names(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        let digits = text.replace('-', "").to_lowercase();
        let rows = self.list_rows(&ListQuery { limit: usize::MAX, ..ListQuery::default() })?.items;
        let mut found: Vec<Found> = rows
            .iter()
            .filter(|row| {
                let bare = row.id.to_string().replace('-', "");
                (!digits.is_empty() && bare.starts_with(&digits))
                    || row.id.short().as_str().starts_with(text)
                    || (!text.is_empty() && row.facets.slug == text)
            })
            .map(|row| Found { conversation: row.id, message: None })
            .collect();
        found.sort_by_key(|found| found.conversation);
        found.truncate(limit);
        if text.len() > MessageId::MAX_LENGTH || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Ok(found);
        }
        let mut ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        ids.sort();
        for id in ids {
            if found.len() >= limit {
                break;
            }
            let Some(known) = self.glance(id)? else { continue };
            let messages = known.kept.messages.iter().filter(|held| held.id.as_str().starts_with(text));
            found.extend(messages.map(|held| Found { conversation: id, message: Some(held.id) }));
        }
        found.truncate(limit);
        Ok(found)
    }
}
