//! What was changed to make a view valid, told so that a person can look.

use std::fmt;

use crate::model::MessageId;

/// One change. A message that only exists in the view has no id.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// A call has no result; a stub stands for it.
    MissingResult {
        /// The message that calls.
        message: Option<MessageId>,
        /// The call.
        call: String,
    },
    /// A result answers no call, or one that was answered; it is left out.
    OrphanResult {
        /// The message that answers.
        message: Option<MessageId>,
        /// The call it names.
        call: String,
    },
    /// A result came after the model went on without it; it is sent as text.
    LateResult {
        /// The message that answers.
        message: Option<MessageId>,
        /// The call it names.
        call: String,
    },
    /// Something was said between a call and its result; the result is sent first.
    MovedResult {
        /// The message that answers.
        message: Option<MessageId>,
        /// The call it names.
        call: String,
    },
    /// A call stands where only a model may call; it is left out.
    MisplacedCall {
        /// The message that calls.
        message: Option<MessageId>,
        /// The call.
        call: String,
    },
    /// The same call came before; this one is sent under another id.
    RepeatedCall {
        /// The message that calls.
        message: Option<MessageId>,
        /// The call.
        call: String,
    },
    /// The id of a call is taken by another, or not accepted; it is sent under another.
    RenamedCall {
        /// The message that calls.
        message: Option<MessageId>,
        /// The id it has.
        call: String,
    },
    /// The name of a tool is not accepted; it is sent under another.
    RenamedTool {
        /// The message that calls.
        message: Option<MessageId>,
        /// The name it has.
        name: String,
    },
    /// A call or a result that survives a compaction alone is sent as text.
    AloneAsText {
        /// The message that has it.
        message: Option<MessageId>,
        /// The call.
        call: String,
    },
    /// A tool on the provider's server was asked and never answered; it is left out.
    AbandonedTool {
        /// The message that asks.
        message: Option<MessageId>,
        /// The call.
        call: String,
    },
    /// The same reply came before; only its words and calls are sent again.
    RepeatedReply {
        /// The later one.
        message: Option<MessageId>,
    },
    /// Thinking of another provider is left out.
    ForeignThinking {
        /// The message that thinks.
        message: Option<MessageId>,
    },
    /// Thinking without its signature is left out.
    UnsignedThinking {
        /// The message that thinks.
        message: Option<MessageId>,
    },
    /// Thinking that a secret was taken out of is left out: its signature is of other words.
    RedactedThinking {
        /// The message that thinks.
        message: Option<MessageId>,
    },
    /// Thinking that led to nothing is left out.
    LastThinking {
        /// The message that thinks.
        message: Option<MessageId>,
    },
    /// An item that only another provider understands is left out.
    ForeignItem {
        /// The message that has it.
        message: Option<MessageId>,
        /// What it is.
        kind: String,
    },
    /// Something that is not text is described.
    DescribedMedia {
        /// The message that has it.
        message: Option<MessageId>,
        /// What it is.
        mime_type: String,
    },
    /// The middle of a long output is left out.
    CutOutput {
        /// The message that has it.
        message: Option<MessageId>,
        /// The call it answers.
        call: String,
        /// How many bytes are left out.
        bytes: usize,
    },
    /// A text without words is left out of a message that has more.
    EmptyText {
        /// The message that has it.
        message: Option<MessageId>,
    },
    /// A message without content is left out.
    Empty {
        /// Which.
        message: Option<MessageId>,
    },
    /// What a compaction keeps cannot be read, so that only its summary is shown.
    UnreadableCompaction {
        /// The message that has it.
        message: Option<MessageId>,
    },
    /// A line was added because a user must speak first.
    Began,
}

impl Repair {
    /// The message that was changed.
    pub const fn message(&self) -> Option<MessageId> {
        match self {
            Self::MissingResult { message, .. }
            | Self::OrphanResult { message, .. }
            | Self::LateResult { message, .. }
            | Self::MovedResult { message, .. }
            | Self::MisplacedCall { message, .. }
            | Self::RepeatedCall { message, .. }
            | Self::RenamedCall { message, .. }
            | Self::RenamedTool { message, .. }
            | Self::AloneAsText { message, .. }
            | Self::AbandonedTool { message, .. }
            | Self::RepeatedReply { message }
            | Self::ForeignThinking { message }
            | Self::UnsignedThinking { message }
            | Self::RedactedThinking { message }
            | Self::LastThinking { message }
            | Self::ForeignItem { message, .. }
            | Self::DescribedMedia { message, .. }
            | Self::CutOutput { message, .. }
            | Self::EmptyText { message }
            | Self::Empty { message }
            | Self::UnreadableCompaction { message } => *message,
            Self::Began => None,
        }
    }

    /// True when the history itself lacks or repeats something. False when the change
    /// is only what this recipient asks for.
    pub const fn is_damage(&self) -> bool {
        match self {
            Self::MissingResult { .. }
            | Self::OrphanResult { .. }
            | Self::LateResult { .. }
            | Self::MisplacedCall { .. }
            | Self::RepeatedCall { .. }
            | Self::AbandonedTool { .. }
            | Self::RepeatedReply { .. }
            | Self::Empty { .. }
            | Self::UnreadableCompaction { .. } => true,
            Self::MovedResult { .. }
            | Self::RenamedCall { .. }
            | Self::RenamedTool { .. }
            | Self::AloneAsText { .. }
            | Self::ForeignThinking { .. }
            | Self::UnsignedThinking { .. }
            | Self::RedactedThinking { .. }
            | Self::LastThinking { .. }
            | Self::ForeignItem { .. }
            | Self::DescribedMedia { .. }
            | Self::CutOutput { .. }
            | Self::EmptyText { .. }
            | Self::Began => false,
        }
    }
}

/// Tells the change in one sentence, with the message last.
impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingResult { call, .. } => {
                write!(f, "The call `{call}` has no result; a stub stands for it.")?;
            }
            Self::OrphanResult { call, .. } => {
                write!(f, "A result for `{call}` answers no open call; it is left out.")?;
            }
            Self::LateResult { call, .. } => {
                write!(f, "The result of `{call}` came after the model went on; it is sent as text.")?;
            }
            Self::MovedResult { call, .. } => {
                write!(f, "The result of `{call}` is sent before what was said while it was awaited.")?;
            }
            Self::MisplacedCall { call, .. } => {
                write!(f, "The call `{call}` is not by a model; it is left out.")?;
            }
            Self::RepeatedCall { call, .. } => {
                write!(f, "The call `{call}` came before; this one is sent under another id.")?;
            }
            Self::RenamedCall { call, .. } => {
                write!(f, "The id `{call}` of a call is taken or not accepted; another is sent.")?;
            }
            Self::RenamedTool { name, .. } => {
                write!(f, "The tool name `{name}` is not accepted; another is sent.")?;
            }
            Self::AloneAsText { call, .. } => {
                write!(f, "What is left of the call `{call}` after a compaction is sent as text.")?;
            }
            Self::AbandonedTool { call, .. } => {
                write!(f, "The provider's own tool never answered `{call}`; the call is left out.")?;
            }
            Self::RepeatedReply { .. } => {
                f.write_str("The same reply came before; only its words and calls are sent again.")?;
            }
            Self::ForeignThinking { .. } => f.write_str("Thinking of another provider is left out.")?,
            Self::UnsignedThinking { .. } => f.write_str("Thinking without a signature is left out.")?,
            Self::RedactedThinking { .. } => {
                f.write_str(
                    "Thinking that a secret was taken out of no longer fits its signature; it is left out.",
                )?;
            }
            Self::LastThinking { .. } => f.write_str("Thinking that nothing follows is left out.")?,
            Self::ForeignItem { kind, .. } => {
                write!(f, "An item of the kind `{kind}`, which this provider does not take, is left out.")?;
            }
            Self::DescribedMedia { mime_type, .. } => {
                write!(f, "A file of type `{mime_type}` is described, not sent.")?;
            }
            Self::CutOutput { call, bytes, .. } => {
                write!(f, "The result of `{call}` is long; {bytes} bytes in its middle are left out.")?;
            }
            Self::EmptyText { .. } => f.write_str("A text without words is left out.")?,
            Self::Empty { .. } => f.write_str("A message without content is left out.")?,
            Self::UnreadableCompaction { .. } => {
                f.write_str("What a compaction keeps cannot be read; only its summary is shown.")?;
            }
            Self::Began => f.write_str("A line was added, because a user must speak first.")?,
        }
        match self.message() {
            Some(message) => write!(f, " {message}"),
            None => Ok(()),
        }
    }
}
