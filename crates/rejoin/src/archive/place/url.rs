//! Store URLs: parsing them, and opening the store they name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::archive::place::pinned::is_sealed;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "postgres")]
use crate::store::PostgresStore;
#[cfg(feature = "sqlite")]
use crate::store::SqliteStore;
use crate::store::backend::Backend;
use crate::store::{Displaced, Keeper, MemoryStore, PostgresUrl, REPACK_EVERY, Store, WAIT, place};
#[cfg(feature = "jsonl")]
use crate::store::{JsonlOptions, JsonlStore};
#[cfg(feature = "vault")]
use crate::vault::Keyholder;
use crate::vault::VaultAdmin;

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreUrl {
    /// `sqlite:PATH`
    Sqlite(PathBuf),
    /// `jsonl:DIR`
    Jsonl(PathBuf),
    /// `postgres://USER@HOST/DATABASE`
    Postgres(PostgresUrl),
    /// `memory:`
    Memory,
    /// `vault+sqlite:PATH`, `vault+jsonl:DIR` or `vault+postgres://…`: one of the others, sealed.
    Vault(Box<StoreUrl>),
}

/// What it takes to open a store. Features of the crate add fields, so name those you
/// set and take the rest from the default.
#[derive(Clone, Debug)]
pub struct Access {
    /// How long to wait for other processes.
    pub wait: Duration,
    /// What opens a vault.
    #[cfg(feature = "vault")]
    pub keys: Option<Keyholder>,
    /// The directory in which the anchors and pins of vaults are kept, outside of any store.
    #[cfg(feature = "vault")]
    pub anchors: Option<PathBuf>,
    /// Plain files are written anew after so many changes of their conversation; 0 means never.
    pub repack_every: u32,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            wait: WAIT,
            #[cfg(feature = "vault")]
            keys: None,
            #[cfg(feature = "vault")]
            anchors: None,
            repack_every: REPACK_EVERY,
        }
    }
}

/// A store, and what it is besides where it is a vault.
pub(in crate::archive) type StoreParts = (Arc<dyn Store>, Option<Arc<dyn VaultAdmin>>);

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
            ("postgres" | "postgresql", rest) if rest.starts_with("//") => {
                Ok(Self::Postgres(PostgresUrl::new(rest)))
            }
            ("postgres" | "postgresql", _) => {
                Err(Error::invalid("`postgres:` needs a server, as in `postgres://localhost/history`"))
            }
            ("vault+sqlite" | "vault+jsonl" | "vault+postgres" | "vault+postgresql", path) => {
                let inner = format!("{}:{path}", &scheme["vault+".len()..]);
                Ok(Self::Vault(Box::new(Self::parse(&inner)?)))
            }
            _ => Err(Error::invalid(format!(
                "`{url}` is not a store; use `sqlite:PATH`, `jsonl:DIR`, `postgres://…` or `memory:`, or a vault such as `vault+sqlite:PATH`"
            ))),
        }
    }

    /// Opens the store, creating it when it is missing.
    pub fn open(&self) -> Result<Arc<dyn Store>> {
        self.open_waiting(WAIT)
    }

    /// Opens the store, and waits up to `wait` for other processes before it answers [`ErrorKind::Locked`].
    pub fn open_waiting(&self, wait: Duration) -> Result<Arc<dyn Store>> {
        self.open_with(&Access { wait, ..Access::default() })
    }

    /// Opens the store with what it takes. A vault that is missing is not created.
    pub fn open_with(&self, access: &Access) -> Result<Arc<dyn Store>> {
        Ok(self.open_parts(access)?.0)
    }

    /// The same, with what it is besides where it is a vault.
    pub(in crate::archive) fn open_parts(&self, access: &Access) -> Result<StoreParts> {
        let Self::Vault(inner) = self else {
            self.refuse_in_place_of_a_vault(access)?;
            let store = self.open_plain(access)?;
            return if is_sealed(store.as_ref())? {
                Err(Error::new(
                    ErrorKind::Denied,
                    format!("`{self}` is sealed; it is the vault `vault+{self}`"),
                ))
            } else {
                Ok((store, None))
            };
        };
        self.refuse_unbuilt()?;
        self.open_sealed(inner, access)
    }

    /// Refuses a store that this build of the crate has not.
    pub(in crate::archive) fn refuse_unbuilt(&self) -> Result<()> {
        match self {
            Self::Sqlite(_) if cfg!(not(feature = "sqlite")) => {
                Err(Error::not_built("`sqlite` store", "sqlite"))
            }
            Self::Jsonl(_) if cfg!(not(feature = "jsonl")) => Err(Error::not_built("`jsonl` store", "jsonl")),
            Self::Postgres(_) if cfg!(not(feature = "postgres")) => {
                Err(Error::not_built("`postgres` store", "postgres"))
            }
            Self::Vault(_) if cfg!(not(feature = "vault")) => Err(Error::not_built("vaults", "vault")),
            Self::Vault(inner) => inner.refuse_unbuilt(),
            Self::Sqlite(_) | Self::Jsonl(_) | Self::Postgres(_) | Self::Memory => Ok(()),
        }
    }

    /// Refuses to open a store again that is gone.
    pub(in crate::archive) fn refuse_missing(&self) -> Result<()> {
        match self.path() {
            Some(path) if !path.exists() => {
                Err(Error::new(ErrorKind::Unavailable, "open the store again").because(Displaced::at(path)))
            }
            _ => Ok(()),
        }
    }

    pub(in crate::archive) fn open_plain(&self, access: &Access) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(Keeper::over(self.backend(access)?)))
    }

    /// Where the rows of a store that is no vault are.
    #[cfg_attr(
        not(any(feature = "jsonl", feature = "postgres", feature = "sqlite")),
        expect(unused_variables, reason = "a store in memory takes nothing")
    )]
    pub(in crate::archive) fn backend(&self, access: &Access) -> Result<Arc<dyn Backend>> {
        self.refuse_unbuilt()?;
        Ok(match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(path) => Arc::new(SqliteStore::open_waiting(path, access.wait)?.into_backend()),
            #[cfg(feature = "jsonl")]
            Self::Jsonl(root) => {
                let Access { wait, repack_every, .. } = *access;
                let options = JsonlOptions { wait, repack_every, ..JsonlOptions::default() };
                Arc::new(JsonlStore::open_with(root, options)?.into_backend())
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => Arc::new(PostgresStore::open_waiting(url, access.wait)?.into_backend()),
            Self::Vault(_) => return Err(Error::invalid(format!("`{self}` is a vault"))),
            Self::Memory => Arc::new(MemoryStore::new().into_backend()),
            #[cfg(not(feature = "sqlite"))]
            Self::Sqlite(_) => unreachable!("it was refused above"),
            #[cfg(not(feature = "jsonl"))]
            Self::Jsonl(_) => unreachable!("it was refused above"),
            #[cfg(not(feature = "postgres"))]
            Self::Postgres(_) => unreachable!("it was refused above"),
        })
    }

    /// The same store, sealed.
    #[must_use]
    pub fn sealed(&self) -> Self {
        match self {
            Self::Vault(_) => self.clone(),
            plain => Self::Vault(Box::new(plain.clone())),
        }
    }

    /// True when a password stands in it.
    pub fn has_password(&self) -> bool {
        match self {
            Self::Postgres(url) => url.has_password(),
            Self::Vault(inner) => inner.has_password(),
            Self::Sqlite(_) | Self::Jsonl(_) | Self::Memory => false,
        }
    }

    /// The same store, where the variables that its server's own programs go by, such as `PGPASSWORD`, stand
    /// in for what the URL does not say. `read` returns a variable of the environment.
    #[must_use]
    pub fn with_variables(self, read: &dyn Fn(&str) -> Option<String>) -> Self {
        match self {
            Self::Postgres(url) => Self::Postgres(url.with_variables(read)),
            Self::Vault(inner) => Self::Vault(Box::new(inner.with_variables(read))),
            other @ (Self::Sqlite(_) | Self::Jsonl(_) | Self::Memory) => other,
        }
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
            Self::Postgres(_) | Self::Memory => None,
            Self::Vault(inner) => inner.path(),
        }
    }
}

/// Whether a store has to be there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is an error when it is missing.
    Needed,
    /// It is created when it is missing.
    Optional,
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Jsonl(root) => write!(f, "jsonl:{}", root.display()),
            Self::Postgres(url) => write!(f, "{url}"),
            Self::Memory => f.write_str("memory:"),
            Self::Vault(inner) => write!(f, "vault+{inner}"),
        }
    }
}
