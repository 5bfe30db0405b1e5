//! Looking up what a person typed.

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::backend::ConversationRow;
use crate::store::sealed::Sealed;
use crate::store::sealed::scan::{ScanNext, Scanned};
use crate::store::sealed::search::fill::SegmentDoubt;
use crate::store::sealed::search::segments::IndexCoverage;
use crate::store::{Found, Order, Selection};

impl Sealed {
    pub(crate) fn find_opened(&self, text: &str, limit: usize) -> Result<Vec<Found>> {
        let mut rows = self.all_rows()?;
        rows.sort_by_key(|known| known.row.id);
        let digits = text.replace('-', "").to_lowercase();
        let is_meant = |row: &ConversationRow| {
            (!digits.is_empty() && row.id.to_string().replace('-', "").starts_with(&digits))
                || row.id.short().as_str().starts_with(text)
                || row.facets.slug == text
        };
        let conversations = rows.iter().filter(|known| is_meant(&known.row));
        let mut found: Vec<Found> = conversations
            .map(|known| Found { conversation: known.row.id, message: None })
            .take(limit)
            .collect();
        // Nothing else can be the beginning of a message's id.
        if text.len() > MessageId::MAX_LENGTH || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Ok(found);
        }
        for known in rows.iter().filter(|known| known.is_named) {
            if found.len() >= limit {
                break;
            }
            let extent = IndexCoverage::of(&known.raw);
            let ids = match self.find_in(known.raw.id, extent, text, limit - found.len()) {
                // It was removed since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                ids => ids?,
            };
            let conversation = known.row.id;
            found.extend(ids.into_iter().map(|id| Found { conversation, message: Some(id) }));
        }
        Ok(found)
    }

    /// The messages of a conversation whose ids begin like this: from its
    /// segments, and from what they do not cover.
    fn find_in(
        &self,
        inner: ConversationId,
        extent: IndexCoverage,
        beginning: &str,
        limit: usize,
    ) -> Result<Vec<MessageId>> {
        let mut owner_keys = self.key_cache.owner_keys(Some(inner));
        let chain = self.chain_of(inner, &mut owner_keys)?;
        let held = chain.segments.iter().flat_map(|ids| &ids.held).map(|held| held.id);
        let mut ids: Vec<MessageId> = held.filter(|id| id.as_str().starts_with(beginning)).collect();
        if chain.extent() != extent {
            self.suspect(inner, SegmentDoubt::Behind);
            let newest = Selection::All { order: Order::NewestFirst, offset: 0, limit: u64::MAX };
            self.scan(inner, &mut owner_keys, newest, &mut |Scanned { seq, id, body, .. }| {
                if seq <= chain.covered() {
                    return ScanNext::Stop;
                }
                ids.extend(body.is_some().then_some(id).filter(|id| id.as_str().starts_with(beginning)));
                ScanNext::Go
            })?;
        }
        let mut found: Vec<MessageId> = Vec::new();
        for id in ids {
            if found.len() == limit {
                break;
            }
            if !found.contains(&id) && self.is_message(inner, id)? {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// True when the inner store has this message. One that was removed may still be named by a segment.
    fn is_message(&self, inner: ConversationId, id: MessageId) -> Result<bool> {
        let name = self.key_cache.workspace().names().message(inner, id);
        match self.inner.read(inner, Selection::Ids(&[name]), &mut |_| Ok(())) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            read => read.map(|()| true),
        }
    }
}
