//! What is kept: plain data, no storage.

mod attachment;
mod block;
mod complete;
mod conversation;
mod digest;
mod fast_parse;
mod file_snapshot;
mod id;
mod injected;
mod json;
mod language;
mod message;
mod plain_text;
mod preview;
mod time;
mod visible;
mod words;

pub use attachment::{Attachment, AttachmentKind};
pub(crate) use attachment::{digest_in, uri_of};
pub use block::{Block, Media, MediaKind, Other, Snapshot, Summary, Text, Thinking, ToolCall, ToolResult};
pub use complete::Incomplete;
pub(crate) use conversation::TITLE_BYTES;
pub use conversation::{
    Branch, Conversation, Head, Hold, Metrics, Origin, Participant, Privacy, Receipt, Settings, Status,
    StoredConversation, Synopsis,
};
pub use digest::Digest;
pub use file_snapshot::FileSnapshot;
pub use id::{ConversationId, MessageId, ShortId};
pub(crate) use id::{SHORT_LENGTH, slug};
#[cfg(feature = "formats")]
pub(crate) use injected::begins_as_codex_does;
pub(crate) use injected::{begins_injected, fold, is_preamble};
pub use json::{Fields, Json};
pub(crate) use language::{each_sentence, is_common_word, word_root};
pub(crate) use message::SOURCE;
pub use message::{Message, PrivacyNotes, Redacted, Role, StoredMessage, Usage};
pub use plain_text::PlainText;
pub(crate) use plain_text::beginning;
pub(crate) use preview::{INJECTED, PreviewTexts, preview};
pub use time::Time;
pub(crate) use visible::{is_invisible, visible};
pub use words::WordQuery;
pub(crate) use words::{WORDS_VERSION, each_word, words};
