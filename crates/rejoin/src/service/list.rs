//! Lists of records, newest first, page by page.

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, List};
use crate::error::Result;
use crate::formats::agent_voice::record;
use crate::model::{ConversationId, StoredConversation, Time};
use crate::service::{ConversationStorageService, ConversationSummary, RetentionInfo, blob_version};
use crate::store::Cursor;

/// How many records a page has unless it is said.
const LIMIT: usize = 20;

/// The longest page.
const MOST: usize = 500;

/// At least so many are read at once, since some may have expired.
const READ: usize = 50;

const DAY: i64 = 86_400_000_000;

/// Which records to list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ListOptions {
    /// How many at most: 20 unless it is said, and never more than 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Where to continue: the cursor of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Also those that have expired and were not swept yet.
    pub include_expired: bool,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListResult<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next page begins; none on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How many there are on all pages.
    pub total_count: u64,
}

/// A record in a list, without what was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationRecordSummary {
    /// Its id.
    pub conversation_id: String,
    /// Its title.
    pub title: String,
    /// When it was started.
    pub created_at: Time,
    /// When something was last said.
    pub last_interaction_at: Time,
    /// Where it stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<ConversationSummary>,
    /// How many frames it has.
    pub message_count: u64,
    /// How long it is kept.
    pub retention: RetentionInfo,
    /// Its version.
    pub blob_version: u64,
}

impl ConversationStorageService {
    /// Lists records, the one that was last talked in first.
    pub fn list_records(&self, options: &ListOptions) -> Result<ListResult<ConversationRecordSummary>> {
        let archive = self.opened()?;
        let limit = options.limit.filter(|limit| *limit > 0).unwrap_or(LIMIT).min(MOST);
        let mut list = List {
            includes_expired: options.include_expired,
            cursor: options.cursor.clone(),
            limit: (limit + 1).max(READ),
            ..List::default()
        };
        let mut found: Vec<StoredConversation> = Vec::new();
        loop {
            let page = archive.list(&list)?;
            let live = page.items.into_iter().filter(|stored| self.admits(&archive, stored, options));
            found.extend(live.take(limit + 1 - found.len()));
            match page.next_cursor {
                Some(cursor) if found.len() <= limit => list.cursor = Some(cursor),
                _ => break,
            }
        }
        let has_more = found.len() > limit;
        found.truncate(limit);
        Ok(ListResult {
            next_cursor: found.last().filter(|_| has_more).map(cursor_after),
            items: found.iter().map(|stored| self.summary(stored)).collect(),
            total_count: self.count(&archive, options)?,
        })
    }

    fn admits(&self, archive: &Archive, stored: &StoredConversation, options: &ListOptions) -> bool {
        options.include_expired || !self.retention.is_expired(stored, archive.now())
    }

    /// Counts the records on all pages. Those that expired by the policy are the
    /// oldest, so only these are looked at.
    fn count(&self, archive: &Archive, options: &ListOptions) -> Result<u64> {
        let list = List { includes_expired: options.include_expired, ..List::default() };
        let all = archive.reader().count(&list)?;
        let Some(days) = self.retention.days.filter(|_| !options.include_expired) else { return Ok(all) };
        let time = archive.now().plus_micros(-i64::from(days) * DAY);
        let oldest = Cursor { time, conversation: ConversationId::from_bytes([u8::MAX; 16]), seq: 0 };
        let mut expired = 0;
        let list = List { cursor: Some(oldest.to_text()), ..list };
        archive.reader().each_conversation(&list, &mut |stored| {
            expired += u64::from(!self.admits(archive, &stored, options));
            Ok(())
        })?;
        Ok(all.saturating_sub(expired))
    }

    fn summary(&self, stored: &StoredConversation) -> ConversationRecordSummary {
        ConversationRecordSummary {
            conversation_id: stored.id.to_string(),
            title: stored.title().to_owned(),
            created_at: stored.created_at,
            last_interaction_at: stored.last_active_at,
            summary: stored.conversation.synopsis.clone().map(ConversationSummary::from),
            message_count: stored.messages,
            retention: record::retention(&stored.conversation, self.expires_at(stored)),
            blob_version: blob_version(stored),
        }
    }
}

fn cursor_after(stored: &StoredConversation) -> String {
    Cursor { time: stored.last_active_at, conversation: stored.id, seq: 0 }.to_text()
}
