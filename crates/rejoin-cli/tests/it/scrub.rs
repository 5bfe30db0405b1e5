//! `rejoin scrub`: what is found is told without being shown, and goes when that is wanted.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rejoin::store::{Order, Seen, Selection, Task};
use rejoin::{AttachmentKind, Block, Message, Role};
use serde_json::{Value as Json, json};

use crate::world::{Outcome, World};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// A world with a conversation that has a secret in a message and in its title, as it was stored long ago.
fn world() -> (World, String) {
    let world = World::new();
    let archive = world.archive();
    let mut trip = archive.start(rejoin::Conversation::titled(format!("Use {TOKEN}"))).unwrap();
    trip.append_turn(vec![Message::user(format!("key {TOKEN}")), Message::assistant("Thanks.")]).unwrap();
    (world, trip.id().short().to_string())
}

/// How many files below a directory hold the secret.
fn holding(directory: &Path) -> usize {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| match path.is_dir() {
            true => holding(&path),
            false => {
                let bytes = fs::read(&path).unwrap();
                usize::from(bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes()))
            }
        })
        .sum()
}

#[test]
fn a_dry_run_tells_where_and_by_which_rule_and_changes_nothing() {
    let (world, short) = world();

    let outcome = world.rejoin(["scrub", &short, "--dry-run"]).run();

    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert!(!outcome.stdout.contains(&TOKEN[4..]), "{}", outcome.stdout);
    for told in [&short, "message", "header", "github-token", "found in 1 conversation. Nothing was changed."]
    {
        assert!(outcome.stdout.contains(told), "{told}: {}", outcome.stdout);
    }
    assert!(holding(&world.path("home")) > 0);
}

#[test]
fn what_is_found_is_taken_out_of_every_file_and_noted() {
    let (world, short) = world();

    let outcome = world.rejoin(["scrub", &short, "--yes", "--json"]).run();

    let told: Json = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.code, &told["changed"], &told["rewritten"]), (0, &json!(true), &json!(2)));
    assert_eq!(told["items"][0]["short"], json!(short));
    assert_eq!(told["items"][0]["digests"].as_array().unwrap().len(), 1);
    assert_eq!(holding(&world.path("home")), 0);
    assert_eq!(world.rejoin(["verify"]).run().code, 0);
    let again = world.rejoin(["scrub", "--all", "--yes"]).run();
    assert_eq!(again, Outcome::answer("No secrets found in 1 conversation.\n"));
}

#[test]
fn nothing_is_taken_out_without_being_asked_for() {
    let (world, short) = world();

    let refused = world.rejoin(["scrub", &short]).run();
    let unnamed = world.rejoin(["scrub"]).run();

    assert_ne!((refused.code, unnamed.code), (0, 0));
    assert!(holding(&world.path("home")) > 0);
}

#[test]
fn all_conversations_and_what_is_remembered_are_scrubbed_together() {
    let (world, _) = world();
    world.archive().state().remember("note", Some(&format!("token {TOKEN}"))).unwrap();
    world.conversation("Harmless");

    let outcome = world.rejoin(["scrub", "--all", "--yes"]).run();

    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stdout.contains("taken out of 1 conversation; 2 messages got another digest."));
    assert_eq!(holding(&world.path("home")), 0);
}

/// A text of its own that is too large for a message.
fn attach(world: &World, short: &str) {
    let archive = world.archive();
    let id = archive.names().conversation(short).unwrap();
    let text = format!("{TOKEN}\n{}", "word ".repeat(60_000));
    let kept = archive.attachments().add(id, AttachmentKind::Document, &mut text.as_bytes()).unwrap();
    let media = Block::Media(kept.to_media("text/plain"));
    archive.resume(id).unwrap().append(Message::new(Role::User, vec![media])).unwrap();
    archive.maintenance().run(Task::Checkpoint, Duration::MAX).unwrap();
}

#[test]
fn an_attachment_is_scrubbed_with_its_conversation_and_no_file_keeps_it() {
    let (world, short) = world();
    attach(&world, &short);

    let outcome = world.rejoin(["scrub", &short, "--yes", "--json"]).run();

    let told: Json = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.code, &told["erased"], holding(&world.path("home"))), (0, &json!(true), 0), "{told}");
}

#[test]
fn what_another_program_keeps_in_the_files_is_told() {
    let (world, short) = world();
    attach(&world, &short);
    let reader = world.archive();
    let id = reader.names().conversation(&short).unwrap();
    let first = Selection::All { order: Order::OldestFirst, offset: 0, limit: 1 };
    let mut outcome = None;

    let scrub = &mut |_: Seen<'_>| {
        outcome = Some(world.rejoin(["scrub", &short, "--yes"]).run());
        Ok(())
    };
    reader.reader().visit(id, first, scrub).unwrap();

    let outcome = outcome.unwrap();
    let warning = "another program reads the store, so its files still hold what was taken out";
    assert!(outcome.code == 0 && outcome.stderr.contains(warning), "{}", outcome.stderr);
    world.rejoin(["expire"]).run();
    assert_eq!(holding(&world.path("home")), 0);
}
