//! The conformance suite for every store, and the check that it covers the whole contract.

use std::sync::Arc;

use rejoin::store::{JsonlStore, Keeper, MemoryStore, SqliteStore, Store};
use rejoin::testing::Place;

use crate::oracle::Model;
use crate::vault::{Inner, InnerPlace, Vault};

/// Memory that several handles share.
pub(crate) struct Memory(pub(crate) MemoryStore);

impl Place for Memory {
    fn open(&self) -> Arc<dyn Store> {
        self.inner()
    }
}

impl InnerPlace for Memory {
    fn inner(&self) -> Arc<dyn Inner> {
        Arc::new(self.0.clone())
    }
}

/// The model, which is a store too.
struct Plainest(Model);

impl Place for Plainest {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }
}

/// A file in a directory of its own.
pub(crate) struct File(pub(crate) tempfile::TempDir);

impl File {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Place for File {
    fn open(&self) -> Arc<dyn Store> {
        self.inner()
    }
}

impl InnerPlace for File {
    fn inner(&self) -> Arc<dyn Inner> {
        Arc::new(SqliteStore::open(self.0.path().join("store.db")).unwrap())
    }
}

/// A directory of its own.
pub(crate) struct Directory(pub(crate) tempfile::TempDir);

impl Directory {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Place for Directory {
    fn open(&self) -> Arc<dyn Store> {
        self.inner()
    }
}

impl InnerPlace for Directory {
    fn inner(&self) -> Arc<dyn Inner> {
        Arc::new(JsonlStore::open(self.0.path().join("conversations")).unwrap())
    }
}

/// The backend that the example shows.
#[path = "../../examples/own_store.rs"]
mod own_store;

struct Shown(tempfile::TempDir);

impl Place for Shown {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(Keeper::over(own_store::Directory::open(self.0.path()).unwrap()))
    }
}

rejoin::conformance!(example, Shown(tempfile::tempdir().unwrap()));
rejoin::conformance!(jsonl, Directory::new());
rejoin::conformance!(memory, Memory(MemoryStore::new()));
rejoin::conformance!(model, Plainest(Model::new()));
rejoin::conformance!(sqlite, File::new());
rejoin::conformance!(vault_jsonl, Vault(Directory::new()));
rejoin::conformance!(vault_memory, Vault(Memory(MemoryStore::new())));
rejoin::conformance!(vault_sqlite, Vault(File::new()));

#[test]
fn the_example_of_a_backend_runs() {
    own_store::main().unwrap();
}

#[test]
fn the_example_of_a_backend_is_short() {
    let lines = include_str!("../../examples/own_store.rs").lines().count();

    assert!(lines <= 250, "{lines}");
}

/// The lines of a documentation comment, joined.
fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim_start_matches("///").trim()).collect::<Vec<_>>().join(" ")
}

/// Every documentation comment of a source, as its lines, with the line after it.
fn comments(source: &str) -> Vec<(Vec<&str>, &str)> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let runs = lines.chunk_by(|a, b| a.starts_with("///") == b.starts_with("///"));
    let runs: Vec<&[&str]> = runs.collect();
    runs.windows(2)
        .filter(|pair| pair[0][0].starts_with("///"))
        .map(|pair| (pair[0].to_vec(), pair[1][0]))
        .collect()
}

/// The sentences after the first paragraph of every method of the contract.
fn sentences() -> Vec<String> {
    let contract = include_str!("../../src/store/mod.rs");
    let methods = comments(contract).into_iter().filter(|(_, item)| item.starts_with("fn "));
    methods
        .flat_map(|(lines, _)| {
            let rules: Vec<&str> = lines.into_iter().skip_while(|line| *line != "///").skip(1).collect();
            let text = joined(&rules);
            text.split(". ").map(|rule| rule.trim_end_matches('.').to_owned()).collect::<Vec<_>>()
        })
        .collect()
}

/// The documentation of every rule of the suite.
fn rules() -> Vec<String> {
    let sources = [
        include_str!("../../src/testing/read.rs"),
        include_str!("../../src/testing/list.rs"),
        include_str!("../../src/testing/find.rs"),
        include_str!("../../src/testing/search.rs"),
        include_str!("../../src/testing/changes.rs"),
        include_str!("../../src/testing/blobs.rs"),
        include_str!("../../src/testing/append.rs"),
        include_str!("../../src/testing/append_all.rs"),
        include_str!("../../src/testing/append_tree.rs"),
        include_str!("../../src/testing/amend.rs"),
        include_str!("../../src/testing/rewrite.rs"),
        include_str!("../../src/testing/remove.rs"),
        include_str!("../../src/testing/maintain.rs"),
    ];
    let is_rule = |item: &str| {
        let name = item.strip_prefix("pub(super) fn ").and_then(|item| item.split('(').next());
        name.is_some_and(|name| rejoin::testing::rules().any(|rule| rule == name))
    };
    let comments = sources.iter().flat_map(|source| comments(source));
    comments
        .filter(|(_, item)| is_rule(item))
        .map(|(lines, _)| joined(&lines).trim_end_matches('.').to_owned())
        .collect()
}

#[test]
fn every_sentence_of_the_contract_is_a_rule() {
    let (mut sentences, mut rules) = (sentences(), rules());
    sentences.sort();
    rules.sort();

    assert_eq!(rules, sentences);
    assert_eq!(rules.len(), rejoin::testing::rules().count());
}
