//! Store URLs: the one place that knows which stores there are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::store::{MemoryStore, SqliteStore, Store};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreUrl {
    /// `sqlite:PATH`
    Sqlite(PathBuf),
    /// `memory:`
    Memory,
}

impl StoreUrl {
    /// Reads a URL.
    pub fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
        match (scheme, rest) {
            ("sqlite", "") => Err(Error::invalid("`sqlite:` needs a path, as in `sqlite:history.db`")),
            ("sqlite", path) if path.contains('\0') => {
                Err(Error::invalid("a path must not contain a NUL byte"))
            }
            ("sqlite", path) => Ok(Self::Sqlite(path.into())),
            ("memory", "") => Ok(Self::Memory),
            ("jsonl" | "postgres" | "postgresql", _)
            | ("vault+sqlite" | "vault+jsonl" | "vault+postgres", _) => {
                Err(Error::new(ErrorKind::Unsupported, format!("this version has no `{scheme}` store")))
            }
            _ => Err(Error::invalid(format!("`{url}` is not a store; use `sqlite:PATH` or `memory:`"))),
        }
    }

    /// Opens the store, creating it when it is missing.
    pub fn open(&self) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::Sqlite(path) => Arc::new(SqliteStore::open(path)?),
            Self::Memory => Arc::new(MemoryStore::new()),
        })
    }

    /// The file or directory the store lives in.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) => Some(path),
            Self::Memory => None,
        }
    }

    /// Copies the store to a new file while it is in use, and checks the copy.
    pub fn backup(&self, to: &Path, report: &mut dyn FnMut(u64, u64)) -> Result<()> {
        match self {
            Self::Sqlite(path) => {
                if !path.exists() {
                    return Err(Error::not_found(format!("there is no store at `{}`", path.display())));
                }
                SqliteStore::open(path)?.backup(to, report)
            }
            Self::Memory => {
                Err(Error::new(ErrorKind::Unsupported, "a store in memory cannot be copied to a file"))
            }
        }
    }

    /// Puts a copy that [`StoreUrl::backup`] made in the place of this store; the store that was there is kept under
    /// the returned name.
    pub fn restore(&self, from: &Path, report: &mut dyn FnMut(u64, u64)) -> Result<Option<PathBuf>> {
        match self {
            Self::Sqlite(path) => SqliteStore::restore(from, path, report),
            Self::Memory => Err(Error::new(ErrorKind::Unsupported, "a store in memory cannot be restored")),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Memory => f.write_str("memory:"),
        }
    }
}
