//! An imported conversation is found by the id that it has in its source.

use std::fs;

use rejoin::{ConversationId, List};

use crate::terminal::Terminal;
use crate::world::{Outcome, World};

/// Files that the program of each document writes, below the fixtures of the library.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../rejoin/tests/fixtures");

const TOPIC: &str = "001-brainstorm-topic";

/// Commands that take the name of a conversation, and do not remove it.
const COMMANDS: [&str; 7] = ["show", "tree", "resume", "stop", "export", "verify", "keep"];

/// Imports a file or folder into a new world and says which conversations it became.
fn imported(path: &str) -> (World, Vec<ConversationId>) {
    let world = World::new();
    let outcome = world.rejoin(["import", &format!("{FIXTURES}/{path}")]).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let items = world.archive().list(&List::default()).unwrap().items;
    let ids = items.iter().map(|stored| stored.id).collect();
    (world, ids)
}

/// Writes a Cortext conversation about a topic on a day, below `home/notes`.
fn cortext(world: &World, day: &str, said: &str) {
    let folder = format!("home/notes/conversations/{day}/{TOPIC}");
    let state = format!(
        r#"{{"version":"1.0","conversation_id":"{TOPIC}","conversation_type":"brainstorm","status":"paused",
           "created_at":"{day}T10:00:00Z","last_active":"{day}T10:42:10Z","message_count":1,
           "agent_config":{{"command":"/workspace.brainstorm"}}}}"#
    );
    world.write(&format!("{folder}/.session/session.json"), &state);
    let line = format!(r#"{{"role":"user","content":"{said}","timestamp":"{day}T10:00:05Z"}}"#);
    world.write(&format!("{folder}/.session/messages.jsonl"), &format!("{line}\n"));
    world.write(&format!("{folder}/brainstorm.md"), &format!("# {said}\n"));
}

/// Two conversations that are called the same at their source, on two days.
fn two_days() -> World {
    let world = World::new();
    cortext(&world, "2025-11-22", "Boats");
    cortext(&world, "2025-11-23", "Trains");
    let outcome = world.rejoin(["import", world.path("home/notes").to_str().unwrap()]).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    world
}

#[test]
fn a_conversation_is_found_by_the_id_of_its_source() {
    let world = World::new();
    let content = r#"[{"type":"input_text","text":"Where to eat?"}]"#;
    let item = format!(r#"{{"type":"message","role":"user","content":{content}}}"#);
    let line = format!(r#"{{"timestamp":1699564800,"items":[{item}]}}"#);
    let file = world.path("conv_abc123.jsonl");
    fs::write(&file, format!("{line}\n")).unwrap();
    world.rejoin(["import", file.to_str().unwrap()]).run();

    let short: [[&str; 2]; 4] = ["show", "tree", "resume", "stop"].map(|command| [command, "conv_abc123"]);
    let long = [["rename", "conv_abc123", "Lisbon"], ["delete", "conv_abc123", "--yes"]];
    let codes =
        (short.map(|words| world.rejoin(words).run().code), long.map(|words| world.rejoin(words).run().code));
    let gone = world.rejoin(["show", "conv_abc123"]).run().code;

    assert_eq!((codes, gone), (([0; 4], [0; 2]), 1));
}

#[test]
fn an_imported_cortext_conversation_is_resumed_without_its_command() {
    let (world, _) = imported("cortext");

    let outcome = world.rejoin(["-r", TOPIC, "and GraphQL?"]).run();

    let warning = "warning: there is no file for the command `/workspace.brainstorm`; the conversation goes on \
                   without its instructions\n";
    assert_eq!((outcome.stderr.contains(warning), outcome.code), (true, 0), "{outcome:?}");
}

#[test]
fn every_command_knows_the_ids_of_every_source() {
    let sources = [
        ("cortext", TOPIC),
        ("cortext", "2025-11-22/001-brainstorm-topic"),
        ("envoy", "01932d4b-4567-7890-abcd-123456789def"),
        ("envoy", "01932d4c-89ab-7890-abcd-123456789ghi"),
        ("agent-voice", "3f2b8c1e-9d4a-4f6b-8a7e-1c2d3e4f5a6b"),
        ("cody", "conv_abc123"),
    ];

    let failed: Vec<String> = sources
        .into_iter()
        .flat_map(|(fixture, id)| {
            let (world, _) = imported(fixture);
            let talking = [world.rejoin(["-r", id, "and on"]).run()];
            let others = COMMANDS.map(|command| world.rejoin([command, id]).run());
            let named = talking.into_iter().chain(others).map(move |outcome| (id, outcome));
            named
                .filter(|(_, outcome)| outcome.code != 0)
                .map(|failed| format!("{failed:?}"))
                .collect::<Vec<_>>()
        })
        .collect();

    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn one_id_on_two_days_lists_the_matches() {
    let world = two_days();
    let short = |day: &str| {
        let shown = world.rejoin(["show", &format!("{day}/{TOPIC}"), "--json"]).run().json();
        let id: ConversationId = shown["conversation"]["id"].as_str().unwrap().parse().unwrap();
        id.short().to_string()
    };
    let ids = [short("2025-11-22"), short("2025-11-23")];

    let commands = ["show", "tree", "verify", "stop"].map(|command| world.rejoin([command, TOPIC]).run());
    let talking = world.rejoin(["-r", TOPIC, "and on"]).run();
    let resuming = world.rejoin(["resume", TOPIC]).run();

    let names = [(ids[0].as_str(), "[1]"), (ids[1].as_str(), "[2]")];
    let told = "error: `001-brainstorm-topic` could be any of 2\n\
                hint: use its own ID: `[2]` (Trains, 2025-11-23), `[1]` (Boats, 2025-11-22)\n";
    let expected = Outcome::failure(1, told);
    assert_eq!(commands.map(|outcome| outcome.naming(&names)), [(); 4].map(|()| Outcome::failure(1, told)));
    assert_eq!(talking.naming(&names), expected);
    assert!(ids.iter().all(|id| resuming.stdout.contains(id)), "{resuming:?}");
    assert_eq!(resuming.code, 1);
}

#[test]
fn at_the_prompt_an_id_of_the_source_resumes_and_several_ask() {
    let world = two_days();
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");

    terminal.enter(&format!("/resume {TOPIC}"));
    terminal.wait_for("Which conversation would you like to continue?");
    terminal.enter("2");
    let chosen = terminal.wait_for("[Resuming \"Boats\"]");
    terminal.wait_for_last(">");
    terminal.enter(&format!("/resume 2025-11-23/{TOPIC}"));

    assert!(chosen.contains("Trains"), "{chosen}");
    terminal.wait_for("[Resuming \"Trains\"]");
}
