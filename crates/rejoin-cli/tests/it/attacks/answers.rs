//! Only what is typed as the answer to a question answers it.

use std::thread;
use std::time::Duration;

use serde_json::json;

use super::attempt::{Attempt, Target, assert_all_fail};
use super::consent::{question, world_asking};
use crate::terminal::Terminal;

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
