//! `rejoin handoff`: the agent goes on with what it is handed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rejoin::view::{Compaction, KeptMessage};
use rejoin::{Block, Fields, Json, Message, Role, Thinking, ToolResult};
use serde_json::{Value, json};

use crate::past::ask;
use crate::real_agent::{ANSWER, Agent, Desk};
use crate::world::{Outcome, World};

/// A talk with tools, and with thinking that only its own provider takes.
fn told(world: &World) -> String {
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");
    let thinking = Thinking { text: "Hmm.".to_owned(), ..Thinking::default() };
    let call = Block::tool_call("c1", "look up", Json::parse("{\"place\":\"Alfama\"}").unwrap());
    let output = Json::of(&"closed").unwrap();
    let result = ToolResult { call_id: "c1".to_owned(), output, is_error: true, extra: Fields::new() };
    trip.append_turn(vec![
        Message::user("Is it open?"),
        Message::new(Role::Assistant, vec![Block::Thinking(thinking), call]),
        Message::new(Role::Tool, vec![Block::ToolResult(result)]),
        Message::assistant("It is closed."),
    ])
    .unwrap();
    trip.id().to_string()
}

/// The only file below a directory.
fn only_file(directory: &Path) -> PathBuf {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    let entry = entries.remove(0);
    if entry.is_dir() { only_file(&entry) } else { entry }
}

#[test]
fn the_command_is_printed_and_the_session_is_private() {
    let world = World::new();
    let id = told(&world);

    let outcomes = ["codex", "claude"].map(|agent| world.rejoin(["handoff", &id, "--to", agent]).run());

    let files =
        [only_file(&world.path("home/.codex/sessions")), only_file(&world.path("home/.claude/projects"))];
    let names = files.each_ref().map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned());
    let sessions = names.each_ref().map(|name| name[name.len() - 36..].to_owned());
    let commands = [
        format!("cd [world]/project && codex resume {}\n", sessions[0]),
        format!("cd [world]/project && claude --resume {}\n", sessions[1]),
    ];
    assert_eq!(outcomes.each_ref().map(|outcome| outcome.stdout.clone()), commands);
    assert_eq!(outcomes.each_ref().map(|outcome| outcome.code), [0, 0]);
    assert_eq!(files.map(|file| fs::metadata(file).unwrap().permissions().mode() & 0o777), [0o600; 2]);
}

#[test]
fn what_was_changed_for_the_agent_is_told() {
    let world = World::new();
    let id = told(&world);

    let outcome = world.rejoin(["handoff", &id, "--to", "claude", "--dry-run"]).run();

    let stderr = "Thinking of another provider is left out.\n\
                  The tool name `look up` is not accepted; another is sent.\n";
    assert!(outcome.stderr.starts_with(stderr), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("\nWould write "), "{}", outcome.stderr);
    assert!(!world.path("home/.claude").exists());
}

#[test]
fn every_handoff_is_a_session_of_its_own_and_is_remembered() {
    let world = World::new();
    let id = told(&world);

    let answers = [0, 1].map(|_| world.rejoin(["handoff", &id, "--to", "codex", "--json"]).run().json());

    let header = world.archive().conversation(id.parse().unwrap()).unwrap();
    let remembered: Value = header.conversation.extra.field("handoffs").unwrap().to().unwrap();
    let sessions: Vec<&Value> =
        remembered.as_array().unwrap().iter().map(|handoff| &handoff["session"]).collect();
    assert_eq!(sessions, [&answers[0]["session"], &answers[1]["session"]]);
    assert_ne!(sessions[0], sessions[1]);
    let there = answers.map(|answer| {
        let path = answer["path"].as_str().unwrap().replace("[world]/", "");
        world.path(path).exists()
    });
    assert_eq!(there, [true, true]);
    assert_eq!(remembered[0]["message"], json!(header.head.unwrap().id));
}

#[test]
fn a_session_that_was_written_is_told_even_if_it_cannot_be_noted() {
    let world = World::new();
    let id = told(&world);
    world.user_config("limits.wait_seconds = 0\n");
    let holder = rusqlite::Connection::open(world.store()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();

    let outcome = world.rejoin(["handoff", &id, "--to", "codex"]).run();

    assert!(outcome.stderr.starts_with("warning: the hand-off was not noted: "), "{outcome:?}");
    assert!(outcome.stdout.starts_with("cd [world]/project && codex resume "), "{outcome:?}");
    assert!(only_file(&world.path("home/.codex/sessions")).exists());
}

#[test]
fn a_conversation_that_must_stay_is_not_handed_off() {
    let world = World::new();
    let id = told(&world);
    world.archive().update(id.parse().unwrap(), |header| header.privacy.exportable = false).unwrap();

    let outcome = world.rejoin(["handoff", &id, "--to", "codex"]).run();

    let short = crate::world::short(&id);
    let stderr = format!(
        "error: conversation `{id}` is marked as not exportable\n\
         hint: run `rejoin keep {short} --exportable yes` to allow it\n"
    );
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", stderr.as_str()));
    assert!(!world.path("home/.codex").exists());
}

#[test]
fn a_conversation_without_messages_is_not_handed_off() {
    let world = World::new();
    let id = world.started("Lisbon");
    let short = crate::world::short(&id);

    let outcome = world.rejoin(["handoff", "lisbon", "--to", "claude"]).run().naming(&[(&short, "[id]")]);

    let expected = "error: conversation `[id]` has nothing to hand over\n\
                    hint: say something in it first: `rejoin append [id] \"your message\"`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn an_agent_that_is_not_there_is_not_started() {
    let world = World::new();
    let id = told(&world);

    let outcome = world.rejoin(["handoff", &id, "--to", "codex", "--run"]).variable("PATH", "/nowhere").run();

    let stderr = "error: `codex` is not installed\nhint: install it: npm install -g @openai/codex\n";
    assert_eq!(outcome, Outcome::failure(1, stderr));
    assert!(!world.path("home/.codex").exists());
}

#[test]
fn the_agent_is_started_in_the_project() {
    let world = World::new();
    let id = told(&world);
    world.write("bin/codex", "#!/bin/sh\necho \"$PWD $1 $2\"\n");
    fs::set_permissions(world.path("bin/codex"), fs::Permissions::from_mode(0o755)).unwrap();
    let search = format!("{}:/usr/bin:/bin", world.path("bin").display());

    let outcome =
        world.rejoin(["handoff", &id, "--to", "codex", "--run"]).variable("PATH", &search).from("home").run();

    let file = only_file(&world.path("home/.codex/sessions"));
    let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
    assert_eq!(outcome.stdout, format!("[world]/project resume {}\n", &name[name.len() - 36..]));
}

#[test]
fn a_message_ends_what_is_handed_off_and_variables_say_where() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [_, answer] = ask(&mut trip, "Where to eat?", "In Alfama.");
    ask(&mut trip, "And drink?", "In Bica.");
    let place = world.path("elsewhere").display().to_string();

    let outcome = world
        .rejoin(["handoff", answer.as_str(), "--to", "claude", "--json"])
        .variable("CLAUDE_CONFIG_DIR", &place)
        .run();

    let text = fs::read_to_string(only_file(&world.path("elsewhere"))).unwrap();
    assert_eq!(outcome.code, 0);
    assert_eq!((text.contains("In Alfama."), text.contains("And drink?")), (true, false));
}

#[test]
fn what_a_compaction_left_out_is_not_handed_off() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    let [kept, _] = ask(&mut trip, "KEPT", "GONE");
    let mut compaction = Compaction::default();
    compaction.kept.push(KeptMessage { message: kept, text: None });
    trip.append(compaction.to_message("SUMMARY").unwrap()).unwrap();
    ask(&mut trip, "NEW", "NEWER");

    world.rejoin(["handoff", &trip.id().to_string(), "--to", "claude"]).run();

    let text = fs::read_to_string(only_file(&world.path("home/.claude"))).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let said: Vec<Value> = lines.map(|line| line["message"]["content"].clone()).collect();
    let newer = json!([{"type": "text", "text": "NEWER"}]);
    assert_eq!(said, [json!("KEPT"), json!("SUMMARY"), json!("NEW"), newer, Value::Null, Value::Null]);
}

/// What the agent sends when the printed command is run twice, once for each prompt.
fn sent(agent: Agent, headless: impl Fn(&str, &str) -> String) -> Option<Vec<Value>> {
    let commands = agent.installed()?;
    let world = World::new();
    let id = told(&world);
    let desk = Desk::at(agent, &commands, &world.path(""));
    let outcome = world.rejoin(["handoff", &id, "--to", agent.command()]).run();
    let command =
        outcome.stdout.trim().replace("[world]", world.path("").to_str().unwrap().trim_end_matches('/'));
    for prompt in ["FIRST", "SECOND"] {
        let output = desk.run(["sh", "-c", &headless(&command, prompt)]);
        assert!(output.status.success(), "{output:?}");
    }
    Some(desk.requests())
}

#[test]
fn claude_code_goes_on_with_the_printed_command() {
    let Some(requests) = sent(Agent::Claude, |command, prompt| format!("{command} -p {prompt}")) else {
        return;
    };

    let texts: Vec<Vec<String>> = requests.iter().map(|request| said(&request["messages"])).collect();
    let first = [
        "user Where to eat?",
        "assistant In Alfama.",
        "user Is it open?",
        "assistant look_up {\"place\":\"Alfama\"}",
        "user closed",
        "assistant It is closed.",
        "user FIRST",
    ];
    let answer = format!("assistant {ANSWER}");
    let second = [&first[..], &[answer.as_str(), "user SECOND"]].concat();
    assert_eq!(texts, [first.to_vec(), second]);
}

#[test]
fn codex_goes_on_with_the_printed_command() {
    let headless = |command: &str, prompt: &str| {
        let command = command.replace("codex resume", "codex exec --skip-git-repo-check resume");
        format!("{command} {prompt}")
    };
    let Some(requests) = sent(Agent::Codex, headless) else { return };

    let texts: Vec<Vec<String>> = requests.iter().map(|request| said(&request["input"])).collect();
    let first = [
        "user Where to eat?",
        "assistant In Alfama.",
        "user Is it open?",
        "call look_up {\"place\":\"Alfama\"}",
        "output Error: closed",
        "assistant It is closed.",
        "user FIRST",
    ];
    let answer = format!("assistant {ANSWER}");
    let second = [&first[..], &[answer.as_str(), "user SECOND"]].concat();
    assert_eq!(texts, [first.to_vec(), second]);
}

/// What is said in a request, a line each, without what the agents say of themselves.
fn said(list: &Value) -> Vec<String> {
    let own = [
        "<system-reminder>",
        "<skills_instructions>",
        "<permissions",
        "<environment_context>",
        "You are a coding agent",
    ];
    let mut lines = Vec::new();
    for item in list.as_array().unwrap() {
        let role = item["role"].as_str().unwrap_or_default();
        match (item["type"].as_str(), &item["content"]) {
            (Some("function_call"), _) => {
                lines.push(format!(
                    "call {} {}",
                    item["name"].as_str().unwrap(),
                    item["arguments"].as_str().unwrap()
                ));
            }
            (Some("function_call_output"), _) => {
                lines.push(format!("output {}", item["output"].as_str().unwrap()));
            }
            (_, Value::String(_)) if role == "system" => {}
            (_, Value::String(text)) => lines.push(format!("{role} {text}")),
            (_, content) => {
                for block in content.as_array().unwrap() {
                    let text = block["text"].as_str().or(block["content"].as_str());
                    match text {
                        Some(text) if own.iter().any(|own| text.starts_with(own)) => {}
                        Some(text) => lines.push(format!("{role} {text}")),
                        None => lines.push(format!(
                            "{role} {} {}",
                            block["name"].as_str().unwrap(),
                            block["input"]
                        )),
                    }
                }
            }
        }
    }
    lines
}
