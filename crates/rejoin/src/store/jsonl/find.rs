//! Looking up what a person typed.

use crate::error::Result;
use crate::model::MessageId;
use crate::store::Found;
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::index::quoted;

impl JsonlStore {
    pub(super) fn find_names(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        let digits = text.replace('-', "").to_lowercase();
        let slug = quoted(text);
        let may_be_message =
            text.len() <= MessageId::MAX_LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let begins = format!(" {text}");
        let (mut found, mut messages) = (Vec::new(), Vec::new());
        self.each_entry(&mut |entry| {
            let bare = entry.id.to_string().replace('-', "");
            let is_meant = (!digits.is_empty() && bare.starts_with(&digits))
                || entry.id.short().as_str().starts_with(text)
                || (!text.is_empty() && entry.slug == slug);
            if is_meant {
                found.push(Found { conversation: entry.id, message: None });
            }
            if may_be_message && entry.messages.contains(&begins) {
                let ids = entry.messages.split(' ').filter(|id| !id.is_empty() && id.starts_with(text));
                messages.extend(
                    ids.filter_map(|id| id.parse().ok())
                        .map(|id| Found { conversation: entry.id, message: Some(id) }),
                );
            }
        })?;
        found.sort_by_key(|found: &Found| found.conversation);
        messages.sort_by_key(|found: &Found| (found.conversation, found.message));
        found.append(&mut messages);
        found.truncate(limit);
        Ok(found)
    }
}
