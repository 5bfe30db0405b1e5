//! A secret that begins in one block and ends in the next is found, and blocks that
//! only follow each other stay as they are.

use super::{GITHUB, plain, with};
use crate::model::{Block, Json, Message, Role, Thinking};
use crate::ops::redact::{Redaction, RedactionTally};

/// The words of a message's blocks as they are stored, with the hashes left out.
fn stored(blocks: Vec<Block>) -> Vec<String> {
    let message = Message::new(Role::Assistant, blocks);
    let clean = with(&Redaction::new(), |redactor| redactor.message(&message, &message.to_body()));
    let message = clean.map_or(message, |clean| clean.message);
    message.blocks.iter().filter_map(Block::words).map(|words| plain(&words)).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    stored(texts.iter().map(|text| Block::text(*text)).collect())
}

#[test]
fn a_token_in_two_blocks_is_found_wherever_it_is_cut() {
    let left: Vec<Vec<String>> = (1..GITHUB.len())
        .map(|cut| texts(&[&format!("it is {}", &GITHUB[..cut]), &format!("{} now", &GITHUB[cut..])]))
        .filter(|left| *left != ["it is <github-token>", "<github-token> now"])
        .collect();

    assert_eq!(left, Vec::<Vec<String>>::new());
}

#[test]
fn a_token_in_many_blocks_is_found() {
    let pieces: Vec<&str> = GITHUB.as_bytes().chunks(5).map(|piece| str::from_utf8(piece).unwrap()).collect();

    let left = texts(&pieces);

    assert_eq!(left, vec!["<github-token>"; pieces.len()]);
}

#[test]
fn a_name_in_one_block_tells_the_value_in_the_next() {
    let cases = [
        ["DB_PASSWORD=", "marigold9! and more"],
        ["the password is ", "hunter2!x9Qz."],
        ["{\"api_key\": ", "\"a8f5f167f44f4964e6c998de\"}"],
        ["curl -u ada:", "hunter2x https://api.local"],
    ];

    let left = cases.map(|case| texts(&case).join("|"));

    assert_eq!(
        left,
        [
            "DB_PASSWORD=|<env-line> and more",
            "the password is |<password-assignment>.",
            "{\"api_key\": |\"<secret-assignment>\"}",
            "curl -u ada:|<basic-credentials> https://api.local",
        ]
    );
}

#[test]
fn thoughts_results_of_one_call_and_texts_of_one_list_are_read_as_one_too() {
    let [first, rest] = [&GITHUB[..9], &GITHUB[9..]];
    let thought = |text: &str| Block::Thinking(Thinking { text: text.to_owned(), ..Thinking::default() });
    let result = |call: &str, text: &str| Block::tool_result(call, Json::of(&text).unwrap());
    let list = serde_json::json!([{ "type": "text", "text": first }, { "type": "text", "text": rest }]);
    let content = serde_json::json!({ "content": list, "text": "other" });
    let cases = [
        vec![thought(first), thought(rest)],
        vec![result("c1", first), result("c1", rest)],
        vec![Block::tool_result("c1", Json::of(&list).unwrap())],
        vec![Block::tool_result("c1", Json::of(&content).unwrap())],
    ];

    let left = cases.map(|blocks| stored(blocks).join("|"));

    let in_list = r#"[{"type":"text","text":"<github-token>"},{"type":"text","text":"<github-token>"}]"#;
    assert_eq!(
        left,
        [
            "<github-token>|<github-token>".to_owned(),
            "<github-token>|<github-token>".to_owned(),
            in_list.to_owned(),
            format!(r#"{{"content":{in_list},"text":"other"}}"#),
        ]
    );
}

#[test]
fn a_kept_line_with_two_texts_loses_what_they_say_together() {
    let [first, rest] = [&GITHUB[..9], &GITHUB[9..]];
    let line = format!(
        r#"{{"content": [{{"type": "text", "text": "{first}"}},  {{"text": "{rest} \u0041", "n": 1.50}}]}}"#
    );

    let clean = with(&Redaction::new(), |redactor| redactor.line(&line, &mut RedactionTally::default()));

    let expected = r#"{"content": [{"type": "text", "text": "<github-token>"},  {"text": "<github-token> A", "n": 1.50}]}"#;
    assert_eq!(clean.map(|clean| plain(&clean)).as_deref(), Some(expected));
}

#[test]
fn blocks_that_only_follow_each_other_stay() {
    let cases: [&[&str]; 7] = [
        &["Here is how a token is made", "key3 follows in the next part"],
        &["sk-", "learn is a library with 20 estimators"],
        &["Change the password:", "Open the settings and choose a new one."],
        &["The API key", "is in the vault, under billing2"],
        &["password: ", "${DB_PASSWORD}"],
        &["commit 7c3e9a1f5b2d8046", "e3a7c1f9b5d20486a9c3e7f1"],
        &["See https://ada", ":8080/x@y"],
    ];

    let left = cases.map(texts);

    assert_eq!(left, cases.map(|case| case.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()));
}

#[test]
fn texts_of_different_lists_objects_and_calls_are_not_read_as_one() {
    let [first, rest] = [&GITHUB[..9], &GITHUB[9..]];
    let result = |call: &str, text: &str| Block::tool_result(call, Json::of(&text).unwrap());
    let apart = serde_json::json!([[{ "text": first }], [{ "text": rest }]]);
    let cases = [
        vec![result("c1", first), result("c2", rest)],
        vec![
            Block::text(first),
            Block::tool_call("c1", "run", Json::parse("{}").unwrap()),
            Block::text(rest),
        ],
        vec![Block::tool_result("c1", Json::of(&apart).unwrap())],
    ];

    let left = cases.map(|blocks| stored(blocks).join("|"));

    assert_eq!(left.iter().filter(|left| left.contains('<')).collect::<Vec<_>>(), Vec::<&String>::new());
}
