//! The formats of the design documents: what holds for each of them.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rejoin::formats::{Detection, FORMATS, Format, ReadLimits, Source, Sources, Tree};
use rejoin::{Archive, Import, ImportMode, Imported, Role};

use crate::formats::round::{steps, tree_of};
use crate::formats::{fixture, outline, read};

/// A fixture of each format, and the file in it that grows.
pub(super) const FIXTURES: [(&str, &str, &str); 1] =
    [("cortext", "cortext/conversations/2025-11-22/001-brainstorm-topic", ".session/messages.jsonl")];

/// Writes what a format writes below a directory.
pub(super) fn write_below(directory: &Path, format: &str, tree: &Tree) {
    for file in Format::named(format).unwrap().write(tree).unwrap() {
        let path = directory.join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &file.bytes).unwrap();
    }
}

/// Everything below a directory as one tree, without what only a source has, in order of ids.
pub(super) fn read_below(directory: &Path, format: &str) -> Tree {
    let found = Sources::find(directory, None).unwrap();
    let mut all = Tree::default();
    for (source, own) in found.found {
        assert_eq!(own.name, format, "{}", source.path().display());
        let tree = Tree::gather(ReadLimits::default(), |reading| own.read(&source, reading)).unwrap();
        assert_eq!(tree.skipped, []);
        for mut message in tree.messages {
            message.line = 0;
            message.source.clear();
            match all.messages.iter().find(|known| known.id == message.id) {
                Some(known) => assert_eq!(known, &message),
                None => all.messages.push(message),
            }
        }
        for conversation in tree.conversations {
            match all.conversations.iter().find(|known| known.id == conversation.id) {
                Some(known) => assert_eq!(known, &conversation),
                None => all.conversations.push(conversation),
            }
        }
    }
    all.messages.sort_by(|a, b| a.id.cmp(&b.id));
    all
}

/// A tree after it was written and all its files were read.
pub(super) fn round(format: &str, tree: &Tree) -> Tree {
    let directory = tempfile::tempdir().unwrap();
    write_below(directory.path(), format, tree);
    read_below(directory.path(), format)
}

fn import(archive: &Archive, path: &Path) -> Imported {
    let source = Source::open(path).unwrap();
    let format = Format::of(&source).unwrap();
    let mut how = Import {
        limits: ReadLimits::default(),
        mode: ImportMode::Store,
        project: &str::to_owned,
        progress: &mut |_| {},
    };
    archive.import(&source, format, &mut how).unwrap()
}

/// A copy of a fixture that may be changed: its place, and the place of the file that grows.
fn copy((_, place, grows): (&str, &str, &str)) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join(Path::new(place).file_name().unwrap());
    copy_all(&fixture(place), &own);
    let grows = if grows.is_empty() { own.clone() } else { own.join(grows) };
    (directory, own, grows)
}

fn copy_all(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy_all(&entry.path(), &to.join(entry.file_name()));
    }
}

/// Reads a source as every format; whatever is read can be written by every format.
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

#[test]
fn each_fixture_is_of_its_format_and_of_no_other() {
    for (name, place, _) in FIXTURES {
        let source = Source::open(&fixture(place)).unwrap();

        let claiming: Vec<&str> = FORMATS
            .iter()
            .filter(|format| format.detect(&source) != Detection::No)
            .map(|format| format.name)
            .collect();

        assert_eq!(claiming, [name], "{place}");
    }
}

#[test]
fn a_fixture_that_is_imported_again_adds_nothing() {
    let archive = Archive::open("memory:").unwrap();
    for (_, place, _) in FIXTURES {
        let first = import(&archive, &fixture(place));
        let stored = archive.conversation(first.conversations[0].id).unwrap();
        let again = import(&archive, &fixture(place));

        assert!(first.added() > 2, "{place}: {first:?}");
        assert_eq!((again.added(), again.conversations.len()), (0, first.conversations.len()), "{place}");
        assert_eq!(archive.conversation(first.conversations[0].id).unwrap(), stored, "{place}");
    }
}

#[test]
fn a_fixture_keeps_its_text_when_it_is_written_and_read_again() {
    for (name, place, _) in FIXTURES {
        let before = read(&fixture(place));
        let after = round(name, &before);

        let mut messages = before.messages.clone();
        messages.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(outline(&after.messages), outline(&messages), "{place}");
        assert_eq!(before.skipped, [], "{place}");
    }
}

#[test]
fn every_branch_is_in_a_file_of_its_own_and_an_import_of_all_gives_the_tree() {
    for (name, ..) in FIXTURES {
        let tree = forked();
        let directory = tempfile::tempdir().unwrap();
        write_below(directory.path(), name, &tree);
        let archive = Archive::open("memory:").unwrap();

        let found = Sources::find(directory.path(), None).unwrap().found;
        let ids: Vec<_> =
            found.iter().map(|(source, _)| import(&archive, source.path()).conversations[0].id).collect();

        let id = ids[0];
        let stored = archive.conversation(id).unwrap();
        let path: Vec<String> =
            archive.path(id, None).unwrap().iter().map(|stored| stored.message.text()).collect();
        assert_eq!(ids, [id, id], "{name}");
        assert_eq!((stored.messages, path), (4, vec!["one".to_owned(), "b".to_owned()]), "{name}");
    }
}

/// `one` is followed by `a` and `a, more`, and by `b`, which is the head.
fn forked() -> Tree {
    use rejoin::formats::{SourceConversation, SourceMessage};
    use rejoin::{Block, Message, Time};
    let said = |id: &str, parent: Option<&str>, role: Role, text: &str, time: i64| SourceMessage {
        conversation: "11111111-2222-4333-8444-555555555555".to_owned(),
        id: id.to_owned(),
        parent: parent.map(str::to_owned),
        message: Message::new(role, vec![Block::text(text)])
            .at(Time::from_micros(1_700_000_000_000_000 + time)),
        keeps: Vec::new(),
        line: 0,
        source: String::new(),
    };
    let messages = vec![
        said("m1", None, Role::User, "one", 0),
        said("m2", Some("m1"), Role::Assistant, "a", 1),
        said("m3", Some("m2"), Role::User, "a, more", 2),
        said("m4", Some("m1"), Role::Assistant, "b", 3),
    ];
    let mut own =
        SourceConversation::new(messages[0].conversation.clone(), Time::from_micros(1_700_000_000_000_000));
    own.head = Some("m4".to_owned());
    own.header.title = Some("Lisbon".to_owned());
    Tree { conversations: vec![own], messages, ..Tree::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_survives_every_format(
        which in 0..FIXTURES.len(),
        steps in steps(),
        head in any::<prop::sample::Index>(),
        title in prop::option::of("[a-zé ]{0,8}[a-z]"),
    ) {
        let format = FIXTURES[which].0;
        let mut tree = tree_of(steps, head, title, "anthropic");

        let mut read = round(format, &tree);

        // A session of Cortext belongs to the directory that it is written to.
        if format == "cortext" {
            tree.conversations[0].header.project = None;
            read.conversations[0].header.project = None;
        }
        prop_assert_eq!(read, tree);
    }

    #[test]
    fn a_damaged_source_never_stops_the_program(
        which in 0..FIXTURES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let (_directory, own, grows) = copy(FIXTURES[which]);
        let mut bytes = fs::read(&grows).unwrap();
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        fs::write(&grows, &bytes).unwrap();
        read_as_anything(&own);
        fs::write(&grows, &bytes[..cut.index(bytes.len())]).unwrap();
        read_as_anything(&own);
    }

    #[test]
    fn a_damaged_tag_never_stops_the_program(
        which in 0..FIXTURES.len(),
        steps in steps(),
        head in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let format = FIXTURES[which].0;
        let directory = tempfile::tempdir().unwrap();
        write_below(directory.path(), format, &tree_of(steps, head, None, "anthropic"));
        for (source, _) in Sources::find(directory.path(), None).unwrap().found {
            let path = source.path().join(FIXTURES[which].2);
            let path = if FIXTURES[which].2.is_empty() { source.path().to_owned() } else { path };
            let mut bytes = fs::read(&path).unwrap();
            for (place, byte) in &damage {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            fs::write(&path, &bytes).unwrap();
            read_as_anything(source.path());
        }
    }
}
