//! What a look at the place of a store finds before the store is used, whatever backend it has.

use std::path::PathBuf;

use crate::error::Result;
use crate::store::place::Belonging;

/// What was found at the place of a store.
#[derive(Debug)]
pub(crate) struct Examination {
    /// The directory and those of the store's files that are there.
    pub(crate) belongings: Vec<Belonging>,
    /// False when there is no store yet.
    pub(crate) is_present: bool,
    /// The number of the file system, where it is known.
    pub(crate) magic: Option<u32>,
    /// What may still be written there.
    pub(crate) free_bytes: Option<u64>,
    /// The main file, or all files of conversations.
    pub(crate) bytes: u64,
    /// The log that has to be folded into the main file.
    pub(crate) log_bytes: u64,
    /// What interrupted copies left behind.
    pub(crate) leftovers: Vec<PathBuf>,
    /// Whole stores that were kept when a restore or a migration replaced them.
    pub(crate) kept: Vec<PathBuf>,
    /// Who uses it.
    pub(crate) holders: Holders,
    /// The schema's version and how many messages the search index lacks, or why that cannot be told.
    pub(crate) opened: Result<StoreCondition>,
    /// The library underneath, by name and version.
    pub(crate) engine: String,
    /// The version of the schema that this program writes.
    pub(crate) newest_schema: i32,
}

/// What a store says once it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreCondition {
    /// The version of its schema.
    pub(crate) schema: i32,
    /// How many messages the search index lacks.
    pub(crate) unindexed: u64,
}

/// Processes that hold locks on a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holders {
    /// Those that have it open.
    pub(crate) users: Vec<u32>,
    /// Those that keep others from writing.
    pub(crate) writers: Vec<u32>,
}
