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
    /// A call stands where only a model may call; it is left out.
    MisplacedCall {
        /// The message that calls.
        message: Option<MessageId>,
        /// The call.
        call: String,
    },
    /// Two calls share an id; the later one is sent under another.
    RenamedCall {
        /// The message that calls.
        message: Option<MessageId>,
        /// The id they share.
        call: String,
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
    /// A message without content is left out.
    Empty {
        /// Which.
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
            | Self::MisplacedCall { message, .. }
            | Self::RenamedCall { message, .. }
            | Self::ForeignThinking { message }
            | Self::UnsignedThinking { message }
            | Self::ForeignItem { message, .. }
            | Self::DescribedMedia { message, .. }
            | Self::CutOutput { message, .. }
            | Self::Empty { message } => *message,
            Self::Began => None,
        }
    }
}

/// Tells the change in one sentence.
impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingResult { call, .. } => {
                write!(f, "The call `{call}` has no result; a stub stands for it.")?;
            }
            Self::OrphanResult { call, .. } => {
                write!(f, "A result for `{call}` answers no open call; it is left out.")?;
            }
            Self::MisplacedCall { call, .. } => {
                write!(f, "The call `{call}` is not by a model; it is left out.")?;
            }
            Self::RenamedCall { call, .. } => {
                write!(f, "Two calls are named `{call}`; the later one is renamed.")?;
            }
            Self::ForeignThinking { .. } => f.write_str("Thinking of another provider is left out.")?,
            Self::UnsignedThinking { .. } => f.write_str("Thinking without a signature is left out.")?,
            Self::ForeignItem { kind, .. } => write!(f, "A `{kind}` of another provider is left out.")?,
            Self::DescribedMedia { mime_type, .. } => {
                write!(f, "A file of type `{mime_type}` is described, not sent.")?;
            }
            Self::CutOutput { call, bytes, .. } => {
                write!(f, "The result of `{call}` is long; {bytes} bytes are left out.")?;
            }
            Self::Empty { .. } => f.write_str("A message without content is left out.")?,
            Self::Began => f.write_str("A line was added, because a user must speak first.")?,
        }
        match self.message() {
            Some(message) => write!(f, " {message}"),
            None => Ok(()),
        }
    }
}
