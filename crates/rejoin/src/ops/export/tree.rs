//! Stored conversations become a tree that a format can write.

use std::collections::{HashMap, HashSet};

use crate::formats::{
    SOURCE, SourceBranch, SourceConversation, SourceKept, SourceMessage, SourceParent, SourcePin, Tree,
};
use crate::model::{
    Block, Conversation, ConversationId, Json, MessageId, StoredConversation, StoredMessage, Time,
};
use crate::ops::view::{Compaction, View};

/// Which messages of a conversation are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// From the root to a message, or to the head.
    Path(Option<MessageId>),
    /// Every branch.
    Tree,
}

/// How messages are called in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// As at their source, if they were imported, and without what an import
    /// added to them: for other programs.
    Source,
    /// As here, and exactly as they are kept: for people, and for files of Rejoin.
    Own,
}

/// What started a run of a sub-agent: its conversation, its message where it is known, its name and which of
/// its runs.
pub(crate) type Started = (ConversationId, Option<MessageId>, String, String);

/// Adds a conversation to a tree, under the id that it has here, so that what is written
/// is never mistaken for what was read.
pub(crate) fn add_to_tree(
    tree: &mut Tree,
    naming: Naming,
    stored: &StoredConversation,
    messages: &[StoredMessage],
    started: Option<Started>,
    named: &mut HashMap<(ConversationId, MessageId), String>,
) {
    let mut taken = HashSet::new();
    for message in messages {
        let source = source_id(message)
            .filter(|_| naming == Naming::Source)
            .filter(|source| taken.insert(source.clone()));
        let name = source.unwrap_or_else(|| message.id.to_string());
        named.insert((stored.id, message.id), name);
    }
    let name = |id: MessageId| named.get(&(stored.id, id)).cloned();
    let mut conversation = SourceConversation::new(stored.id.to_string(), stored.created_at);
    conversation.header = stored.conversation.clone();
    conversation.head = stored.head.and_then(|head| name(head.id));
    conversation.parent = started.map(|(parent, message, sub_agent, run)| SourceParent {
        conversation: parent.to_string(),
        message: message.and_then(|message| named.get(&(parent, message)).cloned()),
        name: sub_agent,
        run,
    });
    tree.conversations.push(conversation);
    tree.messages.extend(messages.iter().map(|message| match naming {
        Naming::Source => exported(stored, message, &name),
        Naming::Own => kept(stored, message),
    }));
    let conversation = || stored.id.to_string();
    tree.branches.extend(stored.branches.iter().filter_map(|branch| {
        let (id, title) = (branch.id.to_string(), branch.title.clone());
        Some(SourceBranch { conversation: conversation(), id, title, head: name(branch.head)? })
    }));
    let pinned = messages.iter().filter(|message| message.is_pinned);
    tree.pins.extend(
        pinned.filter_map(|message| {
            Some(SourcePin { conversation: conversation(), message: name(message.id)? })
        }),
    );
}

/// A view as a conversation of its own: what a model is sent, one message after the other, without any mark
/// of what was left out. A summary is a text like any other.
pub(crate) fn view_tree(id: ConversationId, header: Conversation, view: View<'_>, now: Time) -> Tree {
    let mut conversation = SourceConversation::new(id.to_string(), now);
    conversation.header = header;
    let mut messages: Vec<SourceMessage> = Vec::with_capacity(view.messages.len());
    for viewed in view.messages {
        let mut message = viewed.message.into_owned();
        message.extra.remove(SOURCE);
        for block in &mut message.blocks {
            if let Block::Summary(summary) = block {
                *block = Block::text(std::mem::take(&mut summary.text));
            }
        }
        messages.push(SourceMessage {
            conversation: id.to_string(),
            // A message may be shown in parts, and a name stands for one of them.
            id: format!("{}", messages.len() + 1),
            parent: messages.last().map(|before| before.id.clone()),
            message,
            keeps: Vec::new(),
            line: 0,
            source: String::new(),
        });
    }
    Tree { conversations: vec![conversation], messages, ..Tree::default() }
}

fn source_id(message: &StoredMessage) -> Option<String> {
    let source: serde_json::Value = message.message.extra.field(SOURCE)?.to().ok()?;
    source["id"].as_str().map(str::to_owned)
}

/// A message as it is kept.
fn kept(stored: &StoredConversation, message: &StoredMessage) -> SourceMessage {
    SourceMessage {
        conversation: stored.id.to_string(),
        id: message.id.to_string(),
        parent: message.parent.map(|parent| parent.to_string()),
        message: message.message.clone(),
        keeps: Vec::new(),
        line: 0,
        source: String::new(),
    }
}

/// A message as another program would know it.
fn exported(
    stored: &StoredConversation,
    message: &StoredMessage,
    name: &dyn Fn(MessageId) -> Option<String>,
) -> SourceMessage {
    let compaction = Compaction::from_message(&message.message).and_then(Result::ok).unwrap_or_default();
    let mut said = message.message.clone();
    said.extra.remove(SOURCE);
    for block in &mut said.blocks {
        if let Block::Summary(summary) = block {
            summary.extra.remove("compaction");
            let numbers = [
                ("tokens_before", compaction.tokens_before),
                ("tokens_after", compaction.tokens_after),
                ("trimmed", compaction.trimmed),
            ];
            for (field, number) in numbers.into_iter().filter(|(_, number)| *number > 0) {
                summary.extra.set(field, Json::of(&number).expect("a number is JSON"));
            }
        }
    }
    SourceMessage {
        conversation: stored.id.to_string(),
        id: name(message.id).unwrap_or_else(|| message.id.to_string()),
        parent: message.parent.and_then(name),
        message: said,
        keeps: (compaction.kept.into_iter())
            .filter_map(|kept| Some(SourceKept { message: name(kept.message)?, text: kept.text }))
            .collect(),
        line: 0,
        source: String::new(),
    }
}
