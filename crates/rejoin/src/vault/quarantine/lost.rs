//! Deletes the originals of quarantined records once their retention ends.
//!
//! Readable records are never deleted: a lost message with replies is replaced by a tombstone, a lost header
//! is rebuilt. If that fails, original and copy stay.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, MessageId, Time};
use crate::store::sealed::changes::SealedReason;
use crate::store::sealed::failed::gone_past;
use crate::store::sealed::keys::encoding::to_text;
use crate::store::sealed::quarantine::{QuarantinedRecord, from_hex};
use crate::store::sealed::{QUARANTINE, Sealed};
use crate::store::{
    BlobNames, Change, Children, Note, Order, Outcome, Put, Safety, Selection, Space, Store as _, Target,
};

const REASON: &str = "corruption-detected";

/// What became of a lost record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LostFate {
    /// It is gone, or was put right.
    Settled,
    /// It is where it was.
    Stays,
}

/// Lost messages of one conversation, by inner name, with the places of their copies. Of one message there
/// may be two: what it was before, and what it is.
type Lost<'a> = BTreeMap<MessageId, Vec<(usize, &'a QuarantinedRecord)>>;

impl Sealed {
    /// Erases the originals of copies that are about to be erased, where they are lost. Returns the names of
    /// those copies whose originals had to stay.
    pub(crate) fn erase_lost(&self, copies: &BTreeSet<Vec<u8>>) -> Result<BTreeSet<Vec<u8>>> {
        let mut lost = Vec::new();
        for (place, name) in copies.iter().enumerate() {
            self.get(QUARANTINE, None, BlobNames::One(name), &mut |_, bytes| {
                let kept: Option<QuarantinedRecord> = serde_json::from_slice(bytes).ok();
                lost.extend(
                    kept.filter(|kept| kept.is_lost && !self.may_open(kept)).map(|kept| (place, kept)),
                );
                Ok(())
            })?;
        }
        let mut staying = BTreeSet::new();
        let mut messages: BTreeMap<ConversationId, Lost<'_>> = BTreeMap::new();
        let (mut headers, mut others) = (Vec::new(), Vec::new());
        for (place, kept) in &lost {
            match (kept.what.as_str(), kept.inner_conversation, kept.inner_name.parse::<MessageId>()) {
                ("message", Some(inner), Ok(name)) => {
                    messages.entry(inner).or_default().entry(name).or_default().push((*place, kept));
                }
                ("header", Some(inner), _) => headers.push((*place, inner, kept)),
                _ => others.push((*place, kept)),
            }
        }
        for (place, kept) in others {
            if settled(self.erase_other(kept)) == LostFate::Stays {
                staying.insert(place);
            }
        }
        for (inner, lost) in messages {
            let places: BTreeSet<usize> = lost.values().flatten().map(|(place, _)| *place).collect();
            staying.extend(self.erase_messages(inner, &lost).unwrap_or_else(|error| left(&error, places)));
        }
        // After the messages: a conversation that has none left needs no header.
        for (place, inner, kept) in headers {
            if settled(self.mend_header(inner, kept)) == LostFate::Stays {
                staying.insert(place);
            }
        }
        let stays = |(place, name): (usize, &Vec<u8>)| staying.contains(&place).then(|| name.clone());
        Ok(copies.iter().enumerate().filter_map(stays).collect())
    }

    /// True when a record names a key that somebody has put back since.
    fn may_open(&self, kept: &QuarantinedRecord) -> bool {
        kept.unknown_key().is_some_and(|id| !self.key_cache.lacks_key(kept.inner_conversation, id))
    }

    fn erase_other(&self, kept: &QuarantinedRecord) -> Result<LostFate> {
        match (kept.what.as_str(), kept.inner_conversation, kept.inner_name.parse::<MessageId>()) {
            ("blob", _, _) => self.erase_lost_blob(kept)?,
            ("note", Some(inner), Ok(name)) => self.erase_lost_note(kept, inner, name)?,
            _ => {}
        }
        Ok(LostFate::Settled)
    }

    fn erase_lost_blob(&self, kept: &QuarantinedRecord) -> Result<()> {
        let space = Space::ALL.into_iter().find(|space| Some(space.number()) == kept.space);
        let (Some(space), Some(name)) = (space, from_hex(&kept.inner_name)) else { return Ok(()) };
        let owner = kept.inner_conversation;
        let mut is_same = false;
        self.inner.get(space, owner, BlobNames::One(&name), &mut |_, bytes| {
            is_same = to_text(bytes) == kept.record;
            Ok(())
        })?;
        if !is_same {
            return Ok(());
        }
        self.inner.put(&[Put { space, owner, name: &name, bytes: None }], Safety::Synced)
    }

    fn erase_lost_note(
        &self,
        kept: &QuarantinedRecord,
        inner: ConversationId,
        name: MessageId,
    ) -> Result<()> {
        let mut is_same = false;
        self.visit_sealed(inner, Selection::Ids(&[name]), &mut |seen| {
            is_same = seen.label.is_some_and(|label| self.key_cache.encoding().to_text(label) == kept.record);
            Ok(())
        })?;
        if !is_same {
            return Ok(());
        }
        let at = self.key_cache.workspace().names().time(Time::now());
        self.inner_of(inner).amend(inner, None, &Change::Note(name, Note::default()), at).map(drop)
    }

    /// Erases messages of a conversation that are still as they were copied.
    /// Returns the places of those that stay.
    fn erase_messages(&self, inner: ConversationId, lost: &Lost<'_>) -> Result<BTreeSet<usize>> {
        let mut same = Vec::new();
        // The newest first: of several in a row at the end, each is the last when its turn comes.
        let newest = Selection::All { order: Order::NewestFirst, offset: 0, limit: u64::MAX };
        let read = self.visit_sealed(inner, newest, &mut |seen| {
            let mut copies = lost.get(&seen.id).into_iter().flatten();
            if copies.any(|(_, kept)| kept.record == self.key_cache.encoding().to_text(seen.body)) {
                same.push(seen.id);
            }
            Ok(())
        });
        match read {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            other => drop(gone_past(self.inner.capabilities(), other)?),
        }
        // Removing erases the index, which may be the only one to know what others are called.
        let indexed = self.indexed(inner)?;
        let conversation = lost.values().flatten().find_map(|(_, kept)| kept.conversation);
        let mut followed = BTreeSet::new();
        for name in same {
            if self.remove_lost(inner, conversation, name)? == LostFate::Stays {
                followed.insert(name);
            }
        }
        let laid = self.write_tombstones(inner, &followed, &indexed)?;
        let staying = followed.difference(&laid).flat_map(|name| &lost[name]);
        Ok(staying.map(|(place, _)| *place).collect())
    }

    /// Removes a message, unless others follow it.
    fn remove_lost(
        &self,
        inner: ConversationId,
        conversation: Option<ConversationId>,
        name: MessageId,
    ) -> Result<LostFate> {
        let target = Target::Messages { conversation: inner, ids: &[name], children: Children::Refuse };
        let outcomes = self.remove_for_damage(inner, target, conversation)?;
        match outcomes[..] {
            [Outcome::HasChildren(_)] => Ok(LostFate::Stays),
            [Outcome::Removed { messages: 1.., .. }] => {
                self.forget_segments(inner).map(|()| LostFate::Settled)
            }
            _ => Ok(LostFate::Settled),
        }
    }

    /// Removes something of the inner store, with the reason that it is damaged.
    pub(crate) fn remove_for_damage(
        &self,
        inner: ConversationId,
        target: Target<'_>,
        conversation: Option<ConversationId>,
    ) -> Result<Vec<Outcome>> {
        let workspace = self.key_cache.workspace();
        let conversations = conversation.into_iter().collect();
        let reason = SealedReason { reason: REASON.to_owned(), conversations }.seal(workspace.reasons());
        self.inner_of(inner).remove(&[target], &reason, workspace.names().time(Time::now()))
    }
}

/// The fate of a record. One that could not be settled now is tried again; one that is gone is settled.
fn settled(fate: Result<LostFate>) -> LostFate {
    match fate {
        Ok(fate) => fate,
        Err(error) if error.kind() == ErrorKind::NotFound => LostFate::Settled,
        Err(error) => left(&error, LostFate::Stays),
    }
}

fn left<T>(error: &crate::error::Error, staying: T) -> T {
    tracing::warn!(kind = error.kind().as_str(), "a record that does not open was not erased");
    staying
}
