//! What a whole request takes: its words, and what a provider adds to them.
//!
//! The constants were fitted to requests and usage that other projects recorded with the real
//! services; the tests name them. A request of a few hundred tokens is within a tenth for OpenAI's
//! models. For Claude the words are within a tenth, but the instructions that the service adds for
//! tools differ by up to 200 tokens from day to day.

use rejoin::{Block, MediaKind, Message};

use crate::providers::{Api, Request};
use crate::tokens::{self, images, shown};

/// Estimates tokens for one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Tokens for each hundred that OpenAI's vocabulary takes.
    percent: u64,
    /// What the initial context costs beside its words.
    system: u64,
    /// What a tool call and its result cost beside their words.
    call: u64,
    /// What the first tool costs beside its words.
    tools: u64,
    /// What each tool costs beside its words.
    tool: u64,
    /// How a tool is written down for the model.
    form: shown::ToolForm,
    /// What an image costs.
    picture: images::Price,
}

/// What a message costs beside its words: its role and the marks around it.
const MESSAGE: u64 = 4;

/// What the beginning of the reply costs.
const REPLY: u64 = 3;

/// Models of OpenAI, and others of which nothing is known.
const OPENAI: Estimate = Estimate {
    percent: 100,
    system: MESSAGE,
    call: 7,
    tools: 15,
    tool: 0,
    form: shown::ToolForm::Types,
    picture: images::Price::Tiles,
};

/// Models of Anthropic up to 4.6, whose tokens are a little shorter.
const CLAUDE: Estimate = Estimate {
    percent: 107,
    system: 0,
    call: 45,
    tools: 450,
    tool: 25,
    form: shown::ToolForm::Schema,
    picture: images::Price::Area,
};

/// Later models of Anthropic, whose tokens are shorter still: the documentation says 30 percent more
/// of them, and 15 to 40 were recorded.
const LATER_CLAUDE: Estimate = Estimate { percent: 128, tools: 340, ..CLAUDE };

/// What Chat Completions adds to the tools of these models, and Responses does not.
const CHAT_TOOLS: u64 = 80;

/// Names in the models of Anthropic with the vocabulary that came before Opus 4.7.
const EARLIER: [&str; 9] = [
    "claude-2",
    "claude-3",
    "claude-instant",
    "sonnet-4",
    "haiku-4",
    "opus-4-0",
    "opus-4-1",
    "opus-4-5",
    "opus-4-6",
];

impl Estimate {
    /// For a model that is asked through an API.
    pub fn of(api: Api, model: &str) -> Self {
        // Some servers write `anthropic/claude-opus-4.6`.
        let name = model.to_ascii_lowercase().replace('.', "-");
        let is_claude = api == Api::Anthropic || name.contains("claude");
        let is_earlier = EARLIER.iter().any(|part| name.contains(part)) || name.contains("opus-4-2025");
        match (is_claude, is_earlier) {
            (true, true) => CLAUDE,
            (true, false) => LATER_CLAUDE,
            (false, _) if api == Api::Chat && name.contains("gpt-5") => {
                Self { tools: OPENAI.tools + CHAT_TOOLS, ..OPENAI }
            }
            (false, _) => OPENAI,
        }
    }

    /// The tokens of a text.
    pub fn text(&self, text: &str) -> u64 {
        (tokens::count(text) * self.percent).div_ceil(100)
    }

    /// The tokens of a message.
    pub fn message(&self, message: &Message) -> u64 {
        self.total(&self.parts_of(message, &tokens::count))
    }

    /// The tokens of a request.
    pub fn request(&self, request: &Request<'_>) -> u64 {
        REPLY + self.total(&self.parts(request, &tokens::count))
    }

    /// A number that [`Self::message`] never exceeds, at the price of measuring lengths.
    pub fn message_at_most(&self, message: &Message) -> u64 {
        self.total(&self.parts_of(message, &tokens::at_most))
    }

    /// A number that [`Self::request`] never exceeds, at the price of measuring lengths. While it is below a
    /// limit, the vocabulary need not be read.
    pub fn request_at_most(&self, request: &Request<'_>) -> u64 {
        REPLY + self.total(&self.parts(request, &tokens::at_most))
    }

    /// What a request of these parts takes, with the beginning of the reply.
    #[cfg(test)]
    pub(super) fn request_of(&self, parts: &RequestParts) -> u64 {
        REPLY + self.total(parts)
    }

    fn total(&self, parts: &RequestParts) -> u64 {
        let system = if parts.system == 0 { 0 } else { self.system };
        let tools = if parts.tools == 0 { 0 } else { self.tools };
        let words = parts.system + parts.words + parts.tool_words;
        let scaled = (words * self.percent).div_ceil(100);
        let marks = system + parts.messages * MESSAGE + parts.calls * self.call;
        scaled + marks + tools + parts.tools * self.tool + parts.media
    }

    fn parts(&self, request: &Request<'_>, count: &impl Fn(&str) -> u64) -> RequestParts {
        let tools = request.tools.iter().map(|tool| RequestParts {
            tools: 1,
            tool_words: count(&self.form.of(tool)),
            ..RequestParts::default()
        });
        let messages = request.messages.iter().map(|viewed| self.parts_of(&viewed.message, count));
        let system = RequestParts { system: count(request.system), ..RequestParts::default() };
        tools.chain(messages).fold(system, RequestParts::and)
    }

    fn parts_of(&self, message: &Message, count: &impl Fn(&str) -> u64) -> RequestParts {
        let blocks = message.blocks.iter().map(|block| self.parts_of_block(block, count));
        blocks.fold(RequestParts { messages: 1, ..RequestParts::default() }, RequestParts::and)
    }

    fn parts_of_block(&self, block: &Block, count: &impl Fn(&str) -> u64) -> RequestParts {
        let mut parts = RequestParts::default();
        match block {
            Block::ToolCall(call) => {
                parts.calls = 1;
                parts.words = count(&call.name) + count(call.input.as_str());
            }
            Block::Media(media) if media.kind == MediaKind::Image => parts.media = self.picture.of(media),
            // Other media are described in a line.
            Block::Media(_) => parts.media = 30,
            Block::Snapshot(snapshot) if snapshot.is_of_files() => {}
            Block::Snapshot(snapshot) => parts.words = count(snapshot.data.as_str()),
            Block::Other(other) => {
                parts.words = other.fields.iter().map(|(_, value)| count(value.as_str())).sum();
            }
            _ => parts.words = block.words().map_or(0, |text| count(&text)),
        }
        parts
    }
}

/// What a request is made of. Words are in tokens of the vocabulary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestParts {
    /// The initial context.
    pub(super) system: u64,
    /// How many messages.
    pub(super) messages: u64,
    /// Their words.
    pub(super) words: u64,
    /// How many of their blocks call a tool.
    pub(super) calls: u64,
    /// What their images take, which is no matter of words.
    pub(super) media: u64,
    /// How many tools are offered.
    pub(super) tools: u64,
    /// Their words, as the model is shown them.
    pub(super) tool_words: u64,
}

impl RequestParts {
    const fn and(self, other: Self) -> Self {
        Self {
            system: self.system + other.system,
            messages: self.messages + other.messages,
            words: self.words + other.words,
            calls: self.calls + other.calls,
            media: self.media + other.media,
            tools: self.tools + other.tools,
            tool_words: self.tool_words + other.tool_words,
        }
    }
}
