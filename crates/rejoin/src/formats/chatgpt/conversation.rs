//! One conversation of an export.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Result;
use crate::formats::chatgpt::content;
use crate::formats::raw_object::RawObject;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::topological_order::{TreeNode, parents_first};
use crate::formats::{INJECTED, Reading, SourceConversation, SourceMessage};
use crate::model::{Block, Fields, Json, Message, Role, Status, Time, ToolCall, ToolResult};

/// How many nodes above a result its call is searched.
const NEAR: usize = 64;

#[derive(Deserialize)]
struct NodeEntry<'a> {
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    children: Option<Vec<String>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeMessage<'a> {
    author: Author,
    #[serde(borrow)]
    create_time: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    recipient: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Author {
    role: Option<String>,
    name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    model_slug: Option<String>,
    is_visually_hidden_from_conversation: Option<bool>,
    finish_details: Option<FinishDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FinishDetails {
    #[serde(rename = "type")]
    kind: Option<String>,
}

/// What is remembered about a node that was read.
struct ReadNode {
    /// The message that its children follow.
    follows: Option<String>,
    /// The parent node.
    above: Option<String>,
    /// The tool that it calls.
    calls: Option<String>,
}

/// Reads a complete conversation.
pub(super) fn read(path: &Path, text: &str, number: u64, reading: &mut Reading<'_>) -> Result<()> {
    let Ok(mut found) = serde_json::from_str::<RawObject<'_>>(text) else {
        return reading.skip(path, number, "it is not a conversation");
    };
    let mapping = found.raw("mapping").and_then(|raw| serde_json::from_str::<Fields>(raw.get()).ok());
    let id = found.text("conversation_id").or_else(|| found.text("id"));
    let (Some(mapping), Some(id)) = (mapping, id) else {
        return reading.skip(path, number, "it has no id, or no mapping");
    };
    let mut entries = Vec::new();
    for (name, node) in mapping.iter() {
        match serde_json::from_str::<NodeEntry<'_>>(node.as_str()) {
            Ok(entry) => entries.push((name, node, entry)),
            Err(cause) => reading.skip(path, number, format!("node `{name}` cannot be read: {cause}"))?,
        }
    }
    let order = parents_first(&nodes(&entries));
    let created = found.raw("create_time").and_then(time).or_else(|| {
        // The first nodes of a tree never change.
        order
            .iter()
            .find_map(|place| said(&entries[*place].2).and_then(|said| said.create_time.and_then(time)))
    });
    let conversation = conversation(id, created.unwrap_or_default(), &mut found);
    let mut thread =
        ChatGptThread { thread: ThreadBuilder::new(conversation), number, nodes: HashMap::new() };
    // Asides have no line number: the position of a conversation changes from export to export.
    thread.thread.keep(0, about(&found)?);
    let current = found.text("current_node");
    for place in order {
        let (name, node, entry) = &entries[place];
        thread.node(name, node, entry, reading)?;
    }
    thread.finish(current, reading)
}

fn nodes<'a>(entries: &'a [(&'a str, &Json, NodeEntry<'_>)]) -> Vec<TreeNode<'a>> {
    let mut ranks: HashMap<(&str, &str), usize> = HashMap::new();
    for (name, _, entry) in entries {
        for (rank, child) in entry.children.iter().flatten().enumerate() {
            ranks.insert((name, child), rank);
        }
    }
    let node = |(id, _, entry): &'a (&'a str, &Json, NodeEntry<'_>)| {
        let parent = entry.parent.as_deref();
        let rank = parent.and_then(|parent| ranks.get(&(parent, *id)).copied()).unwrap_or(usize::MAX);
        TreeNode { id, parent, rank }
    };
    entries.iter().map(node).collect()
}

fn conversation(id: String, created: Time, found: &mut RawObject<'_>) -> SourceConversation {
    let mut conversation = SourceConversation::new(id, created);
    let header = &mut conversation.header;
    header.title = found.text("title").filter(|title| !title.trim().is_empty());
    header.settings.provider = Some("openai".to_owned());
    header.settings.model = found.text("default_model_slug");
    if found.raw("is_archived").is_some_and(|is_archived| is_archived.get() == "true") {
        header.status = Status::Completed;
    }
    conversation
}

/// Returns the conversation's own fields, without the nodes.
fn about(found: &RawObject<'_>) -> Result<String> {
    let mut fields = found.all();
    fields.remove("mapping");
    Ok(Json::of(&fields)?.as_str().to_owned())
}

fn said<'a>(entry: &NodeEntry<'a>) -> Option<NodeMessage<'a>> {
    serde_json::from_str(entry.message?.get()).ok()
}

/// Parses a time: seconds with a fraction, or a text.
fn time(raw: &RawValue) -> Option<Time> {
    let Ok(seconds) = serde_json::from_str::<f64>(raw.get()) else {
        return serde_json::from_str(raw.get()).ok();
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float that is too large becomes the last time there is"
    )]
    seconds.is_finite().then(|| Time::from_micros((seconds * 1e6).round() as i64))
}

/// A conversation while its nodes are read.
struct ChatGptThread {
    thread: ThreadBuilder,
    number: u64,
    nodes: HashMap<String, ReadNode>,
}

impl ChatGptThread {
    fn node(
        &mut self,
        name: &str,
        node: &Json,
        entry: &NodeEntry<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let follows = match &entry.parent {
            Some(parent) => {
                self.nodes.get(parent).map_or(Some(parent.clone()), |read_node| read_node.follows.clone())
            }
            None => None,
        };
        let mut read_node = ReadNode { follows: follows.clone(), above: entry.parent.clone(), calls: None };
        let message = said(entry).map(|said| self.message(name, entry, said, &mut read_node)).transpose()?;
        match message.filter(|message| !message.blocks.is_empty()) {
            Some(message) => {
                read_node.follows = Some(name.to_owned());
                let message = self.thread.message(name, follows, message);
                let source = node.as_str().to_owned();
                self.thread.add(SourceMessage { line: self.number, source, ..message }, reading)?;
            }
            None => self.thread.aside(0, node.as_str(), reading)?,
        }
        self.nodes.insert(name.to_owned(), read_node);
        Ok(())
    }

    fn message(
        &self,
        name: &str,
        entry: &NodeEntry<'_>,
        said: NodeMessage<'_>,
        read_node: &mut ReadNode,
    ) -> Result<Message> {
        let mut blocks = said.content.map(content::read).unwrap_or_default();
        let metadata = said.metadata.unwrap_or_default();
        let role = match said.author.role.as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::Tool,
            _ => Role::System,
        };
        let recipient =
            said.recipient.filter(|recipient| !matches!(recipient.as_str(), "all" | "assistant" | ""));
        if let (Role::Assistant, Some(tool), false) = (role, recipient, blocks.is_empty()) {
            blocks = content::call(blocks, |input, extra| {
                Block::ToolCall(ToolCall { id: name.to_owned(), name: tool.clone(), input, extra })
            })?;
            read_node.calls = Some(tool);
        }
        if role == Role::Tool && !blocks.is_empty() {
            let call_id = self.caller(entry, said.author.name.as_deref()).unwrap_or_else(|| name.to_owned());
            let output = content::output(blocks)?;
            blocks = vec![Block::ToolResult(ToolResult {
                call_id,
                output,
                is_error: false,
                extra: Fields::new(),
            })];
        }
        let mut message = Message::new(role, blocks);
        message.created_at = said.create_time.and_then(time);
        message.finish = metadata.finish_details.and_then(|finish| finish.kind);
        if let (Some(model), Role::Assistant) = (metadata.model_slug, role) {
            message.extra.set("model", Json::of(&model)?);
        }
        let is_hidden = metadata.is_visually_hidden_from_conversation == Some(true);
        if role == Role::System || is_hidden {
            message.extra.set(INJECTED, Json::of(&true)?);
        }
        Ok(message)
    }

    /// Returns the nearest call above, preferably of the same tool.
    fn caller(&self, entry: &NodeEntry<'_>, tool: Option<&str>) -> Option<String> {
        let family = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
        let mut any = None;
        let mut above = entry.parent.as_deref();
        for _ in 0..NEAR {
            let Some((name, read_node)) = above.and_then(|name| self.nodes.get_key_value(name)) else {
                break;
            };
            if let Some(called) = &read_node.calls {
                if tool.is_none_or(|tool| family(tool) == family(called)) {
                    return Some(name.clone());
                }
                any.get_or_insert_with(|| name.clone());
            }
            above = read_node.above.as_deref();
        }
        any
    }

    /// Completes the conversation with its head.
    fn finish(mut self, current: Option<String>, reading: &mut Reading<'_>) -> Result<()> {
        let head =
            current.and_then(|current| self.nodes.remove(&current)).and_then(|read_node| read_node.follows);
        self.thread.finish(head, reading)?;
        self.thread.complete(reading)
    }
}
