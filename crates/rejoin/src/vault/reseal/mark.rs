//! How far the re-encryption of an owner is.
//!
//! ```text
//! id of the run, 16 | stage, 1
//! ```

use crate::error::{Error, Result};
use crate::model::ConversationId;
use crate::store::Store;
use crate::store::sealed::keys::key::fill;
use crate::store::sealed::keys::key_cache::{MARK, blob};

/// Names a run.
pub(crate) type RunId = [u8; 16];

/// A name for a run.
pub(crate) fn random_run() -> RunId {
    let mut run = [0; 16];
    fill(&mut run);
    run
}

/// How far an owner is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResealStage {
    /// The new key is there.
    Begun,
    /// The keys before are gone.
    Done,
}

/// What is kept of a run for one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResealMark {
    pub(crate) run: RunId,
    pub(crate) stage: ResealStage,
}

impl ResealMark {
    pub(crate) const fn new(run: RunId, stage: ResealStage) -> Self {
        Self { run, stage }
    }

    /// The mark of an owner; none when there is none.
    pub(crate) fn read(inner: &dyn Store, owner: Option<ConversationId>) -> Result<Option<Self>> {
        let Some(bytes) = blob(inner, owner, MARK)? else { return Ok(None) };
        let broken = || Error::corrupt("the mark of the re-encryption is malformed");
        let (run, rest) = bytes.split_first_chunk().ok_or_else(broken)?;
        let stage = match rest.first() {
            Some(0) => ResealStage::Begun,
            Some(2) => ResealStage::Done,
            _ => return Err(broken()),
        };
        Ok(Some(Self { run: *run, stage }))
    }

    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let stage = match self.stage {
            ResealStage::Begun => 0,
            ResealStage::Done => 2,
        };
        [&self.run[..], &[stage]].concat()
    }
}
