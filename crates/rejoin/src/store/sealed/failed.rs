//! The records of one look that did not open: all of them told, and as many as need be copied to quarantine.

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::Capabilities;
use crate::store::backend::MessageRow;
use crate::store::sealed::Sealed;
use crate::store::sealed::keys::envelope::Broken;
use crate::store::sealed::keys::key_cache::OpenError;
use crate::store::sealed::quarantine::BrokenRecord;

/// How many records that did not open one look copies. The next look copies more.
pub(crate) const MOST_COPIED: usize = 100;

/// How many are told, so that a conversation without its key does not fill the memory with words.
const MOST_TOLD: usize = 10_000;

/// A record that did not open, copied while it was at hand.
struct FailedRecord {
    what: &'static str,
    name: MessageId,
    sealed: Vec<u8>,
    why: Broken,
}

/// The records of one look that did not open.
#[derive(Default)]
pub(crate) struct Failures {
    told: Vec<String>,
    copied: Vec<FailedRecord>,
}

impl Failures {
    pub(crate) const fn is_empty(&self) -> bool {
        self.copied.is_empty()
    }

    /// Notes a record that is damaged, of a conversation by its outer name. What
    /// the store failed with ends the look.
    pub(crate) fn add(
        &mut self,
        id: ConversationId,
        row: &MessageRow<'_>,
        what: &'static str,
        sealed: &[u8],
        failure: OpenError,
    ) -> Result<()> {
        let OpenError::Broken(why) = failure else { return Err(failure.of(what)) };
        // Where the key of a conversation is lost, one copy is enough: none of thousands opens.
        let is_of_key = matches!(why, Broken::NoKey | Broken::WrappedKey);
        if self.copied.is_empty() || !is_of_key && self.copied.len() < MOST_COPIED {
            self.copied.push(FailedRecord { what, name: row.id, sealed: sealed.to_vec(), why });
        }
        if self.told.len() < MOST_TOLD {
            let what = format!("the {what} `{}` of conversation `{id}`, number {},", row.id, row.seq);
            self.told.push(OpenError::Broken(why).of(&what).to_string());
        }
        Ok(())
    }

    /// Copies them to quarantine, and says what they are.
    pub(crate) fn settle(self, vault: &Sealed, inner: ConversationId) -> Vec<String> {
        for FailedRecord { what, name, sealed, why } in self.copied {
            let (name, sealed) = (name.to_string(), vault.key_cache.encoding().to_text(&sealed));
            vault.quarantine(BrokenRecord { what, space: None, inner: Some(inner), name, sealed, why });
        }
        self.told
    }
}

/// What a backend could not read and went past, in words. Any other error of its read stays one.
pub(crate) fn gone_past(capabilities: Capabilities, read: Result<()>) -> Result<Vec<String>> {
    match read {
        Err(error) if error.kind() == ErrorKind::Corrupt && capabilities.reads_past_damage => {
            Ok(std::iter::once(error.to_string()).chain(error.others().iter().cloned()).collect())
        }
        read => read.map(|()| Vec::new()),
    }
}

/// The error that names the first, and the others beside it.
pub(crate) fn to_error(told: Vec<String>) -> Result<()> {
    let mut told = told.into_iter();
    told.next().map_or(Ok(()), |first| Err(Error::corrupt(first).with_others(told)))
}
