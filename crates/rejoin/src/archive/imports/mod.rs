//! What was imported before: how each source looked then, and which conversations it gave.
//!
//! A source that looks the same is not read again. A conversation that any source gave and
//! that is no longer here was deleted here; it stays deleted while its source goes on, moves
//! or is copied, unless it is asked for.
//!
//! A source is noted only after everything that was read of it is stored, so a note is
//! never there without its conversations.
//!
//! How a source looked is no history: losing it costs a reading, so it is saved without a sync, and now and
//! then. Losing which conversations there were would bring deleted ones back, so new ones are synced.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, ArchiveImports};
use crate::error::{Error, ErrorKind, Result};
use crate::formats::{Detection, Finder, Fingerprint, Format, PathKey, Source, key_of};
use crate::model::ConversationId;
use crate::ops::{Import, ImportMode, ImportQueue, Imported, import};
use crate::store::{BlobNames, Put, Safety, Space};

/// What was read to its end waits no longer than this to be stored, once the next source is read.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was imported before.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    notes: HashMap<PathKey, SourceNote>,
    /// The conversations of all notes.
    given: HashSet<ConversationId>,
    unsaved: Vec<PathKey>,
    /// True when a note that is not saved tells of a new conversation.
    is_any_new: bool,
}

/// What becomes of conversations that were imported once and deleted here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletedHere {
    /// They stay deleted.
    StayDeleted,
    /// They are imported again.
    ComeBack,
}

/// What is noted of a source, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SourceNote {
    format: String,
    /// How it looked, in hexadecimal; none when it was still changing.
    look: Option<String>,
    conversations: Vec<ConversationId>,
}

impl Imports {
    /// A finder that does not open what was imported and looks the same.
    pub fn finder(&self) -> Finder {
        let mut finder = Finder::new();
        for (path, note) in &self.notes {
            if let (Some(look), Ok(format)) = (note.look(), Format::named(&note.format)) {
                finder.recall(*path, look, format);
            }
        }
        finder
    }

    /// True when a source was imported as this format and looks as it did then.
    pub fn is_unchanged(&self, source: &Source, format: &Format) -> bool {
        let note = self.notes.get(&key_of(source.path()));
        note.is_some_and(|note| {
            note.format == format.name
                && source.fingerprint().is_ok_and(|look| note.look() == Some(look.digest()))
        })
    }

    fn add(&mut self, source: &Source, look: Option<Fingerprint>, imported: &Imported) {
        let key = key_of(source.path());
        let found = imported.conversations.iter().map(|one| one.id).chain(imported.deleted.iter().copied());
        // What it no longer has may come back, too.
        let before = self.notes.get(&key).map_or(&[][..], |note| &note.conversations);
        let conversations: BTreeSet<ConversationId> = found.chain(before.iter().copied()).collect();
        for id in &conversations {
            self.is_any_new |= self.given.insert(*id);
        }
        // A run is read again until what asked for it is here, too.
        let look = look.filter(|_| !imported.conversations.iter().any(|one| one.is_waiting));
        let note = SourceNote {
            format: imported.format.to_owned(),
            look: look.map(|look| hex(look.digest())),
            conversations: conversations.into_iter().collect(),
        };
        if self.notes.get(&key) != Some(&note) {
            self.notes.insert(key, note);
            self.unsaved.push(key);
        }
    }
}

/// A source that was read, and of which something may wait to be stored.
struct Unsettled<'s> {
    number: usize,
    place: usize,
    source: &'s Source,
    format: &'static Format,
    look: Option<Fingerprint>,
    read: Result<Imported>,
    /// When it was read to its end.
    since: Instant,
}

/// True for what is wrong with a source, and not with the store.
fn is_of_source(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound)
}

impl SourceNote {
    fn look(&self) -> Option<[u8; 16]> {
        let text = self.look.as_deref()?;
        u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
    }
}

impl ArchiveImports<'_> {
    /// What was imported before.
    pub fn known(&self) -> Result<Imports> {
        let mut imports = Imports::default();
        self.archive.store().get(Space::Import, None, BlobNames::ALL, &mut |name, bytes| {
            // A note that cannot be read is written again when its source is.
            if let (Ok(path), Ok(note)) =
                (PathKey::try_from(name), serde_json::from_slice::<SourceNote>(bytes))
            {
                imports.given.extend(&note.conversations);
                imports.notes.insert(path, note);
            }
            Ok(())
        })?;
        Ok(imports)
    }

    /// Imports a source as [`ArchiveImports::add`] does, and notes how it looks; [`ArchiveImports::save`]
    /// keeps the notes.
    pub fn add_noting(
        &self,
        imports: &mut Imports,
        source: &Source,
        format: &'static Format,
        deleted: DeletedHere,
        how: &mut Import<'_>,
    ) -> Result<Imported> {
        let mut told = None;
        let Ok(()) = self.add_all(imports, [(source, format, deleted)], how, |_, _, imported| {
            told = Some(imported);
            Ok::<(), Infallible>(())
        });
        told.expect("each source is told of")
    }

    /// Imports sources as [`ArchiveImports::add_noting`] does, one after the other. Small conversations wait
    /// for each other,
    /// and many of them are one commit.
    ///
    /// `tell` is called once for each source, in order, with its place and what became of it, when
    /// everything that was read of it is stored and noted, or refused. An error of `tell` ends the
    /// import, and what waits then is not stored.
    pub fn add_all<'s, E, F>(
        &self,
        imports: &mut Imports,
        sources: impl IntoIterator<Item = (&'s Source, &'static Format, DeletedHere)>,
        how: &mut Import<'_>,
        mut tell: F,
    ) -> Result<(), E>
    where
        F: FnMut(&mut Imports, usize, Result<Imported>) -> Result<(), E>,
    {
        let queue = ImportQueue::default();
        let mut waiting = VecDeque::new();
        for (place, (source, format, deleted)) in sources.into_iter().enumerate() {
            let read = self.archive.read_noting(&queue, imports, (place, source, format, deleted), how);
            // Whoever is told of a store that fails ends the import, so this is told at once.
            let is_failing = read.read.as_ref().is_err_and(|error| !is_of_source(error));
            waiting.push_back(read);
            if is_failing || waiting.front().is_some_and(|oldest| oldest.since.elapsed() >= PATIENCE) {
                queue.flush(self.archive.store());
            }
            self.archive.settle(&queue, &mut waiting, imports, how.mode, &mut tell)?;
        }
        queue.flush(self.archive.store());
        self.archive.settle(&queue, &mut waiting, imports, how.mode, &mut tell)
    }

    /// Keeps what was noted.
    pub fn save(&self, imports: &mut Imports) -> Result<()> {
        let mut written: Vec<(PathKey, Vec<u8>)> = Vec::with_capacity(imports.unsaved.len());
        for path in &imports.unsaved {
            let note = serde_json::to_vec(&imports.notes[path])
                .map_err(|cause| Error::invalid("write down what was imported").because(cause))?;
            written.push((*path, note));
        }
        let blobs: Vec<Put<'_>> = written
            .iter()
            .map(|(path, note)| Put { space: Space::Import, owner: None, name: path, bytes: Some(note) })
            .collect();
        if !blobs.is_empty() {
            let safety = if imports.is_any_new { Safety::Synced } else { Safety::Unsynced };
            self.archive.store().put(&blobs, safety)?;
        }
        imports.unsaved.clear();
        imports.is_any_new = false;
        Ok(())
    }
}

impl Archive {
    /// Reads a source. What it gives may wait in the queue.
    fn read_noting<'s>(
        &self,
        queue: &ImportQueue,
        imports: &Imports,
        (place, source, format, deleted): (usize, &'s Source, &'static Format, DeletedHere),
        how: &mut Import<'_>,
    ) -> Unsettled<'s> {
        // How it looks is taken before it is read: what is written meanwhile must not count as read.
        let look = source.fingerprint().ok().filter(|look| look.is_settled(self.now()));
        let none = HashSet::new();
        let except = match deleted {
            DeletedHere::StayDeleted => &imports.given,
            DeletedHere::ComeBack => &none,
        };
        let number = queue.begin_source();
        let read = import(self.destination(queue, except), source, format, how);
        Unsettled { number, place, source, format, look, read, since: Instant::now() }
    }

    /// Tells of the sources of which nothing waits any more, up to the first of which something does.
    fn settle<E, F>(
        &self,
        queue: &ImportQueue,
        waiting: &mut VecDeque<Unsettled<'_>>,
        imports: &mut Imports,
        mode: ImportMode,
        tell: &mut F,
    ) -> Result<(), E>
    where
        F: FnMut(&mut Imports, usize, Result<Imported>) -> Result<(), E>,
    {
        let first = queue.first_waiting();
        while let Some(next) = waiting.pop_front_if(|next| first.is_none_or(|first| next.number < first)) {
            let Unsettled { number, place, source, format, look, read, .. } = next;
            let refusal = queue.take_refusal(number).map_or(Ok(()), Err);
            let imported = self.settled(source, read.and_then(|read| refusal.map(|()| read)), mode);
            if let Ok(imported) = &imported
                && mode == ImportMode::Store
            {
                // What was read as a format that it is not of, and gave
                // nothing, is still a file of no known format.
                let is_any = !imported.conversations.is_empty() || !imported.deleted.is_empty();
                if is_any || format.detect(source) == Detection::Yes {
                    imports.add(source, look, imported);
                }
            }
            tell(imports, place, imported)?;
        }
        Ok(())
    }
}

fn hex(bytes: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests;
