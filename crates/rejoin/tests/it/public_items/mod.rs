//! The public face of the library, as the source has it: what a program can name, and what each of it
//! promises (`declared`).
//!
//! `public-api.txt` holds the same list, so that a change of the public face is seen in review. With
//! `REJOIN_WRITE_DOCS=1` the test writes it.

mod declared;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::layers::sources;
use crate::public_items::declared::Parsed;

/// How many items there may be: types, traits, functions, constants, macros and modules. The aim is 200.
/// Until then nobody adds one without taking another away.
const MOST: usize = 314;

/// Where something is defined: a file below `src`, and its name there.
type Definition = (String, String);

/// The source of the library: each file below `src`.
struct Library {
    /// Without comments and tests.
    files: BTreeMap<String, String>,
    parsed: BTreeMap<String, Parsed>,
}

impl Library {
    fn of_this_crate() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        Self::new(sources().into_iter().map(|source| (source.code, text(&source.path), source.path)))
    }

    /// From the code of each file, its whole text, and its path.
    fn new(sources: impl Iterator<Item = (String, String, String)>) -> Self {
        let (mut files, mut parsed) = (BTreeMap::new(), BTreeMap::new());
        for (code, text, path) in sources {
            parsed.insert(path.clone(), Parsed::new(&text));
            files.insert(path, code);
        }
        Self { files, parsed }
    }

    /// The public items by their paths. Those of a module begin with its own path.
    fn items(&self) -> BTreeMap<String, Definition> {
        let mut items = BTreeMap::new();
        self.add_module("rejoin", "lib.rs", &self.files["lib.rs"], &mut items);
        for (path, code) in &self.files {
            for part in code.split("#[macro_export]").skip(1) {
                let name = word(part.split("macro_rules! ").nth(1).expect("what is exported is a macro"));
                items.insert(format!("rejoin::{name}!"), (path.clone(), name));
            }
        }
        items
    }

    /// Adds what a module makes public: what it re-exports, what it defines, and its public modules.
    fn add_module(&self, path: &str, file: &str, code: &str, items: &mut BTreeMap<String, Definition>) {
        let mut inner = Vec::new();
        let mut own = String::new();
        let mut lines = code.lines();
        while let Some(line) = lines.next() {
            match line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(" {")) {
                Some(name) => {
                    let body = lines.by_ref().take_while(|line| *line != "}");
                    let body: Vec<_> = body.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
                    inner.push((name.to_owned(), file.to_owned(), body.join("\n")));
                }
                None => {
                    own.push_str(line);
                    own.push('\n');
                }
            }
        }
        for line in own.lines() {
            if let Some(name) = line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) {
                let file = self.file_of(file, &[name]);
                inner.push((name.to_owned(), file.clone(), self.files[&file].clone()));
            }
        }
        for (name, source, seen) in exports(&own) {
            let definition = self.definition(file, &source, &name);
            items.insert(format!("{path}::{seen}"), definition);
        }
        for name in defined(&own) {
            items.insert(format!("{path}::{name}"), (file.to_owned(), name));
        }
        for (name, file, code) in inner {
            items.insert(format!("{path}::{name}"), (file.clone(), String::new()));
            self.add_module(&format!("{path}::{name}"), &file, &code, items);
        }
    }

    /// Follows re-exports to where a name is defined.
    fn definition(&self, file: &str, source: &[String], name: &str) -> Definition {
        let modules: Vec<&str> = source.iter().map(String::as_str).collect();
        let file = match modules.as_slice() {
            ["crate", rest @ ..] => self.file_of("lib.rs", rest),
            rest => self.file_of(file, rest),
        };
        let again = exports(&self.files[&file]).into_iter().find(|(_, _, seen)| seen == name);
        match again {
            Some((inner, source, _)) => self.definition(&file, &source, &inner),
            None => (file, name.to_owned()),
        }
    }

    /// The file of a module that is named from another one.
    fn file_of(&self, file: &str, modules: &[&str]) -> String {
        let mut path = file.to_owned();
        for module in modules {
            let folder = match Path::new(&path).file_name().and_then(|name| name.to_str()) {
                Some("mod.rs" | "lib.rs") => Path::new(&path).parent().unwrap().to_owned(),
                _ => Path::new(&path).with_extension(""),
            };
            let found = [folder.join(format!("{module}.rs")), folder.join(module).join("mod.rs")]
                .into_iter()
                .find(|path| self.files.contains_key(path.to_str().unwrap()));
            path = found.unwrap_or_else(|| panic!("no `{module}` in `{file}`")).to_str().unwrap().to_owned();
        }
        path
    }

    /// What an item promises: its declaration, the public methods and constants of a type, and the traits
    /// implemented for it. What stands in the file of another type of the same name is that one's.
    fn promises(&self, (file, name): &Definition) -> Vec<String> {
        let layer = file.split('/').next().unwrap();
        let own = |path: &str, code: &Parsed| path == file || !code.declares(name);
        let members: BTreeSet<String> = self
            .parsed
            .iter()
            .filter(|(path, code)| path.split('/').next() == Some(layer) && own(path, code))
            .flat_map(|(_, code)| code.members(name))
            .collect();
        self.parsed[file].declaration(name).into_iter().chain(members).collect()
    }
}

/// The word that a text begins with.
fn word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// What is re-exported: the name, the modules that it comes from, and the name that it gets.
fn exports(code: &str) -> Vec<(String, Vec<String>, String)> {
    let mut found = Vec::new();
    let after = code.split("\npub use ").skip(1).chain(code.strip_prefix("pub use "));
    for statement in after.filter_map(|rest| rest.split(';').next()) {
        let (path, names) = match statement.split_once('{') {
            Some((path, names)) => (path.trim_end_matches("::"), names.trim_end_matches('}')),
            None => statement.rsplit_once("::").expect("a re-export has a path"),
        };
        let modules: Vec<String> = path.split("::").map(str::to_owned).collect();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let (name, seen) = name.split_once(" as ").unwrap_or((name, name));
            found.push((name.to_owned(), modules.clone(), seen.to_owned()));
        }
    }
    found
}

/// What a file defines that is public.
fn defined(code: &str) -> Vec<String> {
    let kinds =
        ["struct ", "enum ", "trait ", "type ", "static ", "const fn ", "fn ", "const ", "unsafe fn "];
    let public = code.lines().filter_map(|line| line.strip_prefix("pub "));
    let named = |rest: &str| kinds.iter().find_map(|kind| rest.strip_prefix(kind)).map(word);
    public.filter_map(named).collect()
}

/// One line for each item, and below it what it promises.
fn listed(library: &Library) -> String {
    let mut lines = Vec::new();
    for (path, definition) in library.items() {
        let promises = library.promises(&definition);
        lines.push(path);
        lines.extend(promises.iter().map(|promise| format!("  {promise}")));
    }
    lines.join("\n") + "\n"
}

/// Each line of a list with the item that it belongs to.
fn facts(list: &str) -> BTreeSet<String> {
    let mut item = "";
    let mut found = BTreeSet::new();
    for line in list.lines() {
        if !line.starts_with(' ') {
            item = line;
        }
        found.insert(if line == item { line.to_owned() } else { format!("{item}: {}", line.trim()) });
    }
    found
}

/// The list as it was reviewed, which another test compares with the source.
fn reviewed() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("public-api.txt")).unwrap()
}

#[test]
fn the_public_face_is_the_one_that_was_reviewed() {
    let found = listed(&Library::of_this_crate());
    if std::env::var_os("REJOIN_WRITE_DOCS").is_some() {
        fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("public-api.txt"), &found).unwrap();
    }
    let reviewed = reviewed();
    let [before, after] = [&reviewed, &found].map(|text| facts(text));

    let missing: Vec<_> = before.difference(&after).collect();
    let unreviewed: Vec<_> = after.difference(&before).collect();
    assert!(
        missing.is_empty() && unreviewed.is_empty(),
        "write `public-api.txt` with `REJOIN_WRITE_DOCS=1 cargo test -p rejoin --test it -- public_items`: \
         new {unreviewed:#?}, gone {missing:#?}"
    );
    assert_eq!(reviewed, found, "`public-api.txt` is in another order");
}

#[test]
fn the_public_face_is_small() {
    let items = reviewed().lines().filter(|line| !line.starts_with(' ')).count();

    assert!(items <= MOST, "{items} public items; there may be {MOST}");
}

#[test]
fn a_public_item_is_found_wherever_it_is_defined() {
    let reviewed = reviewed();
    let known = facts(&reviewed);

    // Of the crate itself, renamed, through two modules, in a module of its own, a method, one of a trait, a
    // field, a variant, and a macro.
    let expected = [
        "rejoin::Archive",
        "rejoin::SearchSnippet",
        "rejoin::view::Recipient",
        "rejoin::store::backend::Backend",
        "rejoin::Archive: fn open(url: &str) -> Result<Self>",
        "rejoin::store::Store: fn append(&self, turn: &Turn<'_>) -> Result<Appended>",
        "rejoin::Receipt: forked: bool",
        "rejoin::ErrorKind: NotFound",
        "rejoin::conformance!",
    ];
    assert_eq!(
        expected.iter().filter(|fact| !known.contains(**fact)).collect::<Vec<_>>(),
        Vec::<&&str>::new()
    );
    let names = ["fn fresh_id", "fn store("];
    let of_archive: Vec<_> = known.iter().filter(|fact| fact.starts_with("rejoin::Archive: ")).collect();
    assert!(!of_archive.iter().any(|fact| names.iter().any(|name| fact.contains(name))), "{of_archive:#?}");
    assert!(!known.contains("rejoin::ContentHash"));
}

#[test]
fn a_change_of_what_an_item_promises_is_noticed() {
    const TREE: &str = "#[derive(Clone)] pub struct Tree<'a> { pub height: u32, age: &'a str }
        impl Tree<'_> { pub fn grow(&mut self, by: u32) -> u32 { by } fn rest(&self) {} }
        impl Display for Tree<'_> {}
        #[non_exhaustive] pub enum Leaf { Green, Brown(u8) }
        pub trait Water { fn give(&self); fn take(&self) {} }
        pub fn plant(what: &str) {}
        pub const TALL: u32 = 5;";
    let list = |tree: &str| {
        let lib = "mod tree;\npub use tree::{Leaf, TALL, Tree, Water, plant};\n";
        let sources = [(lib, "lib.rs"), (tree, "tree.rs")];
        let sources = sources.map(|(code, path)| (code.to_owned(), code.to_owned(), path.to_owned()));
        listed(&Library::new(sources.into_iter()))
    };

    // What a program that uses the item could notice, and what it could not.
    let noticed = [
        ("height: u32", "height: u64"),
        ("pub height", "height"),
        ("age: &'a str", "pub age: &'a str"),
        ("#[derive(Clone)]", ""),
        ("by: u32", "by: u64"),
        ("-> u32", "-> Option<u32>"),
        ("&mut self", "&self"),
        ("pub fn grow", "fn grow"),
        ("fn rest", "pub fn rest"),
        ("impl Display for Tree<'_> {}", ""),
        ("#[non_exhaustive]", ""),
        ("Brown(u8)", "Brown(u16)"),
        ("Green, ", ""),
        ("fn give(&self);", "fn give(&self) {}"),
        ("fn take(&self) {}", ""),
        ("what: &str", "what: String"),
        ("TALL: u32", "TALL: u64"),
    ];
    let unseen =
        [("{ by }", "{ by + 1 }"), ("fn rest(&self)", "fn lie(&self)"), ("= 5", "= 6"), ("age:", "years:")];
    let changed = |(from, to): (&str, &str)| {
        assert!(TREE.contains(from), "{from}");
        list(&TREE.replace(from, to)) != list(TREE)
    };
    assert_eq!(noticed.into_iter().filter(|change| !changed(*change)).collect::<Vec<_>>(), []);
    assert_eq!(unseen.into_iter().filter(|change| changed(*change)).collect::<Vec<_>>(), []);
}
