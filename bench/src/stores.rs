//! The stores that are measured, how much they hold, and what opens a vault in them.

use std::error::Error;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use rejoin::store::backend::Backend;
use rejoin::store::{JsonlStore, Keeper, SqliteStore, Store};
use rejoin::vault::{Keyholder, SecretFiles, SecretStores, Unlock, Workspace};

/// What something that can fail gives.
pub type Answer<T> = Result<T, Box<dyn Error>>;

/// A store of any kind, which a vault can be in.
pub(crate) type AnyStore = Keeper<Arc<dyn Backend>>;

/// What a store is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A database.
    Sqlite,
    /// Plain files.
    Jsonl,
}

impl Kind {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Jsonl];

    /// The store at a path, which is made if there is none.
    pub fn open(self, path: &Path) -> rejoin::Result<Arc<AnyStore>> {
        let backend: Arc<dyn Backend> = match self {
            Self::Sqlite => Arc::new(SqliteStore::open(path)?.into_backend()),
            Self::Jsonl => Arc::new(JsonlStore::open(path)?.into_backend()),
        };
        Ok(Arc::new(Keeper::over(backend)))
    }

    /// Its name in a URL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Jsonl => "jsonl",
        }
    }
}

impl FromStr for Kind {
    type Err = Box<dyn Error>;

    fn from_str(name: &str) -> Answer<Self> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| format!("`{name}` is neither `sqlite` nor `jsonl`").into())
    }
}

/// How much a store holds, such as `jsonl:10000x20`: so many conversations of so many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// What it is made of; `sqlite` unless told.
    pub kind: Kind,
    /// How many conversations there are.
    pub conversations: u64,
    /// How many messages each has.
    pub messages: u64,
}

impl FromStr for Shape {
    type Err = Box<dyn Error>;

    fn from_str(text: &str) -> Answer<Self> {
        let (kind, size) = text.split_once(':').unwrap_or((Kind::Sqlite.name(), text));
        let (conversations, messages) = size.split_once('x').ok_or("a shape is CONVERSATIONSxMESSAGES")?;
        Ok(Self { kind: kind.parse()?, conversations: conversations.parse()?, messages: messages.parse()? })
    }
}

/// The keys of a vault that is measured, the same in every run.
#[derive(Clone, Copy, Debug)]
pub struct Fixed;

impl Unlock for Fixed {
    fn unlock(&self, _inner: &dyn Store) -> rejoin::Result<Workspace> {
        Ok(Workspace::new([1; 16], 1, [2; 16], &[3; 32], &[4; 32]))
    }
}

/// What opens a vault whose keys are replaced: a key file beside it.
#[must_use]
pub fn holder(path: &Path) -> Keyholder {
    let files = SecretFiles::new(path.with_extension("keys"));
    Keyholder::new(SecretStores { files: Some(Arc::new(files)), ..SecretStores::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_of_sqlite_unless_it_says_otherwise() {
        let shape = |kind| Shape { kind, conversations: 500, messages: 20 };

        let read: Vec<Shape> = ["500x20", "jsonl:500x20"].map(|text| text.parse().expect("it is one")).into();

        assert_eq!(read, [shape(Kind::Sqlite), shape(Kind::Jsonl)]);
        assert!(["500", "xml:500x20", "ax20"].iter().all(|text| text.parse::<Shape>().is_err()));
    }
}
