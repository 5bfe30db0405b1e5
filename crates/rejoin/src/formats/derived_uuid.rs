//! Names for programs that take only UUIDs.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// An id as it is, if it is a UUID; otherwise one that is made of it.
pub(super) fn uuid_of(id: &str) -> Uuid {
    Uuid::try_parse(id).unwrap_or_else(|_| {
        let hash: [u8; 32] = Sha256::digest(format!("rejoin/uuid/1\n{id}")).into();
        uuid::Builder::from_random_bytes(hash[..16].try_into().expect("a hash has 32 bytes")).into_uuid()
    })
}
