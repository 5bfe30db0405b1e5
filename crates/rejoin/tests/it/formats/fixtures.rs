//! What holds for every fixture of every format.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use rejoin::formats::{Detection, FORMATS, Format, ReadLimits, Source, Sources, Tree};
use rejoin::{Archive, Import, ImportMode, Role};
use serde_json::Value;

use crate::formats::fixture;

/// Every source among the fixtures, with its format.
pub(super) fn every() -> Vec<(Source, &'static Format)> {
    let found = Sources::find(&fixture(""), None).unwrap();
    assert_eq!(found.unreadable, []);
    // Inside of a vault of plain files are encrypted bytes.
    found.found.into_iter().filter(|(source, _)| !source.path().starts_with(fixture("vault"))).collect()
}

/// The fields that hold what people and models say, in any of the formats.
const SAID: [&str; 6] = ["text", "content", "thinking", "parts", "extracted_content", "description"];

/// The texts in a JSON value below fields of these names; all of them if no names are given.
fn texts(value: &Value, names: &[&str], is_below: bool, found: &mut HashSet<String>) {
    match value {
        Value::String(text) if is_below && !text.trim().is_empty() => {
            found.insert(text.trim().to_owned());
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, names, is_below, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            let is_below = names.is_empty() || names.contains(&name.as_str());
            texts(value, names, is_below, found);
        }),
        _ => {}
    }
}

/// The texts in a file or in what was kept of it: of JSON, of lines of JSON, or the lines themselves.
fn texts_of(text: &str, names: &[&str]) -> HashSet<String> {
    let mut found = HashSet::new();
    let is_all = names.is_empty();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        texts(&value, names, is_all, &mut found);
        return found;
    }
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => texts(&value, names, is_all, &mut found),
            Err(_) => drop(found.insert(line.to_owned())),
        }
    }
    found
}

/// The texts of a file, or of all files below a directory; none of one that has no text.
fn contents(path: &Path) -> Option<Vec<String>> {
    if path.is_dir() {
        let below = fs::read_dir(path).unwrap().filter_map(|entry| contents(&entry.unwrap().path()));
        return Some(below.flatten().collect());
    }
    let bytes = fs::read(path).unwrap();
    if !bytes.starts_with(b"PK") {
        return String::from_utf8(bytes).ok().map(|text| vec![text]);
    }
    let mut zip = zip::ZipArchive::new(fs::File::open(path).unwrap()).unwrap();
    let mut files = Vec::new();
    for place in 0..zip.len() {
        let mut entry = zip.by_index(place).unwrap();
        let mut text = String::new();
        if entry.name().unwrap().starts_with("conversations") {
            entry.read_to_string(&mut text).unwrap();
            files.push(text);
        }
    }
    Some(files)
}

fn gather(source: &Source, format: &Format) -> Tree {
    Tree::gather(ReadLimits::default(), |reading| format.read(source, reading)).unwrap()
}

#[test]
fn no_two_formats_claim_the_same_file() {
    for (source, _) in every() {
        let claiming: Vec<&str> = FORMATS
            .iter()
            .filter(|format| format.detect(&source) != Detection::No)
            .map(|format| format.name)
            .collect();
        assert_eq!(claiming.len(), 1, "{}: {claiming:?}", source.path().display());
    }
}

#[test]
fn all_that_stands_in_a_fixture_is_kept() {
    // A conversation without messages is none, and a launch in which nothing was asked neither.
    let nothing = ["Nothing was said", "root3", "Nothing", "> Added .aider* to .gitignore"];
    for (source, format) in every() {
        let Some(files) = contents(source.path()) else { continue };
        let tree = gather(&source, format);
        let sources = tree.messages.iter().map(|found| &found.source);
        let kept: HashSet<String> = sources
            .chain(tree.asides.iter().map(|aside| &aside.source))
            .flat_map(|text| texts_of(text, &[]))
            .collect();
        let lost: Vec<String> = files
            .iter()
            .flat_map(|text| texts_of(text, &[]))
            .filter(|text| !kept.contains(text) && !nothing.contains(&text.as_str()))
            .filter(|text| {
                !text.starts_with("> You can skip") && !text.starts_with("# aider chat started at")
            })
            .filter(|text| !text.starts_with("6917f000-aaaa-8001-b000-000000000003"))
            .filter(|text| !text.starts_with("c0000000-0000-4000-8000-000000000003"))
            .collect();
        assert_eq!(lost, [""; 0], "{}", source.path().display());
    }
}

/// The texts that are said in a source and in no message of it.
fn unsaid(source: &Source, format: &Format) -> Vec<String> {
    // What a program prints itself: where a summary begins, and before the name of a tool.
    let is_printed = |text: &str| {
        // A compaction has the parts of a prompt joined, too.
        ["Conversation compacted", "Tool call: ", "<image name="].iter().any(|start| text.starts_with(start))
    };
    let tree = gather(source, format);
    let mut said = HashSet::new();
    for found in &tree.messages {
        let body: Value = serde_json::from_str(&found.message.to_body()).unwrap();
        texts(&body, &[], true, &mut said);
    }
    // A text that is JSON may have become an input, which a body has as it was.
    let bodies = tree.messages.iter().map(|found| found.message.to_body());
    let all: String = said.iter().cloned().chain(bodies).map(|text| format!("{text}\n")).collect();
    tree.messages
        .iter()
        .filter(|found| matches!(found.message.role, Role::User | Role::Assistant))
        .flat_map(|found| texts_of(&found.source, &SAID))
        .map(|text| text.trim_start_matches("####").trim().to_owned())
        .filter(|text| !all.contains(text.as_str()) && !is_printed(text))
        .map(|text| format!("{}: {text}", source.path().display()))
        .collect()
}

#[test]
fn every_text_that_was_said_is_in_a_message() {
    let lost: Vec<String> = every().iter().flat_map(|(source, format)| unsaid(source, format)).collect();

    assert_eq!(lost, [""; 0]);
}

#[test]
fn importing_any_fixture_twice_is_importing_it_once() {
    for (source, format) in every() {
        let archive = Archive::open("memory:").unwrap();
        let import = || {
            let (limits, mode) = (ReadLimits::default(), ImportMode::Store);
            let mut how = Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} };
            archive.imports().add(&source, format, &mut how).unwrap()
        };

        let (first, second) = (import(), import());

        let path = source.path().display();
        assert!(first.added() > 0, "{path}");
        assert_eq!(
            (second.added(), second.conversations.iter().any(|found| found.is_new)),
            (0, false),
            "{path}"
        );
        for conversation in &first.conversations {
            assert!(archive.maintenance().verify(conversation.id).unwrap().is_sound(), "{path}");
        }
    }
}

#[test]
fn the_formats_that_are_only_read_have_fixtures() {
    let with: HashSet<&str> = every().iter().map(|(_, format)| format.name).collect();

    let without: Vec<&str> =
        ["aider", "chatgpt", "claude-ai", "gemini"].into_iter().filter(|name| !with.contains(name)).collect();

    assert_eq!(without, [""; 0]);
}
