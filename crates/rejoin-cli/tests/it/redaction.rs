//! Secrets stay out of the store: told once, wherever they were said, unless
//! the configuration says otherwise.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rejoin::store::{BlobNames, Order, Space};
use rejoin::{Archive, Conversation, List, Message, Redaction, StoreUrl};
use serde_json::{Value, json};

use crate::world::{Outcome, World};

/// Put together here, so that nobody takes it for one that was lost.
const SECRET: &str = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");

const TOLD: &str = "1 secret is not stored; a marker stands there instead: github-token.";

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    entries
        .flat_map(
            |entry| {
                if entry.file_type().unwrap().is_dir() { files(&entry.path()) } else { vec![entry.path()] }
            },
        )
        .collect()
}

/// The files of a home that hold a text.
fn holding(world: &World, text: &str) -> Vec<PathBuf> {
    let holds = |path: &PathBuf| {
        fs::read(path).is_ok_and(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
    };
    files(&world.path("home")).into_iter().filter(holds).collect()
}

/// What was said in the only conversation.
fn said(archive: &Archive) -> Vec<String> {
    let id = archive.list(&List::default()).unwrap().items[0].id;
    archive.path(id, None).unwrap().iter().map(|stored| stored.message.text()).collect()
}

/// What was said in every conversation.
fn user_texts(world: &World) -> Vec<String> {
    let archive = world.archive();
    let all = archive.list(&List::default()).unwrap().items;
    let texts = all.iter().flat_map(|one| archive.path(one.id, None).unwrap());
    texts.map(|stored| stored.message.text()).collect()
}

fn lines(outcome: &Outcome) -> Vec<Value> {
    outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_talk_stores_a_marker_and_tells_it_once() {
    let world = World::new();

    let outcome = world.rejoin([&format!("please remember the key {SECRET} for me")]).run();

    let told: Vec<&str> = outcome.stderr.lines().filter(|line| line.contains("not stored")).collect();
    let first = said(&world.archive()).remove(0);
    assert_eq!(told, [TOLD]);
    assert!(first.starts_with("please remember the key [redacted:github-token:"), "{first}");
    assert_eq!(holding(&world, &SECRET[..14]), [""; 0].map(PathBuf::from));
}

const KEY: &str = "home/.local/state/rejoin/redact.key";

/// The key that a store holds.
fn key_in(world: &World) -> Vec<Vec<u8>> {
    let url = world.url_in(&world.path("home/.local/share/rejoin"));
    let store = StoreUrl::parse(&url).unwrap().open().unwrap();
    let mut kept = Vec::new();
    let take = &mut |_: &[u8], bytes: &[u8]| {
        kept.push(bytes.to_vec());
        Ok(())
    };
    store.get(Space::State, None, BlobNames::One(b"redact.key"), take).unwrap();
    kept
}

/// The digits of all markers.
fn digits(world: &World) -> BTreeSet<String> {
    let texts = user_texts(world);
    let markers = texts.iter().filter_map(|text| text.split("[redacted:github-token:").nth(1));
    markers.map(|rest| rest[..8].to_owned()).collect()
}

/// Says the secret in a store as a program does that keeps the key in it.
fn say_as_before(world: &World) {
    let archive = world.archive().with_redaction(Redaction::new());
    archive.start(Conversation::new()).unwrap().append(Message::user(format!("key: {SECRET}"))).unwrap();
}

#[test]
fn the_key_of_markers_is_in_a_private_file_and_not_in_the_store() {
    for world in [World::new(), World::of_files()] {
        let before = world.path(KEY).exists();

        world.rejoin([&format!("my key: {SECRET}")]).run();
        world.rejoin([&format!("again: {SECRET}")]).run();

        let key = fs::read(world.path(KEY)).unwrap();
        let mode = fs::metadata(world.path(KEY)).unwrap().permissions().mode() & 0o777;
        assert_eq!((before, mode, key.len(), key_in(&world)), (false, 0o600, 32, vec![]));
        assert_eq!(digits(&world).len(), 1);
    }
}

#[test]
fn the_key_of_an_older_store_moves_out_with_the_next_write() {
    for world in [World::new(), World::of_files()] {
        say_as_before(&world);
        let (own, before) = (key_in(&world), digits(&world));

        world.rejoin(["new", "--title", "Lisbon"]).run();
        let after = key_in(&world);
        world.rejoin([&format!("again: {SECRET}")]).run();

        let key = fs::read(world.path(KEY)).unwrap();
        assert_eq!((own, after), (vec![key.clone()], vec![]));
        assert_eq!(digits(&world), before);
        let holding = files(&world.path("home/.local/share"))
            .into_iter()
            .filter(|file| fs::read(file).unwrap().windows(key.len()).any(|window| window == key));
        assert_eq!(holding.collect::<Vec<_>>(), [""; 0].map(PathBuf::from));
    }
}

#[test]
fn the_key_of_an_older_store_is_erased_where_there_is_another() {
    let world = World::new();
    world.write(KEY, "0123456789abcdef0123456789abcdef");
    say_as_before(&world);

    world.rejoin(["new", "--title", "Lisbon"]).run();

    assert_eq!((key_in(&world), world.read(KEY)), (vec![], "0123456789abcdef0123456789abcdef".to_owned()));
}

#[test]
fn processes_that_make_the_key_at_once_end_with_one() {
    let world = World::new();
    world.started("Lisbon");

    let running: Vec<_> = (0..6)
        .map(|number| world.program(&["append", "lisbon", &format!("{number}: {SECRET}")]).spawn().unwrap())
        .collect();
    let codes: Vec<_> =
        running.into_iter().map(|child| child.wait_with_output().unwrap().status.code()).collect();

    let texts: Vec<String> = {
        let archive = world.archive();
        let id = archive.list(&List::default()).unwrap().items[0].id;
        archive
            .reader()
            .all_messages(id, Order::OldestFirst, 0, 100)
            .unwrap()
            .iter()
            .map(|stored| stored.message.text())
            .collect()
    };
    let digits: BTreeSet<&str> = texts.iter().map(|text| text.split("token:").nth(1).unwrap()).collect();
    assert_eq!((codes, texts.len(), digits.len()), (vec![Some(0); 6], 6, 1));
    assert_eq!(fs::read_dir(world.path(KEY).parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_program_is_told_with_an_event() {
    let world = World::new();

    let outcome = world.rejoin(["--json", &format!("my key: {SECRET}")]).run();

    let told: Vec<Value> = lines(&outcome).into_iter().filter(|line| line["event"] == "redacted").collect();
    assert_eq!(told, [json!({"event": "redacted", "rules": [{"rule": "github-token", "count": 1}]})]);
}

#[test]
fn an_append_tells_it_in_the_receipt_and_to_a_person() {
    let world = World::new();
    let line = json!({"role": "user", "content": format!("export GITHUB_TOKEN={SECRET}")}).to_string();

    let one = world.rejoin(["append", &format!("use {SECRET} now")]).run();
    let program = world.rejoin(["append", "--jsonl", "-", "--json"]).input(line).run();
    let audit = world.rejoin(["audit"]).run().stdout;

    assert!(one.stderr.contains(TOLD), "{}", one.stderr);
    assert!(audit.lines().last().unwrap().ends_with("  append: github-token"), "{audit}");
    assert_eq!(lines(&program)[0]["redacted"], json!([{"rule": "github-token", "count": 1}]));
    assert_eq!(holding(&world, SECRET), [""; 0].map(PathBuf::from));
}

#[test]
fn titles_labels_and_branches_are_redacted_too() {
    let world = World::new();
    let id = world.started(&format!("Rotate {SECRET}"));
    let message = world.append(&id, "{\"role\":\"user\",\"content\":\"hello\"}\n").remove(0);

    world.rejoin(["label", &message, &format!("with {SECRET}")]).run();
    world.rejoin(["fork", &message, "--title", &format!("without {SECRET}")]).run();

    assert_eq!(holding(&world, &SECRET[..20]), [""; 0].map(PathBuf::from));
}

#[test]
fn personal_data_and_patterns_are_taken_out_when_they_are_asked_for() {
    let world = World::new();
    world.user_config("[redact]\npii = [\"email\"]\nextra_patterns = ['ACME-\\d{4}']\n");

    world.rejoin(["append", "ada@lovelace.org has badge ACME-1815"]).run();

    let text = said(&world.archive()).remove(0);
    let rules: Vec<&str> =
        text.split("[redacted:").skip(1).filter_map(|rest| rest.split(':').next()).collect();
    assert_eq!(rules, ["email", "pattern-1"]);
}

#[test]
fn redaction_can_be_turned_off() {
    let world = World::new();
    world.user_config("redact.enabled = false\n");

    let outcome = world.rejoin(["append", &format!("use {SECRET}")]).run();

    assert!(!outcome.stderr.contains("not stored"), "{}", outcome.stderr);
    assert_eq!(said(&world.archive()), [format!("use {SECRET}")]);
}

#[test]
fn a_pattern_that_is_none_is_refused_with_its_line() {
    let world = World::new();
    world.user_config("# mine\nredact.extra_patterns = [\"(\"]\n");

    let outcome = world.rejoin(["append", "hello"]).run();

    let expected = "error: could not read `redact.extra_patterns` in `[world]/home/.config/rejoin/config.toml:2`: it must be a list of regular expressions, none of which fits the empty text\n\
                    hint: correct the line, or run `rejoin config edit`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn an_import_tells_what_was_taken_out() {
    let world = World::new();
    let line = json!({
        "type": "user", "uuid": "u1", "parentUuid": null, "isSidechain": false,
        "sessionId": "c833a56b-45d4-4ced-8b45-47d6a5359b48", "timestamp": "2026-01-02T03:04:05.000Z",
        "message": {"role": "user", "content": format!("use {SECRET}")},
    });
    world.write("project/c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl", &format!("{line}\n"));

    let outcome = world.rejoin(["import", "c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl"]).run();

    assert!(outcome.stdout.contains(TOLD), "{outcome:?}");
    assert_eq!(holding(&world, SECRET), [""; 0].map(PathBuf::from));
}
