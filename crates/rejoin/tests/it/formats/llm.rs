//! Logs of llm.

use std::fs;
use std::path::PathBuf;

use rejoin::formats::Tree;
use rejoin::{Block, Time};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::formats::import::Desk;
use crate::formats::{fixture, read, said};

/// A copy of a real database that can be changed.
struct Copy {
    _directory: TempDir,
    path: PathBuf,
    connection: Connection,
}

impl Copy {
    fn of(name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs.db");
        fs::copy(fixture(name), &path).unwrap();
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        Self { _directory: directory, path, connection }
    }

    fn run(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap();
    }
}

const NEW: &str = "llm/logs-0.36.db";
const OLD: &str = "llm/logs-0.19.db";
const THREAD: &str = "01m7g6hezbrenmfgghenqsfyq7";

fn all_said(tree: &Tree) -> Vec<String> {
    tree.messages.iter().map(|found| said(&found.message)).collect()
}

#[test]
fn a_real_thread_is_read_whole() {
    let tree = read(&fixture(NEW));

    let expected = [
        "user: first llm q",
        "assistant: OPENAI-MOCK 1; saw 1",
        "user: second llm q",
        "assistant: OPENAI-MOCK 2; saw 3",
    ];
    assert_eq!(all_said(&tree), expected);
    let conversation = &tree.conversations[0];
    assert_eq!(
        (conversation.id.as_str(), conversation.header.title.as_deref()),
        (THREAD, Some("first llm q"))
    );
    assert_eq!(conversation.header.settings.model.as_deref(), Some("mockm"));
    assert_eq!(conversation.head.as_deref(), Some("b2:7e6569066f603cc72a5dd8d75b60890c"));
    let reply = &tree.messages[1];
    let usage = reply.message.usage.as_ref().unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (5, 3));
    assert_eq!(reply.message.created_at, Some("2026-11-15T18:12:02.845507Z".parse::<Time>().unwrap()));
    assert!(reply.source.contains("chatcmpl-1"), "{}", reply.source);
    assert_eq!((tree.skipped.len(), tree.asides.len()), (0, 0));
}

#[test]
fn a_real_conversation_of_before_is_read_whole() {
    let tree = read(&fixture(OLD));

    let expected = [
        "system: Be brief.",
        "user: first old question",
        "assistant: MOCK 1; saw 2",
        "user: second old question",
        "assistant: MOCK 2; saw 4",
    ];
    assert_eq!(all_said(&tree), expected);
    let conversation = &tree.conversations[0];
    assert_eq!(conversation.header.title.as_deref(), Some("first old question"));
    let ids: Vec<_> = tree.messages.iter().map(|found| &found.id[26..]).collect();
    assert_eq!(ids, ["/system", "/prompt", "", "/prompt", ""]);
    let usage = tree.messages[2].message.usage.as_ref().unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (5, 3));
    assert!(tree.messages[2].source.contains("chatcmpl-1"), "{}", tree.messages[2].source);
}

#[test]
fn a_fork_has_the_messages_it_shares_and_another_answer_is_a_branch() {
    let copy = Copy::of(NEW);
    copy.run(&format!(
        "INSERT INTO messages VALUES ('b2:other', 'b2:8a3a715c89aa01068049dcddfd10187a', 'assistant', NULL);
         INSERT INTO parts VALUES (10, 'b2:other', 0, 'text', NULL, 'another', NULL);
         INSERT INTO turns (id, thread_id, tip_message_hash, model, datetime_utc) VALUES
           ('01m7g6hzz', '{THREAD}', 'b2:other', 'other', '2026-11-15T19:00:00+00:00');
         INSERT INTO threads VALUES ('01m8', 'fork', 'b2:d49bb8efb4f088ae9bcade49020d7b46', '{THREAD}', '2026-11-15 20:00:00+00:00');"
    ));

    let tree = read(&copy.path);

    let said = all_said(&tree);
    assert_eq!(said[4..], ["assistant: another", "user: first llm q", "assistant: OPENAI-MOCK 1; saw 1"]);
    assert_eq!(tree.messages[4].parent.as_deref(), Some("b2:8a3a715c89aa01068049dcddfd10187a"));
    assert_eq!(tree.messages[6].message, tree.messages[1].message);
    assert_eq!(
        tree.conversations[1].header.extra.field("forked_from").unwrap().as_str(),
        format!("\"{THREAD}\"")
    );
}

#[test]
fn parts_become_calls_results_thinking_and_files() {
    let copy = Copy::of(NEW);
    copy.run(
        r#"INSERT INTO fragments VALUES (7, 'h', 'a novel', NULL, NULL);
           INSERT INTO attachments VALUES ('at', 'image/png', NULL, NULL, x'00ff'), ('far', 'audio/wav', '/tmp/a.wav', NULL, NULL);
           DELETE FROM parts;
           INSERT INTO parts VALUES
             (1, 'b2:fe316051e9812aaae3f1283a42b7a6ef', 0, 'text', NULL, NULL, '{"text_ref": [{"literal": "read "}, {"fragment": 7}]}'),
             (2, 'b2:fe316051e9812aaae3f1283a42b7a6ef', 1, 'attachment', NULL, NULL, '{"attachment": {"id": "at"}}'),
             (3, 'b2:d49bb8efb4f088ae9bcade49020d7b46', 0, 'reasoning', NULL, 'hm', '{"redacted": true}'),
             (4, 'b2:d49bb8efb4f088ae9bcade49020d7b46', 1, 'tool_call', 'ls', NULL, '{"name": "ls", "arguments": {"a": 1}, "tool_call_id": "c1"}'),
             (5, 'b2:8a3a715c89aa01068049dcddfd10187a', 0, 'tool_result', 'ls', NULL, '{"name": "ls", "output": "x", "tool_call_id": "c1", "exception": "boom", "attachments": [{"id": "far"}]}'),
             (6, 'b2:7e6569066f603cc72a5dd8d75b60890c', 0, 'hologram', NULL, 'wave', '{"depth": 3}');
           UPDATE messages SET role = 'tool' WHERE hash = 'b2:8a3a715c89aa01068049dcddfd10187a';"#,
    );

    let tree = read(&copy.path);

    let expected = [
        "user: read a novel | <image>",
        "assistant: (hm) | ls>{\"a\":1}",
        "tool: =[{\"type\":\"text\",\"text\":\"x\"},{\"",
        "assistant: [hologram]",
    ];
    assert_eq!(all_said(&tree), expected);
    let Block::ToolResult(result) = &tree.messages[2].message.blocks[0] else { panic!("{tree:?}") };
    let Block::Media(media) = &tree.messages[0].message.blocks[1] else { panic!("{tree:?}") };
    assert_eq!((result.is_error, media.data.as_deref()), (true, Some("AP8=")));
    assert!(result.output.as_str().contains("/tmp/a.wav"), "{:?}", result.output);
}

#[test]
fn tools_files_and_pieces_of_before_are_read_too() {
    let copy = Copy::of(OLD);
    copy.run(
        "ALTER TABLE responses ADD COLUMN reasoning TEXT;
         CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT, arguments TEXT, tool_call_id TEXT);
         CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, tool_id INTEGER, name TEXT, output TEXT,
            tool_call_id TEXT, instance_id INTEGER, exception TEXT);
         CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT);
         CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, \"order\" INTEGER);
         INSERT INTO fragments VALUES (1, 'h', 'a novel', NULL, NULL);
         INSERT INTO attachments VALUES ('at', 'image/png', NULL, 'https://x/y.png', NULL);
         INSERT INTO responses (id, model, prompt, response, conversation_id, datetime_utc, reasoning) VALUES
           ('r1', 'm', 'look', '', NULL, '2026-11-15T12:00:00', 'hm'), ('r2', 'm', '', 'done', 'r1', '2026-11-15T12:00:01', NULL);
         INSERT INTO tool_calls VALUES (1, 'r1', NULL, 'ls', '{\"a\": 1}', 'c1');
         INSERT INTO tool_results VALUES (1, 'r2', NULL, 'ls', 'x', 'c1', NULL, NULL);
         INSERT INTO prompt_fragments VALUES ('r1', 1, 0);
         INSERT INTO prompt_attachments VALUES ('r1', 'at', 0);",
    );

    let tree = read(&copy.path);

    let expected = [
        "user: a novel\nlook | <image>",
        "assistant: (hm) | ls>{\"a\": 1}",
        "tool: =\"x\"",
        "assistant: done",
    ];
    assert_eq!(all_said(&tree)[5..], expected);
}

#[test]
fn a_conversation_that_went_on_as_a_thread_is_read_once() {
    let copy = Copy::of(NEW);
    copy.run(&format!(
        "INSERT INTO conversations VALUES ('{THREAD}', 'old name', 'm');
         INSERT INTO responses (id, model, prompt, response, conversation_id, datetime_utc)
           VALUES ('r1', 'm', 'first llm q', 'OPENAI-MOCK 1; saw 1', '{THREAD}', '2026-11-15T12:00:00');"
    ));

    let tree = read(&copy.path);

    assert_eq!((tree.conversations.len(), tree.messages.len(), tree.asides.len()), (1, 4, 1));
}

#[test]
fn a_log_that_grows_adds_only_what_is_new() {
    let copy = Copy::of(NEW);
    let desk = Desk::new();
    let first = desk.import(&copy.path);
    let again = desk.import(&copy.path);
    copy.run(&format!(
        "INSERT INTO messages VALUES ('b2:n1', 'b2:7e6569066f603cc72a5dd8d75b60890c', 'user', NULL), ('b2:n2', 'b2:n1', 'assistant', NULL);
         INSERT INTO parts VALUES (11, 'b2:n1', 0, 'text', NULL, 'more', NULL), (12, 'b2:n2', 0, 'text', NULL, 'of it', NULL);
         INSERT INTO turns (id, thread_id, tip_message_hash, model, datetime_utc) VALUES
           ('01m7g6hzz', '{THREAD}', 'b2:n2', 'other', '2026-11-15T19:00:00+00:00');
         UPDATE threads SET tip_message_hash = 'b2:n2';"
    ));

    let grown = desk.import(&copy.path);

    assert_eq!([first.added(), again.added(), grown.added()], [4, 0, 2]);
    let path = desk.path(grown.conversations[0].id);
    assert_eq!(path.last().map(String::as_str), Some("of it"));
}

#[test]
fn messages_that_follow_each_other_in_a_circle_end() {
    let copy = Copy::of(NEW);
    copy.run(
        "UPDATE messages SET parent_hash = 'b2:7e6569066f603cc72a5dd8d75b60890c' WHERE parent_hash IS NULL",
    );

    assert_eq!(read(&copy.path).messages.len(), 4);
}
