//! Store URLs: the one place that knows which stores there are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::store::{JsonlOptions, JsonlStore, MemoryStore, SqliteStore, Store, WAIT, place};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreUrl {
    /// `sqlite:PATH`
    Sqlite(PathBuf),
    /// `jsonl:DIR`
    Jsonl(PathBuf),
    /// `memory:`
    Memory,
}

impl StoreUrl {
    /// Reads a URL.
    pub fn parse(url: &str) -> Result<Self> {
        let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
        match (scheme, rest) {
            ("sqlite", "") => Err(Error::invalid("`sqlite:` needs a path, as in `sqlite:history.db`")),
            ("jsonl", "") => Err(Error::invalid("`jsonl:` needs a directory, as in `jsonl:conversations`")),
            ("sqlite" | "jsonl", path) if path.contains('\0') => {
                Err(Error::invalid("a path must not contain a NUL byte"))
            }
            ("sqlite", path) => Ok(Self::Sqlite(path.into())),
            ("jsonl", path) => Ok(Self::Jsonl(path.into())),
            ("memory", "") => Ok(Self::Memory),
            ("postgres" | "postgresql" | "vault+sqlite" | "vault+jsonl" | "vault+postgres", _) => {
                Err(Error::new(ErrorKind::Unsupported, format!("this version has no `{scheme}` store")))
            }
            _ => Err(Error::invalid(format!(
                "`{url}` is not a store; use `sqlite:PATH`, `jsonl:DIR` or `memory:`"
            ))),
        }
    }

    /// Opens the store, creating it when it is missing.
    pub fn open(&self) -> Result<Arc<dyn Store>> {
        self.open_waiting(WAIT)
    }

    /// Opens the store, and waits up to `wait` for other processes before it answers [`ErrorKind::Locked`].
    pub fn open_waiting(&self, wait: Duration) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::Sqlite(path) => Arc::new(SqliteStore::open_waiting(path, wait)?),
            Self::Jsonl(root) => {
                Arc::new(JsonlStore::open_with(root, JsonlOptions { wait, ..JsonlOptions::default() })?)
            }
            Self::Memory => Arc::new(MemoryStore::new()),
        })
    }

    /// How many bytes may still be written where the store lives; none when that cannot be told.
    pub fn free_bytes(&self) -> Option<u64> {
        let path = std::path::absolute(self.path()?).ok()?;
        path.ancestors().find_map(|place| place::free_bytes(place).ok())
    }

    /// The file or directory the store lives in.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(path) | Self::Jsonl(path) => Some(path),
            Self::Memory => None,
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Jsonl(root) => write!(f, "jsonl:{}", root.display()),
            Self::Memory => f.write_str("memory:"),
        }
    }
}
