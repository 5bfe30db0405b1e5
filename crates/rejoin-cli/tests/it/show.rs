//! `rejoin show`: what was said, along a branch.

use std::io::{self, BufRead, BufReader, Read};
use std::process::Stdio;

use rejoin::Message;
use serde_json::json;

use crate::terminal::Terminal;
use crate::world::{Outcome, World, short};

const TALK: &str = r#"{"role":"user","content":"Where to eat?","created_at":"2026-01-15T10:30:00Z","label":"food"}
{"role":"assistant","content":[{"type":"text","text":"In \u001b[31mAlfama\u009b2J.\u0000"},{"type":"tool_call","id":"c1","name":"map","input":{"zoom": 1.50}}],"created_at":"2026-01-15T10:31:00Z","usage":{"input_tokens":3,"output_tokens":4}}
"#;

#[test]
fn a_conversation_is_shown_along_its_current_branch() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append("lisbon", TALK);

    let outcomes = [
        world.rejoin(["show", "lisbon"]).run(),
        world.rejoin(["print"]).run(),
        world.rejoin(["view", &ids[1]]).run(),
        world.rejoin(["conversation", "print", &ids[1]]).run(),
    ];

    let expected = "\
Lisbon
[lisbon] Status: active | 2 messages

[0] (2026-01-15 10:30) [USER] (food)
  Where to eat?

[1] (2026-01-15 10:31) [ASSISTANT]
  In Alfama.␀
  [tool call] map {\"zoom\": 1.50}
";
    let names = [(short(&id), "[lisbon]"), (ids[0].clone(), "[0]"), (ids[1].clone(), "[1]")];
    let names = names.each_ref().map(|(id, name)| (id.as_str(), *name));
    assert_eq!(outcomes.map(|outcome| outcome.naming(&names)), [(); 4].map(|()| Outcome::answer(expected)));
}

#[test]
fn a_message_is_shown_with_what_leads_to_it() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append("lisbon", TALK);

    let outcome = world.rejoin(["show", &ids[0]]).run();

    let expected = "Lisbon\n[lisbon] Status: active | 1 of 2 messages\n\n\
                    [0] (2026-01-15 10:30) [USER] (food)\n  Where to eat?\n";
    assert_eq!(outcome.naming(&[(&short(&id), "[lisbon]"), (&ids[0], "[0]")]), Outcome::answer(expected));
}

#[test]
fn a_script_reads_messages_with_all_their_blocks() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append("lisbon", TALK);
    let path = world.archive().path(id.parse().unwrap(), None).unwrap();

    let outcome = world.rejoin(["show", "lisbon", "--json"]).run();

    let answer = outcome.json();
    let listed = world.rejoin(["list", "--json"]).run().json();
    let text = "In \u{1b}[31mAlfama\u{9b}2J.\0";
    let messages = json!([
        {"id": ids[0], "parent": null, "role": "user", "label": "food", "created_at": "2026-01-15T10:30:00.000000Z",
         "text": "Where to eat?", "blocks": [{"type": "text", "text": "Where to eat?"}], "seq": 1,
         "digest": path[0].digest, "pinned": false, "is_error": false},
        {"id": ids[1], "parent": ids[0], "role": "assistant", "label": null,
         "created_at": "2026-01-15T10:31:00.000000Z", "text": text,
         "blocks": [{"type": "text", "text": text},
                    {"type": "tool_call", "id": "c1", "name": "map", "input": {"zoom": 1.5}}],
         "seq": 2, "digest": path[1].digest, "pinned": false, "is_error": false,
         "usage": {"input_tokens": 3, "output_tokens": 4}},
    ]);
    assert_eq!(answer, json!({"conversation": listed["items"][0], "messages": messages}));
    assert!(outcome.stdout.contains("{\"zoom\": 1.50}"), "stored JSON is passed on as it was written");
    assert!(outcome.stdout.trim().chars().all(|letter| !letter.is_control()), "{:?}", outcome.stdout);
}

#[test]
fn a_named_branch_is_found_by_its_name_or_id() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append("lisbon", TALK);
    let archive = world.archive();
    let trip = archive.resume(id.parse().unwrap()).unwrap();
    trip.fork(ids[0].parse().unwrap(), "On a budget")
        .unwrap()
        .append(Message::assistant("A tasca."))
        .unwrap();
    archive.rewind(id.parse().unwrap(), ids[1].parse().unwrap()).unwrap();
    let branch = trip.conversation().unwrap().branches[0].id.to_string();

    let texts = ["On a budget", "on-a-budget", &branch].map(|name| {
        let outcome = world.rejoin(["show", "lisbon", "--json", "--branch", name]).run();
        outcome.json()["messages"][1]["text"].clone()
    });
    let missing = world.rejoin(["show", "lisbon", "--branch", "x\u{1b}[2J"]).run();

    assert_eq!(texts, [(); 3].map(|()| json!("A tasca.")));
    let expected = "error: no branch `x`\nhint: its branches are On a budget ([branch])\n";
    assert_eq!(missing.naming(&[(&branch, "[branch]")]), Outcome::failure(1, expected));
}

#[test]
fn an_empty_conversation_says_how_to_go_on() {
    let world = World::new();
    let id = world.started("Lisbon");

    let outcomes = [world.rejoin(["show"]).run(), world.rejoin(["show", "--json"]).run()];

    let names = [(short(&id), "[lisbon]")];
    let names = names.each_ref().map(|(id, name)| (id.as_str(), *name));
    let [text, script] = outcomes;
    let expected = "Lisbon\n[lisbon] Status: active | 0 messages\n\n\
                    Conversation [lisbon] has no turns. Add one: rejoin append [lisbon] \"your message\"\n";
    assert_eq!(text.naming(&names), Outcome::answer(expected));
    assert_eq!(script.json()["messages"], json!([]));
}

#[test]
fn what_cannot_be_shown_is_told_with_the_next_step() {
    let world = World::new();
    let names = ["nosuch", "../../etc/passwd", "a b", "", "'; DROP TABLE message; --", "$(reboot)"];

    let told = names.map(|name| world.rejoin(["show", name]).run());
    let none = world.rejoin(["show"]).run();

    let list = "hint: run `rejoin list` to see conversations, `rejoin tree` for messages\n";
    let ids = "hint: run `rejoin list` for IDs; the first characters are enough\n";
    let expected = [
        format!("error: no conversation or message `nosuch`\n{list}"),
        format!("error: no conversation or message `../../etc/passwd`\n{list}"),
        format!("error: `a b` cannot be the name of anything\n{ids}"),
        format!("error: an id must not be empty\n{ids}"),
        format!("error: `'; DROP TABLE message; --` cannot be the name of anything\n{ids}"),
        format!("error: no conversation or message `$(reboot)`\n{list}"),
    ];
    assert_eq!(told, expected.map(|told| Outcome::failure(1, &told)));
    assert_eq!(
        none,
        Outcome::failure(
            1,
            "error: no active conversation in this project\nhint: run `rejoin list` to see the conversations\n"
        )
    );
    assert!(!world.path("home/.local").exists(), "reading creates nothing");
}

#[test]
fn a_reader_that_leaves_after_the_first_line_is_no_failure() {
    let world = World::new();
    world.started("Lisbon");
    let line = format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", "word ".repeat(100_000));
    world.append("lisbon", &line);
    let mut child = world.program(&["show", "lisbon"]).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();

    output.read_line(&mut first).unwrap();
    drop(output);

    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!((first.as_str(), child.wait().unwrap().code(), complaint.as_str()), ("Lisbon\n", Some(0), ""));
}

#[test]
fn a_conversation_that_does_not_fit_in_memory_is_shown() {
    for (world, length) in [(World::new(), "--full"), (World::of_files(), "--json")] {
        let id = world.started("Lisbon");
        let line = format!("{{\"role\":\"user\",\"content\":\"{}\"}}\n", "word ".repeat(200_000));
        world.append(&id, &line.repeat(60));

        let mut child = world.program(&["show", length, &id]).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        // The end of the answer does not fit in the pipe, so the process is still there.
        io::copy(&mut output.by_ref().take(59_900_000), &mut io::sink()).unwrap();
        let kilobytes = crate::import_scale::peak(&format!("/proc/{}/status", child.id()));
        let rest = io::copy(&mut output, &mut io::sink()).unwrap();

        assert!(child.wait().unwrap().success());
        assert!(rest > 70_000, "{rest} bytes are left");
        assert!((1..50_000).contains(&kilobytes), "{length}: {kilobytes} kB");
    }
}

#[test]
fn a_terminal_shows_replies_drawn_and_a_pipe_as_they_were_written() {
    let world = World::new();
    world.started("Lisbon");
    let long = "x".repeat(70);
    let reply = format!("# Food\n\n- a *tasca*\n\n```sh\n{long}\n```\n");
    let line = json!({"role": "assistant", "content": reply});
    world.append("lisbon", &format!("{{\"role\":\"user\",\"content\":\"# Where?\"}}\n{line}\n"));
    let Some(terminal) = Terminal::open(&world, 60, 24) else { return };

    terminal.enter("clear; rejoin show lisbon");
    let screen = terminal.wait_for("a tasca");
    let piped = world.rejoin(["show", "lisbon"]).run().stdout;

    let (first, rest) = long.split_at(58);
    let lines = ["  # Where?", "  Food", "  • a tasca", &format!("  {first}"), &format!("  {rest}")];
    assert!(lines.iter().all(|line| screen.lines().any(|own| own.trim_end() == *line)), "{screen}");
    assert!(piped.contains("\n  # Food\n\n  - a *tasca*\n\n  ```sh\n"), "{piped}");
}
