//! Files that are damaged, or made to do harm: a clear answer, nothing by halves, never a panic.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;
use rejoin::formats::{FORMATS, Format, ReadLimits, Source, Sources, Tree};

use crate::formats::{fixture, read};

const FIXTURES: [&str; 4] = [
    "claude/session-with-agent/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl",
    "claude/handwritten-minimal-after-resume.jsonl",
    "codex/legacy-compacted-0.80.jsonl",
    "codex/compacted-0.166.jsonl",
];

const DATABASES: [&str; 4] =
    ["goose/sessions.db", "llm/logs-0.19.db", "llm/logs-0.36.db", "opencode/opencode.db"];

/// Reads a file as every format; whatever is read can be written by every format.
fn read_as_anything(path: &Path) {
    let source = Source::open(path).unwrap();
    let limits = ReadLimits { line_bytes: 1 << 20, ..ReadLimits::default() };
    for format in FORMATS {
        let _ = format.detect(&source);
        if let Ok(tree) = Tree::gather(limits, |reading| format.read(&source, reading)) {
            FORMATS.iter().for_each(|format| drop(format.write(&tree)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_never_stops_the_program(
        which in 0..FIXTURES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = fs::read(fixture(FIXTURES[which])).unwrap();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let end = cut.index(bytes.len());
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in [("whole.jsonl", &bytes[..]), ("cut.jsonl", &bytes[..end])] {
            let path = directory.path().join(name);
            fs::write(&path, bytes).unwrap();
            read_as_anything(&path);
        }
    }

    #[test]
    fn a_damaged_database_never_stops_the_program(
        which in 0..DATABASES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..400),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = fs::read(fixture(DATABASES[which])).unwrap();
        // Damage that leaves the first bytes alone goes deeper.
        for (place, byte) in damage {
            let place = 24 + place.index(bytes.len() - 24);
            bytes[place] = byte;
        }
        let end = cut.index(bytes.len());
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in [("whole.db", &bytes[..]), ("cut.db", &bytes[..end])] {
            let path = directory.path().join(name);
            fs::write(&path, bytes).unwrap();
            read_as_anything(&path);
        }
    }

    #[test]
    fn lines_in_another_order_never_stop_the_program(
        which in 0..FIXTURES.len(), order in any::<prop::sample::Index>(), step in 1..50usize,
    ) {
        let text = fs::read_to_string(fixture(FIXTURES[which])).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let mixed: Vec<&str> =
            (0..lines.len()).map(|place| lines[(order.index(lines.len()) + place * step) % lines.len()]).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mixed.jsonl");
        fs::write(&path, mixed.join("\n")).unwrap();

        read_as_anything(&path);
    }
}

#[test]
fn every_fixture_is_of_one_format_and_keeps_all_its_lines() {
    let found = Sources::find(&fixture(""), None).unwrap();

    for (source, format) in &found.found {
        let claiming = FORMATS.iter().filter(|other| other.detect(source) != rejoin::formats::Detection::No);
        assert_eq!(claiming.count(), 1, "{}", source.path().display());
        let tree = Tree::gather(ReadLimits::default(), |reading| format.read(source, reading)).unwrap();
        let kept: String = tree
            .messages
            .iter()
            .map(|found| &found.source)
            .chain(tree.asides.iter().map(|aside| &aside.source))
            .cloned()
            .collect();
        // What is not made of lines is compared in the tests of its format.
        if source.path().extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(source.path()).unwrap();
        let lost: Vec<&str> = text.lines().filter(|line| !kept.contains(line.trim())).collect();
        assert_eq!(lost, [""; 0], "{}", source.path().display());
    }
    assert_eq!(found.found.len(), 16);
}

#[test]
fn what_nests_too_deep_in_a_database_is_told_or_kept_as_text() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let directory = tempfile::tempdir().unwrap();
    let damaged = |name: &str, sql: &str| {
        let path = directory.path().join(Path::new(name).file_name().unwrap());
        fs::copy(fixture(name), &path).unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute(sql, [&deep]).unwrap();
        read_as_anything(&path);
        read(&path)
    };

    let goose = damaged("goose/sessions.db", "UPDATE messages SET content_json = ?1 WHERE id = 1");
    let llm = damaged(
        "llm/logs-0.36.db",
        "UPDATE parts SET payload = ?1, text = NULL, type = 'tool_call' WHERE id = 1",
    );
    let opencode =
        damaged("opencode/opencode.db", "UPDATE part SET data = ?1 WHERE id LIKE 'prt_1e06265de%'");

    assert_eq!(goose.skipped[0].why, "message 1: it nests too deep");
    assert_eq!(llm.messages.len(), 4);
    assert_eq!(opencode.skipped.len(), 1);
}

#[test]
fn links_and_pipes_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    symlink(fixture(FIXTURES[0]), directory.path().join("link.jsonl")).unwrap();
    symlink(directory.path(), directory.path().join("circle")).unwrap();

    let found = Sources::find(directory.path(), None).unwrap();

    assert_eq!((found.found.len(), found.others), (0, 0));
    assert!(Source::open(Path::new("/dev/null")).is_err());
}

#[test]
fn names_that_lead_elsewhere_stay_where_they_are() {
    let mut tree = read(&fixture(FIXTURES[0]));
    tree.conversations[1].parent.as_mut().unwrap().run = "../../../../etc/x".to_owned();
    tree.conversations[0].header.project = Some("/../../etc/\0".to_owned());
    for conversation in &mut tree.conversations {
        conversation.id = conversation.id.replace("c833a56b", "../../x");
    }
    for message in &mut tree.messages {
        message.conversation = message.conversation.replace("c833a56b", "../../x");
    }

    let written: Vec<String> = ["claude", "codex"]
        .iter()
        .flat_map(|format| Format::named(format).unwrap().write(&tree).unwrap())
        .map(|file| file.path.to_str().unwrap().to_owned())
        .collect();

    assert!(written.len() > 3, "{written:?}");
    assert!(written.iter().all(|path| !path.contains("..") && !path.starts_with('/')), "{written:?}");
}
