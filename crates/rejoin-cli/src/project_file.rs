//! Reads a file that a project brings along, such as `AGENTS.md`.
//!
//! Its text is sent to a model, so a link must not be able to make it any other file of the machine.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Its text, or the beginning of it.
    Text {
        text: String,
        /// Where it is, with links resolved.
        place: PathBuf,
        is_whole: bool,
    },
    /// There is no such file.
    Absent,
    /// It is a link to somewhere outside.
    Outside,
}

/// Reads a file of at most so many bytes that lies in a directory, also through links.
pub(super) fn read_inside(file: &Path, directory: &Path, most: usize) -> Reading {
    let (Ok(place), Ok(directory)) = (fs::canonicalize(file), fs::canonicalize(directory)) else {
        return Reading::Absent;
    };
    if !place.starts_with(directory) {
        return Reading::Outside;
    }
    read(place, most)
}

/// Reads a file of the user's own, wherever it leads.
pub(super) fn read_own(file: &Path, most: usize) -> Reading {
    fs::canonicalize(file).map_or(Reading::Absent, |place| read(place, most))
}

fn read(place: PathBuf, most: usize) -> Reading {
    // A pipe or a device would keep us waiting.
    if !fs::metadata(&place).is_ok_and(|found| found.is_file()) {
        return Reading::Absent;
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let outcome = File::open(&place).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    if outcome.is_err() {
        return Reading::Absent;
    }
    let is_whole = bytes.len() <= most;
    bytes.truncate(most);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if !is_whole {
        // The cut may have gone through a character.
        text.truncate(text.trim_end_matches('\u{fffd}').len());
    }
    Reading::Text { text, place, is_whole }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_out_of_the_project_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let project = root.join("project");
        fs::create_dir(&project).unwrap();
        fs::write(root.join("key"), "secret").unwrap();
        fs::write(project.join("REAL.md"), "plain").unwrap();
        symlink("../key", project.join("AGENTS.md")).unwrap();
        symlink("REAL.md", project.join("CLAUDE.md")).unwrap();

        let read = ["AGENTS.md", "CLAUDE.md", "none.md", "."]
            .map(|name| read_inside(&project.join(name), &project, 100));

        let plain =
            Reading::Text { text: "plain".to_owned(), place: project.join("REAL.md"), is_whole: true };
        assert_eq!(read, [Reading::Outside, plain, Reading::Absent, Reading::Absent]);
    }

    #[test]
    fn a_long_file_is_cut_between_characters() {
        let home = tempfile::tempdir().unwrap();
        let place = home.path().canonicalize().unwrap().join("long.md");
        fs::write(&place, "aéé").unwrap();

        let read = read_own(&place, 4);

        assert_eq!(read, Reading::Text { text: "aé".to_owned(), place, is_whole: false });
    }
}
