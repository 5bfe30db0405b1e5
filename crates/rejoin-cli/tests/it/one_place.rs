//! What is done in one place only, so that it is guarded in one place.

use std::fs;
use std::path::{Path, PathBuf};

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The source files whose code, without comments and tests, contains one of the texts.
fn found_in(texts: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let uses = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned();
        code.lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .any(|line| texts.iter().any(|text| line.contains(text)))
    };
    let mut found: Vec<String> = files(&root)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs") && uses(path))
        .map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
        .filter(|path| path != "documents.rs")
        .collect();
    found.sort();
    found
}

#[test]
fn git_is_started_in_one_file() {
    assert_eq!(found_in(&["command(\"git\")"]), ["git/start.rs"]);
}

#[test]
fn files_that_a_folder_brings_along_are_read_in_one_file() {
    let reads = ["fs::read(", "fs::read_to_string(", "File::open(", "OpenOptions::new("];

    // Each of the others reads or writes what the user or the system named, and nothing that a folder chose.
    let expected = [
        "commands/append/stream.rs",
        "commands/doctor/machine.rs",
        "commands/export/place.rs",
        "commands/vault/unfinished.rs",
        "config/trust.rs",
        "durable.rs",
        "key_file.rs",
        "logging.rs",
        "private.rs",
        "project_file.rs",
        "prompt/commands/edit.rs",
        "session/writer.rs",
        "surroundings.rs",
        "ui/when.rs",
        "vault/ask.rs",
    ];
    assert_eq!(found_in(&reads), expected);
}

#[test]
fn directories_above_are_searched_for_a_project_in_one_way() {
    // The others look at directories below one that was found, at what is in the
    // way of a file, or at who can write them.
    let expected = [
        "commands/export/place.rs",
        "config/accessors.rs",
        "config/project.rs",
        "private.rs",
        "project_file.rs",
        "session/initial.rs",
        "session_files.rs",
    ];
    assert_eq!(found_in(&[".ancestors()"]), expected);
}
