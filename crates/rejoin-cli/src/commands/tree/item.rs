//! A message in a tree: what both the drawing and the JSON tell of it.

use rejoin::store::{Order, Selection};
use rejoin::{Archive, Block, Branch, Message, MessageId, Role, StoredConversation, Time};

use crate::error::Failure;

/// Characters kept of a text of which only a line is drawn. A tree holds every message of a conversation, and
/// their whole texts could fill the memory.
const BEGINNING: usize = 2_000;

/// How much of each text to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextExtent {
    /// Enough for a line; a message without text is told by its first block.
    Beginning,
    /// All of it.
    Whole,
}

#[derive(Debug)]
pub(super) struct TreeItem {
    pub(super) id: MessageId,
    pub(super) parent: Option<MessageId>,
    pub(super) time: Time,
    pub(super) role: Role,
    pub(super) text: String,
    pub(super) label: Option<String>,
    /// Why a reply ended, where it did not come to its end.
    pub(super) cut_short: Option<String>,
    /// The named branches that end here.
    pub(super) branches: Vec<Branch>,
    /// Whether the next message will follow this one, though it is not the only one that could be.
    pub(super) is_head: bool,
}

impl TreeItem {
    /// What is drawn before the text: the label, how a reply was cut short, and where branches end.
    pub(super) fn mark(&self) -> Option<String> {
        let branches = self.branches.iter().map(|branch| format!("branch: {}", branch.title));
        let head = self.is_head.then(|| "current".to_owned());
        let label = self.label.iter().chain(&self.cut_short).cloned();
        let marks: Vec<String> = label.chain(branches).chain(head).collect();
        (!marks.is_empty()).then(|| marks.join(", "))
    }
}

/// Reads every message of a conversation, in order of arrival.
pub(super) fn read(
    archive: &Archive,
    stored: &StoredConversation,
    extent: TextExtent,
) -> Result<Vec<TreeItem>, Failure> {
    let mut items: Vec<TreeItem> = Vec::new();
    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    archive.reader().visit(stored.id, everything, &mut |seen| {
        let message = Message::from_body(seen.body)
            .map_err(|error| error.during(format!("read message `{}`", seen.id)))?;
        items.push(TreeItem {
            id: seen.id,
            parent: seen.parent,
            time: message.created_at.unwrap_or(stored.created_at),
            role: message.role,
            cut_short: message.finish.clone().filter(|_| message.was_cut_short()),
            text: match extent {
                TextExtent::Beginning => gist(&message).chars().take(BEGINNING).collect(),
                TextExtent::Whole => message.text(),
            },
            label: seen.note.label.map(str::to_owned),
            branches: stored.branches.iter().filter(|branch| branch.head == seen.id).cloned().collect(),
            is_head: false,
        });
        Ok(())
    })?;
    // In a conversation without branches the head is the last line, which needs no mark.
    let is_linear = items.windows(2).all(|pair| pair[1].parent == Some(pair[0].id));
    let head = stored.head.map(|head| head.id);
    for item in items.iter_mut().filter(|_| !is_linear) {
        item.is_head = Some(item.id) == head;
    }
    Ok(items)
}

/// The text, or what the first block says of itself.
fn gist(message: &Message) -> String {
    let text = message.folded_text();
    if !text.trim().is_empty() {
        return text;
    }
    let Some(first) = message.blocks.iter().find(|block| block.kind() != "text") else { return text };
    let words = first.words().unwrap_or_default();
    match first {
        // The role has said already that a tool speaks.
        Block::ToolResult(_) => words.into_owned(),
        _ => format!("[{}] {words}", first.kind().replace('_', " ")),
    }
}
