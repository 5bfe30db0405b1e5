//! Where a source lies, and whether a conversation was read from there before.
//!
//! An id at a source can be copied, so it says little about who wrote a file. What lies where it lay
//! before was written by the same program.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::formats::{Format, Source};
use crate::model::{Conversation, Origin, Time};
use crate::ops::redact::{RedactionTally, Redactor};
use crate::store::Row;

/// Where a source lies.
pub(super) struct Location {
    format: &'static Format,
    /// As it is kept with a conversation: without what is secret.
    path: String,
}

impl Location {
    pub(super) fn of(source: &Source, format: &'static Format, redactor: Option<Redactor<'_>>) -> Self {
        let path = source.path().to_string_lossy().into_owned();
        let origin = Origin {
            format: format.name.to_owned(),
            read_as: None,
            source_id: String::new(),
            source_path: Some(path.clone()),
            imported_at: Time::default(),
        };
        let header = Conversation { origin: Some(origin), ..Conversation::default() };
        let clean = redactor.and_then(|redactor| redactor.header(&header, &mut RedactionTally::default()));
        let clean = clean.and_then(|header| header.origin).and_then(|origin| origin.source_path);
        Self { format, path: clean.unwrap_or(path) }
    }

    /// True when a conversation was read from here before.
    pub(super) fn gave(&self, row: &Row) -> Result<bool> {
        let origin = Conversation::from_header(&row.header)?.origin;
        let Some(Origin { format, read_as, source_path: Some(path), .. }) = origin else { return Ok(false) };
        let is_of_format = read_as.unwrap_or(format) == self.format.name;
        Ok(is_of_format && self.area_of(&path) == self.area())
    }

    /// What its program keeps together: the program's own folder, or the one that the file lies in. A
    /// conversation may have several files there. A file of Rejoin's stands for itself.
    pub(super) fn area(&self) -> PathBuf {
        self.area_of(&self.path)
    }

    fn area_of(&self, path: &str) -> PathBuf {
        let path = Path::new(path);
        let own = self.format.places.iter().find_map(|place| below(path, place.strip_prefix("~/")?));
        let folder = || path.parent().filter(|_| !self.format.is_own()).map(Path::to_owned);
        own.or_else(folder).unwrap_or_else(|| path.to_owned())
    }
}

/// The folder that a path shares with a place of its program, below any home.
fn below(path: &Path, place: &str) -> Option<PathBuf> {
    let parts: Vec<_> = path.components().collect();
    let wanted: Vec<_> = Path::new(place).components().collect();
    let at = parts.windows(wanted.len()).position(|parts| parts == wanted)?;
    let shared = at + wanted.len().saturating_sub(1).max(1);
    Some(parts[..shared].iter().collect())
}

/// True for a conversation that no import made.
pub(super) fn began_here(row: &Row) -> Result<bool> {
    Ok(Conversation::from_header(&row.header)?.origin.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(format: &str, path: &str) -> String {
        let location = Location { format: Format::named(format).unwrap(), path: path.to_owned() };
        location.area().to_string_lossy().into_owned()
    }

    #[test]
    fn a_program_keeps_its_own_folder_together_and_nothing_else() {
        let areas = [
            area("codex", "/home/ada/.codex/sessions/2026/11/15/rollout-1.jsonl"),
            area("codex", "/home/ada/.codex/archived_sessions/rollout-1.jsonl"),
            area("codex", "/tmp/x/.codex/sessions/rollout-1.jsonl"),
            area("codex", "/home/ada/project/sessions/rollout-1.jsonl"),
            area("claude", "/home/ada/.claude/projects/-tmp/1.jsonl"),
            area("chatgpt", "/home/ada/Downloads/november/conversations.json"),
            area("chatgpt", "/mnt/exports/november.zip"),
            area("json", "/home/ada/Downloads/lisbon.json"),
        ];

        let expected = [
            "/home/ada/.codex",
            "/home/ada/.codex",
            "/tmp/x/.codex",
            "/home/ada/project/sessions",
            "/home/ada/.claude",
            "/home/ada/Downloads",
            "/mnt/exports",
            "/home/ada/Downloads/lisbon.json",
        ];
        assert_eq!(areas, expected);
    }
}
