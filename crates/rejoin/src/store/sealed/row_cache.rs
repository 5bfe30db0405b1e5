//! Cache of decrypted conversation rows, refreshed from the inner change log.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::backend::{ConversationRow, unknown};
use crate::store::keeper::list_rows;
use crate::store::newest_stamp;
use crate::store::sealed::Sealed;
use crate::store::sealed::records::row::DecryptedRow;
use crate::store::sealed::scan::ScanNext;
use crate::store::{ListQuery, Page, Selection, Stamp, What};

/// The decrypted rows.
#[derive(Default)]
pub(crate) struct RowCache {
    /// All of them by inner name, as they were after `stamp`; changed only by whoever refreshes.
    listed: HashMap<ConversationId, Arc<DecryptedRow>>,
    /// What the inner store could not list, in its words.
    damaged: Vec<String>,
    /// None until all were listed.
    stamp: Option<Stamp>,
    /// Those that were asked for by name. Each is compared with the inner row before it is used.
    named: HashMap<ConversationId, Arc<DecryptedRow>>,
    /// Inner to outer names, those of conversations that are gone included.
    names: HashMap<ConversationId, ConversationId>,
}

impl RowCache {
    /// The row of a conversation whose header does not open, which is known by its inner name.
    fn unnamed(&self, inner: ConversationId) -> Option<&Arc<DecryptedRow>> {
        self.named.get(&inner).or_else(|| self.listed.get(&inner)).filter(|known| !known.is_named)
    }
}

impl Sealed {
    /// Conversations as the backend has them: all, or those of these that are there.
    pub(crate) fn raw_page(&self, only: Option<&[ConversationId]>) -> Result<Page<ConversationRow>> {
        let query = ListQuery { only, limit: usize::MAX, ..ListQuery::default() };
        list_rows(&self.backend, &query)
    }

    pub(crate) fn raw_rows(&self, only: Option<&[ConversationId]>) -> Result<Vec<ConversationRow>> {
        Ok(self.raw_page(only)?.items)
    }

    pub(crate) fn list_opened(&self, query: &ListQuery<'_>) -> Result<Page<ConversationRow>> {
        let (rows, damaged) = match query.only {
            Some(ids) => self.named_rows(ids)?,
            None => {
                let rows = self.all_rows()?;
                // Nobody knows the project of such a row, so most filters drop it.
                let nameless = rows.iter().filter(|known| !known.is_named);
                let mut damaged: Vec<String> = nameless.map(|known| known.told()).collect();
                damaged.sort_unstable();
                damaged.extend(self.row_cache().damaged.iter().cloned());
                (rows, damaged)
            }
        };
        Ok(Page { damaged, ..query.page_among(rows.iter().map(|known| &known.row)) })
    }

    /// Every row.
    pub(crate) fn all_rows(&self) -> Result<Vec<Arc<DecryptedRow>>> {
        // One at a time: an older look must not replace a newer one.
        let _refreshing = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = self.row_cache().stamp;
        let stamp = match stamp {
            None => {
                // What changes after this point is looked at again.
                let stamp = newest_stamp(self.inner.as_ref(), 0)?;
                let page = self.raw_page(None)?;
                self.row_cache().damaged = page.damaged;
                self.relist(page.items)?;
                stamp
            }
            Some(stamp) => self.follow(stamp)?,
        };
        let mut rows = self.row_cache();
        rows.stamp = Some(stamp);
        Ok(rows.listed.values().cloned().collect())
    }

    /// The rows of those of these conversations that exist, and why others that are there cannot be read.
    fn named_rows(&self, ids: &[ConversationId]) -> Result<(Vec<Arc<DecryptedRow>>, Vec<String>)> {
        let workspace = self.key_cache.workspace();
        let mut inner: Vec<ConversationId> =
            ids.iter().map(|id| workspace.names().conversation(*id)).collect();
        // One whose header does not open is known by its inner name.
        inner.extend(ids.iter().filter(|id| self.row_cache().unnamed(**id).is_some()));
        let page = self.raw_page(Some(&inner))?;
        let (rows, mut damaged) = (self.open_rows(page.items)?, page.damaged);
        for (id, name) in ids.iter().zip(&inner) {
            for told in &mut damaged {
                *told = told.replace(&name.to_string(), &id.to_string());
            }
            let nameless = rows.iter().filter(|known| !known.is_named && known.raw.id == *name);
            damaged.extend(nameless.map(|known| known.told_as(*id)));
        }
        Ok((rows, damaged))
    }

    /// The row of a conversation as it is now, by its inner name.
    pub(crate) fn row_now(&self, inner: ConversationId) -> Result<Option<Arc<DecryptedRow>>> {
        Ok(self.open_rows(self.raw_rows(Some(&[inner]))?)?.pop())
    }

    /// A conversation as the inner store has it.
    pub(crate) fn raw_row(&self, inner: ConversationId) -> Result<ConversationRow> {
        self.raw_rows(Some(&[inner]))?.pop().ok_or_else(|| unknown(inner))
    }

    /// True when the inner store has this conversation.
    pub(crate) fn is_there(&self, inner: ConversationId) -> bool {
        self.raw_rows(Some(&[inner])).is_ok_and(|rows| !rows.is_empty())
    }

    /// What a conversation is called outside, if it is known.
    pub(crate) fn outer_name(&self, inner: ConversationId) -> Option<ConversationId> {
        self.row_cache().names.get(&inner).copied()
    }

    pub(crate) fn learn_name(&self, inner: ConversationId, outer: ConversationId) {
        self.row_cache().names.insert(inner, outer);
    }

    /// The inner name of a conversation. One whose header does not open is asked for by it.
    pub(crate) fn inner_name(&self, id: ConversationId) -> ConversationId {
        match self.row_cache().unnamed(id) {
            Some(_) => id,
            None => self.key_cache.workspace().names().conversation(id),
        }
    }

    /// What messages are called outside. Those that do not open keep their inner names.
    pub(crate) fn outer_messages(&self, inner: ConversationId, ids: &[MessageId]) -> Result<Vec<MessageId>> {
        let mut owner_keys = self.key_cache.owner_keys(Some(inner));
        let mut outer = Vec::with_capacity(ids.len());
        self.scan(inner, &mut owner_keys, Selection::Ids(ids), &mut |scanned| {
            outer.push(scanned.id);
            ScanNext::Go
        })?;
        Ok(outer)
    }

    /// Refuses the inner name of a conversation whose header does not open.
    pub(crate) fn refuse_unnamed(&self, id: ConversationId) -> Result<()> {
        match self.row_cache().unnamed(id) {
            Some(known) => Err(Error::corrupt(known.told())),
            None => Ok(()),
        }
    }

    /// Opens rows that were asked for by name.
    fn open_rows(&self, raws: Vec<ConversationRow>) -> Result<Vec<Arc<DecryptedRow>>> {
        let open = |raw: ConversationRow| {
            let inner = raw.id;
            let known = self.reopened(raw)?;
            self.row_cache().named.insert(inner, Arc::clone(&known));
            Ok(known)
        };
        raws.into_iter().map(open).collect()
    }

    /// Opens rows for the list of all.
    fn relist(&self, raws: Vec<ConversationRow>) -> Result<()> {
        for raw in raws {
            let inner = raw.id;
            let known = self.reopened(raw)?;
            self.row_cache().listed.insert(inner, known);
        }
        Ok(())
    }

    /// Opens a row, unless it is one that is known.
    fn reopened(&self, raw: ConversationRow) -> Result<Arc<DecryptedRow>> {
        let before = {
            let rows = self.row_cache();
            rows.named.get(&raw.id).or_else(|| rows.listed.get(&raw.id)).cloned()
        };
        match before.as_ref().filter(|known| known.raw == raw && known.faults.is_empty()) {
            Some(known) => Ok(Arc::clone(known)),
            None => Ok(Arc::new(self.open_row(raw, before.as_deref())?)),
        }
    }

    /// Looks at what changed since all rows were listed, and says up to where.
    fn follow(&self, mut stamp: Stamp) -> Result<Stamp> {
        let mut changed = BTreeSet::new();
        loop {
            let changes = self.inner.changes(stamp, Duration::ZERO)?;
            let Some(newest) = changes.last() else { break };
            stamp = newest.stamp;
            for change in changes {
                if matches!(change.what, What::Deleted { .. }) {
                    self.key_cache.forget(Some(change.conversation));
                }
                changed.insert(change.conversation);
            }
        }
        if changed.is_empty() {
            return Ok(stamp);
        }
        let ids: Vec<ConversationId> = changed.into_iter().collect();
        let raws = self.raw_rows(Some(&ids))?;
        let left: BTreeSet<ConversationId> = raws.iter().map(|raw| raw.id).collect();
        self.relist(raws)?;
        let mut rows = self.row_cache();
        for gone in ids.iter().filter(|id| !left.contains(id)) {
            rows.listed.remove(gone);
            rows.named.remove(gone);
        }
        Ok(stamp)
    }

    pub(crate) fn row_cache(&self) -> MutexGuard<'_, RowCache> {
        self.row_cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
