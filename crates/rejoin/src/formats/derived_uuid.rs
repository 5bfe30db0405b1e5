//! Ids for programs that accept only UUIDs.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// Returns the id itself if it is a UUID, otherwise a UUID derived from it.
pub(super) fn uuid_of(id: &str) -> Uuid {
    Uuid::try_parse(id).unwrap_or_else(|_| {
        let hash: [u8; 32] = Sha256::digest(format!("rejoin/uuid/1\n{id}")).into();
        uuid::Builder::from_random_bytes(hash[..16].try_into().expect("a hash has 32 bytes")).into_uuid()
    })
}
