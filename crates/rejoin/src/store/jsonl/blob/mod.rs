//! Named blobs: files that are replaced whole. One that need not be safe yet is added to the end of its file.
//!
//! Blobs that come with a turn stand in the turn's lines, so that both are there after a crash or neither.
//! Each file says up to which change it is complete; what a later turn of its owner did to its blobs is taken
//! from the lines. Blobs of several owners that are stored together stand in a file of their own until all of
//! them are in place; keys of many owners stay there (`sheet.rs`).

pub(in crate::store::jsonl) mod blob_files;
pub(in crate::store::jsonl) mod sheet;
pub(in crate::store::jsonl) mod shelf;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::durable::{self, Overwrite};
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::blob::blob_files::MayBe;
use crate::store::jsonl::blob::shelf::{BlobFile, Shelf};
use crate::store::jsonl::change_log;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::FileIdentity;
use crate::store::jsonl::line::Blob;
use crate::store::jsonl::line::octets::Octets;
use crate::store::jsonl::loaded::LoadedConversation;
use crate::store::jsonl::writing::Turnstile;

use crate::store::{BlobKey, BlobNames, Put, Safety, Space, Stamp, VisitBlob};

/// From how many blobs on one sync of the whole file system is shorter than one for each.
const MANY: usize = 32;

/// A file may get so long before it is written whole: a disk gives it as much in any case.
const BLOCK: u64 = 4 << 10;

/// How often blobs are looked at again that somebody changes meanwhile.
const ATTEMPTS: usize = 100;

/// When a file is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyncTime {
    /// Before anything else is done, with its name.
    Now,
    /// Its contents before its name; the name whenever.
    Contents,
    /// By whoever asked for it, together with others.
    Later,
}

impl From<Safety> for SyncTime {
    fn from(safety: Safety) -> Self {
        match safety {
            Safety::Synced => Self::Now,
            Safety::Unsynced => Self::Contents,
        }
    }
}

/// What a turn did to blobs.
type BlobChanges = Vec<(BlobKey, Option<Vec<u8>>)>;

impl Jsonl {
    pub(super) fn visit_blobs(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        self.places(space, owner, named)?.iter().try_for_each(|place| self.shelf(place)?.visit(named, visit))
    }

    /// The same for whoever holds the lock of those who write and has looked at the owner: nobody
    /// changes its lines or its file meanwhile.
    pub(super) fn visit_blobs_of(
        &self,
        kept: &LoadedConversation,
        space: Space,
        named: BlobNames<'_>,
        visit: &mut VisitBlob<'_>,
    ) -> Result<()> {
        if shelf::has_many_files(space) {
            return self.visit_blobs(space, Some(kept.id), named, visit);
        }
        let place = BlobFile::of(space, Some(kept.id), b"");
        let mut shelf = self.shelf_without_lines(&place)?;
        shelf.set_later(blobs_in(kept, &place));
        self.add_pending(&place, &mut shelf)?;
        shelf.visit(named, visit)
    }

    /// The files in which blobs may be that are meant, in order of name.
    fn places(
        &self,
        space: Space,
        owner: Option<ConversationId>,
        named: BlobNames<'_>,
    ) -> Result<BTreeSet<BlobFile>> {
        let place = |name: &[u8]| BlobFile::of(space, owner, name);
        if !shelf::has_many_files(space) || matches!(named, BlobNames::One(_)) {
            return Ok([place(named.start())].into());
        }
        let mut names = shelf::names(&shelf::folder(&self.layout, space, owner))?;
        let known = owner.map(|owner| self.open_known(owner)).transpose()?.flatten();
        let lines = known.iter().flat_map(|(_, known)| known.kept.blobs.keys());
        let in_lines = lines.filter(|(in_space, of, _)| (*in_space, *of) == (space, owner));
        names.extend(in_lines.map(|(_, _, name)| name.clone()));
        let pending = read_pending(&self.pending_path())?.into_iter();
        let pending = pending.filter(|blob| blob.space() == Some(space) && blob.owner == owner);
        names.extend(pending.map(|blob| blob.name.into_bytes()));
        Ok(names.iter().filter(|name| named.admit(name)).map(|name| place(name)).collect())
    }

    /// Stores blobs without a turn.
    pub(super) fn put_blobs(
        &self,
        turnstile: &mut Turnstile<'_>,
        blobs: &[Put<'_>],
        safety: Safety,
    ) -> Result<()> {
        if blobs.is_empty() {
            return Ok(());
        }
        self.finish_pending()?;
        let stamp = turnstile.log().newest().max(self.stamp_of_blobs(blobs)?);
        if BlobFile::of_all(blobs).len() < 2 {
            return self.replace(blobs, stamp, safety);
        }
        if sheet::takes(blobs) {
            return self.put_on_sheet(blobs, stamp);
        }
        // Order: all of them in one file and its sync, each of them in its place, and the file goes.
        self.write_pending(blobs)?;
        self.finish_pending()
    }

    /// The newest change that is in the files of these blobs.
    pub(super) fn stamp_of_blobs(&self, blobs: &[Put<'_>]) -> Result<Stamp> {
        BlobFile::of_all(blobs)
            .into_iter()
            .try_fold(0, |newest: Stamp, place| Ok(newest.max(self.stamp_of(&place)?)))
    }

    fn write_pending(&self, blobs: &[Put<'_>]) -> Result<()> {
        let path = self.pending_path();
        let text =
            serde_json::to_vec(&blobs.iter().map(Blob::of).collect::<Vec<_>>()).expect("it is plain data");
        self.publish(&path, &text, SyncTime::Now)
    }

    /// Puts blobs of several owners in their places, before anything else is done to blobs.
    pub(super) fn finish_pending(&self) -> Result<()> {
        let path = self.pending_path();
        let pending = read_pending(&path)?;
        if pending.is_empty() {
            return Ok(());
        }
        let care = if pending.len() < MANY || !durable::CAN_SYNC_FILE_SYSTEM {
            SyncTime::Now
        } else {
            SyncTime::Later
        };
        let newest = change_log::newest(&self.layout.changes())?;
        for blob in &pending {
            let Some(space) = blob.space() else { continue };
            let (name, bytes) = (blob.name.clone().into_bytes(), blob.bytes.clone().map(Octets::into_bytes));
            let put = Put { space, owner: blob.owner, name: &name, bytes: bytes.as_deref() };
            // What lines say of it is older, those of its owner and those of the newest change: a turn
            // with blobs puts the file in place first.
            let owner = blob.owner.map(|owner| self.open_known(owner)).transpose()?.flatten();
            let in_lines = owner.map_or(0, |(_, known)| known.kept.stamp);
            let stamp = self.stamp_of_blobs(&[put])?.max(in_lines).max(newest);
            self.replace_with(&[put], stamp, care)?;
        }
        // Order: everything in its place, one sync for all of it, and then the
        // file that would put it there again goes.
        if care == SyncTime::Later {
            let directory = self.layout.blobs();
            durable::sync_file_system(&directory).during(|| format!("sync `{}`", directory.display()))?;
        }
        shelf::erase(&path)
    }

    fn pending_path(&self) -> PathBuf {
        self.layout.blobs().join("pending")
    }

    /// Puts what a turn did to blobs where it belongs. Those of its own conversation are erased by its lines
    /// already; their file goes without a sync, or stays empty where earlier lines hold blobs that it hides.
    pub(super) fn settle_blobs(&self, blobs: &[Put<'_>], id: ConversationId, stamp: Stamp) -> Result<()> {
        let (own, others): (Vec<Put<'_>>, Vec<Put<'_>>) =
            blobs.iter().copied().partition(|blob| blob.owner == Some(id));
        self.replace(&others, stamp, Safety::Synced)?;
        for place in BlobFile::of_all(&own) {
            let path = place.path(&self.layout);
            if !path.exists() || !self.shelf(&place)?.blobs.is_empty() {
                continue;
            }
            if self.number_of_sheet(&place)? > 0 || self.has_blobs_in_lines(&place)? {
                self.write_shelf(&place, &mut Shelf { stamp, ..Shelf::default() }, SyncTime::Contents)?;
            } else {
                durable::remove(&path).during(|| format!("remove `{}`", path.display()))?;
            }
        }
        Ok(())
    }

    /// Does what turns of these conversations after a stamp did to blobs of
    /// others, as far as it was not done yet.
    pub(super) fn finish_blobs(&self, ids: &[ConversationId], after: Stamp) -> Result<()> {
        let mut unfinished: BTreeMap<Stamp, BlobChanges> = BTreeMap::new();
        for id in ids {
            let Some((_, known)) = self.open_known(*id)? else { continue };
            for (key, (stamp, bytes)) in &known.kept.blobs {
                if key.1 != Some(*id) && *stamp > after {
                    unfinished.entry(*stamp).or_default().push((key.clone(), bytes.clone()));
                }
            }
        }
        for (stamp, turn) in unfinished {
            let mut blobs = Vec::new();
            for ((space, owner, name), bytes) in &turn {
                let is_owned =
                    owner.map(|owner| self.open_known(owner)).transpose()?.is_none_or(|own| own.is_some());
                if is_owned && self.stamp_of(&BlobFile::of(*space, *owner, name))? < stamp {
                    blobs.push(Put { space: *space, owner: *owner, name, bytes: bytes.as_deref() });
                }
            }
            self.replace(&blobs, stamp, Safety::Synced)?;
        }
        Ok(())
    }

    /// Writes what the lines of a conversation say of its blobs into their files, so that the lines may go.
    pub(super) fn unload_blobs(&self, kept: &LoadedConversation, stamp: Stamp) -> Result<()> {
        self.finish_pending()?;
        let names = kept.blobs.keys();
        let places: BTreeSet<BlobFile> =
            names.map(|(space, _, name)| BlobFile::of(*space, Some(kept.id), name)).collect();
        for place in places {
            let mut shelf = self.shelf(&place)?;
            let is_stored = place.path(&self.layout).exists() || self.number_of_sheet(&place)? > 0;
            if is_stored || !shelf.blobs.is_empty() {
                shelf.stamp = stamp;
                self.write_shelf(&place, &mut shelf, SyncTime::Now)?;
            }
        }
        Ok(())
    }

    /// Erases everything a conversation owns.
    pub(super) fn disown(&self, id: ConversationId) -> Result<()> {
        for space in Space::ALL {
            if !shelf::has_many_files(space) {
                let place = BlobFile::of(space, Some(id), b"");
                shelf::erase(&place.path(&self.layout))?;
                self.take_off_sheet(&place)?;
                continue;
            }
            let folder = shelf::folder(&self.layout, space, Some(id));
            match durable::erase_tree(&folder) {
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                other => other.during(|| format!("erase `{}`", folder.display()))?,
            }
        }
        Ok(())
    }

    fn replace(&self, blobs: &[Put<'_>], stamp: Stamp, safety: Safety) -> Result<()> {
        self.replace_with(blobs, stamp, safety.into())
    }

    fn replace_with(&self, blobs: &[Put<'_>], stamp: Stamp, care: SyncTime) -> Result<()> {
        for place in BlobFile::of_all(blobs) {
            let path = place.path(&self.layout);
            let mut shelf = self.shelf_in_place(&place)?;
            let before = shelf.blobs.clone();
            for blob in blobs.iter().filter(|blob| place.holds(blob.space, blob.owner, blob.name)) {
                shelf.put(blob);
            }
            if shelf.blobs == before && shelf.stamp >= stamp {
                continue;
            }
            if care == SyncTime::Contents && self.add(&place, blobs, &shelf)? {
                continue;
            }
            shelf.stamp = stamp;
            let is_empty = shelf.blobs.is_empty();
            if is_empty && self.number_of_sheet(&place)? == 0 && !self.has_blobs_in_lines(&place)? {
                shelf::erase(&path)?;
            } else {
                self.write_shelf(&place, &mut shelf, care)?;
            }
        }
        Ok(())
    }

    /// Adds a blob that belongs to nobody to the end of its file, which is left with what is on this
    /// shelf. The answer is false when the file has to be written whole: what is erased must not stay, and
    /// lines of an owner may hide what is added.
    fn add(&self, place: &BlobFile, blobs: &[Put<'_>], shelf: &Shelf) -> Result<bool> {
        let [Put { owner: None, name, bytes: Some(bytes), .. }] = blobs else { return Ok(false) };
        if place.is_in_own_folder() || self.number_of_sheet(place)? > 0 {
            return Ok(false);
        }
        let path = place.path(&self.layout);
        let longest = BLOCK.max(2 * shelf.to_text().len() as u64);
        shelf::add(&path, name, bytes, longest).during(|| format!("write `{}`", path.display()))
    }

    /// Writes files whole that also say what blobs of nobody were before.
    pub(super) fn drop_old_lines(&self) -> Result<()> {
        for space in Space::ALL.into_iter().filter(|space| !shelf::has_many_files(*space)) {
            let place = BlobFile::of(space, None, b"");
            // Nothing was added to a file that cannot be read.
            if !shelf::read(&place.path(&self.layout)).is_ok_and(|shelf| shelf.has_old_lines) {
                continue;
            }
            let _turnstile = self.begin_writing()?;
            let mut shelf = self.shelf_in_place(&place)?;
            if shelf.has_old_lines {
                self.write_shelf(&place, &mut shelf, SyncTime::Now)?;
            }
        }
        Ok(())
    }

    /// True when lines hold blobs that would come back if their file were gone: the lines of
    /// their owner, and those of the newest change, whose blobs of others are put in place
    /// again by whoever opens the store next.
    fn has_blobs_in_lines(&self, place: &BlobFile) -> Result<bool> {
        let newest = change_log::newest_noted(&self.layout.changes())?;
        for id in place.owner.into_iter().chain(newest.map(|noted| noted.conversation)) {
            let Some((_, known)) = self.open_known(id)? else { continue };
            let mut blobs = known.kept.blobs.iter();
            if blobs.any(|((own, of, name), (_, bytes))| place.holds(*own, *of, name) && bytes.is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The blobs of a file, as they are now.
    fn shelf(&self, place: &BlobFile) -> Result<Shelf> {
        let mut shelf = self.shelf_in_place(place)?;
        self.add_pending(place, &mut shelf)?;
        Ok(shelf)
    }

    /// What is being stored together with blobs of others counts already: it will be in place.
    fn add_pending(&self, place: &BlobFile, shelf: &mut Shelf) -> Result<()> {
        if shelf.nothing_is_pending {
            return Ok(());
        }
        for blob in read_pending(&self.pending_path())? {
            let (Some(space), name) = (blob.space(), blob.name.into_bytes()) else { continue };
            if !place.holds(space, blob.owner, &name) {
                continue;
            }
            shelf.set(&name, blob.bytes.map(Octets::into_bytes).as_deref());
        }
        Ok(())
    }

    /// The same, without what is still to be put in place.
    pub(super) fn shelf_in_place(&self, place: &BlobFile) -> Result<Shelf> {
        let Some(owner) = place.owner else { return self.shelf_without_lines(place) };
        // What lines say moves to the file, and what the file says is erased by lines. Whoever looks at both
        // while somebody does that looks again.
        for _ in 0..ATTEMPTS {
            let remembered =
                if place.space.is_replaced_together() { self.keys_in_lines(owner) } else { None };
            if let Some(keys) = remembered {
                let mut shelf = self.shelf_without_lines(place)?;
                shelf.set_later(keys.iter().map(|(name, stamp, bytes)| (name, *stamp, bytes)));
                if self.keys_in_lines(owner).is_some_and(|now| Arc::ptr_eq(&now, &keys)) {
                    return Ok(shelf);
                }
                continue;
            }
            let Some((opened, known)) = self.open_known(owner)? else {
                return self.shelf_without_lines(place);
            };
            let mut shelf = self.shelf_without_lines(place)?;
            shelf.set_later(blobs_in(&known.kept, place));
            if opened.path.symlink_metadata().is_ok_and(|there| FileIdentity::of(&there) == opened.seen) {
                return Ok(shelf);
            }
        }
        Err(Error::new(ErrorKind::Locked, format!("conversation `{owner}` is being written to")))
    }

    /// The same, without what lines of the owner say.
    pub(super) fn shelf_without_lines(&self, place: &BlobFile) -> Result<Shelf> {
        let is_of_keys = place.space.is_replaced_together();
        let may_be = if is_of_keys { self.key_files(&place.file_name()) } else { MayBe::ANY };
        let on_sheet = if may_be.sheet { self.on_sheet(place)? } else { None };
        let in_file = if may_be.file { shelf::read(&place.path(&self.layout))? } else { Shelf::default() };
        let shelf = match on_sheet {
            Some(line) if (line.stamp, line.sheet) > (in_file.stamp, in_file.sheet) => line,
            _ => in_file,
        };
        Ok(Shelf { nothing_is_pending: !may_be.pending, ..shelf })
    }

    fn write_shelf(&self, place: &BlobFile, shelf: &mut Shelf, care: SyncTime) -> Result<()> {
        let path = place.path(&self.layout);
        shelf.sheet = self.number_of_sheet(place)?;
        // Its line on the sheet goes, so the file has to be safe before.
        let care = if shelf.sheet > 0 { SyncTime::Now } else { care };
        self.publish(&path, &shelf.to_text(), care)?;
        if care == SyncTime::Now && place.is_in_own_folder() {
            // Whoever made the folder may have been killed before its name was safe.
            let folder = durable::directory_of(&path);
            durable::sync_parent(folder).during(|| format!("sync the name of `{}`", folder.display()))?;
        }
        if shelf.sheet > 0 { self.take_off_sheet(place) } else { Ok(()) }
    }

    /// Replaces a file of blobs, and returns when it is safe.
    pub(super) fn publish_now(&self, path: &Path, text: &[u8]) -> Result<()> {
        self.publish(path, text, SyncTime::Now)
    }

    fn publish(&self, path: &Path, text: &[u8], care: SyncTime) -> Result<()> {
        let written = (|| {
            durable::create_private_directory(path)?;
            let draft = durable::draft_in(&self.layout.temporary(), path)?;
            durable::write_at(draft.as_file(), 0, text)?;
            match care {
                SyncTime::Now => durable::publish(draft, path, Overwrite::Replace),
                // Other blobs stand in the same file: without this sync a power cut could take all of them.
                SyncTime::Contents => {
                    draft.as_file().sync_data().and_then(|()| durable::publish_unsynced(draft, path))
                }
                SyncTime::Later => durable::publish_unsynced(draft, path),
            }
        })();
        written.during(|| format!("write `{}`", path.display()))
    }
}

/// What lines say of the blobs of a file.
fn blobs_in<'k>(
    kept: &'k LoadedConversation,
    place: &BlobFile,
) -> impl Iterator<Item = (&'k Vec<u8>, Stamp, &'k Option<Vec<u8>>)> {
    let own = kept.blobs.iter().filter(|((space, of, name), _)| place.holds(*space, *of, name));
    own.map(|((_, _, name), (stamp, bytes))| (name, *stamp, bytes))
}

/// Blobs that are being stored together; none when there are none.
fn read_pending(path: &Path) -> Result<Vec<Blob>> {
    match durable::read_small(path, u64::MAX) {
        Ok(text) => Ok(serde_json::from_slice(&text).unwrap_or_default()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(cause).during(|| format!("read `{}`", path.display())),
    }
}
