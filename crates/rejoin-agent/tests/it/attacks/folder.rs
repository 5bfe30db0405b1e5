//! What is allowed in a directory is done in that directory: another one that
//! takes its place gets nothing of it.

use std::fs;

use rejoin_agent::Verdict;
use serde_json::{Value, json};

use super::attempt::{Attempt, Target, assert_all_fail};
use crate::tools_workshop::{Workshop, json as input};

/// One call of each built-in tool. All of them work in the project, and would in a copy of it.
fn calls() -> [(&'static str, Value); 6] {
    [
        ("run", json!({"command": "touch made"})),
        ("write", json!({"path": "made", "content": "x"})),
        ("edit", json!({"path": "notes.txt", "old": "green", "new": "red"})),
        ("read", json!({"path": "notes.txt"})),
        ("list", json!({"path": "."})),
        ("find", json!({"pattern": "green"})),
    ]
}

fn workshop() -> Workshop {
    let workshop = Workshop::new();
    workshop.write("notes.txt", "my bicycle is green\n");
    workshop
}

/// Puts a copy in the place of the project.
fn replace(workshop: &Workshop) {
    let [own, old] = [workshop.path("."), workshop.elsewhere("old")];
    let own = own.canonicalize().unwrap();
    fs::rename(&own, &old).unwrap();
    fs::create_dir(&own).unwrap();
    fs::copy(old.join("notes.txt"), own.join("notes.txt")).unwrap();
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn a_call_is_not_done_in_a_directory_that_took_the_projects_place_while_it_was_asked_about() {
    let attempts = calls().map(|(tool, given)| {
        Attempt::new(tool, move |target| {
            wait(async {
                let workshop = workshop();
                let asked = workshop.prepare(tool, given.clone());
                if target == Target::Guarded {
                    replace(&workshop);
                }
                !asked.run().await.is_error
            })
        })
    });

    assert_all_fail(&attempts);
}

#[test]
fn a_call_is_not_even_judged_in_a_directory_that_took_the_projects_place() {
    let attempts = calls().map(|(tool, given)| {
        Attempt::new(tool, move |target| {
            let workshop = workshop();
            let always = workshop.plan(tool, given.clone()).rule;
            workshop.toolbox.change_rules(|rules| rules.always(&always)).unwrap();
            if target == Target::Guarded {
                replace(&workshop);
            }
            let call = workshop.toolbox.named(tool).unwrap().prepare(&input(&given));
            call.is_ok_and(|call| workshop.toolbox.rules().judge(&call) == Verdict::Allow)
        })
    });

    assert_all_fail(&attempts);
}

#[test]
fn the_model_is_told_that_the_directory_was_replaced_or_is_gone() {
    let workshop = workshop();
    let given = json!({"command": "touch made"});
    let project = workshop.path(".").canonicalize().unwrap();

    replace(&workshop);
    let replaced = workshop.refusal("run", given.clone());
    fs::remove_dir_all(&project).unwrap();
    let gone = workshop.refusal("run", given.clone());
    fs::rename(workshop.elsewhere("old"), &project).unwrap();
    let back = wait(workshop.said("run", given));

    let shown = project.display();
    let expected = [
        format!(
            "another directory took the place of `{shown}`, so nothing was done; start `rejoin` there again"
        ),
        format!("the directory `{shown}` is not there any more, so nothing was done"),
    ];
    assert_eq!([replaced, gone], expected);
    assert!(workshop.path("made").exists(), "{back}");
}
