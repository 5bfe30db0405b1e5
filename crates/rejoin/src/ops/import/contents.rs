//! Whether anything was said in a source. A file may look like one of a format and say everything elsewhere:
//! read as that format, every message of it is empty, and storing those would pass for an import.

use crate::error::{Error, Result};
use crate::formats::Format;
use crate::model::{Block, Message, Role};

/// What the messages of a source have in them.
#[derive(Debug, Default)]
pub(super) struct SourceContents {
    /// Messages of people, models and tools.
    messages: u64,
    /// True when one of them says something.
    is_any: bool,
}

impl SourceContents {
    /// Looks at a message, until one says something.
    pub(super) fn add(&mut self, message: &Message) {
        // What a program prints says nothing about how it writes what is said.
        if self.is_any || message.role == Role::System {
            return;
        }
        self.messages += 1;
        self.is_any = message.blocks.iter().any(says_something);
    }

    /// An error when there are messages, and all of them are empty.
    pub(super) fn check(&self, format: &Format) -> Result<()> {
        if self.is_any || self.messages == 0 {
            return Ok(());
        }
        let Format { program, expects, .. } = format;
        Err(Error::invalid(format!(
            "it looks like a file of {program}, but nothing is said in any of its messages; expected {expects}"
        )))
    }
}

/// A block that is not understood is kept, and is nothing that anybody could read.
fn says_something(block: &Block) -> bool {
    match block {
        Block::Text(text) => !text.text.trim().is_empty(),
        Block::Thinking(thinking) => !thinking.text.trim().is_empty(),
        Block::Summary(summary) => !summary.text.trim().is_empty(),
        Block::ToolCall(_) | Block::ToolResult(_) | Block::Media(_) | Block::Snapshot(_) => true,
        Block::Other(_) => false,
    }
}
