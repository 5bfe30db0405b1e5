//! Which projects' own configuration the user trusts, and in which exact wording.
//!
//! The register lies in the user's data directory, where a cloned repository cannot write. Trust is given
//! to a directory and to the bytes of its file: when either differs, there is no trust.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::{file, project};
use crate::durable;
use crate::error::{Failure, Kind};
use crate::surroundings::Surroundings;

/// How far a project's own file is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Trusted,
    Unknown,
    /// It was trusted, and has changed since.
    Changed,
    /// It is reached through a symbolic link, so its bytes are not the project's own.
    Linked,
}

/// The projects that are trusted.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Register {
    version: u32,
    #[serde(default)]
    projects: BTreeMap<String, Fingerprint>,
}

/// What a file's bytes were when it was trusted.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
struct Fingerprint {
    bytes: u64,
    digest: String,
}

const VERSION: u32 = 1;

impl Register {
    pub(crate) fn read(surroundings: &Surroundings) -> Result<Self, Failure> {
        let path = Self::path(surroundings)?;
        let Some(text) = file::text_of(&path)? else {
            return Ok(Self { version: VERSION, projects: BTreeMap::new() });
        };
        let attempt = || format!("read the trust register `{}`", path.display());
        let register: Self = toml::from_str(&text).map_err(|error| {
            Failure::new(Kind::Corrupt, attempt())
                .because(error.message().to_owned())
                .hint("move the file away, then run `rejoin trust` in each project again")
        })?;
        if register.version != VERSION {
            return Err(Failure::new(Kind::Unsupported, attempt())
                .because(format!("its version is {}, and this program knows {VERSION}", register.version))
                .hint("it was written by a newer rejoin; use that one"));
        }
        Ok(register)
    }

    /// Changes the register while no other process can.
    pub(crate) fn update<T>(
        surroundings: &Surroundings,
        change: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, Failure> {
        let path = Self::path(surroundings)?;
        let attempt = || format!("write the trust register `{}`", path.display());
        let directory = surroundings.data_directory()?;
        durable::create_private_directory(&directory).map_err(|error| Failure::io(attempt(), error))?;
        // The directory itself is locked, because the file is replaced and a lock on it would be lost.
        let lock = File::open(&directory).map_err(|error| Failure::io(attempt(), error))?;
        lock.lock().map_err(|error| Failure::io(attempt(), error))?;
        let mut register = Self::read(surroundings)?;
        let outcome = change(&mut register);
        let text = toml::to_string(&register)
            .map_err(|error| Failure::new(Kind::Other, attempt()).because(error))?;
        durable::replace(&path, text.as_bytes()).map_err(|error| Failure::io(attempt(), error))?;
        Ok(outcome)
    }

    /// How far the file of the project in `directory` is trusted, when it reads `text`.
    pub(crate) fn standing(&self, directory: &Path, text: &str) -> Standing {
        if is_linked(directory) {
            return Standing::Linked;
        }
        // A path that is not text can never have been recorded.
        match directory.to_str().and_then(|name| self.projects.get(name)) {
            None => Standing::Unknown,
            Some(trusted) if *trusted == Fingerprint::of(text) => Standing::Trusted,
            Some(_) => Standing::Changed,
        }
    }

    pub(crate) fn trust(&mut self, directory: &str, text: &str) {
        self.projects.insert(directory.to_owned(), Fingerprint::of(text));
    }

    /// Takes trust away, and says whether there was any.
    pub(crate) fn revoke(&mut self, directory: &str) -> bool {
        self.projects.remove(directory).is_some()
    }

    pub(crate) fn directories(&self) -> impl Iterator<Item = &str> {
        self.projects.keys().map(String::as_str)
    }

    fn path(surroundings: &Surroundings) -> Result<PathBuf, Failure> {
        Ok(surroundings.data_directory()?.join("trust.toml"))
    }
}

/// Whether the project's file, or the directory it lies in, is a symbolic link.
pub(crate) fn is_linked(directory: &Path) -> bool {
    let path = directory.join(project::FILE);
    file::is_link(&path) || path.parent().is_some_and(file::is_link)
}

impl Fingerprint {
    fn of(text: &str) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { bytes: text.len() as u64, digest: format!("sha256:{hex}") }
    }
}

impl Standing {
    /// The word for scripts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Standing::Trusted => "trusted",
            Standing::Unknown => "untrusted",
            Standing::Changed => "changed",
            Standing::Linked => "linked",
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Standing::Trusted => "the project is trusted",
            Standing::Unknown => "the project is not trusted",
            Standing::Changed => "the file has changed since the project was trusted",
            Standing::Linked => "the file is reached through a symbolic link",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_holds_for_the_same_bytes_in_the_same_directory_only() {
        let mut register = Register { version: VERSION, projects: BTreeMap::new() };
        register.trust("/a", "log = \"off\"\n");

        let standings = [("/a", "log = \"off\"\n"), ("/a", "log = \"warn\""), ("/b", "log = \"off\"\n")]
            .map(|(directory, text)| register.standing(Path::new(directory), text));

        assert_eq!(standings, [Standing::Trusted, Standing::Changed, Standing::Unknown]);
    }

    #[test]
    fn a_fingerprint_names_its_algorithm() {
        let expected = Fingerprint {
            bytes: 3,
            digest: "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
        };

        assert_eq!(Fingerprint::of("abc"), expected);
    }
}
