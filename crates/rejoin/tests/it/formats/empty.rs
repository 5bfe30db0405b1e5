//! A file that looks like one of a format, and in which nothing is said where the format says it, is refused.

use std::fs;
use std::path::Path;

use rejoin::formats::{Format, ReadLimits, Source, Tree};
use rejoin::{Archive, Import, ImportMode, List, Result};
use serde_json::{Value, json};

const EXPECTED: &str = "nothing is said in any of its messages; expected ";

const SESSION: &str = "c833a56b-45d4-4ced-8b45-47d6a5359b48";

/// A file of each format that is text, with messages that say everything where the format does not look:
/// its name, its format, and its lines.
pub(crate) fn empty_files() -> Vec<(&'static str, &'static str, Vec<Value>)> {
    let time = "2026-01-02T03:04:05.000Z";
    let claude = |kind: &str, uuid: &str| {
        let message = json!({"role": kind, "id": uuid, "content": [], "said": "hello"});
        json!({"type": kind, "uuid": uuid, "parentUuid": null, "isSidechain": false, "timestamp": time,
               "sessionId": SESSION, "message": message})
    };
    let qwen = json!({"type": "user", "uuid": "u1", "parentUuid": null, "sessionId": SESSION, "timestamp": time,
                      "message": {"role": "user", "parts": []}});
    let meta = json!({"id": SESSION, "timestamp": time, "cwd": "/p"});
    let codex = |kind: &str, payload: Value| json!({"timestamp": time, "type": kind, "payload": payload});
    let item = json!({"type": "message", "role": "user", "content": [{"type": "words", "words": "hello"}]});
    let gemini = json!({"sessionId": SESSION, "projectHash": "h", "startTime": time, "kind": "main"});
    let record = json!({"id": "u1", "timestamp": time, "type": "user", "parts": [{"text": "hello"}]});
    let cody = json!({"timestamp": 1_699_564_800, "items": [{"type": "message", "role": "user", "content": []}],
                      "metadata": {"provider": "openai", "model": "m"}});
    let envoy = json!({"timestamp": time, "messageIndex": 1, "messageType": "conversation", "sessionId": "s",
                       "message": {"role": "user", "content": ""}});
    let goose = json!({"working_dir": "/p", "description": "d", "message_count": 1});
    let goose_said =
        json!({"role": "user", "created": 1_700_000_000, "content": [{"type": "text", "text": " "}]});
    vec![
        (
            "c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl",
            "claude",
            vec![claude("user", "u1"), claude("assistant", "a1")],
        ),
        ("c833a56b-45d4-4ced-8b45-47d6a5359b48.jsonl", "qwen", vec![qwen]),
        ("rollout-1.jsonl", "codex", vec![codex("session_meta", meta), codex("response_item", item)]),
        ("session-2026-01-02T03-04-c833a56b.jsonl", "gemini", vec![gemini, record]),
        ("conv_1.jsonl", "cody", vec![cody]),
        ("envoy.jsonl", "envoy", vec![envoy]),
        ("20250219_212000.jsonl", "goose", vec![goose, goose_said]),
    ]
}

/// Writes a file.
pub(crate) fn write(directory: &Path, name: &str, lines: &[Value]) -> Source {
    let path = directory.join(name);
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    Source::open(&path).unwrap()
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", chain(cause)))
}

/// Imports a source into an archive, as the format that claims it.
pub(crate) fn import(archive: &Archive, source: &Source) -> Result<rejoin::Imported> {
    let format = Format::of(source).unwrap();
    let (limits, mode) = (ReadLimits::default(), ImportMode::Store);
    archive.imports().add(
        source,
        format,
        &mut Import { limits, mode, project: &str::to_owned, progress: &mut |_| {} },
    )
}

#[test]
fn a_file_in_which_every_message_is_empty_is_refused_and_nothing_of_it_is_stored() {
    let outcomes: Vec<(String, usize, String, usize)> = empty_files()
        .into_iter()
        .map(|(name, expected, lines)| {
            let directory = tempfile::tempdir().unwrap();
            let source = write(directory.path(), name, &lines);
            let format = Format::of(&source).map_or("none", |format| format.name);
            let read = Tree::gather(ReadLimits::default(), |reading| {
                Format::named(expected).unwrap().read(&source, reading)
            });
            let archive = Archive::open("memory:").unwrap();

            let told = import(&archive, &source).map_or_else(|error| chain(&error), |_| String::new());

            let is_told = told.contains(name) && told.contains(EXPECTED);
            let told = if is_told { EXPECTED.to_owned() } else { told };
            let stored = archive.list(&List::default()).unwrap().items.len();
            (format.to_owned(), read.unwrap().messages.len().min(1), told, stored)
        })
        .collect();

    let expected: Vec<_> = empty_files()
        .iter()
        .map(|(_, format, _)| ((*format).to_owned(), 1, EXPECTED.to_owned(), 0))
        .collect();
    assert_eq!(outcomes, expected, "(format, whether it has messages, what was told, how much is stored)");
}

#[test]
fn one_message_that_says_something_is_enough() {
    let directory = tempfile::tempdir().unwrap();
    let (name, _, mut lines) = empty_files().swap_remove(0);
    let mut said = lines[1].clone();
    (said["uuid"], said["message"]["content"]) = (json!("a2"), json!([{"type": "text", "text": "hello"}]));
    lines.push(said);
    let source = write(directory.path(), name, &lines);
    let archive = Archive::open("memory:").unwrap();

    let imported = import(&archive, &source).unwrap();

    assert_eq!(imported.conversations.len(), 1);
}
