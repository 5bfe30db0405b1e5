//! Notices: what those who follow the events are told besides the changes of conversations.
//!
//! A notice names the newest change that was made before it, so it has a place in the order of events. Only
//! the newest are kept. They hold ids, counts and reasons, and never what was said.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::{BlobNames, Put, Read, Safety, Space, Stamp, Store, newest_stamp};

/// How many notices a store keeps: whoever looks once a day misses none unless a whole disk fails.
const MOST: usize = 100;

/// What a notice is stored under: its time, then what it says, hashed.
pub(crate) type NoticeName = Vec<u8>;

/// Something to tell those who follow. What it is, is up to whoever tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice<T> {
    pub(crate) at: Time,
    /// The newest change that was made before.
    pub(crate) after: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<ConversationId>,
    #[serde(flatten)]
    pub(crate) told: T,
}

/// Stores a notice, and lets the oldest go that are too many.
///
/// `log` is the store whose changes it has a place among: a vault names the one inside.
pub(crate) fn put_notice(
    store: &dyn Store,
    log: &dyn Read,
    at: Time,
    conversation: Option<ConversationId>,
    told: &impl Serialize,
    safety: Safety,
) -> Result<()> {
    let notice = Notice { at, after: newest_stamp(log, 0)?, conversation, told };
    let bytes = serde_json::to_vec(&notice).expect("a notice is plain data");
    let mut name = at.as_micros().max(0).to_be_bytes().to_vec();
    name.extend_from_slice(&Sha256::digest(&bytes)[..8]);
    let mut names: Vec<NoticeName> = Vec::new();
    let read = store.get(Space::Notice, None, BlobNames::ALL, &mut |name, _| {
        names.push(name.to_vec());
        Ok(())
    });
    // One that is damaged stands in nobody's way.
    match read {
        Err(error) if error.kind() == ErrorKind::Corrupt => {}
        other => other?,
    }
    let surplus = (names.len() + 1).saturating_sub(MOST);
    let mut puts = vec![Put { space: Space::Notice, owner: None, name: &name, bytes: Some(&bytes) }];
    let oldest = names[..surplus].iter();
    puts.extend(oldest.map(|name| Put { space: Space::Notice, owner: None, name, bytes: None }));
    store.put(&puts, safety)
}

/// The notices that can be read as `T`, oldest first. What is damaged or of a later version is passed over.
pub(crate) fn notices<T: DeserializeOwned>(store: &dyn Read) -> Result<Vec<(NoticeName, Notice<T>)>> {
    let mut found = Vec::new();
    let read = store.get(Space::Notice, None, BlobNames::ALL, &mut |name, bytes| {
        found.extend(serde_json::from_slice(bytes).ok().map(|notice| (name.to_vec(), notice)));
        Ok(())
    });
    match read {
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(found),
        other => other.map(|()| found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    /// What the test tells.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(tag = "event", rename = "storage.write.slow")]
    struct SlowNotice {
        milliseconds: u64,
    }

    #[test]
    fn only_the_newest_notices_are_kept() {
        let store = MemoryStore::new();
        let slow = |milliseconds| SlowNotice { milliseconds };

        for number in 0..105 {
            let at = Time::from_micros(number);
            let told = slow(number.unsigned_abs());
            put_notice(&store, &store, at, None, &told, Safety::Unsynced).unwrap();
        }

        let kept: Vec<SlowNotice> =
            notices(&store).unwrap().into_iter().map(|(_, notice)| notice.told).collect();
        assert_eq!(kept, (5..105).map(slow).collect::<Vec<_>>());
    }

    #[test]
    fn what_a_later_version_tells_is_passed_over() {
        let store = MemoryStore::new();
        let later = br#"{"at":"2027-01-15T08:00:00Z","after":0,"event":"moon.full"}"#;
        store
            .put(
                &[Put { space: Space::Notice, owner: None, name: b"x", bytes: Some(later) }],
                Safety::Unsynced,
            )
            .unwrap();

        assert_eq!(notices::<SlowNotice>(&store).unwrap(), []);
    }
}
