//! What a change of a file looks like to the person who is asked.

use std::time::Duration;

use similar::TextDiff;

use crate::tools::files::Found;

/// Lines of a diff that are shown; what is left out is counted.
const MOST_LINES: usize = 1000;

/// A better diff is not worth more time than this.
const PATIENCE: Duration = Duration::from_millis(500);

/// A unified diff from what is there to what would be there.
pub(super) fn unified(path: &str, was: &Found, new: &str) -> String {
    let old = match was {
        Found::Nothing => "",
        Found::Bytes(bytes) => match str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => {
                return format!(
                    "replaces {} bytes that are not text with {} bytes of text",
                    bytes.len(),
                    new.len()
                );
            }
        },
    };
    let from = if *was == Found::Nothing { "/dev/null".to_owned() } else { format!("a/{path}") };
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let text = diff.unified_diff().context_radius(3).header(&from, &format!("b/{path}")).to_string();
    if text.is_empty() {
        return "nothing changes".to_owned();
    }
    shorten(&text)
}

fn shorten(text: &str) -> String {
    let count = text.lines().count();
    if count <= MOST_LINES {
        return text.to_owned();
    }
    let kept: String = text.split_inclusive('\n').take(MOST_LINES).collect();
    format!("{kept}… {} more lines of the diff are not shown\n", count - MOST_LINES)
}
