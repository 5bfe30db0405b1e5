//! Store URLs: parsing them, and opening the store they name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::store::backend::Backend;
use crate::store::{
    Displaced, JsonlOptions, JsonlStore, Keeper, MemoryStore, REPACK_EVERY, SqliteStore, Store, WAIT, beside,
    place,
};
use crate::vault::Vault;
use crate::vault::slots::{
    Keyholder, Keys, Places, VaultStatus, missing_record, missing_vault, status as vault_status,
};

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
    /// `vault+sqlite:PATH` or `vault+jsonl:DIR`: one of the others, sealed.
    Vault(Box<StoreUrl>),
}

/// What it takes to open a store.
#[derive(Clone, Debug)]
pub struct Access {
    /// How long to wait for other processes.
    pub wait: Duration,
    /// What opens a vault.
    pub keys: Option<Keyholder>,
    /// The directory in which the anchors and pins of vaults are kept, outside of any store.
    pub anchors: Option<PathBuf>,
    /// Plain files are written anew after so many changes of their conversation; 0 means never.
    pub repack_every: u32,
}

impl Default for Access {
    fn default() -> Self {
        Self { wait: WAIT, keys: None, anchors: None, repack_every: REPACK_EVERY }
    }
}

/// A store, and what it is besides where it is a vault.
pub(super) type Parts = (Arc<dyn Store>, Option<Arc<dyn Vault>>);

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
            ("vault+sqlite" | "vault+jsonl", path) => {
                let inner = format!("{}:{path}", &scheme["vault+".len()..]);
                Ok(Self::Vault(Box::new(Self::parse(&inner)?)))
            }
            ("postgres" | "postgresql" | "vault+postgres", _) => {
                Err(Error::new(ErrorKind::Unsupported, format!("this version has no `{scheme}` store")))
            }
            _ => Err(Error::invalid(format!(
                "`{url}` is not a store; use `sqlite:PATH`, `jsonl:DIR` or `memory:`, or a vault such as `vault+sqlite:PATH`"
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
    pub(super) fn open_parts(&self, access: &Access) -> Result<Parts> {
        let Self::Vault(inner) = self else {
            self.refuse_in_place_of_a_vault(access)?;
            let store = self.open_plain(access)?;
            return match vault_status(store.as_ref())? {
                None => Ok((store, None)),
                Some(_) => Err(Error::new(
                    ErrorKind::Denied,
                    format!("`{self}` is sealed; it is the vault `vault+{self}`"),
                )),
            };
        };
        let Some(keys) = &access.keys else {
            return Err(Error::new(
                ErrorKind::Denied,
                format!("`{self}` is a vault, and nothing was given to open it"),
            ));
        };
        let backend = inner.backend_present(access)?;
        let keys = keys.pinned(self.pin(access));
        let own = self.keys_in(Arc::clone(&backend), keys.clone(), access.wait);
        self.open_vault(backend, &keys, own, access)
            .map_err(|error| error.during(format!("open the vault `{self}`")))
    }

    /// Refuses to open a store again that is gone.
    pub(super) fn refuse_missing(&self) -> Result<()> {
        match self.path() {
            Some(path) if !path.exists() => {
                Err(Error::new(ErrorKind::Unavailable, "open the store again").because(Displaced::at(path)))
            }
            _ => Ok(()),
        }
    }

    /// The keys of the vault; none are asked for yet. Only a store that is to become a vault is created.
    pub fn keys(&self, access: &Access, existing: Existing) -> Result<Keys> {
        let Self::Vault(inner) = self else {
            return Err(Error::invalid(format!("`{self}` is not a vault")));
        };
        let holder = access.keys.clone().unwrap_or_else(|| Keyholder::new(Places::default()));
        let holder = holder.pinned(self.pin(access));
        let backend = match existing {
            Existing::Needed => inner.backend_present(access)?,
            Existing::Optional => inner.backend(access)?,
        };
        Ok(self.keys_in(backend, holder, access.wait))
    }

    /// The keys in a backend, which is the one that this URL names.
    fn keys_in(&self, backend: Arc<dyn Backend>, holder: Keyholder, wait: Duration) -> Keys {
        let keys = Keys::of(backend, holder);
        match self.path() {
            Some(path) => keys.locked_by(beside(path, ".keys.lock"), wait.max(KEYS_WAIT)),
            None => keys,
        }
    }

    /// What is known about the vault's keys without opening it.
    pub fn vault_status(&self, access: &Access) -> Result<VaultStatus> {
        let Self::Vault(inner) = self else {
            return Err(Error::invalid(format!("`{self}` is not a vault")));
        };
        let store = inner.open_present(access)?;
        vault_status(store.as_ref())?.ok_or_else(|| missing_record(store.as_ref()))
    }

    pub(super) fn open_plain(&self, access: &Access) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(Keeper::over(self.backend(access)?)))
    }

    /// Where the rows of a store that is no vault are.
    fn backend(&self, access: &Access) -> Result<Arc<dyn Backend>> {
        Ok(match self {
            Self::Sqlite(path) => Arc::new(SqliteStore::open_waiting(path, access.wait)?.into_backend()),
            Self::Jsonl(root) => {
                let Access { wait, repack_every, .. } = *access;
                let options = JsonlOptions { wait, repack_every, ..JsonlOptions::default() };
                Arc::new(JsonlStore::open_with(root, options)?.into_backend())
            }
            Self::Memory => Arc::new(MemoryStore::new().into_backend()),
            Self::Vault(_) => return Err(Error::invalid(format!("`{self}` is a vault"))),
        })
    }

    /// Opens a store that has to be there: a vault that is gone must not become an empty one.
    pub(super) fn open_present(&self, access: &Access) -> Result<Arc<dyn Store>> {
        Ok(Arc::new(Keeper::over(self.backend_present(access)?)))
    }

    /// Where the rows of a store are that has to be there.
    pub(super) fn backend_present(&self, access: &Access) -> Result<Arc<dyn Backend>> {
        match self.path() {
            Some(path) if !path.exists() => {
                let missing = Error::not_found(format!("there is no vault at `{}`", path.display()));
                Err(match self.pinned(access)? {
                    Some(vault) => missing.because(missing_vault(vault)),
                    None => missing,
                })
            }
            _ => self.backend(access),
        }
    }

    /// The same store, sealed.
    #[must_use]
    pub fn sealed(&self) -> Self {
        match self {
            Self::Vault(_) => self.clone(),
            plain => Self::Vault(Box::new(plain.clone())),
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
            Self::Memory => None,
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

/// How long to wait at least for another process that changes keys: a rotation takes seconds.
const KEYS_WAIT: Duration = Duration::from_secs(30);

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Jsonl(root) => write!(f, "jsonl:{}", root.display()),
            Self::Memory => f.write_str("memory:"),
            Self::Vault(inner) => write!(f, "vault+{inner}"),
        }
    }
}
