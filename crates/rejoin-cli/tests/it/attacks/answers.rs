//! Only what is typed as the answer to a question answers it.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::attempt::{Attempt, Target, assert_all_fail};
use super::consent::{question, world_asking};
use crate::terminal::Terminal;
use crate::world::World;

/// Types letter by letter, as somebody does who writes or holds a key.
fn type_slowly(terminal: &Terminal<'_>, text: &str) {
    for letter in text.chars() {
        terminal.letters(&letter.to_string());
        thread::sleep(Duration::from_millis(60));
    }
}

#[test]
fn what_is_typed_when_a_question_appears_does_not_answer_it() {
    let (world, _server) = world_asking(vec![
        ("run", json!({"command": "touch one #T0."})),
        ("run", json!({"command": "touch two #T1."})),
    ]);
    let Some(terminal) = Terminal::open(&world, 80, 24) else { return };
    let exists = |name: &str| world.path("project").join(name).exists();
    terminal.enter("rejoin go");
    question(&terminal, "#T0.");
    type_slowly(&terminal, "say a day, yes very yay");
    let is_still_asked = question(&terminal, "#T0.");
    let is_run_by_typing = exists("one");

    terminal.press("y");
    question(&terminal, "#T1.");
    type_slowly(&terminal, "yyyyyyyyyy");
    let is_run_by_holding = exists("two");
    terminal.key("C-c");
    terminal.wait_for_last("$");

    // The same letters count where they are meant.
    let is_control = exists("one");
    let attempts = [
        Attempt::new("typed text", |target| match target {
            Target::Guarded => is_run_by_typing || !is_still_asked.contains("#T0."),
            Target::Control => is_control,
        }),
        Attempt::new("held key", |target| match target {
            Target::Guarded => is_run_by_holding || exists("two"),
            Target::Control => is_control,
        }),
    ];
    assert_all_fail(&attempts);
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let world = World::new();
    world.write("project/.rejoin/project", "trip-0190\n");
    let conversation = world.started("Lisbon");
    world.project_config("tools.allow = [\"run(ls)\"]\n");
    world.write("clone/.git/HEAD", "");
    world.write("clone/.rejoin/project", "trip-0190\n");
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };
    let go = world.path("go");
    let typed_ahead = |command: &str| {
        let wait = format!("until [ -e {} ]; do sleep 0.05; done", go.display());
        terminal.enter(&format!("clear; echo wai''ts; {wait}; {command}"));
        terminal.wait_for("waits");
        terminal.enter("y");
        terminal
            .wait_until("the echo of what was typed", |screen| screen.lines().any(|line| line.trim() == "y"));
        fs::write(&go, "").unwrap();
        // What was typed is echoed; the program's own question comes after it.
        let screen = terminal.wait_until("the question or the shell", |screen| {
            let last = screen.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            last.trim_end().ends_with("[y/N]") || last.trim_end() == "$"
        });
        fs::remove_file(&go).unwrap();
        screen.trim_end().ends_with('$')
    };
    let answers = |answer: &str| {
        terminal.enter(answer);
        terminal.wait_for_last("$");
    };
    let is_trusted = || world.rejoin(["config", "get", "tools.allow"]).run().stdout.contains("ls");
    let ask_each = |answer: &str| {
        ["rejoin trust", &format!("rejoin delete {conversation}"), "cd ../clone; rejoin list"].map(
            |command| {
                let is_answered = typed_ahead(command);
                if !is_answered {
                    answers(answer);
                }
                is_answered
            },
        )
    };

    let answered = ask_each("n");
    let is_kept = world.rejoin(["list"]).run().stdout.contains("Lisbon");
    let is_trusted_by_typing = is_trusted();
    // The same word counts after the question.
    terminal.enter("cd ../project; clear; rejoin trust");
    terminal.wait_for("[y/N]");
    answers("y");

    let attempts = [
        Attempt::new("trust", |target| match target {
            Target::Guarded => answered[0] || is_trusted_by_typing,
            Target::Control => is_trusted(),
        }),
        Attempt::new("deletion", |target| match target {
            Target::Guarded => answered[1] || !is_kept,
            Target::Control => is_trusted(),
        }),
        Attempt::new("the id of another project", |target| match target {
            Target::Guarded => answered[2],
            Target::Control => is_trusted(),
        }),
    ];
    assert_all_fail(&attempts);
}
