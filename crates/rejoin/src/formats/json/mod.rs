//! Rejoin's own JSON: one document with everything known about some conversations.
//!
//! ```text
//! {"rejoin":1,"conversations":[
//! {"id":…,"created_at":…,"head":…,"parent":…,"header":{…},"branches":[…],"messages":[
//! {"id":…,"parent":…,"label":…,"pinned":true,"keeps":[…],"message":{…}},
//! …]}]}
//! ```
//!
//! Each message is on a line of its own so that files can be compared; a reader does not rely on that.

mod read;
mod row;
mod write;

use crate::formats::{Detection, Format, Source};

/// The version that is written, and the only one that is read.
const VERSION: u64 = 1;

/// Files of Rejoin itself.
pub(super) const FORMAT: Format = Format {
    name: "json",
    program: "Rejoin",
    places: &[],
    fidelity: "Nothing that was said is lost, nor what is known about it: ids, branches, labels, pins, \
               unknown fields. The files that a conversation was once imported from are not in it.",
    expects: "rows whose `message` has blocks",
    detect,
    beside: Format::alone,
    read: read::read,
    write: Some(write::write),
};

/// The first member is the version, with a name that no other program uses.
fn detect(source: &Source) -> Detection {
    let begins = || {
        let rest = source.head().trim_ascii_start().strip_prefix(b"{")?;
        rest.trim_ascii_start().strip_prefix(b"\"rejoin\"")?.trim_ascii_start().strip_prefix(b":")
    };
    if begins().is_some() { Detection::Yes } else { Detection::No }
}
