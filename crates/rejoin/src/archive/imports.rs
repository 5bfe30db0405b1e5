//! What was imported before: how each source looked then, and which conversations it gave.
//!
//! A source that looks the same is not read again. A conversation that a source gave and that is no longer here was
//! deleted here; it stays deleted while its source goes on, unless it is asked for.
//!
//! What is noted is no history: losing it costs a reading of every source. So it is saved without a sync, and now and then.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::archive::Archive;
use crate::error::{Error, Result};
use crate::formats::{Finder, Fingerprint, Format, PathKey, Source, key_of};
use crate::model::ConversationId;
use crate::ops::{Import, ImportMode, Imported};
use crate::store::{ListQuery, Put, Safety, Space};

/// What was imported before.
#[derive(Clone, Debug, Default)]
pub struct Imports {
    notes: HashMap<PathKey, Note>,
    unsaved: Vec<PathKey>,
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
struct Note {
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
        let mut conversations: Vec<ConversationId> =
            imported.conversations.iter().map(|one| one.id).collect();
        conversations.extend(&imported.deleted);
        conversations.sort();
        let note = Note {
            format: imported.format.to_owned(),
            look: look.map(|look| hex(look.digest())),
            conversations,
        };
        let key = key_of(source.path());
        if self.notes.get(&key) != Some(&note) {
            self.notes.insert(key, note);
            self.unsaved.push(key);
        }
    }
}

impl Note {
    fn look(&self) -> Option<[u8; 16]> {
        let text = self.look.as_deref()?;
        u128::from_str_radix(text, 16).ok().map(u128::to_be_bytes)
    }
}

impl Archive {
    /// What was imported before.
    pub fn imports(&self) -> Result<Imports> {
        let mut imports = Imports::default();
        self.store().get(Space::Import, None, b"", &mut |name, bytes| {
            // A note that cannot be read is written again when its source is.
            if let (Ok(path), Ok(note)) = (PathKey::try_from(name), serde_json::from_slice(bytes)) {
                imports.notes.insert(path, note);
            }
            Ok(())
        })?;
        Ok(imports)
    }

    /// Imports a source as [`Archive::import`] does, and notes how it looks; [`Archive::save_imports`] keeps the notes.
    pub fn import_noting(
        &self,
        imports: &mut Imports,
        source: &Source,
        format: &'static Format,
        deleted: DeletedHere,
        how: &mut Import<'_>,
    ) -> Result<Imported> {
        // How it looks is taken before it is read: what is written meanwhile must not count as read.
        let look = source.fingerprint().ok().filter(|look| look.is_settled(self.now()));
        let gone = match deleted {
            DeletedHere::StayDeleted => self.deleted_of(imports, source)?,
            DeletedHere::ComeBack => HashSet::new(),
        };
        let imported = self.import_except(source, format, &gone, how)?;
        if how.mode == ImportMode::Store {
            imports.add(source, look, &imported);
        }
        Ok(imported)
    }

    /// Keeps what was noted.
    pub fn save_imports(&self, imports: &mut Imports) -> Result<()> {
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
            self.store().put(&blobs, Safety::Unsynced)?;
        }
        imports.unsaved.clear();
        Ok(())
    }

    /// The conversations that a source gave and that are no longer here.
    fn deleted_of(&self, imports: &Imports, source: &Source) -> Result<HashSet<ConversationId>> {
        let Some(note) = imports.notes.get(&key_of(source.path())) else { return Ok(HashSet::new()) };
        let limit = note.conversations.len();
        let query = ListQuery { only: Some(&note.conversations), limit, ..ListQuery::default() };
        let mut gone: HashSet<ConversationId> = note.conversations.iter().copied().collect();
        if !gone.is_empty() {
            for row in self.store().list(&query)?.items {
                gone.remove(&row.id);
            }
        }
        Ok(gone)
    }
}

fn hex(bytes: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(bytes))
}
