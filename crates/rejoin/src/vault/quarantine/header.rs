//! Rebuilds lost headers: what never changes about a conversation is stored a second time, and a header is
//! made from it.

use crate::error::Result;
use crate::model::{Conversation, ConversationId, Time};
use crate::store::backend::{Amendment, Backend as _, ConversationRow, Rows};
use crate::store::sealed::Sealed;
use crate::store::sealed::keys::key_cache::{OpenError, blob};
use crate::store::sealed::quarantine::QuarantinedRecord;
use crate::store::sealed::records::named::{NAME_NAME, SealedName};
use crate::store::sealed::records::row::SealedHeader;
use crate::store::{Facets, Target, What};
use crate::vault::quarantine::lost::LostFate;

impl Sealed {
    /// Writes a header in the place of one that is lost. A conversation that has no messages goes.
    pub(crate) fn mend_header(&self, inner: ConversationId, kept: &QuarantinedRecord) -> Result<LostFate> {
        let is_same = |raw: &ConversationRow| self.key_cache.encoding().to_text(&raw.header) == kept.record;
        let Some(raw) = self.raw_rows(Some(&[inner]))?.pop().filter(is_same) else {
            return Ok(LostFate::Settled);
        };
        let name = self.lost_name(inner, kept)?;
        if raw.messages == 0 {
            let conversation = name.map(|name| name.id);
            self.remove_for_damage(inner, Target::Conversation(inner), conversation)?;
            self.key_cache.forget(Some(inner));
            return Ok(LostFate::Settled);
        }
        let Some(SealedName { id, created }) = name else { return Ok(LostFate::Stays) };
        let mut header = Conversation::default();
        self.capabilities().restrict(&mut header);
        let keys = self.keys_of(Some(id), Some(inner))?;
        let header =
            SealedHeader::new(id, Time::from_micros(created), &Facets::of(&header), &header.to_header())
                .seal(keys.newest(), inner);
        let header = self.key_cache.encoding().write(header);
        let facets = Facets::default();
        let write = &mut |_: &dyn Rows| Ok(Amendment::Header(&facets, &header));
        self.amend_raw(keys.newest(), (inner, raw.version), What::Changed, write)?;
        self.learn_name(inner, id);
        Ok(LostFate::Settled)
    }

    /// What a conversation without its header is called, if anything tells.
    fn lost_name(&self, inner: ConversationId, kept: &QuarantinedRecord) -> Result<Option<SealedName>> {
        if let Some(envelope) = blob(self.inner.as_ref(), Some(inner), NAME_NAME)? {
            match self.open_name(inner, envelope) {
                Ok(name) => return Ok(Some(name)),
                Err(OpenError::Broken(_)) => {}
                Err(OpenError::Failed(error)) => return Err(error),
            }
        }
        let learned = self.outer_name(inner).or(kept.conversation);
        let is_own = |id: &ConversationId| self.key_cache.workspace().names().conversation(*id) == inner;
        Ok(learned.filter(is_own).map(|id| SealedName { id, created: created(id) }))
    }
}

/// When an id was made: it begins with the milliseconds.
fn created(id: ConversationId) -> i64 {
    id.as_bytes()[..6].iter().fold(0, |millis, byte| millis << 8 | i64::from(*byte)) * 1_000
}
