//! Each type name means one thing in all crates of the workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::layers::files;

/// Names that mean the same wherever they stand: an error of a crate, and what a command takes.
const EVERYWHERE: [&str; 5] = ["Action", "Args", "Error", "ErrorKind", "Result"];

/// Modules that take the place of another one where a feature is off, with its names.
const STAND_INS: [&str; 2] = ["rejoin/src/ops/unredacted.rs", "rejoin/src/ops/sources/absent.rs"];

/// The name of the type that a line declares outside of functions, if it declares one.
fn declared(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => line,
    };
    let (keyword, rest) = line.split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "type", "union"].contains(&keyword);
    let name = rest.split(|character: char| !character.is_alphanumeric() && character != '_').next();
    name.filter(|name| is_type && !name.is_empty())
}

/// Where each type of the crates is declared, by its name, outside of tests.
fn declarations() -> BTreeMap<String, Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for path in
        ["rejoin", "rejoin-agent", "rejoin-cli"].iter().flat_map(|name| files(&root.join(name).join("src")))
    {
        let shown = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        let is_test = shown.ends_with("/tests.rs") || shown.contains("/tests/");
        if !shown.ends_with(".rs") || is_test || STAND_INS.contains(&shown.as_str()) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for name in code.lines().filter_map(declared) {
            found.entry(name.to_owned()).or_default().push(shown.clone());
        }
    }
    found
}

#[test]
fn a_type_name_has_one_meaning() {
    let mut several = declarations();
    several.retain(|name, places| places.len() > 1 && !EVERYWHERE.contains(&name.as_str()));

    assert_eq!(several, BTreeMap::new());
}

#[test]
fn a_declared_type_is_found_whoever_sees_it() {
    let lines = [
        "pub struct Kept {",
        "pub(crate) enum Told<'a> {",
        "pub(in crate::store) type Place = (usize, usize);",
        "trait Found: Sized {",
        "struct Said(String);",
        "    type Item = u64;",
        "pub fn struct_of() {}",
        "pub use place::Place;",
        "// struct Line {",
    ];
    let expected =
        [Some("Kept"), Some("Told"), Some("Place"), Some("Found"), Some("Said"), None, None, None, None];

    assert_eq!(lines.map(declared), expected);
}

#[test]
fn the_types_of_every_crate_are_looked_at() {
    let found = declarations();
    let places = |name: &str| found.get(name).cloned().unwrap_or_default();

    assert_eq!(places("ConversationTree"), ["rejoin/src/store/tree.rs"]);
    assert_eq!(places("Talk"), ["rejoin-agent/src/talk/mod.rs"]);
    assert_eq!(places("Surroundings"), ["rejoin-cli/src/surroundings.rs"]);
}
