//! `rejoin resume` without a terminal: by id, number and words, and what is left of an interrupted reply.

use std::process::{Child, Stdio};

use rejoin::{Archive, Conversation, ConversationId, Message, Status, Synopsis, Time};
use serde_json::{Value, json};

use crate::world::{Outcome, World};

/// Three conversations of this project, the newest last, and the first note out of the way.
fn three(world: &World) -> [ConversationId; 3] {
    let project = world.path("project").to_str().unwrap().to_owned();
    world.rejoin(["new"]).from("home").run();
    let archive = world.archive();
    [("Trip to Porto", "By train?"), ("Trip to Lisbon", "Where to eat?"), ("Taxes", "When are they due?")]
        .map(|(title, text)| {
            let mut talk = archive.start(Conversation::titled(title).in_project(project.clone())).unwrap();
            talk.append(Message::user(text)).unwrap();
            talk.append(Message::assistant(format!("About {title}."))).unwrap();
            talk.id()
        })
}

const RESUMED: &str = "✓ Resumed conversation: [id]\nContinue chatting: rejoin chat \"your message\"\n\
                       Provider: offline (none)\n";

/// What coming back to a conversation says.
fn resumed(title: &str) -> Outcome {
    Outcome {
        stdout: RESUMED.to_owned(),
        stderr: format!("[Resuming \"{title}\"]\nResumed conversation with 2 messages\n"),
        code: 0,
    }
}

fn active(world: &World) -> Value {
    let listed = world.rejoin(["list", "--json"]).run().json();
    let items = listed["items"].as_array().unwrap();
    items.iter().find(|item| item["active"] == true).map_or(Value::Null, |item| item["id"].clone())
}

#[test]
fn an_id_makes_a_conversation_the_active_one() {
    let world = World::new();
    let [porto, ..] = three(&world);
    let short = porto.short().to_string();

    let outcome = world.rejoin(["resume", &short]).run();

    assert_eq!(outcome.naming(&[(&short, "[id]")]), resumed("Trip to Porto"));
    assert_eq!(active(&world), json!(porto.to_string()));
}

#[test]
fn words_of_a_title_find_it_and_words_of_a_summary_too() {
    let world = World::new();
    let [porto, _, taxes] = three(&world);
    let synopsis = Synopsis {
        text: "The deadline moved to May.".to_owned(),
        keywords: vec!["revenue".to_owned()],
        action_items: Vec::new(),
        updated_at: Time::from_micros(0),
    };
    world.archive().update(taxes, |header| header.synopsis = Some(synopsis.clone())).unwrap();
    let (porto, taxes) = (porto.short().to_string(), taxes.short().to_string());

    let outcomes = [
        world.rejoin(["resume", "porto trip"]).run(),
        world.rejoin(["resume", "deadline may"]).run(),
        world.rejoin(["resume", "revenue"]).run(),
        world.rejoin(["resume", "when are they"]).run(),
    ];

    let names = [(porto.as_str(), "[id]"), (taxes.as_str(), "[id]")];
    let expected = ["Trip to Porto", "Taxes", "Taxes", "Taxes"].map(resumed);
    assert_eq!(outcomes.map(|outcome| outcome.naming(&names)), expected);
}

const TWO: &str = "\
1. [chat] Trip to Lisbon
   [lisb] | Last active: just now | Status: active
   Summary: About Trip to Lisbon.

2. [chat] Trip to Porto
   [port] | Last active: just now | Status: active
   Summary: About Trip to Porto.

Resume one: rejoin resume NUMBER
";

#[test]
fn several_matches_are_listed_and_a_number_chooses() {
    let world = World::new();
    let [porto, lisbon, ..] = three(&world).map(|id| id.short().to_string());
    let short = porto.clone();

    let several = world.rejoin(["resume", "trip"]).run().naming(&[(&porto, "[port]"), (&lisbon, "[lisb]")]);
    let chosen = world.rejoin(["resume", "2"]).run();

    let told = "error: not running in a terminal to choose one of 2\n\
                hint: run `rejoin resume ID`, or use its number above\n";
    assert_eq!(several, Outcome { stdout: TWO.to_owned(), stderr: told.to_owned(), code: 1 });
    assert_eq!(chosen.naming(&[(&short, "[id]")]), resumed("Trip to Porto"));
}

#[test]
fn the_list_shows_what_can_be_resumed() {
    let world = World::new();
    let [_, _, taxes] = three(&world);
    world.archive().update(taxes, |header| header.status = Status::Paused).unwrap();

    let text = world.rejoin(["resume", "--list", "--limit", "1"]).run();
    let script = world.rejoin(["resume", "--list", "--json"]).run().json();

    let expected = "1. [chat] Taxes\n   [id] | Last active: just now | Status: paused\n   Summary: About Taxes.\n\n\
                    2 more: rejoin resume --list --limit 3\nResume one: rejoin resume NUMBER\n";
    let short = taxes.short().to_string();
    assert_eq!(text.naming(&[(&short, "[id]")]), Outcome::answer(expected));
    let first = &script["items"][0];
    let seen =
        json!([script["total"], script["next_cursor"], first["id"], first["status"], first["summary"]]);
    assert_eq!(seen, json!([3, null, taxes.to_string(), "paused", "About Taxes."]));
}

#[test]
fn a_number_is_of_the_last_list_and_one_that_is_gone_is_told() {
    let world = World::new();
    let [_, _, taxes] = three(&world);
    world.rejoin(["resume", "--list"]).run();
    world.rejoin(["delete", "taxes", "--yes"]).run();
    let short = taxes.short().to_string();

    let outcomes = [
        world.rejoin(["resume", "1"]).run().naming(&[(&short, "[id]")]),
        world.rejoin(["resume", "99"]).run(),
    ];

    let expected = [
        "✗ Conversation '[id]' not found\nList available: rejoin list\n",
        "✗ Conversation '99' not found\nList available: rejoin list\n\
         Look for it in what was said: rejoin search '99'\n",
    ];
    assert_eq!(outcomes, expected.map(|told| Outcome::failure(1, told)));
}

#[test]
fn with_nothing_to_resume_a_start_is_suggested() {
    let world = World::new();

    let outcomes = [world.rejoin(["resume"]).run(), world.rejoin(["resume", "--list"]).run()];

    let expected =
        "There is nothing to resume in this project.\nStart a conversation: rejoin \"your message\"\n";
    assert_eq!(outcomes, [expected, expected].map(Outcome::answer));
    assert!(!world.path("home/.local").exists(), "reading creates nothing");
}

#[test]
fn what_is_in_another_project_is_named() {
    let world = World::new();
    let [porto, ..] = three(&world);

    let outcome = world.rejoin(["resume", "trip to porto"]).from("home").run();

    let short = porto.short().to_string();
    let expected = "✗ Conversation 'trip to porto' not found\nList available: rejoin list\n\
                    In another project there is \"Trip to Porto\": rejoin resume [id]\n";
    assert_eq!(outcome.naming(&[(&short, "[id]")]), Outcome::failure(1, expected));
}

#[test]
fn a_completed_conversation_needs_a_word() {
    let world = World::new();
    let [_, _, taxes] = three(&world);
    world.rejoin(["stop", "taxes", "--complete"]).run();

    let codes =
        [world.rejoin(["resume", "taxes"]).run().code, world.rejoin(["resume", "taxes", "--yes"]).run().code];

    assert_eq!(codes, [1, 0]);
    assert_eq!(world.archive().conversation(taxes).unwrap().conversation.status, Status::Active);
}

#[test]
fn a_script_reads_what_was_resumed() {
    let world = World::new();
    let [porto, ..] = three(&world);

    let outcome = world.rejoin(["resume", "trip-to-porto", "--json"]).run();

    let read = outcome.json();
    let seen = json!([read["id"], read["active"], read["messages"], read["summary"], read["provider"]]);
    assert_eq!(seen, json!([porto.to_string(), true, 2, "About Trip to Porto.", "offline"]));
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
}

/// Leaves a reply that was still arriving, as a process with this name would.
fn plant(archive: &Archive, id: ConversationId, writer: &str) {
    let mut recorder = archive.record(archive.resume(id).unwrap(), writer);
    assert!(recorder.save_open(&Message::assistant("In Alfama there is a\u{1b}[2J"), &[]));
}

/// A conversation with an interrupted reply of a process that is gone.
fn interrupted(world: &World) -> ConversationId {
    let id: ConversationId = world.started("Lisbon").parse().unwrap();
    world.archive().resume(id).unwrap().append(Message::user("Where to eat?")).unwrap();
    plant(&world.archive(), id, "1@1");
    id
}

fn said(world: &World, id: ConversationId) -> Vec<(String, Option<String>)> {
    let path = world.archive().path(id, None).unwrap();
    path.into_iter().map(|said| (said.message.text(), said.message.finish)).collect()
}

#[test]
fn an_interrupted_reply_is_left_and_told_where_nobody_can_be_asked() {
    let world = World::new();
    let id = interrupted(&world);

    let outcome = world.rejoin(["resume", "lisbon"]).run();

    let expected = "[Resuming \"Lisbon\"]\n\
                    A reply was interrupted just now: \"In Alfama there is a\"\n\
                    It is not part of the conversation. To decide: --keep-partial or --discard-partial\n\
                    Resumed conversation with 1 messages\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (expected, 0));
    assert_eq!((said(&world, id).len(), world.archive().open_turns().list(id).unwrap().len()), (1, 1));
}

#[test]
fn an_interrupted_reply_can_be_kept() {
    let world = World::new();
    let id = interrupted(&world);

    let outcome = world.rejoin(["resume", "lisbon", "--keep-partial"]).run();

    let expected = "[Resuming \"Lisbon\"]\nThe partial reply was kept.\n\
                    Resumed conversation with 2 messages\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (expected, 0));
    let kept = ("In Alfama there is a\u{1b}[2J".to_owned(), Some("interrupted".to_owned()));
    assert_eq!(said(&world, id), [("Where to eat?".to_owned(), None), kept]);
    assert_eq!(world.archive().open_turns().list(id).unwrap(), []);
}

#[test]
fn an_interrupted_reply_can_be_discarded() {
    let world = World::new();
    let id = interrupted(&world);

    let outcome = world.rejoin(["-r", "--discard-partial", "--", "again"]).run();

    assert_eq!(outcome.code, 0);
    assert!(outcome.stderr.contains("The partial reply was discarded.\n"), "{}", outcome.stderr);
    assert_eq!(world.archive().open_turns().list(id).unwrap(), []);
    assert_eq!(said(&world, id)[1].0, "again");
}

#[test]
fn a_reply_that_was_kept_late_becomes_a_branch_and_the_head_stays() {
    let world = World::new();
    let id = interrupted(&world);
    world.rejoin(["-r", "--", "again"]).run();
    let before = said(&world, id);

    world.rejoin(["resume", "lisbon", "--keep-partial"]).run();

    assert_eq!(said(&world, id), before);
    assert_eq!(world.archive().conversation(id).unwrap().messages, before.len() as u64 + 1);
}

/// A process that lives until it is dropped, and the name it would write under.
struct Living(Child);

impl Living {
    fn start(world: &World) -> (Self, String) {
        // It waits for a message from the pipe.
        let child = world.program(&["-G"]).stdout(Stdio::null()).spawn().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        let (_, after) = status.rsplit_once(')').unwrap();
        let writer = format!("{}@{}", child.id(), after.split_whitespace().nth(19).unwrap());
        (Self(child), writer)
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_reply_that_is_still_arriving_elsewhere_is_left_alone() {
    let world = World::new();
    let id: ConversationId = world.started("Lisbon").parse().unwrap();
    world.archive().resume(id).unwrap().append(Message::user("Where to eat?")).unwrap();
    let (living, writer) = Living::start(&world);
    plant(&world.archive(), id, &writer);

    let outcome = world.rejoin(["resume", "lisbon", "--discard-partial"]).run();

    let process = living.0.id();
    let expected = format!(
        "[Resuming \"Lisbon\"]\n\
         Another rejoin (process {process}) is talking here; what you say becomes a branch.\n\
         Resumed conversation with 1 messages\n"
    );
    assert_eq!((outcome.stderr, outcome.code), (expected, 0));
    assert_eq!(world.archive().open_turns().list(id).unwrap().len(), 1);
}
