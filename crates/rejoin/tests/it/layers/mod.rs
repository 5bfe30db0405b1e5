//! The shape of the library: who may know whom, and what is done in one place only.

mod modules;
mod type_names;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::layers::modules::{Needs, circles, needs};

/// A source file of the library: its path below `src`, and its text without comments and tests.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) code: String,
    /// How many lines it has before its tests.
    length: usize,
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

pub(crate) fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_test = |path: &PathBuf| {
        path.ends_with("tests.rs") || path.iter().any(|part| part == "tests" || part == "vectors")
    };
    let is_rust = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let all = files(&root).into_iter().map(|path| path.strip_prefix(&root).unwrap().to_owned());
    let rust = all.filter(|path| is_rust(path) && !is_test(path)).map(|path| root.join(path));
    rust.map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        // A module of tests is the end of its file. Whatever else is for tests alone counts as code.
        let before_tests = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        Source {
            path: path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(),
            code: before_tests.lines().filter(is_code).collect::<Vec<_>>().join("\n"),
            length: before_tests.lines().count(),
        }
    })
    .collect()
}

/// The files, outside of the allowed ones, whose code contains one of the texts.
fn found_in(texts: &[&str], allowed: &[&str]) -> Vec<String> {
    let uses = |source: &Source| texts.iter().any(|text| source.code.contains(text));
    let is_allowed = |source: &Source| allowed.iter().any(|path| source.path.starts_with(path));
    sources()
        .into_iter()
        .filter(|source| uses(source) && !is_allowed(source))
        .map(|source| source.path)
        .collect()
}

/// The files of a layer that name one of the layers above it.
fn looks_up(layer: &str, above: &[&str]) -> Vec<String> {
    let names: Vec<String> = above.iter().map(|name| format!("crate::{name}")).collect();
    let uses = |source: &Source| names.iter().any(|name| source.code.contains(name.as_str()));
    let own = sources().into_iter().filter(|source| source.path.starts_with(layer));
    own.filter(uses).map(|source| source.path).collect()
}

const NONE: [&str; 0] = [];

#[test]
fn each_layer_knows_only_those_below() {
    let above = ["archive", "async_recorder", "service", "testing"];
    assert_eq!(
        looks_up("model/", &[&above[..], &["store", "vault", "formats", "ops", "clock"]].concat()),
        NONE
    );
    assert_eq!(looks_up("store/", &[&above[..], &["vault", "formats", "ops", "clock"]].concat()), NONE);
    assert_eq!(looks_up("vault/", &[&above[..], &["formats", "ops", "clock"]].concat()), NONE);
    assert_eq!(looks_up("formats/", &[&above[..], &["store", "vault", "ops", "clock"]].concat()), NONE);
    assert_eq!(looks_up("ops/", &above), NONE);
    assert_eq!(looks_up("archive/", &["async_recorder", "service", "testing"]), NONE);
    assert_eq!(looks_up("async_recorder/", &["service", "testing", "ops", "store"]), NONE);
    assert_eq!(looks_up("service/", &["testing", "clock"]), NONE);
    assert_eq!(looks_up("testing/", &["vault", "formats", "ops", "archive", "service"]), NONE);
}

#[test]
fn the_library_does_not_print_exit_or_read_the_environment() {
    let texts =
        ["println!", "eprintln!", "print!(", "dbg!", "std::env", "env::", "process::exit", "home_dir"];

    assert_eq!(found_in(&texts, &[]), NONE);
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    let long: Vec<_> =
        sources().into_iter().filter(|source| source.length > 500).map(|source| source.path).collect();

    assert_eq!(long, NONE);
}

#[test]
fn no_folder_has_more_files_than_a_reader_can_hold() {
    let mut files = BTreeMap::<_, usize>::new();
    for source in sources().iter().filter(|source| source.path.contains('/')) {
        *files.entry(source.path.rsplit_once('/').unwrap().0.to_owned()).or_default() += 1;
    }

    files.retain(|_, count| *count > 25);
    assert_eq!(files, BTreeMap::new());
}

#[test]
fn every_path_in_the_overview_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let is_path = |word: &&str| word.contains('/') && !word.contains([' ', ':', '$', '(']);
    let places = ["", "crates", "crates/rejoin", "crates/rejoin/src", "crates/rejoin-cli/src"];
    let exists = |path: &str| places.iter().any(|place| root.join(place).join(path).exists());

    let named: Vec<&str> = text.split('`').skip(1).step_by(2).filter(is_path).collect();
    let missing: Vec<&str> = named.iter().copied().filter(|path| !exists(path)).collect();

    assert!(named.len() > 30, "{named:?}");
    assert_eq!(missing, NONE);
}

#[test]
fn folders_use_mod_rs_and_say_what_they_own() {
    let sources = sources();
    let folders: Vec<&str> =
        sources.iter().filter_map(|source| source.path.rsplit_once('/')).map(|(folder, _)| folder).collect();

    let without: Vec<_> = folders
        .iter()
        .filter(|folder| !sources.iter().any(|source| source.path == format!("{folder}/mod.rs")))
        .collect();
    let vague: Vec<_> = sources
        .iter()
        .flat_map(|source| source.path.trim_end_matches(".rs").split('/'))
        .filter(|name| ["utils", "util", "helpers", "common", "misc", "manager"].contains(name))
        .collect();

    assert_eq!((without.len(), vague.len()), (0, 0), "{without:?} {vague:?}");
}

#[test]
fn sqlite_is_opened_in_one_file() {
    let mut opens = found_in(&["Connection::open"], &[]);
    opens.sort();

    // What other programs keep in a database is read in another way than what Rejoin keeps in one: never
    // written, never trusted. No other file of the formats knows SQLite.
    assert_eq!(opens, ["formats/database/open.rs", "store/sqlite/open.rs"]);
    assert_eq!(found_in(&["rusqlite"], &["store/sqlite/", "formats/database/"]), NONE);
}

#[test]
fn files_are_written_in_one_file() {
    let writes = [
        "fs::write",
        "fs::rename",
        "fs::remove",
        "fs::copy",
        "OpenOptions",
        "File::create",
        "set_permissions",
        "NamedTempFile::new",
    ];

    assert_eq!(found_in(&writes, &[]), ["store/durable.rs"]);
}

#[test]
fn code_does_not_point_at_documents_that_readers_do_not_have() {
    let numbered = |text: &str| {
        let letters: Vec<char> = text.chars().collect();
        letters.windows(4).enumerate().any(|(at, run)| {
            let begins = at == 0 || !letters[at - 1].is_alphanumeric();
            begins && run[0] == 'R' && run[1..].iter().all(char::is_ascii_digit)
        })
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = ["src", "tests"].map(|folder| files(&root.join(folder))).concat();
    all.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));

    let pointing: Vec<_> =
        all.into_iter().filter(|path| numbered(&fs::read_to_string(path).unwrap())).collect();

    assert_eq!(pointing, [""; 0].map(PathBuf::from));
}

/// The modules right below a folder, each with those that it names.
fn modules_of(folder: &str) -> Needs {
    let sources = sources();
    needs(folder, sources.iter().map(|source| (source.path.as_str(), source.code.as_str())))
}

#[test]
fn no_module_of_ops_needs_itself() {
    assert_eq!(circles(&modules_of("ops")), Needs::new());
}

#[test]
fn no_module_of_store_needs_itself() {
    assert_eq!(circles(&modules_of("store")), Needs::new());
}

#[test]
fn rules_and_backends_do_not_know_each_other() {
    let backends = ["store::memory", "store::sqlite", "store::jsonl", "store::sealed"];
    let names = |place: &str, texts: &[&str]| {
        let own = sources().into_iter().filter(|source| source.path.starts_with(place));
        let uses = |source: &Source| texts.iter().any(|text| source.code.contains(text));
        own.filter(uses).map(|source| source.path).collect::<Vec<_>>()
    };
    // The keeper decides previews too. The others store them.
    let rules = ["store::keeper", "first_preview(", "last_preview("];

    assert_eq!(names("store/keeper/", &backends), NONE);
    // What seals takes any backend, and knows none.
    assert_eq!(names("store/sealed/", &backends[..3]), NONE);
    assert_eq!(names("store/backend/", &backends), NONE);
    assert_eq!(names("store/sqlite/", &rules), NONE);
    assert_eq!(names("store/jsonl/", &rules), NONE);
    assert_eq!(names("store/memory.rs", &rules), NONE);
    // Nor does the oracle that stores are compared with, which knows the public face only.
    let oracle = [
        include_str!("../oracle/mod.rs"),
        include_str!("../oracle/conversation.rs"),
        include_str!("../oracle/rules.rs"),
    ];
    assert!(!oracle.iter().any(|code| code.contains("page_of(") || code.contains("Keeper")));
}

#[test]
fn no_module_of_store_needs_a_backend() {
    let backends = ["memory", "sqlite", "jsonl", "sealed"];
    // Nor does a backend need another one: `sealed` is around another backend, and does not know which.
    let needing: Vec<_> = modules_of("store")
        .into_iter()
        .map(|(module, needs)| (module, backends.into_iter().filter(|name| needs.contains(*name)).collect()))
        .filter(|(_, backends): &(String, Vec<&str>)| !backends.is_empty())
        .collect();

    assert_eq!(needing, []);
}

#[test]
fn comments_fit_110_columns() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = [
        library.to_owned(),
        library.join("../rejoin-agent"),
        library.join("../rejoin-cli"),
        library.join("../../bench"),
    ];
    let folders = crates
        .iter()
        .flat_map(|path| ["src", "tests", "examples", "benches"].map(|folder| path.join(folder)));
    let rust = folders.filter(|folder| folder.is_dir()).flat_map(|folder| files(&folder));
    let rust = rust.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));

    let too_long: Vec<String> = rust
        .flat_map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let long =
                text.lines().filter(|line| line.trim_start().starts_with("//") && line.chars().count() > 110);
            long.map(|line| format!("{}: {line}", path.display())).collect::<Vec<_>>()
        })
        .collect();

    assert_eq!(too_long, NONE);
}
