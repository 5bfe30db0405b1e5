//! A snapshot of a project's files, as a message has it: which attachments list the files, and which
//! attachments hold their contents. It has no paths and no text, so redaction has nothing to change in it.

use serde::{Deserialize, Serialize};

use crate::model::{Block, Digest, Fields, Json, Snapshot, digest_in, uri_of};

/// The `type` of such data.
const TYPE: &str = "rejoin-files";

const VERSION: u32 = 1;

/// No snapshot lists more files: a number that is larger was not written here.
const MOST_FILES: u64 = 1_000_000;

/// A snapshot of a project's files. [`ArchiveFiles`](crate::parts::ArchiveFiles) makes and reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileSnapshot {
    /// The attachments that list the files: the first lists all, each later one what changed since.
    pub manifests: Vec<Digest>,
    /// The attachments that hold the contents.
    pub packs: Vec<Digest>,
    /// How many files are listed.
    pub files: u64,
    /// True when the project has more files than a snapshot lists.
    pub is_partial: bool,
}

/// The data as it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SnapshotData {
    r#type: String,
    version: u32,
    manifests: Vec<String>,
    packs: Vec<String>,
    files: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
}

impl FileSnapshot {
    /// The snapshot of files in a block, if it has one of this version.
    pub fn of(block: &Block) -> Option<Self> {
        match block {
            Block::Snapshot(snapshot) => Self::read(snapshot),
            _ => None,
        }
    }

    /// The same, of the body of a block.
    pub(crate) fn read(snapshot: &Snapshot) -> Option<Self> {
        let written: SnapshotData = snapshot.data.to().ok()?;
        if written.r#type != TYPE || written.version != VERSION || written.files > MOST_FILES {
            return None;
        }
        let digests =
            |uris: &[String]| uris.iter().map(|uri| digest_in(uri)).collect::<Option<Vec<Digest>>>();
        Some(Self {
            manifests: digests(&written.manifests)?,
            packs: digests(&written.packs)?,
            files: written.files,
            is_partial: written.partial,
        })
    }

    /// The block that a message has of it.
    pub fn to_block(&self) -> Block {
        Block::Snapshot(Snapshot { data: self.to_data(), extra: Fields::new() })
    }

    pub(crate) fn to_data(&self) -> Json {
        let uris = |digests: &[Digest]| digests.iter().copied().map(uri_of).collect();
        let written = SnapshotData {
            r#type: TYPE.to_owned(),
            version: VERSION,
            manifests: uris(&self.manifests),
            packs: uris(&self.packs),
            files: self.files,
            partial: self.is_partial,
        };
        Json::of(&written).expect("it is plain data")
    }

    /// The attachments that it needs.
    pub(crate) fn attachments(&self) -> impl Iterator<Item = Digest> {
        self.manifests.iter().chain(&self.packs).copied()
    }
}

impl Snapshot {
    /// True for a snapshot of files, of any version. It is for [`restoring
    /// files`](crate::parts::ArchiveFiles), not for a model.
    pub fn is_of_files(&self) -> bool {
        #[derive(Deserialize)]
        struct Typed {
            r#type: String,
        }
        self.data.to::<Typed>().is_ok_and(|typed| typed.r#type == TYPE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> FileSnapshot {
        let [manifest, pack] = [[1; 32], [2; 32]].map(Digest::from_bytes);
        FileSnapshot { manifests: vec![manifest], packs: vec![pack], files: 3, is_partial: true }
    }

    #[test]
    fn a_block_reads_back() {
        let block = snapshot().to_block();

        assert_eq!(FileSnapshot::of(&block), Some(snapshot()));
        assert!(matches!(block, Block::Snapshot(snapshot) if snapshot.is_of_files()));
    }

    #[test]
    fn data_with_anything_else_is_not_one() {
        let written = snapshot().to_data();
        let others = [
            written.as_str().replace("\"files\":3", "\"files\":3,\"note\":\"text\""),
            written.as_str().replace("\"files\":3", "\"files\":4111111111111111"),
            written.as_str().replace("sha256:01", "sha256:zz"),
            written.as_str().replace("\"version\":1", "\"version\":2"),
        ];

        let read = others.map(|data| {
            let snapshot = Snapshot { data: Json::parse(data).unwrap(), extra: Fields::new() };
            FileSnapshot::read(&snapshot)
        });

        assert_eq!(read, [const { None }; 4]);
    }
}
