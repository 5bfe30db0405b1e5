//! Claude.ai: the export of an account, a list of conversations with their messages in order.
//!
//! A reply holds everything until it was complete. Here each tool result is a message of its own, and so is
//! the text after it; they are named after the reply and a number:
//!
//! ```text
//!   assistant  m2   thinking, text, tool_use, tool_result, text
//!
//!   assistant  m2     thinking, text, call
//!   tool       m2/1   result
//!   assistant  m2/2   text
//! ```

mod content;
mod conversation;

use crate::error::Result;
use crate::formats::json_array::{each_item, first_fields};
use crate::formats::{Detection, Format, Reading, Source};

/// Exports of Claude.ai.
pub(super) const FORMAT: Format = Format {
    name: "claude-ai",
    program: "Claude.ai",
    places: &["~/Downloads"],
    fidelity: "It is only read. Files are kept by name, because the export has no bytes of them; of an \
               attachment the text that was extracted is kept. What an export says about a conversation \
               besides its name and its time is kept beside it.",
    expects: "`chat_messages` with `text` or `content`",
    detect,
    beside: Format::alone,
    read,
    write: None,
};

/// Only this export has such messages.
fn detect(source: &Source) -> Detection {
    let is_export = !source.is_directory() && first_fields(source.head()).contains(&"chat_messages");
    if is_export { Detection::Yes } else { Detection::No }
}

fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    each_item(source, reading, &mut |text, number, reading| {
        conversation::read(source.path(), text, number, reading)
    })
}
