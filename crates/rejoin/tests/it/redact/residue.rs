//! After talking, appending, importing and describing, no file of a store holds a secret.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rejoin::formats::{Format, ReadLimits, Source};
use rejoin::store::{Order, Task};
use rejoin::view::{PathMessage, Recipient, Repair, View};
use rejoin::{
    Archive, Block, Conversation, ConversationId, Import, ImportMode, Imported, Json, Message, Personal,
    PrivacyNotes, Redacted, Redaction, Role, Synopsis, Thinking,
};
use serde_json::json;

use super::corpus::{self, Secret, ToldBy};
use super::dice::Dice;

/// A store in a directory of its own.
struct Desk {
    directory: tempfile::TempDir,
    url: String,
}

impl Desk {
    fn new(scheme: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("{scheme}:{}", directory.path().join("store/history").display());
        fs::create_dir(directory.path().join("store")).unwrap();
        Self { directory, url }
    }

    fn archive(&self) -> Archive {
        Archive::open(&self.url).unwrap().with_redaction(Redaction::new())
    }

    /// Every file of the store, with its bytes.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let all = walk(&self.directory.path().join("store"));
        all.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    /// The files that hold one of the texts.
    fn holding(&self, texts: &[&str]) -> Vec<String> {
        let files = self.files();
        assert!(!files.is_empty());
        let holds = |bytes: &[u8], text: &str| memchr::memmem::find(bytes, text.as_bytes()).is_some();
        texts
            .iter()
            .flat_map(|text| {
                files
                    .iter()
                    .filter(move |(_, bytes)| holds(bytes, text))
                    .map(move |(path, _)| format!("{text} in {}", path.display()))
            })
            .collect()
    }

    /// A session of Claude Code with these lines said in it.
    fn session(&self, texts: &[String]) -> PathBuf {
        let path = self.directory.path().join("c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl");
        let lines: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(place, text)| {
                let parent = place.checked_sub(1).map(|place| format!("u{place}"));
                json!({
                    "type": "user", "uuid": format!("u{place}"), "parentUuid": parent, "isSidechain": false,
                    "sessionId": "c833a56b-45d4-4ced-8b45-47d6a5359b48", "timestamp": "2026-01-02T03:04:05.000Z",
                    "message": {"role": "user", "content": text},
                })
                .to_string()
            })
            .collect();
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        path
    }
}

fn walk(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

fn import(archive: &Archive, path: &Path) -> Imported {
    let source = Source::open(path).unwrap();
    let format = Format::of(&source).unwrap();
    let limits = ReadLimits::default();
    let mut how = Import { limits, mode: ImportMode::Store, project: &str::to_owned, progress: &mut |_| {} };
    archive.imports().add(&source, format, &mut how).unwrap()
}

fn said(archive: &Archive, id: ConversationId) -> Vec<String> {
    let all = archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
    all.iter().map(|stored| stored.message.text()).collect()
}

fn secrets() -> Vec<Secret> {
    let mut all = corpus::secrets(&mut Dice::new(0xd15c));
    // What is told by its name alone would have to be named in every place.
    all.retain(|secret| secret.told_by == ToldBy::Itself && !secret.value.starts_with("https://"));
    all
}

/// Does everything that a program does with a store, and says each secret everywhere.
fn live(desk: &Desk, secrets: &[Secret]) {
    let archive = desk.archive();
    for secret in secrets {
        let value = &secret.value;
        let mut handle = archive.start(Conversation::titled(format!("Use {value} now"))).unwrap();
        let thinking = Thinking {
            text: format!("they gave me {value}"),
            signature: Some("c2ln".into()),
            ..Thinking::default()
        };
        let input = Json::of(
            &json!({ "command": format!("curl -H 'Authorization: Bearer {value}' https://api.local") }),
        )
        .unwrap();
        let output =
            Json::of(&json!({ "stdout": json!({ "token": value }).to_string() }).to_string()).unwrap();
        let mut first = Message::user(format!("my key: {value}")).labelled(format!("with {value}"));
        first.extra.set("note", Json::of(value).unwrap());
        let receipt = handle.append_turn(vec![
            first,
            Message::new(
                Role::Assistant,
                vec![Block::Thinking(thinking), Block::tool_call("c", "run", input)],
            ),
            Message::new(Role::Tool, vec![Block::tool_result("c", output)]),
            Message::assistant(format!("Stored {value}.")),
        ]);
        let receipt = receipt.unwrap();
        assert!(!receipt.redacted.is_empty());
        let id = handle.id();
        handle.fork(receipt.head, &format!("try {value}")).unwrap();
        archive.rename(id, &format!("About {value}")).unwrap();
        archive.marks().label(id, receipt.head, Some(&format!("has {value}"))).unwrap();
        let synopsis = Synopsis {
            text: format!("They used {value}."),
            keywords: vec![value.clone()],
            ..Synopsis::default()
        };
        archive
            .marks()
            .describe(id, None, Some(&Synopsis { updated_at: archive.now(), ..synopsis }))
            .unwrap();
        archive.state().remember("prompt.history", Some(&format!("export {}={value}", secret.name))).unwrap();
        let mut recorder = archive.record(archive.resume(id).unwrap(), "1@1");
        for end in [value.len() / 2, value.len() - 1, value.len()] {
            assert!(recorder.save_open(&Message::assistant(format!("Here it is: {}", &value[..end])), &[]));
        }
        assert!(recorder.save_open(&Message::assistant(format!("Here it is: {value} and more ")), &[]));
    }
    let texts: Vec<String> = secrets.iter().map(|secret| format!("use {} please", secret.value)).collect();
    let imported = import(&archive, &desk.session(&texts));
    assert_eq!(imported.added(), texts.len() as u64);
    while archive.maintenance().run(Task::Index, Duration::from_secs(10)).unwrap() > 0 {}
}

fn no_file_holds_a_secret(scheme: &str) {
    let (desk, secrets) = (Desk::new(scheme), secrets());

    live(&desk, &secrets);

    // Half a secret is one, too.
    let halves: Vec<&str> = secrets.iter().map(|secret| &secret.value[secret.value.len() - 12..]).collect();
    let beginnings: Vec<&str> = secrets
        .iter()
        .filter(|secret| secret.value.len() > 30)
        .map(|secret| &secret.value[..secret.value.len() / 2])
        .filter(|half| half.len() > 20)
        .collect();
    assert_eq!(desk.holding(&halves), [""; 0]);
    assert_eq!(desk.holding(&beginnings), [""; 0]);
}

#[test]
fn no_file_of_a_sqlite_store_holds_a_secret() {
    no_file_holds_a_secret("sqlite");
}

#[test]
fn no_file_of_a_jsonl_store_holds_a_secret() {
    no_file_holds_a_secret("jsonl");
}

#[test]
fn without_redaction_everything_is_stored_as_it_was_said() {
    let desk = Desk::new("jsonl");
    let archive = Archive::open(&desk.url).unwrap();
    let secret = &secrets()[0].value;

    let receipt = archive.start(Conversation::new()).unwrap().append(Message::user(secret)).unwrap();

    assert_eq!(receipt.redacted, []);
    assert!(!desk.holding(&[secret]).is_empty());
}

#[test]
fn an_import_is_redacted_with_its_lines_and_can_be_repeated() {
    let desk = Desk::new("sqlite");
    let texts: Vec<String> =
        secrets().iter().take(5).map(|secret| format!("use {} please", secret.value)).collect();
    let path = desk.session(&texts);

    let first = import(&desk.archive(), &path);
    let again = import(&desk.archive(), &path);

    let (archive, id) = (desk.archive(), first.conversations[0].id);
    assert_eq!((first.added(), again.added(), again.redacted), (5, 0, vec![]));
    assert_eq!(first.redacted.iter().map(|one| one.count).sum::<u64>(), 5);
    let stored = archive.reader().all_messages(id, Order::OldestFirst, 0, u64::MAX).unwrap();
    for message in &stored {
        let line = archive.imports().source_of(id, message.id).unwrap().unwrap();
        assert!(line.contains(&message.message.text()) && line.contains("[redacted:"), "{line}");
    }
}

#[test]
fn other_rules_do_not_make_another_message_of_what_is_there() {
    let desk = Desk::new("sqlite");
    let secret = &secrets()[0].value;
    let path = desk.session(&[format!("use {secret}"), "mail ada@lovelace.org".to_owned()]);
    let plain = Archive::open(&desk.url).unwrap();
    let more = plain.clone().with_redaction(Redaction::new().with_personal([Personal::Email]));

    let id = import(&plain, &path).conversations[0].id;
    let as_said = said(&plain, id);
    let counts = [import(&more, &path), import(&desk.archive(), &path), import(&plain, &path)]
        .map(|done| done.added());

    assert_eq!((counts, said(&plain, id)), ([0, 0, 0], as_said));
}

#[test]
fn what_was_redacted_stays_when_redaction_is_turned_off() {
    let desk = Desk::new("sqlite");
    let path = desk.session(&[format!("use {}", secrets()[0].value), "thanks".to_owned()]);
    let archive = desk.archive();

    let id = import(&archive, &path).conversations[0].id;
    let before = said(&archive, id);
    let again = import(&Archive::open(&desk.url).unwrap(), &path);

    assert_eq!((again.added(), said(&archive, id)), (0, before));
}

#[test]
fn a_message_tells_its_rules_and_the_same_secret_has_the_same_marker() {
    let desk = Desk::new("sqlite");
    let secret = &secrets()[0].value;
    let mut handle = desk.archive().start(Conversation::new()).unwrap();

    let receipt =
        handle.append_turn(vec![Message::user(secret), Message::assistant(format!("{secret}!"))]).unwrap();
    // Another process, so that the key comes out of the store.
    let mut later = desk.archive().resume(handle.id()).unwrap();
    later.append(Message::user(format!("again: {secret}"))).unwrap();

    let path = later.path().unwrap();
    let marker = path[0].message.text();
    let token = marker.rsplit(':').next().unwrap().trim_end_matches(']').to_owned();
    let notes = PrivacyNotes {
        contains_secrets: true,
        redaction_rules: vec!["anthropic-key".into()],
        tokens: vec![token],
    };
    let told: Vec<_> =
        path.iter().map(|stored| (stored.message.text(), stored.message.privacy.clone())).collect();
    assert_eq!(receipt.redacted, [Redacted { rule: "anthropic-key".into(), count: 2 }]);
    assert_eq!(
        told,
        [marker.clone(), format!("{marker}!"), format!("again: {marker}")]
            .map(|text| (text, Some(notes.clone())))
    );
}

#[test]
fn two_stores_tell_nothing_about_the_same_secret() {
    let marker = |desk: &Desk| {
        let mut handle = desk.archive().start(Conversation::new()).unwrap();
        handle.append(Message::user(&secrets()[0].value)).unwrap();
        handle.path().unwrap()[0].message.text()
    };

    assert_ne!(marker(&Desk::new("sqlite")), marker(&Desk::new("sqlite")));
}

fn recipient() -> Recipient {
    Recipient::anthropic()
}

#[test]
fn thinking_whose_words_changed_is_left_out_of_the_view_and_told() {
    let archive = Archive::open("memory:").unwrap().with_redaction(Redaction::new());
    let thinking = |text: String| {
        Block::Thinking(Thinking { text, signature: Some("c2ln".into()), ..Thinking::default() })
    };
    let reply = |thinking: Block| {
        let mut reply = Message::new(Role::Assistant, vec![thinking, Block::text("Done.")]);
        reply.extra.set("api", Json::of(&recipient().api).unwrap());
        reply
    };
    let mut handle = archive.start(Conversation::new()).unwrap();
    handle.append(Message::user("go")).unwrap();
    handle.append(reply(thinking(format!("with {}", secrets()[0].value)))).unwrap();
    handle.append(Message::user("on")).unwrap();
    handle.append(reply(thinking("without".into()))).unwrap();
    let path = handle.path().unwrap();

    let recipient = recipient();
    let view = View::of(&PathMessage::all(&path), &[], &recipient);

    let kinds: Vec<Vec<&str>> =
        view.messages.iter().map(|one| one.message.blocks.iter().map(Block::kind).collect()).collect();
    assert_eq!(kinds, [vec!["text"], vec!["text"], vec!["text"], vec!["thinking", "text"]]);
    assert_eq!(view.repairs, [Repair::RedactedThinking { message: Some(path[1].id) }]);
}
