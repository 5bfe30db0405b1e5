//! Which projects' own configuration the user trusts, and in which exact wording.
//!
//! The register lies in the user's data directory, where a cloned repository cannot write. Trust is given to
//! a directory and to the bytes of its file: when either differs, there is no trust. A directory that took
//! the place of a trusted one is another directory.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use rejoin_agent::directory_identity;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::{file, project};
use crate::durable;
use crate::error::{Failure, Kind};
use crate::surroundings::Surroundings;

/// How far a project's own file is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TrustStanding {
    Trusted,
    Unknown,
    /// It was trusted, and has changed since.
    Changed,
    /// It was trusted in another directory that had this path.
    Replaced,
    /// It was trusted by a version of this program that guarded fewer keys, and did not show the others.
    Outdated,
    /// It is reached through a symbolic link, so its bytes are not the project's own.
    Linked,
}

/// The projects that are trusted.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Register {
    version: u32,
    #[serde(default)]
    projects: BTreeMap<String, Trusted>,
}

/// What was trusted in a directory.
#[derive(Debug, Deserialize, Serialize)]
struct Trusted {
    /// Which directory had the path; none in what an older version has written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    #[serde(flatten)]
    file: TrustedBytes,
}

/// What a file's bytes were when it was trusted.
#[derive(Debug, Deserialize, PartialEq, Eq, Serialize)]
struct TrustedBytes {
    bytes: u64,
    digest: String,
}

const VERSION: u32 = 2;

/// The version that knew directories by their path only. Its users were not shown every key that needs trust,
/// so what it trusts has to be trusted again.
const VERSION_BY_PATH: u32 = 1;

/// What every version of the register begins with.
#[derive(Deserialize)]
struct RegisterVersion {
    version: u32,
}

impl Register {
    fn empty() -> Self {
        Self { version: VERSION, projects: BTreeMap::new() }
    }

    pub(crate) fn read(surroundings: &Surroundings) -> Result<Self, Failure> {
        let path = Self::path(surroundings)?;
        let Some(text) = file::text_of(&path)? else {
            return Ok(Self::empty());
        };
        let attempt = || format!("read the trust register `{}`", path.display());
        let damaged = |error: toml::de::Error| {
            Failure::new(Kind::Corrupt, attempt())
                .because(error.message().to_owned())
                .hint("move the file away, then run `rejoin trust` in each project again")
        };
        let RegisterVersion { version } = toml::from_str(&text).map_err(damaged)?;
        match version {
            VERSION | VERSION_BY_PATH => {
                let register: Self = toml::from_str(&text).map_err(damaged)?;
                Ok(Self { version: VERSION, ..register })
            }
            _ => Err(Failure::new(Kind::Unsupported, attempt())
                .because(format!("its version is {version}, and this program knows {VERSION}"))
                .hint("it was written by a newer rejoin; use that one")),
        }
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
    pub(crate) fn standing(&self, directory: &Path, text: &str) -> TrustStanding {
        let is_linked = is_linked(directory);
        match self.trusted_in(directory) {
            Err(TrustStanding::Unknown) if is_linked => TrustStanding::Linked,
            Ok(_) if is_linked => TrustStanding::Changed,
            Ok(trusted) if trusted.file == TrustedBytes::of(text) => TrustStanding::Trusted,
            Ok(_) => TrustStanding::Changed,
            Err(standing) => standing,
        }
    }

    /// How far the file of the project in `directory` is trusted, when it cannot be read.
    pub(crate) fn standing_unread(&self, directory: &Path) -> TrustStanding {
        self.trusted_in(directory).map_or_else(|standing| standing, |_| TrustStanding::Trusted)
    }

    /// How the project in `directory` stands without a file, if it was trusted with one.
    pub(crate) fn standing_without_file(&self, directory: &Path) -> Option<TrustStanding> {
        match self.trusted_in(directory) {
            Ok(_) => Some(TrustStanding::Changed),
            Err(standing) => Some(standing).filter(|standing| standing.has_lapsed()),
        }
    }

    /// What was trusted in this very directory.
    fn trusted_in(&self, directory: &Path) -> Result<&Trusted, TrustStanding> {
        // A path that is not text can never have been recorded.
        let trusted =
            directory.to_str().and_then(|name| self.projects.get(name)).ok_or(TrustStanding::Unknown)?;
        match &trusted.directory {
            None => Err(TrustStanding::Outdated),
            own if *own == directory_identity(directory) => Ok(trusted),
            Some(_) => Err(TrustStanding::Replaced),
        }
    }

    /// Trusts a text in the directory that had this identity when the user saw it.
    pub(crate) fn trust(&mut self, name: &str, seen: Option<String>, text: &str) -> Result<(), Failure> {
        let directory = directory_identity(Path::new(name));
        if directory.is_none() {
            return Err(Failure::not_found(format!("trust `{name}`")).because("no such directory"));
        }
        if directory != seen {
            return Err(Failure::new(Kind::Denied, format!("trust `{name}`"))
                .because("the directory was replaced")
                .hint("run `rejoin trust` again"));
        }
        self.projects.insert(name.to_owned(), Trusted { directory, file: TrustedBytes::of(text) });
        Ok(())
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

/// Whether the user trusts the configuration of the project in a directory, as it is now.
pub(crate) fn is_trusted(surroundings: &Surroundings, directory: &Path) -> bool {
    let text = file::text_of(&directory.join(project::FILE)).ok().flatten();
    let standing =
        |text: String| Register::read(surroundings).map(|register| register.standing(directory, &text));
    text.is_some_and(|text| standing(text).is_ok_and(|standing| standing == TrustStanding::Trusted))
}

/// Whether the project's file, or the directory it lies in, is a symbolic link.
pub(crate) fn is_linked(directory: &Path) -> bool {
    let path = directory.join(project::FILE);
    file::is_link(&path) || path.parent().is_some_and(file::is_link)
}

impl TrustedBytes {
    fn of(text: &str) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { bytes: text.len() as u64, digest: format!("sha256:{hex}") }
    }
}

impl TrustStanding {
    /// Whether the user has trusted it as it was, and not as it is.
    pub(crate) const fn has_lapsed(self) -> bool {
        match self {
            TrustStanding::Changed | TrustStanding::Replaced | TrustStanding::Outdated => true,
            TrustStanding::Trusted | TrustStanding::Unknown | TrustStanding::Linked => false,
        }
    }

    /// The word for scripts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            TrustStanding::Trusted => "trusted",
            TrustStanding::Unknown => "untrusted",
            TrustStanding::Changed => "changed",
            TrustStanding::Replaced => "replaced",
            TrustStanding::Outdated => "outdated",
            TrustStanding::Linked => "linked",
        }
    }
}

impl fmt::Display for TrustStanding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            TrustStanding::Trusted => "the project is trusted",
            TrustStanding::Unknown => "the project is not trusted",
            TrustStanding::Changed => "the file has changed since the project was trusted",
            TrustStanding::Replaced => "another directory had this path when the project was trusted",
            TrustStanding::Outdated => "the project was trusted by an older rejoin, which guarded fewer keys",
            TrustStanding::Linked => "the file is reached through a symbolic link",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_holds_for_the_same_bytes_in_the_same_directory_only() {
        let root = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| root.path().join(name));
        std::fs::create_dir(&own).unwrap();
        std::fs::create_dir(&other).unwrap();
        let mut register = Register::empty();
        register.trust(own.to_str().unwrap(), directory_identity(&own), "log = \"off\"\n").unwrap();

        let standings = [(&own, "log = \"off\"\n"), (&own, "log = \"warn\""), (&other, "log = \"off\"\n")]
            .map(|(directory, text)| register.standing(directory, text));
        std::fs::remove_dir(&own).unwrap();
        std::fs::rename(&other, &own).unwrap();
        let replaced = register.standing(&own, "log = \"off\"\n");

        assert_eq!(standings, [TrustStanding::Trusted, TrustStanding::Changed, TrustStanding::Unknown]);
        assert_eq!(replaced, TrustStanding::Replaced);
    }

    #[test]
    fn a_fingerprint_names_its_algorithm() {
        let expected = TrustedBytes {
            bytes: 3,
            digest: "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned(),
        };

        assert_eq!(TrustedBytes::of("abc"), expected);
    }
}
