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
    /// Which text can be sent back.
    pub text: TextRule,
    /// Which thinking can be sent back.
    pub thinking: ThinkingRule,
    /// Where thinking may stand.
    pub ending: EndingRule,
    /// What becomes of the provider's own items that have no kind of block.
    pub items: ItemRule,
    /// What becomes of a reply that comes again.
    pub repeats: RepeatRule,
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
    /// Who must speak first.
    pub first: FirstRule,
}

/// Which text can be sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRule {
    /// Text that is more than white space.
    Words,
    /// In its own replies any text, as it came; elsewhere text that is more than white space.
    Own,
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

/// Where thinking may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndingRule {
    /// Anywhere in a reply that says something besides.
    Anything,
    /// Not at the end of a reply.
    NoThinking,
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

/// What becomes of a reply that comes again, as copies and merged files have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepeatRule {
    /// It is sent again.
    Sent,
    /// It is sent as if another provider had said it: its items have ids, and none may come twice.
    Plain,
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

/// Who must speak first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstRule {
    /// A user.
    User,
    /// Anyone.
    Anyone,
}

impl Recipient {
    /// A recipient that takes its own thinking, images, names of 64 bytes and a megabyte of output.
    pub fn new(api: impl Into<String>) -> Self {
        Self {
            api: api.into(),
            provider: None,
            text: TextRule::Own,
            thinking: ThinkingRule::Own,
            ending: EndingRule::Anything,
            items: ItemRule::Never,
            repeats: RepeatRule::Sent,
            media: MediaRule::Images,
            output_media: MediaRule::Described,
            output_bytes: 1 << 20,
            call_ids: CallIdRule::Any,
            name_bytes: 64,
            first: FirstRule::Anyone,
        }
    }

    /// Whoever speaks Anthropic Messages.
    pub fn anthropic() -> Self {
        Self {
            text: TextRule::Words,
            thinking: ThinkingRule::Signed,
            ending: EndingRule::NoThinking,
            items: ItemRule::ServerTools,
            media: MediaRule::ImagesAndPdfs,
            output_media: MediaRule::ImagesAndPdfs,
            call_ids: CallIdRule::Plain,
            first: FirstRule::User,
            ..Self::new("anthropic")
        }
    }

    /// Whoever speaks OpenAI Responses.
    pub fn responses() -> Self {
        Self {
            thinking: ThinkingRule::Item,
            ending: EndingRule::NoThinking,
            items: ItemRule::CustomCalls,
            repeats: RepeatRule::Plain,
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
