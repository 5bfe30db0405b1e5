//! The store's log stays short, whoever writes to it.

use std::fs;

use serde_json::json;

use crate::world::World;

/// Well above twice the length at which the log is folded: turns go on while
/// that is done, up to twice the length.
const LONGEST: u64 = 20 << 20;

fn length_of_log(world: &World) -> u64 {
    fs::metadata(world.path("home/.local/share/rejoin/rejoin.db-wal")).unwrap().len()
}

#[test]
fn many_commands_do_not_make_the_log_grow_for_ever() {
    let world = World::new();

    let codes: Vec<i32> = (0..60)
        .map(|number| world.rejoin(["append", "--", &format!("message {number}")]).run().code)
        .collect();

    assert_eq!(codes, [0; 60]);
    assert!(length_of_log(&world) < LONGEST, "{}", length_of_log(&world));
}

#[test]
fn many_turns_of_one_command_do_not_make_the_log_grow_for_ever() {
    let world = World::new();
    let line = json!({"role": "user", "content": "hello"}).to_string() + "\n";

    let outcome = world.rejoin(["append", "--jsonl", "-"]).input(line.repeat(400)).run();

    assert_eq!((outcome.code, outcome.stdout.lines().count()), (0, 400));
    assert!(length_of_log(&world) < LONGEST, "{}", length_of_log(&world));
}
