//! What is wrong with a view, as a strict provider would say it.

use std::collections::HashSet;

use rejoin::view::{CallIdRule, ItemRule, MediaRule, Recipient, ThinkingRule, View};
use rejoin::{Block, Json, MediaKind, Message, Role, ToolCall};

pub(crate) fn objections(view: &View<'_>, recipient: &Recipient) -> Vec<String> {
    let mut strict = Strict { recipient, wrong: Vec::new(), known: HashSet::new(), open: Vec::new() };
    let mut before = Role::User;
    let mut replies = HashSet::new();
    for viewed in &view.messages {
        let message = &viewed.message;
        if !strict.open.is_empty() && message.role != Role::Tool && message.role != before {
            strict.note(format!("calls without results: {:?}", strict.open));
            strict.open.clear();
        }
        if message.role == Role::Tool && !matches!(before, Role::Assistant | Role::Tool) {
            strict.note("results that follow no reply".to_owned());
        }
        strict.message(message);
        let reply = message.extra.field("response_id").map(Json::as_str).filter(|id| id.len() > 2);
        if recipient.api == "openai-responses"
            && recipient.is_own(message)
            && reply.is_some_and(|id| !replies.insert(id.to_owned()))
        {
            strict.note("a reply comes twice".to_owned());
        }
        before = message.role;
    }
    if !strict.open.is_empty() {
        strict.note(format!("calls without results at the end: {:?}", strict.open));
    }
    let first = view.messages.iter().map(|viewed| viewed.message.role).find(|role| *role != Role::System);
    if recipient.begins_with_user && first.is_some_and(|first| first != Role::User) {
        strict.note("a user does not speak first".to_owned());
    }
    if recipient.items == ItemRule::ServerTools {
        strict.server_tools(view);
    }
    strict.wrong
}

struct Strict<'r> {
    recipient: &'r Recipient,
    wrong: Vec<String>,
    known: HashSet<String>,
    open: Vec<String>,
}

impl Strict<'_> {
    fn note(&mut self, wrong: String) {
        self.wrong.push(wrong);
    }

    fn message(&mut self, message: &Message) {
        if message.blocks.is_empty() {
            self.note("an empty message".to_owned());
        }
        if message.blocks.iter().all(is_thinking)
            || (!self.recipient.takes_last_thinking && message.blocks.last().is_some_and(is_thinking))
        {
            self.note("thinking that nothing follows".to_owned());
        }
        message.blocks.iter().for_each(|block| self.block(block, message));
    }

    fn block(&mut self, block: &Block, message: &Message) {
        let is_own = self.recipient.is_own(message);
        match block {
            Block::Text(text) => {
                let is_exact = is_own && self.recipient.api != "anthropic";
                let is_sent = is_exact && (!text.text.is_empty() || !text.extra.is_empty());
                if text.text.trim().is_empty() && !is_sent {
                    self.note("an empty text".to_owned());
                }
            }
            Block::Thinking(thinking) => {
                let is_proven = match self.recipient.thinking {
                    ThinkingRule::Signed => thinking.signature.as_ref().is_some_and(|it| !it.is_empty()),
                    ThinkingRule::Item => thinking.extra.field("item").is_some(),
                    ThinkingRule::Own => true,
                    ThinkingRule::Never => false,
                };
                if !is_own || !is_proven {
                    self.note("thinking that is not proven".to_owned());
                }
            }
            Block::ToolCall(call) => self.call(call, message),
            Block::ToolResult(result) => {
                match self.open.first() {
                    Some(next) if message.role == Role::Tool && *next == result.call_id => {
                        drop(self.open.remove(0));
                    }
                    _ => self.note(format!("a result for `{}` in the wrong place", result.call_id)),
                }
                if result.output.as_str().len() > 3 * self.recipient.output_bytes {
                    self.note("a long output".to_owned());
                }
            }
            Block::Media(media) => {
                let is_taken = match self.recipient.media {
                    MediaRule::ImagesAndPdfs => matches!(media.kind, MediaKind::Image | MediaKind::File),
                    MediaRule::Images => media.kind == MediaKind::Image,
                    MediaRule::Described => false,
                };
                let is_local =
                    media.uri.as_ref().is_some_and(|uri| uri.starts_with("file:") || uri.ends_with("odd"));
                let has_data = media.data.as_ref().is_some_and(|data| !data.is_empty());
                if message.role != Role::User || !is_taken || (is_local && !has_data) {
                    self.note("media that cannot be sent".to_owned());
                }
            }
            Block::Other(item) => {
                if !is_own || self.recipient.items == ItemRule::Never || item.kind.is_empty() {
                    self.note(format!("a foreign `{}`", item.kind));
                }
                self.custom_call(block, message);
            }
            _ => self.note(format!("a `{}`", block.kind())),
        }
        if message.role == Role::Tool && !matches!(block, Block::ToolResult(_)) {
            self.note("a tool that says more than results".to_owned());
        }
    }

    fn call(&mut self, call: &ToolCall, message: &Message) {
        if message.role != Role::Assistant {
            self.note("a stray call".to_owned());
        }
        if !self.known.insert(call.id.clone()) {
            self.note(format!("`{}` twice", call.id));
        }
        let is_accepted = match self.recipient.call_ids {
            CallIdRule::Any => true,
            CallIdRule::Plain => is_plain(&call.id),
            CallIdRule::Short => call.id.len() <= if self.recipient.is_own(message) { 64 } else { 40 },
        };
        if !is_accepted || call.id.is_empty() || !is_plain(&call.name) || call.name.len() > 64 {
            self.note(format!("a call that is none: {call:?}"));
        }
        self.open.push(call.id.clone());
    }

    fn custom_call(&mut self, block: &Block, message: &Message) {
        let Block::Other(call) = block else { return };
        let is_output = |other: &Block| {
            matches!(other, Block::Other(output) if output.kind == "custom_tool_call_output"
                && output.fields.field("call_id") == call.fields.field("call_id"))
        };
        let is_custom = call.kind == "custom_tool_call" && self.recipient.items == ItemRule::CustomCalls;
        if is_custom && !message.blocks.iter().any(is_output) {
            self.note("a custom call without an output".to_owned());
        }
    }

    /// Before the user speaks again, every tool on the server has answered.
    fn server_tools(&mut self, view: &View<'_>) {
        let mut open: Vec<Json> = Vec::new();
        for message in view.messages.iter().map(|viewed| &viewed.message) {
            if message.role == Role::User && !open.is_empty() {
                self.note("a tool on the server that never answered".to_owned());
                open.clear();
            }
            for block in &message.blocks {
                let Block::Other(item) = block else { continue };
                match item.kind.as_str() {
                    "server_tool_use" => open.extend(item.fields.field("id").cloned()),
                    "web_search_tool_result" => {
                        let id = item.fields.field("tool_use_id").unwrap();
                        match open.iter().position(|asked| asked == id) {
                            Some(place) => drop(open.remove(place)),
                            None => self.note("a tool on the server that nobody asked".to_owned()),
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

fn is_thinking(block: &Block) -> bool {
    matches!(block, Block::Thinking(_))
        || matches!(block, Block::Other(item) if item.kind == "redacted_thinking")
}

fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
}
