//! The last preview where somebody appends while it is written: an append changes no version, so its preview could be undone.

use crate::error::{Error, Result};
use crate::model::{ConversationId, Time};
use crate::store::tip::{last_preview, time_of};
use crate::store::vault::Sealed;
use crate::store::vault::data_key::DataKey;
use crate::store::vault::row::SealedLast;
use crate::store::vault::scan::Next;
use crate::store::{Change, ListQuery, Order, Row, Selection, Store as _, Tip, Version};

impl Sealed {
    /// A conversation as the inner store has it.
    pub(super) fn raw_row(&self, inner: ConversationId) -> Result<Row> {
        let query = ListQuery { only: Some(&[inner]), limit: 1, ..ListQuery::default() };
        let row = self.inner.list(&query)?.items.pop();
        row.ok_or_else(|| Error::not_found(format!("there is no conversation `{inner}`")))
    }

    /// Where somebody appended between the look at the previews and the write, the last one is theirs.
    pub(super) fn mend_preview(
        &self,
        key: &DataKey,
        mut before: Row,
        mut written: String,
        mut version: Version,
    ) -> Result<Version> {
        let inner = before.id;
        loop {
            let now = self.raw_row(inner)?;
            if now.last != written || now.messages == before.messages {
                return Ok(version);
            }
            let last = self.newest_preview(inner, &now)?.seal(key, inner);
            let change = Change::Rewrite { messages: &[], tip: Tip { first: &now.first, last: &last } };
            let at = self.held.workspace().names().time(Time::now());
            version = self.inner_for(inner, key).amend(inner, Some(now.version), &change, at)?;
            (before, written) = (now, last);
        }
    }

    /// The last preview as whoever appended last would write it.
    fn newest_preview(&self, inner: ConversationId, row: &Row) -> Result<SealedLast> {
        let known = self.open_row(row.clone(), None)?.row;
        let (mut active, mut preview) = (known.active, None);
        let newest = Selection::All { order: Order::NewestFirst, offset: 0, limit: u64::MAX };
        let mut ring = self.held.ring(Some(inner));
        self.scan(inner, &mut ring, newest, &mut |scanned| {
            if let Some(body) = scanned.body {
                // What was said may carry any time.
                active = active.max(time_of(body).min(Time::now()));
                preview = last_preview(body);
            }
            if preview.is_some() { Next::Stop } else { Next::Go }
        })?;
        Ok(SealedLast {
            active: active.as_micros(),
            head: known.head.map(|head| head.id),
            digest: known.head.map(|head| head.digest),
            preview: preview.unwrap_or(known.last),
        })
    }
}
