//! Trees as JSON, each message inside the one it follows.
//!
//! A conversation can be deeper than the stack, so the brackets are written by hand and nothing recurses.

use std::io::{self, Write};

use rejoin::{Archive, Branch, ConversationId, MessageId, Role, StoredConversation, Time};
use serde::Serialize;

use super::item::{self, TextExtent, TreeItem};
use crate::context::Context;
use crate::error::Failure;
use crate::ui::forest::{Forest, ForestLink};
use crate::ui::json;

/// Answers with the trees of all these conversations.
pub(super) fn answer(
    archive: &Archive,
    conversations: &[StoredConversation],
    context: &Context,
) -> Result<(), Failure> {
    let mut answer = context.answer();
    write!(answer, "{{\"roots\":[")?;
    let mut has_tree = false;
    for stored in conversations.iter().filter(|stored| stored.messages > 0) {
        if has_tree {
            write!(answer, ",")?;
        }
        has_tree = true;
        write_trees(stored.id, &item::read(archive, stored, TextExtent::Whole)?, &mut answer)?;
    }
    writeln!(answer, "]}}")?;
    answer.flush()?;
    Ok(())
}

/// A step of the way through the trees.
enum TreeStep {
    /// Writes a message up to its children; the first of its siblings needs no comma.
    Open { position: usize, is_first: bool },
    /// Ends a message after its children.
    Close,
}

fn write_trees(conversation: ConversationId, items: &[TreeItem], output: &mut dyn Write) -> io::Result<()> {
    let links: Vec<ForestLink<'_>> = items
        .iter()
        .map(|item| ForestLink {
            id: item.id.as_str(),
            parent: item.parent.as_ref().map(MessageId::as_str),
            time: item.time.as_micros(),
        })
        .collect();
    let forest = Forest::grow(&links);
    let mut waiting: Vec<TreeStep> = steps(forest.roots()).collect();
    while let Some(step) = waiting.pop() {
        match step {
            TreeStep::Close => output.write_all(b"]}")?,
            TreeStep::Open { position, is_first } => {
                if !is_first {
                    output.write_all(b",")?;
                }
                write_open(conversation, &items[position], output)?;
                waiting.push(TreeStep::Close);
                waiting.extend(steps(forest.children(position)));
            }
        }
    }
    Ok(())
}

/// The siblings, last first, as they are taken from the end.
fn steps(siblings: &[usize]) -> impl Iterator<Item = TreeStep> {
    let open = |(place, &position): (usize, &usize)| TreeStep::Open { position, is_first: place == 0 };
    siblings.iter().enumerate().map(open).rev()
}

/// What is told of a message beside its children.
#[derive(Serialize)]
struct NestedShape<'a> {
    id: MessageId,
    role: Role,
    created_at: Time,
    text: &'a str,
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<ConversationId>,
    #[serde(skip_serializing_if = "<[Branch]>::is_empty")]
    branches: &'a [Branch],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    head: bool,
}

/// Writes a message as an object that is left open in its children.
fn write_open(conversation: ConversationId, item: &TreeItem, output: &mut dyn Write) -> io::Result<()> {
    let mut object = Vec::new();
    json::write(
        &mut object,
        &NestedShape {
            id: item.id,
            role: item.role,
            created_at: item.time,
            text: &item.text,
            label: item.label.as_deref(),
            finish: item.cut_short.as_deref(),
            conversation: item.parent.is_none().then_some(conversation),
            branches: &item.branches,
            head: item.is_head,
        },
    )?;
    object.pop();
    output.write_all(&object)?;
    output.write_all(b",\"children\":[")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, parent: Option<&str>) -> TreeItem {
        TreeItem {
            id: id.parse().expect("it is an id"),
            parent: parent.map(|parent| parent.parse().expect("it is an id")),
            time: Time::from_micros(0),
            role: Role::User,
            text: "x".to_owned(),
            label: None,
            cut_short: None,
            branches: Vec::new(),
            is_head: false,
        }
    }

    fn written(items: &[TreeItem]) -> String {
        let mut output = Vec::new();
        write_trees(ConversationId::from_bytes([7; 16]), items, &mut output).expect("memory does not fail");
        String::from_utf8(output).expect("only text is written")
    }

    #[test]
    fn each_message_stands_inside_the_one_it_follows() {
        let items = [item("a", None), item("b", Some("a")), item("c", Some("a")), item("d", None)];

        let expected = r#"{"id":"a",REST,ROOT,"children":[{"id":"b",REST,"children":[]},{"id":"c",REST,"children":[]}]},{"id":"d",REST,ROOT,"children":[]}"#
            .replace("REST", r#""role":"user","created_at":"1970-01-01T00:00:00.000000Z","text":"x","label":null"#)
            .replace("ROOT", r#""conversation":"07070707-0707-0707-0707-070707070707""#);
        assert_eq!(written(&items), expected);
    }

    #[test]
    fn a_very_deep_conversation_is_written_without_recursion() {
        let id = |place: usize| format!("m{place}");
        let items: Vec<TreeItem> = (0..100_000)
            .map(|place: usize| item(&id(place), place.checked_sub(1).map(id).as_deref()))
            .collect();

        let written = written(&items);

        let count = |letter| written.matches(letter).count();
        assert_eq!([count("{"), count("}"), count("["), count("]")], [100_000; 4]);
        assert!(written.ends_with("]}]}"), "it does not end in brackets");
    }
}
