//! The Markdown file of a session, for people who read the folder.

use std::fmt::Write as _;

use crate::formats::{SourceMessage, content};
use crate::model::Role;

/// A conversation as markdown.
pub(super) fn write(title: &str, path: &[&SourceMessage]) -> String {
    let mut text = format!("# {title}\n");
    for found in path {
        let who = match found.message.role {
            Role::System => "Instructions",
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::Tool => "Tool",
        };
        let when = found.message.created_at.map(|time| format!(", {}", minute(&time.to_string())));
        let said = content::spoken(&found.message);
        write!(text, "\n## {who}{}\n\n{}\n", when.unwrap_or_default(), said.trim_end())
            .expect("a string takes every text");
    }
    text
}

/// A time without its seconds: `2025-11-22 14:30`.
fn minute(time: &str) -> String {
    let place = time.rfind(':').unwrap_or(time.len());
    time[..place].replacen('T', " ", 1)
}
