//! Every answer on a terminal, byte by byte: nothing of what was stored reaches it as more than text.

use std::fs;
use std::process::Command;

use rejoin::{Conversation, Message};

use crate::hostile::{payloads, plant, talk};
use crate::skip::skip;
use crate::terminal::Terminal;
use crate::world::World;

/// What a terminal or a reader's eye would act on, but for line ends and tabs.
fn acts(character: char) -> bool {
    matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
        || matches!(character, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || matches!(character, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// What a command writes to a terminal, and whether it succeeds, without colours, without a
/// pager and without telling how far it is.
fn on_a_terminal(world: &World, command: &str) -> Option<(String, bool)> {
    let file = world.path("typescript");
    let outcome = Command::new("script")
        .args(["-qec", &format!("{} {command} --quiet", env!("CARGO_BIN_EXE_rejoin"))])
        .arg(&file)
        .current_dir(world.path("project"))
        .env_clear()
        .envs([("HOME", world.path("home").to_str().unwrap()), ("PATH", "/usr/bin:/bin"), ("TZ", "UTC")])
        .envs([("TERM", "xterm-256color"), ("NO_COLOR", "1"), ("PAGER", ""), ("LANG", "C.UTF-8")])
        .stdin(std::process::Stdio::null())
        .output();
    let Ok(outcome) = outcome else {
        skip("script is not installed");
        return None;
    };
    let bytes = fs::read(&file).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    // The first and the last line are those of `script` itself.
    let answer: Vec<&str> = text.lines().filter(|line| !line.starts_with("Script ")).collect();
    Some((answer.join("\n"), outcome.status.success()))
}

/// A conversation for each payload, which is its title, too.
fn plant_titles(world: &World) {
    let archive = world.archive();
    let project = world.path("project").to_str().unwrap().to_owned();
    for payload in payloads() {
        let mut own =
            archive.start(Conversation::titled(payload.clone()).in_project(project.clone())).unwrap();
        own.append_turn(talk(&payload).to_vec()).unwrap();
        own.append(Message::assistant(payload)).unwrap();
    }
}

#[test]
fn no_answer_carries_what_was_stored_to_the_terminal_as_more_than_text() {
    let world = World::new();
    let id = plant(&world).to_string();
    plant_titles(&world);
    let branch = world.archive().conversation(id.parse().unwrap()).unwrap().branches[0].head.to_string();
    let commands = [
        "list --limit 1000".to_owned(),
        "list --limit 1000 --json".to_owned(),
        "search PWN --limit 200".to_owned(),
        "search alert --limit 200".to_owned(),
        "search script --limit 200 --json".to_owned(),
        format!("tree {id}"),
        format!("tree {id} --style compact"),
        format!("tree {id} --json"),
        format!("show {branch} --full"),
        format!("show {id} --branch nothing-like-it"),
        format!("export {id} --output -"),
        format!("export {id} --output - --format html"),
        format!("export {id} --output - --format json"),
        format!("export {branch} --output - --format codex"),
        "export --all --format markdown --output out".to_owned(),
        "stats".to_owned(),
        "conversation list".to_owned(),
    ];

    for command in commands {
        let Some((answer, is_success)) = on_a_terminal(&world, &command) else { return };
        let found: Vec<char> =
            answer.chars().filter(|character| acts(*character) && *character != '\r').collect();

        assert_eq!(found, [], "{command}: {}", answer.escape_debug().take(3_000).collect::<String>());
        assert!(answer.len() > 20, "{command}: {answer}");
        assert_eq!(is_success, !command.contains("nothing-like-it"), "{command}: {answer}");
    }
}

#[test]
fn every_message_is_shown_as_text() {
    let world = World::new();
    let id = plant(&world);
    let heads: Vec<String> = world
        .archive()
        .conversation(id)
        .unwrap()
        .branches
        .iter()
        .map(|branch| branch.head.to_string())
        .collect();
    // Those that act on a terminal stand at the end of the file.
    let some: Vec<&String> = heads.iter().skip(140).step_by(3).collect();
    assert_eq!((heads.len(), some.len()), (payloads().len(), (payloads().len() - 140).div_ceil(3)));

    for head in some {
        let Some((answer, is_success)) = on_a_terminal(&world, &format!("show {head}")) else { return };
        let found: Vec<char> =
            answer.chars().filter(|character| acts(*character) && *character != '\r').collect();

        assert_eq!(found, [], "{head}: {}", answer.escape_debug());
        assert!(is_success && answer.contains("PWN begin"), "{head}: {answer}");
    }
}

/// The sequences in a payload: an escape character, or one of the second set, with what follows it.
fn sequences(payload: &str) -> Vec<String> {
    let starts =
        payload.char_indices().filter(|(_, character)| matches!(character, '\u{1b}' | '\u{80}'..='\u{9f}'));
    let whole = starts.map(|(place, _)| payload[place..].chars().take(12).collect::<String>());
    // The program's own sequences are as short as these.
    whole.filter(|sequence| sequence.chars().count() > 5).collect()
}

#[test]
fn the_list_to_pick_from_and_the_prompt_pass_nothing_on() {
    let world = World::new();
    plant(&world);
    plant_titles(&world);
    let Some(terminal) = Terminal::open(&world, 120, 50) else { return };
    let raw = world.path("raw");
    terminal.tmux(&["pipe-pane", "-o", &format!("cat > {}", raw.display())]);

    terminal.enter("export PAGER=; rejoin resume");
    terminal.wait_for("PWN");
    for _ in 0..20 {
        terminal.key("NPage");
    }
    terminal.letters("PWN");
    terminal.wait_for("PWN");
    terminal.key("Enter");
    terminal.wait_for_last(">");
    terminal.enter("/tree");
    terminal.wait_for_last(">");
    terminal.enter("/conversations");
    terminal.wait_for("Total: ");
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");

    let written = String::from_utf8_lossy(&fs::read(&raw).unwrap()).into_owned();
    let passed: Vec<String> = payloads()
        .iter()
        .flat_map(|payload| sequences(payload))
        .filter(|own| written.contains(own))
        .collect();
    let second: Vec<char> = written
        .chars()
        .filter(|character| matches!(character, '\u{80}'..='\u{9f}' | '\u{202a}'..='\u{202e}'))
        .collect();
    assert_eq!((passed, second), (Vec::<String>::new(), Vec::new()));
}
