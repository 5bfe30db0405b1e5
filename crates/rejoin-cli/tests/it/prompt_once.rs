//! One turn from the command line: what is sent, and what comes out where.

use std::io::Read;

use serde_json::{Value, json};

use crate::world::{Outcome, World};

/// What was said by the user in the newest conversation.
fn said(world: &World) -> Vec<String> {
    let archive = world.archive();
    let newest = archive.list(&rejoin::List::default()).unwrap().items.remove(0);
    let path = archive.path(newest.id, None).unwrap();
    let own = path.iter().filter(|stored| stored.message.role == rejoin::Role::User);
    own.map(|stored| stored.message.text()).collect()
}

#[test]
fn a_pipe_is_the_message_or_follows_it() {
    let world = World::new();

    let outcomes = [
        world.rejoin(["--quiet"]).input("my bicycle\nis green\n").run(),
        world.rejoin(["-r", "--quiet", "what is this?"]).input("\tfn main() {}\n\n").run(),
        world.rejoin(["-r", "--quiet", "and now?"]).run(),
    ];

    assert_eq!(outcomes.map(|outcome| outcome.code), [0, 0, 0]);
    assert_eq!(said(&world), ["my bicycle\nis green", "what is this?\n\n\tfn main() {}", "and now?"]);
}

#[test]
fn nothing_to_send_is_told() {
    let world = World::new();

    let outcomes = [world.rejoin([]).run(), world.rejoin(["-i", "hello"]).run()];

    let expected = [
        "error: there is nothing to send\nhint: run `rejoin \"your message\"`\n",
        "error: `--interactive` needs a terminal\nhint: omit `--interactive` or `--json`\n",
    ];
    assert_eq!(outcomes, expected.map(|told| Outcome::failure(2, told)));
}

#[test]
fn a_program_reads_events() {
    let world = World::new();

    let outcome = world.rejoin(["--json", "my bicycle is green"]).run();

    let events: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    names.dedup();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(names, ["saved", "text", "saved", "done"]);
    let (saved, done) = (&events[0], events.last().unwrap());
    let id = saved["conversation"].as_str().unwrap();
    let told = json!([
        saved["seq"],
        saved["forked"],
        done["conversation"],
        done["short"],
        done["finish"],
        done["cost"]
    ]);
    assert_eq!(told, json!([1, false, id, crate::world::short(id), "done", null]));
    assert_eq!(done["usage"], json!({"input_tokens": 0, "output_tokens": 0}));
}

#[test]
fn the_text_of_the_events_is_the_text_that_is_kept() {
    let world = World::new();

    let outcome = world.rejoin(["--json", "my bicycle is green"]).run();

    let events = outcome.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let text: String = events.filter_map(|event| event["text"].as_str().map(str::to_owned)).collect();
    let shown = world.rejoin(["show", "--json"]).run().json();
    assert_eq!(shown["messages"][1]["text"], json!(text));
}

#[test]
fn a_reader_that_went_away_is_no_failure() {
    let world = World::new();
    let mut child = world.program(&["--quiet", "hello"]).spawn().unwrap();
    drop(child.stdout.take());
    drop(child.stdin.take());
    let mut told = String::new();

    child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    let status = child.wait().unwrap();

    assert_eq!((status.code(), told.as_str()), (Some(0), ""));
}
