//! Who receives a view, and what it can take.

use crate::model::{Json, Message, Role};

/// The field of a reply's `extra` that names the API it came from.
const API: &str = "api";

/// The field of a reply's `extra` that names the provider it came from.
const PROVIDER: &str = "provider";

/// Who receives a view, and what it can take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recipient {
    /// The API, as replies name it in their `extra`.
    pub api: String,
    /// The provider, as replies name it in their `extra`; none when any that speaks the API will do.
    pub provider: Option<String>,
    /// True when the text of its own replies goes back as it came; otherwise text of white space alone is
    /// left out, as it is everywhere else.
    pub keeps_own_text: bool,
    /// Which thinking can be sent back.
    pub thinking: ThinkingRule,
    /// True when a reply that says something besides may end with thinking.
    pub takes_last_thinking: bool,
    /// What becomes of the provider's own items that have no kind of block.
    pub items: ItemRule,
    /// True when a reply that comes again, as in copies and merged files, is sent again; otherwise it is sent
    /// as if another provider had said it: its items have ids, and none may come twice.
    pub takes_repeats: bool,
    /// What becomes of images and other media.
    pub media: MediaRule,
    /// The same for media in the output of a tool.
    pub output_media: MediaRule,
    /// The most bytes of text in one tool's output; longer ones are cut in the middle.
    pub output_bytes: usize,
    /// Which ids of calls it takes.
    pub call_ids: CallIdRule,
    /// The most bytes of a tool's name.
    pub name_bytes: usize,
    /// True when a user must speak first.
    pub begins_with_user: bool,
}

/// Which thinking can be sent back to the provider it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingRule {
    /// With a signature, or in the provider's own sealed form.
    Signed,
    /// In the provider's own item, which the block keeps.
    Item,
    /// Any of its own.
    Own,
    /// None.
    Never,
}

/// What becomes of the provider's own items that have no kind of block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemRule {
    /// They are sent back. A tool on the server that never answered is left out once the user has spoken.
    ServerTools,
    /// They are sent back. A custom call without an output gets one.
    CustomCalls,
    /// They are left out.
    Never,
}

/// What becomes of images and other media. What is not sent is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaRule {
    /// Images and PDFs are sent.
    ImagesAndPdfs,
    /// Images are sent.
    Images,
    /// Nothing is sent.
    Described,
}

/// Which ids of calls it takes. No two calls of a view share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallIdRule {
    /// Any.
    Any,
    /// Letters, digits, `_` and `-`.
    Plain,
    /// At most 40 bytes, and 64 of its own.
    Short,
}

impl Recipient {
    /// A recipient that takes its own thinking, images, names of 64 bytes and a megabyte of output.
    pub fn new(api: impl Into<String>) -> Self {
        Self {
            api: api.into(),
            provider: None,
            keeps_own_text: true,
            thinking: ThinkingRule::Own,
            takes_last_thinking: true,
            items: ItemRule::Never,
            takes_repeats: true,
            media: MediaRule::Images,
            output_media: MediaRule::Described,
            output_bytes: 1 << 20,
            call_ids: CallIdRule::Any,
            name_bytes: 64,
            begins_with_user: false,
        }
    }

    /// Whoever speaks Anthropic Messages.
    pub fn anthropic() -> Self {
        Self {
            keeps_own_text: false,
            thinking: ThinkingRule::Signed,
            takes_last_thinking: false,
            items: ItemRule::ServerTools,
            media: MediaRule::ImagesAndPdfs,
            output_media: MediaRule::ImagesAndPdfs,
            call_ids: CallIdRule::Plain,
            begins_with_user: true,
            ..Self::new("anthropic")
        }
    }

    /// Whoever speaks OpenAI Responses.
    pub fn responses() -> Self {
        Self {
            thinking: ThinkingRule::Item,
            takes_last_thinking: false,
            items: ItemRule::CustomCalls,
            takes_repeats: false,
            call_ids: CallIdRule::Short,
            ..Self::new("openai-responses")
        }
    }

    /// Whoever speaks OpenAI Chat Completions.
    pub fn chat() -> Self {
        Self { call_ids: CallIdRule::Short, ..Self::new("openai-chat") }
    }

    /// The same for one provider only: what another said in the same language is not its own.
    #[must_use]
    pub fn named(mut self, provider: impl Into<String>) -> Self {
        self.provider = Some(provider.into());
        self
    }

    /// True for a reply that came from this recipient, so that it goes back as it came.
    pub fn is_own(&self, message: &Message) -> bool {
        let is = |name, expected: &str| message.extra.field(name).map(|field| is_string(field, expected));
        message.role == Role::Assistant
            && is(API, &self.api) == Some(true)
            && self.provider.as_ref().is_none_or(|provider| is(PROVIDER, provider) != Some(false))
    }
}

/// Takes away what makes a reply anyone's own.
pub(super) fn disown(message: &mut Message) {
    message.extra.remove(API);
}

/// True when the JSON is this string. Names are seldom escaped, so most are compared without being read.
fn is_string(json: &Json, expected: &str) -> bool {
    let plain = json.as_str().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match plain {
        Some(plain) if !plain.contains('\\') => plain == expected,
        _ => json.to::<String>().is_ok_and(|text| text == expected),
    }
}
