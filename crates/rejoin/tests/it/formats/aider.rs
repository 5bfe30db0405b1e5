//! Histories of aider.

use std::fs;

use rejoin::formats::{Format, ReadLimits, Source, Tree};

use crate::formats::{file_of, fixture, outline, read};

const HISTORY: &str = "aider/.aider.chat.history.md";

/// The names of conversations, with how many messages each has.
fn counts(tree: &Tree) -> Vec<(String, usize)> {
    tree.conversations.iter().map(|found| (found.id.clone(), tree.messages_of(&found.id).count())).collect()
}

#[test]
fn every_launch_with_a_prompt_is_a_conversation() {
    let tree = read(&fixture(HISTORY));

    let expected = [
        "m1 < - system: [console]",
        "m2 < m1 user: /add fox.py",
        "m3 < m2 system: [console]",
        "m4 < m3 user: Add a function that counts fox",
        "m5 < m4 assistant: I add the function:\n\nfox.py\n``",
        "m6 < m5 system: [console]",
        "m7 < m6 user: thanks",
        "m8 < m7 assistant: You are welcome!",
        "m1 < - system: [console]",
        "m2 < m1 user: Rename it to number_of_foxes.",
    ];
    assert_eq!(outline(&tree.messages), expected);
    let known: Vec<_> = tree
        .conversations
        .iter()
        .map(|found| (found.created_at.to_string(), found.header.settings.model.as_deref()))
        .collect();
    let expected = [
        ("2026-05-01T10:05:30.000000Z".to_owned(), Some("gpt-4o")),
        ("2026-05-02T09:00:00.000000Z".to_owned(), Some("sonnet")),
    ];
    assert_eq!(known, expected);
}

#[test]
fn a_prompt_of_several_lines_in_the_command_is_no_prompt_of_its_own() {
    let launch = [
        "# aider chat started at 2026-05-01 10:00:00",
        "",
        "> /usr/bin/aider --model m --message Fix it:",
        "",
        "#### not asked",
        "> not printed",
        "at last  ",
        "> Aider v0.86.2  ",
        "> Main model: m with diff edit format  ",
        "",
        "#### Fix it:  ",
        "#### at last  ",
        "",
        "Done.",
    ];
    let stripped = launch.map(str::trim_end);

    let told = [launch, stripped].map(|lines| {
        let (_directory, path) = file_of(".aider.chat.history.md", &lines);
        outline(&read(&path).messages)
    });

    let expected = ["m1 < - system: [console]", "m2 < m1 user: Fix it:\nat last", "m3 < m2 assistant: Done."];
    assert_eq!(told, [expected, expected]);
}

#[test]
fn prompts_and_replies_keep_their_lines() {
    let tree = read(&fixture(HISTORY));

    let prompt = "Add a function that counts foxes.\n\nIt takes a list; names are in Ελληνικά too.";
    assert_eq!(tree.messages[3].message.text(), prompt);
    let reply = tree.messages[4].message.text();
    assert!(reply.contains("\n> not a quotation\n"), "{reply}");
    assert!(reply.ends_with("# Notes\n\nIt counts every item."), "{reply}");
}

#[test]
fn names_stay_when_the_file_grows_and_when_its_beginning_is_cut_off() {
    let text = fs::read_to_string(fixture(HISTORY)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(".aider.chat.history.md");
    fs::write(&path, &text).unwrap();
    let whole = counts(&read(&path));

    fs::write(&path, format!("{text}\nDone.\n\n#### and now?\n")).unwrap();
    let grown = counts(&read(&path));
    fs::write(&path, &text[text.find("# aider chat started at 2026-05-02").unwrap()..]).unwrap();
    let cut = counts(&read(&path));

    assert_eq!(grown, [whole[0].clone(), (whole[1].0.clone(), 4)]);
    assert_eq!(cut, whole[1..]);
}

#[test]
fn two_launches_in_one_second_stay_apart() {
    let start = "# aider chat started at 2026-05-02 09:00:00";
    let lines = [start, "#### a", "", start, "#### b", "", start, "#### a"];
    let (_directory, path) = file_of("history.md", &lines);

    let tree = read(&path);

    let names: std::collections::HashSet<&str> =
        tree.conversations.iter().map(|found| found.id.as_str()).collect();
    assert_eq!((names.len(), tree.messages.len()), (3, 3));
}

#[test]
fn the_same_launch_of_two_projects_is_two_conversations() {
    let lines = ["# aider chat started at 2026-05-02 09:00:00", "#### a"];
    let (_one, one) = file_of(".aider.chat.history.md", &lines);
    let (_other, other) = file_of(".aider.chat.history.md", &lines);

    assert_ne!(read(&one).conversations[0].id, read(&other).conversations[0].id);
}

#[test]
fn code_does_not_ask_and_a_reply_that_ends_in_its_code_is_answered() {
    let start = "# aider chat started at 2026-05-02 09:00:00";
    let lines =
        [start, "", "#### go  ", "", "So:", "```", "#### a heading", "more", "", "#### next  ", "", "Done."];
    let (_directory, path) = file_of("history.md", &lines);

    let tree = read(&path);

    let expected = [
        "m1 < - user: go",
        "m2 < m1 assistant: So:\n```\n#### a heading\nmore",
        "m3 < m2 user: next",
        "m4 < m3 assistant: Done.",
    ];
    assert_eq!(outline(&tree.messages), expected);
}

#[test]
fn a_message_without_an_end_is_an_error() {
    let lines = ["# aider chat started at 2026-05-02 09:00:00", "#### go", "", "one", "two", "three"];
    let (_directory, path) = file_of("history.md", &lines);
    let source = Source::open(&path).unwrap();
    let limits = ReadLimits { line_bytes: 60, file_bytes: 1 << 20, ..ReadLimits::default() };

    let whole =
        Tree::gather(limits, |reading| Format::named("aider").unwrap().read(&source, reading)).unwrap();
    let limits = ReadLimits { line_bytes: 50, ..limits };
    fs::write(&path, format!("{}\n{}", lines.join("\n"), "more\n".repeat(20))).unwrap();
    let error =
        Tree::gather(limits, |reading| Format::named("aider").unwrap().read(&source, reading)).unwrap_err();

    assert_eq!(whole.messages.len(), 2);
    assert!(format!("{error:?}").contains("a message has more than 50 bytes"), "{error:?}");
}
