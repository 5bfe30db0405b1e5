//! The formats of the design documents: what holds for each of them.

use std::fs;
use std::path::{Component, Path, PathBuf};

use proptest::prelude::*;
use rejoin::formats::{
    Detection, FORMATS, Format, ReadLimits, Source, SourceConversation, SourceMessage, SourceParent, Sources,
    Tree,
};
use rejoin::{
    Archive, Block, Conversation, Import, ImportMode, Imported, Json, Message, PrivacyNotes, Role, Snapshot,
    Status, Synopsis, Time,
};

use crate::formats::round::{steps, tree_of};
use crate::formats::{fixture, outline, read};

/// A fixture of each format, and the file in it that grows.
pub(super) const FIXTURES: [(&str, &str, &str); 6] = [
    ("agent-voice", "agent-voice/agentvoice/conversations/47b9d8baefe9c46096ccfee37252b3bf.json", ""),
    ("cody", "cody/conversations/conv_abc123.jsonl", ""),
    ("cody", "cody/conversations/67e55044-10b1-426f-9247-bb680e5fe0c8.jsonl", ""),
    ("cortext", "cortext/conversations/2025-11-22/001-brainstorm-topic", ".session/messages.jsonl"),
    ("envoy", "envoy/conversations/Users_dev_myproject/01932d4c-89ab-7890-abcd-123456789ghi.jsonl", ""),
    ("envoy", "envoy/conversations/Users_dev_myproject/01932d4b-4567-7890-abcd-123456789def.jsonl", ""),
];

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
    // What branches share is the same in all their files to the letter, so that an import knows it again.
    all.messages.iter_mut().for_each(|message| message.source.clear());
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
    archive.imports().add(&source, format, &mut how).unwrap()
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
pub(super) fn read_as_anything(path: &Path) {
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
fn a_source_that_was_torn_adds_only_what_was_missing_once_it_is_whole() {
    // A record is written whole; the others grow line by line.
    for which in FIXTURES.into_iter().filter(|(name, ..)| *name != "agent-voice") {
        let archive = Archive::open("memory:").unwrap();
        let (_directory, own, grows) = copy(which);
        let whole = fs::read_to_string(&grows).unwrap();
        let last = whole.trim_end().rfind('\n').unwrap();

        fs::write(&grows, &whole[..last + 30]).unwrap();
        let torn = import(&archive, &own);
        fs::write(&grows, &whole).unwrap();
        let mended = import(&archive, &own);
        let again = import(&archive, &own);

        let id = torn.conversations[0].id;
        let all = read(&own).messages.len() as u64;
        assert_eq!(
            (torn.skipped, torn.added(), mended.added(), again.added()),
            (1, all - 1, 1, 0),
            "{which:?}"
        );
        assert_eq!((mended.conversations[0].id, mended.skipped), (id, 0), "{which:?}");
        assert_eq!(archive.path(id, None).unwrap().len() as u64, all, "{which:?}");
    }
}

#[test]
fn a_bad_line_in_the_middle_is_told_and_the_rest_is_read() {
    for which in FIXTURES.into_iter().filter(|(name, ..)| *name != "agent-voice") {
        let (_directory, own, grows) = copy(which);
        let before = read(&own).messages.len();
        let whole = fs::read_to_string(&grows).unwrap();
        let end = whole.find('\n').unwrap();

        fs::write(&grows, format!("{}\n{{\"half\": \n{}", &whole[..end], &whole[end + 1..])).unwrap();
        let tree = read(&own);

        let why: Vec<(u64, &str)> =
            tree.skipped.iter().map(|skipped| (skipped.line, skipped.why.as_str())).collect();
        assert_eq!((tree.messages.len(), why), (before, vec![(2, "it is not JSON")]), "{which:?}");
    }
}

#[test]
fn a_strange_first_line_does_not_change_which_conversation_it_is() {
    for which in FIXTURES.into_iter().filter(|(name, ..)| *name != "agent-voice") {
        let (_directory, own, grows) = copy(which);
        let before = read(&own).conversations[0].created_at;
        let whole = fs::read_to_string(&grows).unwrap();

        fs::write(&grows, format!("{{\"strange\":1}}\n{whole}")).unwrap();
        let after = read(&own).conversations[0].created_at;

        assert_eq!(after, before, "{which:?}");
    }
}

#[test]
fn names_that_lead_elsewhere_stay_where_they_are() {
    let mut tree = forked();
    let own = &mut tree.conversations[0];
    own.id = "../../x".to_owned();
    own.header.project = Some("/../../etc/\0".to_owned());
    own.header.title = Some("../../../etc/passwd\0".to_owned());
    own.header.kind = "../brainstorm".to_owned();
    own.header.extra.set("cortext", Json::parse(r#"{"conversation_id":"../../001"}"#).unwrap());
    tree.messages.iter_mut().for_each(|message| message.conversation = "../../x".to_owned());

    let written: Vec<PathBuf> = FIXTURES
        .iter()
        .flat_map(|(format, ..)| Format::named(format).unwrap().write(&tree).unwrap())
        .map(|file| file.path)
        .collect();

    let is_below = |path: &PathBuf| {
        path.components().all(|part| matches!(part, Component::Normal(_)))
            && !path.to_str().unwrap().contains('\0')
    };
    assert!(written.len() > 12 && written.iter().all(is_below), "{written:?}");
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
        let again: u64 = found.iter().map(|(source, _)| import(&archive, source.path()).added()).sum();
        assert_eq!(again, 0, "{name}");
        assert_eq!((stored.messages, path), (4, vec!["one".to_owned(), "b".to_owned()]), "{name}");
    }
}

#[test]
fn a_run_of_a_sub_agent_is_written_beside_and_names_what_started_it() {
    for (name, ..) in FIXTURES {
        let mut tree = forked();
        tree.messages.truncate(1);
        tree.conversations[0].head = Some("m1".to_owned());
        let mut run = tree.conversations[0].clone();
        run.id = "99999999-2222-4333-8444-555555555555".to_owned();
        run.head = Some("r1".to_owned());
        run.parent = Some(SourceParent {
            conversation: tree.conversations[0].id.clone(),
            message: Some("m1".to_owned()),
            name: "explore".to_owned(),
            run: "7".to_owned(),
        });
        let mut asked = tree.messages[0].clone();
        asked.conversation.clone_from(&run.id);
        asked.id = "r1".to_owned();
        tree.conversations.push(run);
        tree.messages.push(asked);

        let mut read = round(name, &tree);

        // A session of Cortext belongs to the directory that it is written to.
        read.conversations.iter_mut().for_each(|conversation| conversation.header.project = None);
        read.conversations.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(read, tree, "{name}");
    }
}

/// `one` is followed by `a` and `a, more`, and by `b`, which is the head.
fn forked() -> Tree {
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

/// Makes a message of a tree one that no format has a place for.
fn make_odd(tree: &mut Tree, place: prop::sample::Index, kind: u8) {
    let place = place.index(tree.messages.len());
    let found = &mut tree.messages[place];
    let message = &mut found.message;
    let json = |text: &str| Json::parse(text).unwrap();
    match kind {
        0 => message.created_at = None,
        1 => message.label = Some("a label".to_owned()),
        2 => message.is_error = true,
        3 => message.blocks.push(Block::Snapshot(Snapshot { data: json("[1.0e5]"), ..Default::default() })),
        4 => {
            let other = serde_json::from_str(r#"{"type":"weather","sky":12345678901234567890123}"#).unwrap();
            message.blocks.push(other);
        }
        5 => message.privacy = Some(PrivacyNotes { contains_secrets: true, ..Default::default() }),
        6 => message.blocks.push(Block::tool_result("nobody", json("{\"b\":1, \"a\":-0.0}"))),
        7 => message.extra.set("mine", json("{\"z\":1e400}")),
        _ => found.parent = None,
    }
}

fn headers() -> impl Strategy<Value = Conversation> {
    let text = || prop::option::of(any::<String>());
    let status = prop::sample::select(Status::ALL.to_vec());
    (text(), text(), text(), status, any::<bool>(), 0..i64::MAX).prop_map(
        |(model, synopsis, kind, status, exportable, time)| {
            let mut header = Conversation::new();
            header.settings.command.clone_from(&model);
            header.settings.model = model;
            header.synopsis = synopsis.map(|text| Synopsis { text, ..Synopsis::default() });
            header.kind = kind.unwrap_or(header.kind);
            header.status = status;
            header.privacy.exportable = exportable;
            header.expires_at = exportable.then(|| Time::from_micros(time));
            header
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_survives_every_format(
        which in 0..FIXTURES.len(),
        steps in steps(),
        head in any::<prop::sample::Index>(),
        title in prop::option::of(any::<String>()),
        odd in prop::collection::vec((any::<prop::sample::Index>(), 0..9u8), 0..12),
        header in headers(),
    ) {
        let format = FIXTURES[which].0;
        let mut tree = tree_of(steps, head, title, "anthropic");
        odd.into_iter().for_each(|(place, kind)| make_odd(&mut tree, place, kind));
        tree.conversations[0].header = Conversation {
            project: tree.conversations[0].header.project.take(),
            title: tree.conversations[0].header.title.take(),
            ..header
        };

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
