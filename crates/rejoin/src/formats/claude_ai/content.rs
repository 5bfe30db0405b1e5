//! The content of a message, split into sections, because results of tools stand between its texts.

use serde_json::value::RawValue;

use crate::formats::raw_object::{RawObject, is_text};
use crate::model::{
    Block, Fields, Json, Media, MediaKind, Other, Role, Text, Thinking, ToolCall, ToolResult,
};

/// Consecutive blocks with one role.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    pub(super) role: Role,
    pub(super) blocks: Vec<Block>,
}

/// A call without a result so far.
struct OpenCall {
    id: String,
    name: String,
}

/// Returns the sections of a message; none if it is empty.
pub(super) fn read(id: &str, found: &mut RawObject<'_>) -> Vec<Section> {
    let role = match found.text("sender").as_deref() {
        Some("human") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => Role::System,
    };
    let mut sections = Sections { id, role, open: Vec::new(), calls: 0, done: Vec::new() };
    for mut block in list(found.raw("content")) {
        sections.block(&mut block);
    }
    // Older exports have only the text.
    let whole = found.text("text").filter(|text| !text.trim().is_empty());
    if let (true, Some(text)) = (sections.done.is_empty(), whole) {
        sections.say(role, Block::text(text));
    }
    for attachment in list(found.raw("attachments")) {
        sections.say(role, attached(attachment));
    }
    for file in list(found.raw("files")) {
        sections.say(role, named(&file));
    }
    sections.done
}

fn list<'a>(raw: Option<&'a RawValue>) -> Vec<RawObject<'a>> {
    let items: Vec<&RawValue> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    items.into_iter().filter_map(|item| serde_json::from_str(item.get()).ok()).collect()
}

struct Sections<'a> {
    id: &'a str,
    role: Role,
    open: Vec<OpenCall>,
    calls: usize,
    done: Vec<Section>,
}

impl Sections<'_> {
    fn say(&mut self, role: Role, block: Block) {
        match self.done.last_mut() {
            Some(section) if section.role == role => section.blocks.push(block),
            _ => self.done.push(Section { role, blocks: vec![block] }),
        }
    }

    fn block(&mut self, found: &mut RawObject<'_>) {
        let kind = found.text("type").unwrap_or_default();
        match kind.as_str() {
            "tool_use" => {
                let block = self.call(found);
                self.say(self.role, block);
            }
            "tool_result" => {
                let block = self.result(found);
                self.say(Role::Tool, block);
            }
            _ => {
                let block = match kind.as_str() {
                    "thinking" => found
                        .text("thinking")
                        .map(|text| Block::Thinking(Thinking { text, signature: None, extra: found.rest() })),
                    _ => found.text("text").map(|text| {
                        let mut extra = found.rest();
                        if kind != "text" {
                            set(&mut extra, "kind", &kind);
                        }
                        Block::Text(Text { text, extra })
                    }),
                };
                let is_empty = matches!(&block, Some(Block::Text(text)) if text.text.trim().is_empty());
                if !is_empty {
                    self.say(
                        self.role,
                        block.unwrap_or_else(|| Block::Other(Other { kind, fields: found.all() })),
                    );
                }
            }
        }
    }

    fn call(&mut self, found: &mut RawObject<'_>) -> Block {
        self.calls += 1;
        let id = found.text("id").unwrap_or_else(|| format!("{}/call/{}", self.id, self.calls));
        let name = found.text("name").unwrap_or_default();
        self.open.push(OpenCall { id: id.clone(), name: name.clone() });
        let input = found.raw("input").map(Json::from_raw).unwrap_or_default();
        Block::ToolCall(ToolCall { id, name, input, extra: found.rest() })
    }

    /// A result without a call id answers the newest open call with its name, or else the newest open call.
    fn result(&mut self, found: &mut RawObject<'_>) -> Block {
        let name = found.text("name").unwrap_or_default();
        let named = found.text("tool_use_id");
        let place =
            self.open.iter().rposition(|open| named.as_ref().map_or(open.name == name, |id| open.id == *id));
        let place = place.or_else(|| self.open.len().checked_sub(1).filter(|_| named.is_none()));
        let answered = place.map(|place| self.open.remove(place).id);
        let call_id = named.or(answered).unwrap_or_else(|| self.id.to_owned());
        let output = found.raw("content").map(output).unwrap_or_default();
        let is_error = found.raw("is_error").is_some_and(|is_error| is_error.get() == "true");
        Block::ToolResult(ToolResult { call_id, output, is_error, extra: found.rest() })
    }
}

/// A list of texts becomes Rejoin's blocks; anything else is kept unchanged.
fn output(raw: &RawValue) -> Json {
    if is_text(raw) {
        return Json::from_raw(raw);
    }
    let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(raw.get()) else { return Json::from_raw(raw) };
    let blocks: Option<Vec<Block>> = items
        .into_iter()
        .map(|item| {
            let mut found: RawObject<'_> = serde_json::from_str(item.get()).ok()?;
            let kind = found.text("type")?;
            let text = if kind == "text" { found.text("text") } else { None };
            Some(match text {
                Some(text) => Block::Text(Text { text, extra: found.rest() }),
                None => Block::Other(Other { kind, fields: found.all() }),
            })
        })
        .collect();
    blocks.and_then(|blocks| Json::of(&blocks).ok()).unwrap_or_else(|| Json::from_raw(raw))
}

/// An attachment: its extracted text, with its name in a field.
fn attached(mut found: RawObject<'_>) -> Block {
    match found.text("extracted_content").filter(|text| !text.is_empty()) {
        Some(text) => Block::Text(Text { text, extra: found.rest() }),
        None => named(&found),
    }
}

/// A file of which only the name is known.
fn named(found: &RawObject<'_>) -> Block {
    let extra = found.all();
    let field = |name: &str| extra.field(name).and_then(|value| value.to::<String>().ok());
    let mime_type = field("file_type").filter(|kind| kind.contains('/'));
    let is_image = field("file_kind").as_deref() == Some("image")
        || mime_type.as_ref().is_some_and(|kind| kind.starts_with("image/"));
    Block::Media(Media {
        kind: if is_image { MediaKind::Image } else { MediaKind::File },
        mime_type: mime_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
        data: None,
        uri: None,
        extra,
    })
}

fn set(fields: &mut Fields, name: &str, value: &str) {
    if let Ok(value) = Json::of(&value) {
        fields.set(name, value);
    }
}
