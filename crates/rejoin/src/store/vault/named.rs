//! What a conversation is called, sealed a second time beside its header, so that a header that is lost can be written again.
//!
//! Its inner name does not tell. What else the header said is lost: the title, the project, how it goes on.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::{Conversation, ConversationId, Time};
use crate::store::backend::{Amendment, Backend as _, ConversationRow, Rows};
use crate::store::vault::blob::to_hex;
use crate::store::vault::data_key::{DataKey, Use};
use crate::store::vault::encoding::to_text;
use crate::store::vault::envelope::Broken;
use crate::store::vault::held::{Trouble, blob};
use crate::store::vault::lost::Fate;
use crate::store::vault::quarantine::{Kept, Record};
use crate::store::vault::row::SealedHeader;
use crate::store::vault::{KEYS, Sealed};
use crate::store::{Facets, Target, What};

pub(super) const NAME: &str = "rejoin/vault/name/1\n";

/// The blob that holds it.
pub(super) const NAME_NAME: &[u8] = b"name";

/// What never changes about a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SealedName {
    id: ConversationId,
    created: i64,
}

/// Seals what a conversation is called.
pub(super) fn seal_name(id: ConversationId, created: Time, key: &DataKey, inner: ConversationId) -> Vec<u8> {
    let name = SealedName { id, created: created.as_micros() };
    let text = serde_json::to_vec(&name).expect("a name is plain");
    key.seal(Use::About, NAME, &[inner.as_bytes()], &[&text])
}

impl Sealed {
    /// Writes a header in the place of one that is lost. A conversation that has no messages goes.
    pub(super) fn mend_header(&self, inner: ConversationId, kept: &Kept) -> Result<Fate> {
        let is_same = |raw: &ConversationRow| self.held.encoding().to_text(&raw.header) == kept.record;
        let Some(raw) = self.raw_rows(Some(&[inner]))?.pop().filter(is_same) else {
            return Ok(Fate::Settled);
        };
        let name = self.lost_name(inner, kept)?;
        if raw.messages == 0 {
            let conversation = name.map(|name| name.id);
            self.remove_for_damage(inner, Target::Conversation(inner), conversation)?;
            self.held.forget(Some(inner));
            return Ok(Fate::Settled);
        }
        let Some(SealedName { id, created }) = name else { return Ok(Fate::Stays) };
        let mut header = Conversation::default();
        self.capabilities().restrict(&mut header);
        let keys = self.keys_of(Some(id), Some(inner))?;
        let header =
            SealedHeader::new(id, Time::from_micros(created), &Facets::of(&header), &header.to_header())
                .seal(keys.newest(), inner);
        let header = self.held.encoding().write(header);
        let facets = Facets::default();
        let write = &mut |_: &dyn Rows| Ok(Amendment::Header(&facets, &header));
        self.amend_raw(keys.newest(), (inner, raw.version), What::Changed, write)?;
        self.learn_name(inner, id);
        Ok(Fate::Settled)
    }

    /// What a conversation without its header is called, if anything tells.
    fn lost_name(&self, inner: ConversationId, kept: &Kept) -> Result<Option<SealedName>> {
        if let Some(envelope) = blob(self.inner.as_ref(), Some(inner), NAME_NAME)? {
            match self.open_name(inner, envelope) {
                Ok(name) => return Ok(Some(name)),
                Err(Trouble::Broken(_)) => {}
                Err(Trouble::Failed(error)) => return Err(error),
            }
        }
        let learned = self.outer_name(inner).or(kept.conversation);
        let is_own = |id: &ConversationId| self.held.workspace().names().conversation(*id) == inner;
        Ok(learned.filter(is_own).map(|id| SealedName { id, created: created(id) }))
    }

    fn open_name(&self, inner: ConversationId, mut envelope: Vec<u8>) -> Result<SealedName, Trouble> {
        let mut ring = self.held.ring(Some(inner));
        let inside = ring.open(Use::About, NAME, &[inner.as_bytes()], &mut envelope)?;
        let name: SealedName = serde_json::from_slice(inside).map_err(|_| Broken::Inside)?;
        if self.held.workspace().names().conversation(name.id) != inner {
            return Err(Broken::Inside.into());
        }
        Ok(name)
    }

    /// What is wrong with the name of a conversation. Nobody else looks at it before it is needed.
    pub(super) fn check_name(&self, inner: ConversationId) -> Result<Option<String>> {
        let Some(envelope) = blob(self.inner.as_ref(), Some(inner), NAME_NAME)? else { return Ok(None) };
        let sealed = to_text(&envelope);
        match self.open_name(inner, envelope) {
            Ok(_) => Ok(None),
            Err(Trouble::Failed(error)) => Err(error),
            Err(Trouble::Broken(why)) => {
                let (what, space, name) = ("blob", Some(KEYS), to_hex(NAME_NAME));
                self.quarantine(Record { what, space, inner: Some(inner), name, sealed, why });
                Ok(Some(format!("its name does not open: {why}")))
            }
        }
    }
}

/// When an id was made: it begins with the milliseconds.
fn created(id: ConversationId) -> i64 {
    id.as_bytes()[..6].iter().fold(0, |millis, byte| millis << 8 | i64::from(*byte)) * 1_000
}
