//! The public face of the library, as the source has it: what a program can
//! name, and the methods that it can call.
//!
//! `public-api.txt` holds the same list, so that a change of the public face is seen in review. With
//! `REJOIN_WRITE_DOCS=1` the test writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::layers::sources;

/// How many items there may be: types, traits, functions, constants, macros and modules. The aim is 200.
/// Until then nobody adds one without taking another away.
const MOST: usize = 303;

/// Where something is defined: a file below `src`, and its name there.
type Definition = (String, String);

/// The source of the library: each file below `src`, without comments and tests.
struct Library {
    files: BTreeMap<String, String>,
}

impl Library {
    fn of_this_crate() -> Self {
        Self { files: sources().into_iter().map(|source| (source.path, source.code)).collect() }
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

    /// The public methods and constants of a type or trait. What stands in the file of another
    /// type of the same name is that one's.
    fn members(&self, (file, name): &Definition) -> BTreeSet<String> {
        let layer = file.split('/').next().unwrap();
        let of_others = |path: &str, code: &str| path != file && defined(code).contains(name);
        self.files
            .iter()
            .filter(|(path, code)| path.split('/').next() == Some(layer) && !of_others(path, code))
            .flat_map(|(_, code)| members(code, name))
            .collect()
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

/// What follows the parameters in angle brackets that a text begins with, if it does.
fn after_generics(text: &str) -> &str {
    let mut depth = 0_usize;
    for (place, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => return &text[place..],
            _ => {}
        }
    }
    ""
}

/// The public methods and constants in the blocks of a type, and the methods of a trait.
fn members(code: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_trait = None;
    for line in code.lines() {
        if let Some(rest) = line.strip_prefix("impl") {
            is_trait =
                (!line.contains(" for ") && word(after_generics(rest).trim_start()) == name).then_some(false);
        } else if let Some(rest) = line.strip_prefix("pub trait ") {
            is_trait = (word(rest) == name).then_some(true);
        } else if line == "}" {
            is_trait = None;
        }
        let Some(is_trait) = is_trait else { continue };
        let start = if is_trait { "    fn " } else { "    pub " };
        let rest = line.strip_prefix(start).unwrap_or_default();
        let rest =
            ["const fn ", "async fn ", "fn "].iter().find_map(|kind| rest.strip_prefix(kind)).unwrap_or(rest);
        let rest = rest.strip_prefix("const ").unwrap_or(rest);
        found.extend(Some(word(rest)).filter(|member| !member.is_empty()));
    }
    found
}

/// One line for each item, and one for each method below it.
fn listed() -> (usize, String) {
    let library = Library::of_this_crate();
    let items = library.items();
    let mut lines = Vec::new();
    for (path, definition) in &items {
        lines.push(path.clone());
        if !definition.1.is_empty() {
            lines.extend(library.members(definition).iter().map(|member| format!("  {path}::{member}")));
        }
    }
    (items.len(), lines.join("\n") + "\n")
}

#[test]
fn the_public_face_is_the_one_that_was_reviewed() {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("public-api.txt");
    let (_, found) = listed();
    if std::env::var_os("REJOIN_WRITE_DOCS").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let reviewed = fs::read_to_string(&path).unwrap();
    let [before, after]: [BTreeSet<&str>; 2] = [&reviewed, &found].map(|text| text.lines().collect());

    let missing: Vec<_> = before.difference(&after).collect();
    let unreviewed: Vec<_> = after.difference(&before).collect();
    assert!(
        missing.is_empty() && unreviewed.is_empty(),
        "write `public-api.txt` with `REJOIN_WRITE_DOCS=1 cargo test -p rejoin --test it -- public_items`: \
         new {unreviewed:#?}, gone {missing:#?}"
    );
}

#[test]
fn the_public_face_is_small() {
    let (items, _) = listed();

    assert!(items <= MOST, "{items} public items; there may be {MOST}");
}

#[test]
fn a_public_item_is_found_wherever_it_is_defined() {
    let (_, found) = listed();
    let lines: BTreeSet<&str> = found.lines().map(str::trim).collect();

    // Of the crate itself, renamed, through two modules, in a module of its own,
    // a method, one of a trait, and a macro.
    let known = [
        "rejoin::Archive",
        "rejoin::SearchSnippet",
        "rejoin::view::Recipient",
        "rejoin::store::backend::Backend",
        "rejoin::Archive::open",
        "rejoin::parts::ArchiveAudit::note",
        "rejoin::store::Store::append",
        "rejoin::store::ConversationTree::visit",
        "rejoin::conformance!",
    ];
    assert_eq!(known.iter().filter(|name| !lines.contains(**name)).collect::<Vec<_>>(), Vec::<&&str>::new());
    // Private, and of a type that is private.
    let private = ["rejoin::Archive::fresh_id", "rejoin::ContentHash", "rejoin::Archive::store"];
    assert_eq!(private.iter().filter(|name| lines.contains(**name)).collect::<Vec<_>>(), Vec::<&&str>::new());
}
