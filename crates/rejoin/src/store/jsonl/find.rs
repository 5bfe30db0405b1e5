//! Looking up what a person typed.

use crate::error::Result;
use crate::model::MessageId;
use crate::store::Found;
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::list::index::quoted;
use crate::store::jsonl::list::trusted::IndexReading;
use crate::store::query::Sought;

impl Jsonl {
    /// What begins with a text.
    pub(super) fn find_names(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        let sought = Sought::of(text);
        let slug = quoted(text);
        let may_be_message =
            text.len() <= MessageId::MAX_LENGTH && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let begins = format!(" {text}");
        let (mut found, mut messages) = (Vec::new(), Vec::new());
        let wanted = if may_be_message { IndexReading::Messages } else { IndexReading::Rows };
        self.each_entry(wanted, &mut |entry| {
            if sought.begins(entry.id) || entry.slug == slug {
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
