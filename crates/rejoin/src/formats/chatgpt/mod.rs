//! ChatGPT: the export of an account, a list of conversations, each a tree of nodes.
//!
//! ```text
//!   mapping                                     tree
//!   root       message: null                    -
//!   ├ system   hidden, empty                    (kept beside)
//!   └ user     "draw a fox"                     user       "draw a fox"
//!     ├ assistant "..."                         assistant  "..."            a reply that was asked for again
//!     └ assistant, to `python`: code            assistant  call python
//!       └ tool  `python`: execution_output      tool       result
//!         └ assistant "done"  ◄ current_node    assistant  "done"           the head
//! ```

mod content;
mod conversation;

use crate::error::Result;
use crate::formats::json_array::{each_item, first_fields};
use crate::formats::{Detection, Format, Reading, Source};

/// Exports of ChatGPT.
pub(super) const FORMAT: Format = Format {
    name: "chatgpt",
    program: "ChatGPT",
    places: &["~/Downloads"],
    fidelity: "It is only read. Pictures and recordings are kept as the names that the export gives them, \
               without their bytes. Nodes that say nothing, and what an export says about a conversation \
               besides its title, its time and its model, are kept beside it.",
    expects: "`mapping` with messages that have `content`",
    detect,
    beside: Format::alone,
    read,
    write: None,
};

/// Only this export has a mapping. In a list, other fields may come first.
fn detect(source: &Source) -> Detection {
    let is_export = !source.is_directory() && first_fields(source.head()).contains(&"mapping");
    if is_export { Detection::Yes } else { Detection::No }
}

fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    each_item(source, reading, &mut |text, number, reading| {
        conversation::read(source.path(), text, number, reading)
    })
}
