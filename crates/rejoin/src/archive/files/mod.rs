//! Snapshots of a project's files. Contents and lists are attachments of the conversation, so whatever
//! happens to attachments happens to them: they are sealed, copied, verified, purged and expire.
//!
//! The library reads and writes no file of a project. It is handed contents, and hands them back.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use crate::archive::{Archive, ArchiveFiles};
use crate::error::Result;
use crate::model::{AttachmentKind, ConversationId, Digest, FileSnapshot};
use crate::ops::{
    Detached, FileContent, FileManifest, LeftOut, PackedContent, RedactionTally, cards, file_pack,
    file_unpack, read_attachment,
};

/// A pack is stored once it has so many bytes, so that no more are held.
const PACK: usize = 8 << 20;

/// So many packs, or lists of changes, and the small ones become one.
const MANY: usize = 32;

/// A pack with fewer bytes is small.
const SMALL: u64 = 1 << 20;

/// Half of the room that a conversation has left stays for its messages.
const SHARE: u64 = 2;

impl<'a> ArchiveFiles<'a> {
    /// Begins a snapshot for a conversation, after `before`, which was the newest one of it.
    pub fn keeper(
        &self,
        id: ConversationId,
        before: Option<(FileSnapshot, FileManifest)>,
    ) -> Result<FileKeeper<'a>> {
        let stored = self.archive.conversation(id)?;
        let sizes: BTreeMap<Digest, u64> = cards(self.archive.store(), id)?
            .into_iter()
            .map(|(attachment, _)| (attachment.digest, attachment.byte_length))
            .collect();
        let kept: u64 = sizes.values().sum();
        let room = self.archive.limits.room_for_attachments(stored.bytes + kept) / SHARE;
        // What was purged or erased with its message is not built on.
        let before =
            before.filter(|(snapshot, _)| snapshot.attachments().all(|one| sizes.contains_key(&one)));
        let known = before.iter().flat_map(|(_, manifest)| contents(manifest)).collect();
        Ok(FileKeeper {
            archive: self.archive,
            id,
            before,
            sizes,
            known,
            room,
            held: Vec::new(),
            packs: Vec::new(),
        })
    }

    /// True when a path holds nothing that redaction would take out, so that it can be listed.
    pub fn may_list(&self, path: &str) -> bool {
        let redactor = self.archive.redactor();
        redactor.is_none_or(|redactor| redactor.name(path, &mut RedactionTally::default()).is_none())
    }

    /// The files that a snapshot lists.
    pub fn manifest(&self, id: ConversationId, snapshot: &FileSnapshot) -> Result<FileManifest> {
        let mut manifest = FileManifest::default();
        for digest in &snapshot.manifests {
            manifest.apply(&self.read(id, *digest)?)?;
        }
        Ok(manifest)
    }

    /// Hands over those of the wanted contents that a snapshot has, each once.
    pub fn contents<E: From<crate::error::Error>>(
        &self,
        id: ConversationId,
        snapshot: &FileSnapshot,
        wanted: &BTreeSet<Digest>,
        mut take: impl FnMut(Digest, Vec<u8>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut missing = wanted.clone();
        for digest in &snapshot.packs {
            if missing.is_empty() {
                break;
            }
            for object in file_unpack(&self.read(id, *digest)?)? {
                if missing.remove(&object.digest) {
                    take(object.digest, object.bytes)?;
                }
            }
        }
        Ok(())
    }

    fn read(&self, id: ConversationId, digest: Digest) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = read_attachment(self.archive.store(), id, digest, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        read.map_err(|error| error.during(format!("read a snapshot of files of conversation `{id}`")))?;
        Ok(bytes)
    }
}

/// A snapshot that is being taken.
pub struct FileKeeper<'a> {
    archive: &'a Archive,
    id: ConversationId,
    before: Option<(FileSnapshot, FileManifest)>,
    /// The attachments of the conversation.
    sizes: BTreeMap<Digest, u64>,
    /// Contents that are kept already.
    known: HashSet<Digest>,
    room: u64,
    held: Vec<PackedContent>,
    /// The packs of this snapshot that are stored.
    packs: Vec<Digest>,
}

impl fmt::Debug for FileKeeper<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileKeeper").field("conversation", &self.id).finish_non_exhaustive()
    }
}

impl FileKeeper<'_> {
    /// The files as they were, if the snapshot before can be built on.
    pub fn before(&self) -> Option<&FileManifest> {
        self.before.as_ref().map(|(_, manifest)| manifest)
    }

    /// Keeps the content of a file, unless redaction would change it or there is no room.
    pub fn add(&mut self, bytes: Vec<u8>) -> Result<FileContent> {
        let object = PackedContent::of(bytes);
        let digest = object.digest;
        if self.known.contains(&digest) {
            return Ok(FileContent::Kept(digest));
        }
        if let (Some(redactor), Ok(text)) = (self.archive.redactor(), str::from_utf8(&object.bytes))
            && redactor.line(text, &mut RedactionTally::default()).is_some()
        {
            return Ok(FileContent::LeftOut(LeftOut::Secret));
        }
        let Some(room) = self.room.checked_sub(object.bytes.len() as u64) else {
            return Ok(FileContent::LeftOut(LeftOut::Full));
        };
        self.room = room;
        self.known.insert(digest);
        self.held.push(object);
        if self.held.iter().map(|object| object.bytes.len()).sum::<usize>() >= PACK {
            self.store_held()?;
        }
        Ok(FileContent::Kept(digest))
    }

    /// Stores the snapshot. What it needs is on disk when this returns, and stays if a message with its block
    /// is stored within an hour.
    pub fn finish(mut self, manifest: &FileManifest, is_partial: bool) -> Result<FileSnapshot> {
        let before = self.before.take();
        let mut packs = before.as_ref().map(|(snapshot, _)| snapshot.packs.clone()).unwrap_or_default();
        if packs.len() >= MANY
            && let Some((snapshot, _)) = &before
        {
            packs = self.merge_small(snapshot, manifest)?;
        }
        let mut last = Vec::new();
        if !self.held.is_empty() {
            last.push(Detached::new(AttachmentKind::Document, file_pack(&std::mem::take(&mut self.held))));
        }
        let changes = before.as_ref().and_then(|(snapshot, earlier)| {
            let whole = self.sizes.get(snapshot.manifests.first()?)?;
            let changed: u64 = snapshot.manifests[1..].iter().filter_map(|one| self.sizes.get(one)).sum();
            let is_short = snapshot.manifests.len() < MANY && changed <= *whole;
            is_short.then(|| (snapshot.manifests.clone(), manifest.to_changes(earlier)))
        });
        let (mut manifests, list) = match changes {
            Some((manifests, changes)) => (manifests, changes),
            None => (Vec::new(), Some(manifest.to_bytes())),
        };
        let list = list.map(|bytes| Detached::new(AttachmentKind::Document, bytes));
        manifests.extend(list.iter().map(|list| list.digest));
        packs.append(&mut self.packs);
        packs.extend(last.iter().map(|pack| pack.digest));
        last.extend(list);
        self.archive.attachment_writer(self.id).keep_at_once(&last)?;
        Ok(FileSnapshot { manifests, packs, files: manifest.files.len() as u64, is_partial })
    }

    /// Takes what is needed out of the small packs, to be stored with what is held. Returns the others.
    fn merge_small(&mut self, before: &FileSnapshot, manifest: &FileManifest) -> Result<Vec<Digest>> {
        let is_small = |pack: &&Digest| self.sizes.get(*pack).is_some_and(|size| *size < SMALL);
        let (small, large): (Vec<Digest>, Vec<Digest>) = before.packs.iter().partition(|pack| is_small(pack));
        let wanted =
            contents(manifest).filter(|one| self.held.iter().all(|held| held.digest != *one)).collect();
        let snapshot = FileSnapshot { packs: small, ..FileSnapshot::default() };
        let files = self.archive.files();
        let mut found = Vec::new();
        files.contents(self.id, &snapshot, &wanted, |digest, bytes| {
            found.push(PackedContent { digest, bytes });
            Ok::<_, crate::error::Error>(())
        })?;
        self.held.extend(found);
        Ok(large)
    }

    fn store_held(&mut self) -> Result<()> {
        let pack = Detached::new(AttachmentKind::Document, file_pack(&std::mem::take(&mut self.held)));
        self.archive.attachment_writer(self.id).keep(&pack)?;
        self.packs.push(pack.digest);
        Ok(())
    }
}

fn contents(manifest: &FileManifest) -> impl Iterator<Item = Digest> {
    manifest.files.values().filter_map(|entry| match entry.content {
        FileContent::Kept(digest) => Some(digest),
        FileContent::LeftOut(_) => None,
    })
}
