//! How far re-encryption is: the mark of each owner, and the name of the run.
//!
//! ```text
//! mark   id of the run, 16 | stage, 1
//! name   id of the run, 16
//! ```
//!
//! A mark is encrypted with the newest key of its owner, and counts with that key only. The name of a run is
//! encrypted with the key of what belongs to no conversation, which the run replaces as its last step. So
//! neither can be made without a key, and the name of a run that is over does not open.

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::sealed::keys::data_key::{DataKey, KeyUse};
use crate::store::sealed::keys::encoding::to_text;
use crate::store::sealed::keys::envelope::{Broken, key_of};
use crate::store::sealed::keys::key::fill;
use crate::store::sealed::keys::key_cache::{DataKeys, MARK, OpenError, RUN};
use crate::store::sealed::keys::names::owner_bytes;
use crate::store::sealed::quarantine::BrokenRecord;
use crate::store::sealed::records::blob::to_hex;
use crate::store::sealed::rows::SealedRows;
use crate::store::sealed::search::fill::{REACHED, REACHED_CONTEXT};
use crate::store::sealed::{KEYS, SEGMENTS, Sealed};
use crate::store::{BlobNames, Space};

const MARK_CONTEXT: &str = "rejoin/vault/mark/1\n";
pub(crate) const RUN_CONTEXT: &str = "rejoin/vault/run/1\n";

/// Names a run.
pub(crate) type RunId = [u8; 16];

/// A name for a run.
pub(crate) fn random_run() -> RunId {
    let mut run = [0; 16];
    fill(&mut run);
    run
}

/// Encrypts the name of a run.
pub(crate) fn seal_run(run: RunId, key: &DataKey) -> Vec<u8> {
    key.seal(KeyUse::About, RUN_CONTEXT, &[], &[&run])
}

/// Decrypts the name of a run that was encrypted with this key.
pub(crate) fn open_run(key: &DataKey, envelope: &[u8]) -> Result<RunId, Broken> {
    let mut copy = envelope.to_vec();
    let inside = key.open_in_place(KeyUse::About, RUN_CONTEXT, &[], &mut copy)?;
    RunId::try_from(inside).map_err(|_| Broken::Inside)
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

    /// Encrypts the mark of an owner, who is named by the inner name, with the newest key.
    pub(crate) fn seal(self, owner: Option<ConversationId>, newest: &DataKey) -> Vec<u8> {
        let stage = match self.stage {
            ResealStage::Begun => 0,
            ResealStage::Done => 2,
        };
        newest.seal(KeyUse::About, MARK_CONTEXT, &[&owner_bytes(owner)], &[&self.run, &[stage]])
    }

    /// Decrypts the mark of an owner.
    pub(crate) fn open(
        owner: Option<ConversationId>,
        newest: &DataKey,
        envelope: &[u8],
    ) -> Result<Self, Broken> {
        let mut copy = envelope.to_vec();
        let place: &[&[u8]] = &[&owner_bytes(owner)];
        let inside = newest.open_in_place(KeyUse::About, MARK_CONTEXT, place, &mut copy)?;
        let (run, stage) = inside.split_first_chunk().ok_or(Broken::Inside)?;
        let stage = match stage {
            [0] => ResealStage::Begun,
            [2] => ResealStage::Done,
            _ => return Err(Broken::Inside),
        };
        Ok(Self { run: *run, stage })
    }
}

/// What is wrong with a blob, given the keys of its owner.
type ExamineBlob<'e> = dyn Fn(&DataKeys, &[u8]) -> Result<(), Broken> + 'e;

impl Sealed {
    /// What is wrong with the mark of an owner, who is named by the inner name, with the name of the run, and
    /// with the stamp of the search index. Nobody else looks at them before they are needed.
    ///
    /// A snapshot has them with the keys that they were encrypted with.
    pub(crate) fn check_marks(
        &self,
        snapshot: &SealedRows<'_>,
        owner: Option<ConversationId>,
    ) -> Result<Vec<String>> {
        let mark =
            |keys: &DataKeys, envelope: &[u8]| ResealMark::open(owner, keys.newest(), envelope).map(drop);
        if owner.is_some() {
            let why = self.examine(snapshot, owner, (KEYS, MARK), &mark)?;
            return Ok(told("how far it is sealed anew", why).into_iter().collect());
        }
        let run = |keys: &DataKeys, envelope: &[u8]| open_run(key(keys, envelope)?, envelope).map(drop);
        let reached = |keys: &DataKeys, envelope: &[u8]| {
            let (key, mut copy) = (key(keys, envelope)?, envelope.to_vec());
            key.open_in_place(KeyUse::Blobs, REACHED_CONTEXT, &[], &mut copy).map(drop)
        };
        let found = [
            (
                "how far what belongs to no conversation is sealed anew",
                (KEYS, MARK),
                &mark as &ExamineBlob<'_>,
            ),
            ("the name of the run that seals everything anew", (KEYS, RUN), &run),
            ("how far the search index reaches", (SEGMENTS, REACHED), &reached),
        ]
        .map(|(what, place, examine)| Ok(told(what, self.examine(snapshot, None, place, examine)?)));
        Ok(found.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }

    /// Why one of the vault's own blobs does not open, if it is there.
    fn examine(
        &self,
        snapshot: &SealedRows<'_>,
        owner: Option<ConversationId>,
        (space, name): (Space, &[u8]),
        examine: &ExamineBlob<'_>,
    ) -> Result<Option<Broken>> {
        let mut found = None;
        snapshot.rows.blobs(space, owner, BlobNames::One(name), &mut |_, bytes| {
            found = Some(bytes.to_vec());
            Ok(())
        })?;
        let Some(envelope) = found else { return Ok(None) };
        let why = match snapshot.keys(owner) {
            Ok(keys) => examine(&keys, &envelope).err(),
            Err(OpenError::Broken(why)) => Some(why),
            Err(OpenError::Failed(error)) => return Err(error),
        };
        if let Some(why) = why {
            let (what, name, sealed) = ("blob", to_hex(name), to_text(&envelope));
            self.quarantine(BrokenRecord { what, space: Some(space), inner: owner, name, sealed, why });
        }
        Ok(why)
    }
}

/// The key that an envelope was sealed with.
fn key<'k>(keys: &'k DataKeys, envelope: &[u8]) -> Result<&'k DataKey, Broken> {
    let id = key_of(envelope)?;
    keys.find(id).ok_or(Broken::Key(id))
}

fn told(what: &str, why: Option<Broken>) -> Option<String> {
    why.map(|why| format!("{what} does not open: {why}"))
}
