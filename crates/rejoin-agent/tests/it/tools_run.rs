//! Running commands: real shells, real signals, and nothing left behind.

use std::fs;
use std::time::{Duration, Instant};

use rejoin_agent::{Builtin, Environment, Toolbox};
use serde_json::json;

use crate::tools_workshop::{Workshop, text};

/// Processes of a group that still run, by `/proc`. One that is dead and waits to be reaped does not count.
pub(crate) fn alive(group: i32) -> Vec<String> {
    let processes = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    let in_group = processes.filter(|stat| {
        // After the name in brackets: state, parent, group.
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        fields[2] == group.to_string() && fields[0] != "Z"
    });
    in_group.collect()
}

/// Waits until no process of a group is left, for a while.
pub(crate) async fn gone(group: i32) -> bool {
    let started = Instant::now();
    while !alive(group).is_empty() && started.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    alive(group).is_empty()
}

/// Waits until a command has written its process id, which is its group's.
pub(crate) async fn group_in(path: &std::path::Path) -> i32 {
    let started = Instant::now();
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some(id) = text.strip_suffix('\n') {
            return id.parse().unwrap();
        }
        assert!(started.elapsed() < Duration::from_secs(20), "the command did not start");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_command_runs_in_the_project_and_its_output_comes_back_in_order() {
    let shop = Workshop::new();

    let said = shop.said("run", json!({"command": "echo out; echo err >&2; pwd"})).await;
    let nothing = shop.said("run", json!({"command": "true"})).await;

    assert_eq!(said, format!("out\nerr\n{}\n", shop.path("").to_str().unwrap().trim_end_matches('/')));
    assert_eq!(nothing, "(no output)");
}

#[tokio::test]
async fn a_command_that_fails_tells_how() {
    let shop = Workshop::new();

    let code = shop.failed("run", json!({"command": "printf oops; exit 3"})).await;
    let signal = shop.failed("run", json!({"command": "kill -9 $$"})).await;

    assert_eq!((code.as_str(), signal.as_str()), ("oops\n[exit code 3]", "[ended by signal 9]"));
}

#[tokio::test]
async fn there_is_no_input() {
    let shop = Workshop::new();

    let said = shop.said("run", json!({"command": "cat; echo done", "seconds": 20})).await;

    assert_eq!(said, "done\n");
}

#[tokio::test]
async fn a_command_has_a_plan_with_its_rule() {
    let shop = Workshop::new();

    let simple = shop.plan("run", json!({"command": "git  commit -m 'a b'"}));
    let complex = shop.plan("run", json!({"command": "ls | head"}));
    let long = shop.plan("run", json!({"command": "ls\nrm x\n"}));

    assert_eq!((simple.summary.as_str(), simple.is_harmless), ("Run `git  commit -m 'a b'`", false));
    assert_eq!((long.summary.as_str(), long.detail.as_deref()), ("Run `ls …`", Some("ls\nrm x\n")));
    assert_eq!([simple.rule, complex.rule], ["run(git commit -m 'a b')", "run(=ls | head)"]);
}

#[tokio::test]
async fn a_command_out_of_time_ends_with_its_children() {
    let shop = Workshop::new();
    let started = Instant::now();

    let said = shop.failed("run", json!({"command": "echo $$; sleep 300 & sleep 300", "seconds": 1})).await;

    let (id, rest) = said.split_once('\n').unwrap();
    assert_eq!(rest, "[ended after 1 seconds, its time limit]");
    assert_eq!(alive(id.parse().unwrap()), Vec::<String>::new());
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_command_that_ignores_the_request_to_end_is_killed() {
    let shop = Workshop::new();
    let command = "trap '' TERM; echo $$; while true; do sleep 0.1; done";

    let said = shop.failed("run", json!({"command": command, "seconds": 1})).await;

    let id = said.split_once('\n').unwrap().0;
    assert_eq!(alive(id.parse().unwrap()), Vec::<String>::new());
}

#[tokio::test]
async fn children_in_the_background_end_with_their_command() {
    let shop = Workshop::new();
    let command = "echo $$; sleep 300 & (trap '' TERM; sleep 300) & echo started";
    let started = Instant::now();

    let said = shop.said("run", json!({"command": command})).await;

    let (id, rest) = said.split_once('\n').unwrap();
    assert_eq!(rest, "started\n");
    assert!(gone(id.parse().unwrap()).await);
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn dropping_a_call_ends_its_command() {
    let shop = Workshop::new();
    let command = "echo $$ > pid; sleep 300 & sleep 300";
    let pid = shop.path("pid");

    let mut call = shop.prepare("run", json!({"command": command})).run();
    let id = tokio::select! {
        _ = &mut call => panic!("it ends only by being dropped"),
        id = group_in(&pid) => id,
    };
    drop(call);

    assert!(gone(id).await);
}

#[test]
fn a_command_that_ignores_the_request_to_end_does_not_outlive_the_tools() {
    let shop = Workshop::new();
    let command = "trap '' TERM; echo $$ > pid; while true; do sleep 0.1; done";
    let pid = shop.path("pid");

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let id = runtime.block_on(async {
        let mut call = shop.prepare("run", json!({"command": command})).run();
        tokio::select! {
            _ = &mut call => panic!("it ends only by being dropped"),
            id = group_in(&pid) => id,
        }
    });
    drop(runtime);
    drop(shop);

    assert_eq!(alive(id), Vec::<String>::new());
}

#[tokio::test]
async fn a_gigabyte_of_output_is_bounded_and_the_beginning_and_end_are_kept() {
    let shop = Workshop::new();
    let command = "echo first; head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo last";

    let before = resident();
    let said = shop.said("run", json!({"command": command, "seconds": 600})).await;
    let grown = resident().saturating_sub(before);

    assert!(said.starts_with("first\nxxx") && said.ends_with("xxx\nlast\n"));
    assert!(said.contains("\n[999970012 bytes left out]\n"), "{}", &said[14_990..15_060]);
    assert!(grown < 50_000_000, "{grown} bytes more");
}

fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test]
async fn a_process_that_left_the_group_does_not_hold_up_the_answer() {
    let shop = Workshop::new();
    let started = Instant::now();

    let said = shop.said("run", json!({"command": "setsid sleep 30 & echo started"})).await;

    assert_eq!(said, "started\n");
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn keys_of_providers_are_kept_from_commands() {
    let shop = Workshop::new();
    let builtin = Builtin::new(&shop.path("")).unwrap().with_environment(Environment::without(["PATH"]));
    let toolbox = Toolbox::default().with_builtin(&builtin);
    let input = rejoin::Json::of(&json!({"command": "/usr/bin/env"})).unwrap();

    let output = toolbox.named("run").unwrap().prepare(&input).unwrap().run().await;

    assert!(text(&output).lines().all(|line| !line.starts_with("PATH=")), "{output:?}");
}
