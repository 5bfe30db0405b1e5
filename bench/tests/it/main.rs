//! The benchmark as a whole: a quick run prints every row, and a contestant in another language can join.

use std::process::Command;

/// Runs the benchmark with little data and returns what it printed.
fn quick(arguments: &[&str]) -> String {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build directory is writable");
    let output = Command::new(env!("CARGO_BIN_EXE_rejoin-bench"))
        .args(["--quick", "--rounds", "1", "--scratch"])
        .arg(scratch.path())
        .args(arguments)
        .output()
        .expect("the benchmark was built with this test");
    String::from_utf8(output.stdout).expect("the table is text")
}

/// Returns the operations in the table of results that one contestant has a row for.
fn operations_of(contestant: &str, printed: &str) -> Vec<String> {
    let results = printed.split("### Details").next().unwrap_or_default();
    let cells = results.lines().map(|line| line.split(" | ").collect::<Vec<&str>>());
    cells
        .filter(|cells| cells.get(1) == Some(&contestant))
        .map(|cells| cells[0].trim_start_matches("| ").to_owned())
        .collect()
}

#[test]
fn a_quick_run_measures_every_operation() {
    let printed = quick(&[]);

    let expected = [
        "append a turn of 4 messages, new store",
        "append a turn of 4 messages, settled store",
        "append after 20,000 messages",
        "append after 20,000 messages",
        "load 10,000 messages",
        "load 10,000 messages: peak memory",
        "list newest 20 of 500",
        "list newest 20 of 500, cold process",
        "search 10,000 messages, rare word",
        "search 10,000 messages, common word",
        "fork in the middle of 10,000",
        "fork in the middle of 10,000: bytes added",
        "bytes on disk after checkpoint",
        "bytes on disk with full-text index",
    ];
    assert_eq!(operations_of("sqlite-bare", &printed), expected, "{printed}");
    let views = operations_of("rejoin", &printed).into_iter().filter(|operation| operation.contains("view"));
    assert_eq!(views.collect::<Vec<_>>(), ["load and view 10,000 messages"], "{printed}");
}

#[test]
fn a_contestant_in_another_language_can_join() {
    let peer = format!("python3 {}/peers/plain_lines.py", env!("CARGO_MANIFEST_DIR"));

    let printed = quick(&["--only", "append,load", "--peer", &peer]);

    let expected = [
        "append a turn of 4 messages, new store",
        "append a turn of 4 messages, settled store",
        "load 10,000 messages",
        "load 10,000 messages: peak memory",
    ];
    assert_eq!(operations_of("plain_lines", &printed), expected, "{printed}");
}

/// Measures the storage service against its bars, and answers whether it stayed within them, with the table.
fn service(arguments: &[&str]) -> (bool, String) {
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("the build directory is writable");
    let output = Command::new(env!("CARGO_BIN_EXE_service"))
        .arg(scratch.path())
        .args(arguments)
        .output()
        .expect("the benchmark was built with this test");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), printed + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_storage_service_stays_within_its_bars() {
    let (is_within, printed) = service(&["--processor", "--databases"]);

    assert!(is_within, "{printed}");
    assert_eq!(printed.lines().count(), 8, "{printed}");
}

#[test]
fn the_storage_service_stays_within_its_bars_by_the_clock_on_the_wall() {
    // Whatever else the machine does only adds to the time, so that one run of three is enough.
    let mut runs = (0..3).map(|_| service(&["--databases"]));

    let is_within = runs.any(|(is_within, _)| is_within);

    assert!(is_within, "a commit, a snapshot or a purge took too long, three times");
}
