//! Contents of files, one after the other, behind a line that says which they are.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::model::Digest;
use crate::ops::attachment::digest_of;

const KIND: &str = "pack";

const VERSION: u32 = 1;

/// The content of a file, and its SHA-256.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackedContent {
    pub(crate) digest: Digest,
    pub(crate) bytes: Vec<u8>,
}

impl PackedContent {
    pub(crate) fn of(bytes: Vec<u8>) -> Self {
        Self { digest: digest_of(&bytes), bytes }
    }
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct PackHeader {
    rejoin: String,
    version: u32,
    contents: Vec<(Digest, u64)>,
}

/// Contents as they are stored.
pub(crate) fn pack(objects: &[PackedContent]) -> Vec<u8> {
    let contents = objects.iter().map(|object| (object.digest, object.bytes.len() as u64)).collect();
    let header = PackHeader { rejoin: KIND.to_owned(), version: VERSION, contents };
    let mut bytes = serde_json::to_vec(&header).expect("it is plain data");
    bytes.push(b'\n');
    objects.iter().for_each(|object| bytes.extend_from_slice(&object.bytes));
    bytes
}

/// The contents in a stored pack. One that is not what its name says is damage.
pub(crate) fn unpack(bytes: &[u8]) -> Result<Vec<PackedContent>> {
    let damaged = || Error::corrupt("the contents of a snapshot of files cannot be read");
    let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(damaged)?;
    let (first, mut rest) = (&bytes[..end], &bytes[end + 1..]);
    let header: PackHeader = serde_json::from_slice(first).map_err(|cause| damaged().because(cause))?;
    if header.rejoin != KIND || header.version != VERSION {
        return Err(damaged());
    }
    let mut objects = Vec::new();
    for (digest, length) in header.contents {
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let (content, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
        if digest_of(content) != digest {
            return Err(damaged());
        }
        objects.push(PackedContent { digest, bytes: content.to_vec() });
        rest = after;
    }
    if rest.is_empty() { Ok(objects) } else { Err(damaged()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(bytes: &[u8]) -> PackedContent {
        PackedContent::of(bytes.to_vec())
    }

    #[test]
    fn contents_come_back() {
        let objects = vec![object(b"one\n"), object(b""), object(&[0, 10, 255])];

        assert_eq!(unpack(&pack(&objects)).unwrap(), objects);
    }

    #[test]
    fn contents_that_are_not_what_they_are_called_are_damage() {
        let packed = pack(&[object(b"one"), object(b"two")]);
        let changed = [&packed[..packed.len() - 1], b"x"].concat();
        let huge = br#"{"rejoin":"pack","version":1,"contents":[["sha256:0000000000000000000000000000000000000000000000000000000000000000",18446744073709551615]]}
"#;

        let read =
            [&packed[..packed.len() - 1], &changed, huge, b"{}\n", b""].map(|bytes| unpack(bytes).is_err());

        assert_eq!(read, [true; 5]);
    }
}
