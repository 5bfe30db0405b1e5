//! Which modules of a folder need which: read from the paths in their code, through the
//! re-exports of the folder's `mod.rs`.

use std::collections::{BTreeMap, BTreeSet};

/// Each module with the modules that it names.
pub(super) type Needs = BTreeMap<String, BTreeSet<String>>;

/// The modules right below `folder`, each with those that it names. `files` are
/// paths below `src`, with their code.
///
/// What the folder's `mod.rs` defines itself belongs to no module: naming it is no need.
pub(super) fn needs<'s>(folder: &str, files: impl Iterator<Item = (&'s str, &'s str)>) -> Needs {
    let module_of = |path: &'s str| {
        let rest = path.strip_prefix(folder)?.strip_prefix('/')?;
        Some(rest.split('/').next()?.trim_end_matches(".rs"))
    };
    let below: Vec<_> = files.filter_map(|(path, code)| Some((module_of(path)?, path, code))).collect();
    let modules: BTreeSet<&str> = below.iter().map(|(module, ..)| *module).collect();
    let inside = format!("{}::", folder.replace('/', "::"));
    let first = |path: &str| path.strip_prefix(&inside).unwrap_or(path).split("::").next().map(str::to_owned);

    let (_, path, code) =
        below.iter().find(|(module, ..)| *module == "mod").expect("a folder has a `mod.rs`");
    let homes: BTreeMap<String, String> =
        names(path, code).into_iter().filter_map(|name| Some((name.here, first(&name.path)?))).collect();
    let home = |name: Name| {
        let named = first(name.path.strip_prefix(&inside)?)?;
        if modules.contains(named.as_str()) { Some(named) } else { homes.get(&named).cloned() }
    };

    let mut needs = Needs::new();
    for (module, path, code) in below.iter().filter(|(module, ..)| *module != "mod") {
        let named = names(path, code).into_iter().filter_map(home);
        let others = named.filter(|other| other != module && modules.contains(other.as_str()));
        needs.entry((*module).to_owned()).or_default().extend(others);
    }
    needs
}

/// The modules that need themselves, directly or through others, each with
/// those of its needs that lead back to it.
pub(super) fn circles(needs: &Needs) -> Needs {
    let leads_to = |from: &String, to: &String| {
        let (mut seen, mut ahead) = (BTreeSet::new(), vec![from]);
        while let Some(module) = ahead.pop() {
            if module == to {
                return true;
            }
            if seen.insert(module) {
                ahead.extend(needs.get(module).into_iter().flatten());
            }
        }
        false
    };
    let back = |module: &String, named: &BTreeSet<String>| -> BTreeSet<String> {
        named.iter().filter(|need| leads_to(need, module)).cloned().collect()
    };
    let all = needs.iter().map(|(module, named)| (module.clone(), back(module, named)));
    all.filter(|(_, named)| !named.is_empty()).collect()
}

/// Something that a file names.
struct Name {
    /// From the crate's root; a path into another crate stays as it is.
    path: String,
    /// What it is called in the file, if it is imported.
    here: String,
}

/// What the code of a file names by a path.
fn names(file: &str, code: &str) -> Vec<Name> {
    let mut all = Vec::new();
    for statement in code.split(';') {
        // An import is the end of its statement: whatever stands before it has no semicolon.
        let lines: Vec<&str> = statement.lines().collect();
        let begin = lines.iter().position(|line| imported(line).is_some()).unwrap_or(lines.len());
        let (plain, import) = lines.split_at(begin);
        let tree: String = import.iter().map(|line| imported(line).unwrap_or(line).trim()).collect();
        spread(&tree, "", &mut all);
        let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
        let words = plain.iter().flat_map(|line| line.split(|letter| !is_path(letter)));
        let paths = words.filter(|word| word.contains("::"));
        all.extend(paths.map(|path| Name { path: path.to_owned(), here: String::new() }));
    }
    for name in &mut all {
        name.path = from_root(file, &name.path);
    }
    all
}

/// What a line begins to import or re-export.
fn imported(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub(") {
        Some(restricted) => restricted.split_once(") ")?.1,
        None => line.trim_start_matches("pub "),
    };
    line.strip_prefix("use ")
}

/// Takes the braces out of an import: `a::{b, c::d as e}` is `a::b`, called `b`, and `a::c::d`, called `e`.
fn spread(tree: &str, before: &str, all: &mut Vec<Name>) {
    let Some((head, group)) = tree.split_once('{') else {
        let (path, here) = tree.split_once(" as ").unwrap_or((tree, tree));
        let here = here.rsplit("::").next().unwrap_or_default().to_owned();
        all.push(Name { path: format!("{before}{}", path.trim_end_matches("self")), here });
        return;
    };
    let mut depth = 0;
    let ends_a_part = |letter| {
        depth += match letter {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        letter == ',' && depth == 0
    };
    let group = group.strip_suffix('}').unwrap_or(group);
    for part in group.split(ends_a_part).map(str::trim).filter(|part| !part.is_empty()) {
        spread(part, &format!("{before}{head}"), all);
    }
}

/// A path in a file, from the crate's root.
fn from_root(file: &str, path: &str) -> String {
    let mut module: Vec<&str> = file.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
    if let Some(path) = path.strip_prefix("crate::") {
        return path.to_owned();
    }
    let mut below = path.strip_prefix("self::");
    let mut above = path;
    while let Some(rest) = above.strip_prefix("super::") {
        module.pop();
        (above, below) = (rest, Some(rest));
    }
    below.map_or_else(|| path.to_owned(), |below| format!("{}::{below}", module.join("::")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &[&str])]) -> Needs {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        edges.iter().map(|(module, named)| ((*module).to_owned(), owned(named))).collect()
    }

    #[test]
    fn modules_that_need_each_other_are_found_and_those_beside_them_are_not() {
        let needs = graph(&[
            ("above", &["first", "below"]),
            ("first", &["second", "below"]),
            ("second", &["third"]),
            ("third", &["first"]),
            ("below", &[]),
        ]);

        let expected = graph(&[("first", &["second"]), ("second", &["third"]), ("third", &["first"])]);
        assert_eq!(circles(&needs), expected);
    }

    #[test]
    fn modules_that_share_what_is_below_them_are_no_circle() {
        let needs = graph(&[("top", &["left", "right"]), ("left", &["base"]), ("right", &["base"])]);

        assert_eq!(circles(&needs), Needs::new());
    }

    #[test]
    fn a_need_is_found_however_it_is_written() {
        let files = [
            (
                "ops/mod.rs",
                "mod a;\npub use f::{Fast, fast as quick};\npub(crate) use g::Great;\nstruct Own;",
            ),
            ("ops/a.rs", "use crate::ops::b;\nuse std::fs;\nfn f() { crate::ops::c::work() }"),
            ("ops/b.rs", "pub(super) use super::{\n    c::{self, d},\n    Great as Good,\n};"),
            ("ops/c/mod.rs", "use crate::ops::{Fast, Own};\nuse crate::store::b;"),
            ("ops/c/d.rs", "fn f() { super::super::e::work(); super::e::work(); }"),
            ("ops/e.rs", "use crate::ops::e::e;\nuse crate::{model, ops::quick};"),
            ("ops/f.rs", ""),
            ("ops/g.rs", "fn f() { ops::a::work() }"),
            ("model/a.rs", "use crate::ops::g;"),
        ];

        let found = needs("ops", files.into_iter());

        let expected = graph(&[
            ("a", &["b", "c"]),
            ("b", &["c", "g"]),
            ("c", &["e", "f"]),
            ("e", &["f"]),
            ("f", &[]),
            ("g", &["a"]),
        ]);
        assert_eq!(found, expected);
    }
}
