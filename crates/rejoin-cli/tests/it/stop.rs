//! `rejoin stop`: how a conversation is left, and that one left alone counts as paused.

use std::sync::Arc;

use rejoin::{Archive, Conversation, ConversationId, Message, Nature, Status, SystemNature, Time};
use serde_json::json;

use crate::world::{Outcome, World};

/// A clock that stands an hour ago.
#[derive(Debug)]
struct AnHourAgo;

impl Nature for AnHourAgo {
    fn now(&self) -> Time {
        SystemNature.now().plus_micros(-3_600_000_000)
    }

    fn fill(&self, bytes: &mut [u8]) {
        SystemNature.fill(bytes);
    }
}

fn status(archive: &Archive, id: ConversationId) -> Status {
    archive.conversation(id).unwrap().conversation.status
}

fn talked(world: &World) -> ConversationId {
    let id: ConversationId = world.started("Lisbon").parse().unwrap();
    let mut talk = world.archive().resume(id).unwrap();
    talk.append(Message::user("Where to eat?")).unwrap();
    talk.append(Message::assistant("In Alfama.")).unwrap();
    id
}

#[test]
fn stopping_says_what_was_paused_how_to_come_back_and_where_it_stopped() {
    let world = World::new();
    let id = talked(&world);

    let outcome = world.rejoin(["stop"]).run();

    let short = id.short().to_string();
    let expected = "Session saved.\nConversation \"Lisbon\" has been paused.\n\
                    You can continue later with rejoin resume [id]\n\
                    Summary: You said \"Where to eat?\". The reply was \"In Alfama\".\n";
    assert_eq!(outcome.naming(&[(&short, "[id]")]), Outcome::answer(expected));
    assert_eq!(status(&world.archive(), id), Status::Paused);
}

#[test]
fn a_conversation_can_be_completed_by_name() {
    let world = World::new();
    let id = talked(&world);
    world.started("Porto");

    let outcome = world.rejoin(["stop", "lisbon", "--complete", "--json"]).run();

    let expected = json!({
        "id": id.to_string(), "short": id.short().to_string(), "title": "Lisbon", "status": "completed",
        "summary": "You said \"Where to eat?\". The reply was \"In Alfama\".",
    });
    assert_eq!((outcome.json(), outcome.code), (expected, 0));
    assert_eq!(status(&world.archive(), id), Status::Completed);
}

#[test]
fn only_the_four_transitions_happen() {
    let world = World::new();
    talked(&world);
    let archive = world.archive();
    let run = |from, flag: &[&str]| {
        let id = archive.start(Conversation { status: from, ..Conversation::new() }).unwrap().id();
        let outcome = match flag {
            [] => world.rejoin(["stop", &id.to_string()]).run(),
            _ => world.rejoin(["stop", &id.to_string(), "--complete"]).run(),
        };
        (outcome.code, status(&archive, id))
    };
    let complete: &[&str] = &["--complete"];

    let outcomes = [
        run(Status::Active, &[]),
        run(Status::Active, complete),
        run(Status::Paused, complete),
        run(Status::Paused, &[]),
        run(Status::Completed, &[]),
        run(Status::Completed, complete),
    ];

    let expected = [
        (0, Status::Paused),
        (0, Status::Completed),
        (0, Status::Completed),
        (1, Status::Paused),
        (1, Status::Completed),
        (1, Status::Completed),
    ];
    assert_eq!(outcomes, expected);
}

#[test]
fn what_cannot_be_stopped_is_told() {
    let world = World::new();
    let id = talked(&world);
    let short = id.short().to_string();
    world.rejoin(["stop"]).run();

    let outcomes = [
        world.rejoin(["stop"]).run().naming(&[(&short, "[id]")]),
        world.rejoin(["stop", "nowhere"]).run(),
        world.rejoin(["stop"]).from("home").run(),
    ];

    let expected = [
        "error: \"Lisbon\" is paused already\nhint: run `rejoin resume [id]` to continue it\n",
        "✗ Conversation 'nowhere' not found\nList available: rejoin list\n",
        "error: no active conversation in this project\nhint: run `rejoin list` to see the conversations\n",
    ];
    assert_eq!(outcomes, expected.map(|told| Outcome::failure(1, told)));
}

#[test]
fn a_conversation_that_was_left_alone_counts_as_paused_and_nothing_is_written() {
    let world = World::new();
    world.started("Porto");
    let project = world.path("project").to_str().unwrap().to_owned();
    let earlier = world.archive().with_nature(Arc::new(AnHourAgo));
    let id = earlier.start(Conversation::titled("Lisbon").in_project(project)).unwrap().id();
    let titles = |outcome: Outcome| {
        let items = outcome.json()["items"].as_array().unwrap().clone();
        let told = items.iter().map(|item| format!("{} {}", item["title"], item["status"]).replace('"', ""));
        told.collect::<Vec<_>>()
    };

    let all = titles(world.rejoin(["list", "--json"]).run());
    let paused = world.rejoin(["list", "--status", "paused", "--json"]).run();
    let active = world.rejoin(["list", "--status", "active", "--limit", "1", "--json"]).run();
    let shown = world.rejoin(["show", "lisbon", "--json"]).run();

    assert_eq!(all, ["Porto active", "Lisbon paused"]);
    assert_eq!(paused.json()["total"], 1);
    assert_eq!([titles(paused), titles(active)], [vec!["Lisbon paused"], vec!["Porto active"]]);
    assert_eq!(shown.json()["conversation"]["status"], "paused");
    assert_eq!(status(&world.archive(), id), Status::Active);
}
