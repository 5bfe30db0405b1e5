//! The lines of the past, kept in the store beside the conversations, so that there is no side file.

use rejoin::Archive;

use super::Keeping;
use crate::context::Context;

/// How many lines are kept.
pub(super) const CAPACITY: usize = 500;

/// A longer line is not worth typing again, and would make each save slow.
const LONGEST: usize = 4096;

/// The lines of the past in this project, oldest first. Incognito has none.
pub(super) fn recall(context: &Context, archive: &Archive, keeping: Keeping) -> Vec<String> {
    if keeping == Keeping::Incognito {
        return Vec::new();
    }
    let kept = name(context).and_then(|name| archive.recall(&name).ok().flatten());
    kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Keeps a line for the next time. A line that begins with a space is not kept, as is the custom of shells.
pub(super) fn remember(context: &Context, archive: &Archive, keeping: Keeping, line: &str) {
    let is_wanted = !line.trim().is_empty() && !line.starts_with(' ') && line.len() <= LONGEST;
    let (Keeping::Kept, true, Some(name)) = (keeping, is_wanted, name(context)) else { return };
    // Another prompt may have kept lines meanwhile, so they are read again.
    let mut lines = recall(context, archive, keeping);
    if lines.last().is_some_and(|last| last == line) {
        return;
    }
    lines.push(line.to_owned());
    let surplus = lines.len().saturating_sub(CAPACITY);
    lines.drain(..surplus);
    if let Ok(text) = serde_json::to_string(&lines) {
        let _ = archive.remember(&name, Some(&text));
    }
}

fn name(context: &Context) -> Option<String> {
    Some(format!("prompt.history:{}", context.project_key().ok()?))
}
