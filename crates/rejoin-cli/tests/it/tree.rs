//! `rejoin tree`: messages in the manner of `git log`.

use serde_json::json;

use crate::terminal::Terminal;
use crate::world::{Outcome, World, short};

/// The documents' example: two follow-ups to one answer.
fn example(world: &World) -> Vec<String> {
    let line = |role: &str, minute: u32, text: &str, parent: Option<&str>| {
        let mut line =
            json!({"role": role, "content": text, "created_at": format!("2024-01-15T10:{minute}:00Z")});
        line["parent"] = json!(parent);
        line.to_string()
    };
    let mut ids = world.append(
        "lisbon",
        &[
            line("user", 30, "Hello, can you help me?", None),
            line("assistant", 31, "Of course!\nWhat do you need?", None),
            line("user", 32, "I need help with Go", None),
            line("assistant", 33, "Sure, what's your question?\u{1b}[2J", None),
        ]
        .join("\n"),
    );
    let second = line("user", 35, "Actually, Python instead", Some(&ids[1]));
    ids.extend(world.append("lisbon", &second));
    ids
}

fn naming(outcome: Outcome, ids: &[String]) -> Outcome {
    let letters = ["aaaaaa", "bbbbbb", "cccccc", "dddddd", "eeeeee"];
    let names: Vec<(&str, &str)> = ids.iter().map(String::as_str).zip(letters).collect();
    outcome.naming(&names)
}

#[test]
fn the_tree_of_a_conversation_is_the_documented_one() {
    let world = World::new();
    world.started("Lisbon");
    let ids = example(&world);

    let outcomes = [
        world.rejoin(["tree", "lisbon"]).run(),
        world.rejoin(["convo", "ls", "lisbon", "--style", "compact"]).run(),
    ];

    let full = "\
aaaaaa (2024-01-15 10:30) [USER] Hello, can you help me?
    bbbbbb (2024-01-15 10:31) [ASSISTANT] Of course! What do you need?
        cccccc (2024-01-15 10:32) [USER] I need help with Go
            dddddd (2024-01-15 10:33) [ASSISTANT] Sure, what's your question?
            ------
        eeeeee (2024-01-15 10:35) [USER] (current) Actually, Python instead
        ------
";
    let compact = "\
aaaaaa (2024-01-15 10:30) [USER] Hello, can you help me?
bbbbbb (2024-01-15 10:31) [ASSISTANT] Of course! What do you need?
    cccccc (2024-01-15 10:32) [USER] I need help with Go
    dddddd (2024-01-15 10:33) [ASSISTANT] Sure, what's your question?
    ------
    eeeeee (2024-01-15 10:35) [USER] (current) Actually, Python instead
    ------
";
    assert_eq!(outcomes.map(|outcome| naming(outcome, &ids)), [full, compact].map(Outcome::answer));
}

#[test]
fn a_script_reads_each_message_inside_the_one_it_follows() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = example(&world);
    let branch = world.archive().fork(id.parse().unwrap(), ids[3].parse().unwrap(), "Go").unwrap();

    let outcome = world.rejoin(["tree", "lisbon", "--json"]).run();

    let at = |minute: u32| format!("2024-01-15T10:{minute}:00.000000Z");
    let fourth = json!({
        "id": ids[3], "role": "assistant", "created_at": at(33), "text": "Sure, what's your question?\u{1b}[2J",
        "label": null, "branches": [branch], "children": [],
    });
    let third = json!({
        "id": ids[2], "role": "user", "created_at": at(32), "text": "I need help with Go", "label": null,
        "children": [fourth],
    });
    let fifth = json!({
        "id": ids[4], "role": "user", "created_at": at(35), "text": "Actually, Python instead", "label": null,
        "head": true, "children": [],
    });
    let second = json!({
        "id": ids[1], "role": "assistant", "created_at": at(31), "text": "Of course!\nWhat do you need?",
        "label": null, "children": [third, fifth],
    });
    let expected = json!({"roots": [{
        "id": ids[0], "role": "user", "created_at": at(30), "text": "Hello, can you help me?", "label": null,
        "conversation": id, "children": [second],
    }]});
    assert_eq!(outcome.json(), expected);
}

#[test]
fn labels_and_branches_are_shown_and_tools_named() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append(
        "lisbon",
        r#"{"role":"user","content":"a","label":"start\u001b[2J","created_at":"2024-01-15T10:30:00Z"}
{"role":"assistant","content":[{"type":"tool_call","id":"c","name":"map","input":{}}],"created_at":"2024-01-15T10:31:00Z"}
{"role":"tool","content":[{"type":"tool_result","call_id":"c","output":"here"}],"created_at":"2024-01-15T10:32:00Z"}"#,
    );
    world.archive().fork(id.parse().unwrap(), ids[0].parse().unwrap(), "On a \u{7}budget").unwrap();

    let outcome = world.rejoin(["tree", "lisbon"]).run();

    let expected = "\
aaaaaa (2024-01-15 10:30) [USER] (start, branch: On a ␇budget) a
    bbbbbb (2024-01-15 10:31) [ASSISTANT] [tool call] map {}
        cccccc (2024-01-15 10:32) [TOOL] here
        ------
";
    assert_eq!(naming(outcome, &ids), Outcome::answer(expected));
}

#[test]
fn every_conversation_of_the_project_is_shown_newest_last() {
    let world = World::new();
    world.write("other/.git/HEAD", "");
    let line =
        |text: &str| format!(r#"{{"role":"user","content":"{text}","created_at":"2024-01-15T10:30:00Z"}}"#);
    let porto = world.started("Porto");
    let first = world.append("porto", &line("By train?"));
    let lisbon = world.started("Lisbon");
    let second = world.append("lisbon", &line("Where to eat?"));
    world.started("Empty");

    let outcomes = [
        world.rejoin(["tree"]).run(),
        world.rejoin(["tree", "--all-projects"]).from("other").run(),
        world.rejoin(["tree"]).from("other").run(),
    ];

    let all = "\
Conversation [porto]: Porto
[first] (2024-01-15 10:30) [USER] By train?
------

Conversation [lisbon]: Lisbon
[second] (2024-01-15 10:30) [USER] Where to eat?
------
";
    let names = [
        (short(&porto), "[porto]"),
        (short(&lisbon), "[lisbon]"),
        (first[0].clone(), "[first]"),
        (second[0].clone(), "[second]"),
    ];
    let names = names.each_ref().map(|(id, name)| (id.as_str(), *name));
    let expected = [all, all, "No messages found.\n"].map(Outcome::answer);
    assert_eq!(outcomes.map(|outcome| outcome.naming(&names)), expected);
}

#[test]
fn without_messages_that_is_told() {
    let world = World::new();

    let outcomes = [world.rejoin(["tree"]).run(), world.rejoin(["tree", "--json"]).run()];

    assert_eq!(outcomes, ["No messages found.\n", "{\"roots\":[]}\n"].map(Outcome::answer));
}

#[test]
fn a_wrong_name_or_style_is_refused() {
    let world = World::new();

    let name = world.rejoin(["tree", "nosuch"]).run();
    let style = world.rejoin(["tree", "--style", "wide"]).run();

    let expected = "error: no conversation or message `nosuch`\nhint: run `rejoin list` to see conversations, `rejoin tree` for messages\n";
    assert_eq!(name, Outcome::failure(1, expected));
    assert_eq!(style.code, 2);
}

#[test]
fn on_a_terminal_the_tree_is_compact_and_fits_unless_it_is_the_documented_one() {
    let world = World::new();
    world.started("Lisbon");
    let ids = example(&world);
    let Some(terminal) = Terminal::open(&world, 50, 24) else { return };

    terminal.enter("clear; rejoin tree lisbon");
    let compact = terminal.wait_for("------");
    terminal.enter("clear; rejoin conversation list lisbon --no-pager");
    let full = terminal.wait_for("(2024-01-15 10:35)");

    let line = format!("{} [ASSISTANT] Of course! What do you need?", ids[1]);
    assert!(compact.lines().any(|own| own.trim_end() == line), "{compact}");
    assert!(full.contains(&format!("  {} (2024-01-15 10:31)", ids[1])), "{full}");
}
