//! The main job at a real terminal, with a model that is cut off in the middle of a sentence.

use std::process::Command;

use rejoin::{List, Role, StoredConversation};
use serde_json::{Value, json};

use crate::model_server::{ModelServer, Step, call, end, reply, text};
use crate::terminal::Terminal;
use crate::world::World;

/// What a request asks: the last thing the user said.
fn asked(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let last = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    match &last["content"] {
        Value::String(text) => text.clone(),
        parts => parts[0]["text"].as_str().unwrap_or_default().to_owned(),
    }
}

fn newest(world: &World) -> StoredConversation {
    world.archive().list(&List::default()).unwrap().items.remove(0)
}

/// The process that talks in this world, found by what it has open.
fn talker(world: &World) -> u32 {
    let store = world.store();
    let is_ours = |directory: &std::fs::DirEntry| {
        let name = std::fs::read_to_string(directory.path().join("comm")).unwrap_or_default();
        let files = std::fs::read_dir(directory.path().join("fd")).into_iter().flatten().flatten();
        name.trim() == "rejoin"
            && files.flat_map(|file| std::fs::read_link(file.path())).any(|file| file == store)
    };
    let found = std::fs::read_dir("/proc").unwrap().flatten().find(is_ours).expect("it is running");
    found.file_name().to_str().unwrap().parse().unwrap()
}

#[test]
fn a_talk_is_cut_off_taken_up_branched_stopped_and_found_again() {
    let server = ModelServer::start(|request| match asked(request).as_str() {
        "Where to eat?" => vec![
            text("In **Alfama** there is a small place, "),
            Step::Rest(std::time::Duration::from_millis(2_500)),
            text("and then it"),
            Step::Hold,
        ],
        other => reply(&format!("You said: {other}")),
    });
    let world = World::new();
    world.user_config(&server.config());
    let Some(terminal) = Terminal::open(&world, 80, 50) else { return };

    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("My budget is small.");
    terminal.wait_for("You said: My budget is small.");
    terminal.wait_for_last(">");
    terminal.enter("Where to eat?");
    server.wait_until_held();
    terminal.wait_for("and then");
    let killed = Command::new("kill").args(["-9", &talker(&world).to_string()]).status().unwrap();
    assert!(killed.success());
    terminal.wait_for("Killed");
    terminal.enter("clear; rejoin -r");
    let offered = terminal.wait_for("interrupted");
    assert!(offered.contains("In **Alfama** there is a small place"), "{offered}");
    terminal.enter("k");
    terminal.wait_for_last(">");
    terminal.enter("/fork");
    terminal.wait_for("You are on the branch");
    terminal.enter("And cheaper?");
    terminal.wait_for("You said: And cheaper?");
    terminal.wait_for_last(">");
    terminal.enter("/rewind");
    terminal.wait_for_last("> And cheaper?");
    terminal.enter(" By tram.");
    terminal.wait_for("You said: And cheaper? By tram.");
    terminal.wait_for_last(">");
    terminal.key("C-l");
    terminal.enter("/tree");
    let tree = terminal.wait_for("------");
    assert!(tree.contains("And cheaper?") && tree.contains("By tram."), "{tree}");
    terminal.enter("/stop");
    terminal.wait_for("Session saved.");
    terminal.wait_for("has been paused.");
    terminal.wait_for_last("$");
    terminal.enter("clear; rejoin resume budget");
    let back = terminal.wait_for("Resumed conversation with");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");

    assert!(back.contains("[Resuming \""), "{back}");
    let cheaper = server.requests().into_iter().find(|request| asked(request) == "And cheaper?").unwrap();
    let told = cheaper["messages"].to_string();
    assert!(told.contains("In **Alfama** there is a small place, "), "{told}");
    let archive = world.archive();
    let path = archive.path(newest(&world).id, None).unwrap();
    let partial = path.iter().find(|stored| stored.message.finish.as_deref() == Some("interrupted"));
    let partial = &partial.expect("the partial reply was kept").message;
    assert_eq!(partial.role, Role::Assistant);
    assert!(partial.text().starts_with("In **Alfama** there is a small place, "), "{}", partial.text());
}

#[test]
fn a_tool_asks_runs_and_is_recorded_with_its_result() {
    let server = ModelServer::start(|request| {
        let has_result =
            request["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool");
        if has_result {
            return reply("It is done.");
        }
        vec![call("c1", "write", &json!({"path": "note.txt", "content": "hello\n"})), end("tool_calls")]
    });
    let world = World::new();
    world.user_config(&server.config());

    let refused = world.rejoin(["write a note"]).run();
    let was_written = world.path("project/note.txt").exists();
    let allowed = world.rejoin(["--allow", "write", "write a note"]).run();

    assert!(!was_written, "{refused:?}");
    assert!(refused.stderr.contains("--allow"), "{refused:?}");
    assert_eq!((allowed.code, world.read("project/note.txt").as_str()), (0, "hello\n"));
    assert!(allowed.stdout.contains("It is done."), "{allowed:?}");
    let path = world.archive().path(newest(&world).id, None).unwrap();
    let roles: Vec<Role> = path.iter().map(|stored| stored.message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
}

#[test]
fn a_provider_that_fails_is_asked_again_and_the_talk_goes_on() {
    let counter = std::sync::atomic::AtomicUsize::new(0);
    let server = ModelServer::start(move |_| {
        let failure = |status| {
            vec![Step::Status(
                status,
                &[("retry-after-ms", "10")],
                r#"{"error":{"message":"busy"}}"#.to_owned(),
            )]
        };
        match counter.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => failure(429),
            1 => failure(500),
            2 => failure(529),
            3 => vec![text("Half a"), Step::HangUp],
            _ => reply("The whole."),
        }
    });
    let world = World::new();
    world.user_config(&server.config());

    let outcome = world.rejoin(["hello"]).run();

    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(outcome.stdout.ends_with("The whole.\n"), "{outcome:?}");
    let path = world.archive().path(newest(&world).id, None).unwrap();
    let texts: Vec<String> = path.iter().map(|stored| stored.message.text()).collect();
    assert_eq!(texts, ["hello", "The whole."]);
}

#[test]
fn of_two_that_talk_at_once_the_later_becomes_a_branch_and_is_told() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 80, 40) else { return };
    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("my bicycle is green");
    terminal.wait_for("What you said is kept");
    terminal.wait_for_last(">");

    let other = world.rejoin(["-r", "from elsewhere"]).run();
    terminal.enter("second");
    let told = terminal.wait_for("so this is a branch");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");

    assert_eq!(other.code, 0, "{other:?}");
    assert!(told.contains("rejoin tree"), "{told}");
    let archive = world.archive();
    let order = rejoin::store::Order::OldestFirst;
    let all = archive.reader().all_messages(newest(&world).id, order, 0, u64::MAX).unwrap();
    let parent_of = |text: &str| all.iter().find(|stored| stored.message.text() == text).unwrap().parent;
    assert_eq!((all.len(), parent_of("second")), (6, parent_of("from elsewhere")));
}
