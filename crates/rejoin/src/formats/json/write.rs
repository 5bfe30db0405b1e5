//! Writes a document.

use std::path::PathBuf;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::formats::json::VERSION;
use crate::formats::json::row::{DocumentBranch, DocumentConversation, DocumentMessage, DocumentParent};
use crate::formats::{SourceConversation, SourceMessage, Tree, WrittenFile};

/// Writes the whole tree as one file, named after its main conversation.
pub(super) fn write(tree: &Tree) -> Result<Vec<WrittenFile>> {
    let main = tree.main()?;
    let mut text = format!("{{\"rejoin\":{VERSION},\"conversations\":[");
    for (place, conversation) in tree.conversations.iter().enumerate() {
        text.push_str(if place == 0 { "\n" } else { ",\n" });
        let row = json(&conversation_row(tree, conversation))?;
        let open = row.strip_suffix('}').expect("a conversation is an object");
        text.push_str(open);
        text.push_str(",\"messages\":[");
        for (place, message) in tree.messages_of(&conversation.id).enumerate() {
            text.push_str(if place == 0 { "\n" } else { ",\n" });
            text.push_str(&json(&message_row(tree, message))?);
        }
        text.push_str("]}");
    }
    text.push_str("]}\n");
    Ok(vec![WrittenFile { path: PathBuf::from(file_name(&main.id)), bytes: text.into_bytes() }])
}

fn json(row: &impl Serialize) -> Result<String> {
    serde_json::to_string(row).map_err(|cause| Error::invalid("write a conversation as JSON").because(cause))
}

fn conversation_row(tree: &Tree, conversation: &SourceConversation) -> DocumentConversation {
    let branches = tree.branches.iter().filter(|branch| branch.conversation == conversation.id);
    DocumentConversation {
        id: conversation.id.clone(),
        created_at: conversation.created_at,
        head: conversation.head.clone(),
        parent: conversation.parent.as_ref().map(|parent| DocumentParent {
            conversation: parent.conversation.clone(),
            message: parent.message.clone(),
            name: parent.name.clone(),
            run: parent.run.clone(),
        }),
        header: conversation.header.clone(),
        branches: branches
            .map(|branch| DocumentBranch {
                id: branch.id.clone(),
                title: branch.title.clone(),
                head: branch.head.clone(),
            })
            .collect(),
    }
}

fn message_row(tree: &Tree, found: &SourceMessage) -> DocumentMessage {
    let is_it =
        |pin: &crate::formats::SourcePin| pin.conversation == found.conversation && pin.message == found.id;
    DocumentMessage {
        id: found.id.clone(),
        parent: found.parent.clone(),
        label: found.message.label.clone(),
        pinned: tree.pins.iter().any(is_it),
        keeps: found.keeps.clone(),
        message: found.message.clone(),
    }
}

/// Returns a safe file name for an id, which is untrusted input.
fn file_name(id: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    let name: String =
        id.chars().take(100).map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    format!("{name}.json")
}
