//! Sources of many conversations say when each is complete, so that an import holds few of them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use rejoin::formats::{
    Format, ReadLimits, Reading, Source, SourceConversation, SourceMessage, SourcePiece, Tree,
};
use rejoin::{Message, Time};
use tempfile::TempDir;

use crate::formats::{fixture, read};

/// What was told of conversations, in order: `+` for one that is met first, `-` for one that is complete.
fn told(path: &Path) -> Vec<String> {
    let source = Source::open(path).unwrap();
    let (mut told, mut met): (Vec<String>, HashSet<String>) = Default::default();
    let mut take = |piece: SourcePiece| {
        let goes_on = |id: &str| assert!(!told.contains(&format!("-{id}")), "{id}");
        match piece {
            SourcePiece::Message(message) => goes_on(&message.conversation),
            SourcePiece::Aside(aside) => goes_on(&aside.conversation),
            SourcePiece::Conversation(found) if met.insert(found.id.clone()) => {
                told.push(format!("+{}", found.id));
            }
            SourcePiece::Complete(id) => told.push(format!("-{id}")),
            _ => {}
        }
        Ok(())
    };
    let format = Format::of(&source).unwrap();
    format.read(&source, &mut Reading::new(ReadLimits::default(), &mut take)).unwrap();
    told
}

/// Three conversations, the first of which started the second.
fn family(name: &str) -> (TempDir, PathBuf) {
    let mut tree = Tree::default();
    for id in ["one", "run", "two"] {
        let mut conversation = SourceConversation::new(id, Time::from_number(1_740_000_000));
        if id == "run" {
            conversation.parent = Some(rejoin::formats::SourceParent {
                conversation: "one".to_owned(),
                message: Some("one-1".to_owned()),
                name: "agent".to_owned(),
                run: "1".to_owned(),
            });
        }
        tree.conversations.push(conversation);
        tree.messages.push(SourceMessage {
            conversation: id.to_owned(),
            id: format!("{id}-1"),
            parent: None,
            message: Message::user("hello").at(Time::from_number(1_740_000_000)),
            keeps: Vec::new(),
            line: 0,
            source: String::new(),
        });
    }
    let files = Format::named(name).unwrap().write(&tree).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(files[0].path.file_name().unwrap());
    fs::write(&path, &files[0].bytes).unwrap();
    (directory, path)
}

/// Every conversation is complete once, and at most so many were open at a time.
fn most_open(told: &[String], number: usize) -> usize {
    let complete = told.iter().filter(|word| word.starts_with('-')).count();
    assert_eq!((told.len(), complete), (2 * number, number), "{told:?}");
    let mut open = 0usize;
    let counts = told.iter().map(|word| {
        open = if word.starts_with('+') { open + 1 } else { open - 1 };
        open
    });
    counts.max().unwrap_or(0)
}

#[test]
fn a_conversation_is_complete_once_those_that_it_started_are_read() {
    let expected = ["+one", "+run", "+two", "-one", "-run", "-two"];

    for name in ["json", "cpe"] {
        let (_directory, path) = family(name);
        assert_eq!(told(&path), expected, "{name}");
    }
}

#[test]
fn a_database_says_when_each_conversation_is_complete() {
    for (name, most) in [("goose/sessions.db", 1), ("llm/logs-0.19.db", 1), ("llm/logs-0.36.db", 1)] {
        let path = fixture(name);
        let number = read(&path).conversations.len();
        assert_eq!(most_open(&told(&path), number), most, "{name}");
    }
    let path = fixture("opencode/opencode.db");
    most_open(&told(&path), read(&path).conversations.len());
}
