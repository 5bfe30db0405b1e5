//! What a change of a file looks like to the person who is asked.
//!
//! Nothing of what would be written is left out: who agrees agrees to all of it. A line ends at `\n` and
//! nowhere else, so that a carriage return is part of the line it stands in.

use std::fmt::Write;
use std::time::Duration;

use similar::udiff::UnifiedHunkHeader;
use similar::{ChangeTag, TextDiff};

use crate::tools::files::ExistingContent;

/// Lines around a change that are shown with it.
const AROUND: usize = 3;

/// A better diff is not worth more time than this.
const PATIENCE: Duration = Duration::from_millis(500);

/// A unified diff from what is there to what would be there, without a newline at its end.
pub(crate) fn unified(path: &str, was: &ExistingContent, new: &str) -> String {
    let quoted = quote(path);
    let named = format!("a/{quoted}");
    let (from, old) = match was {
        ExistingContent::Nothing => ("/dev/null".to_owned(), ""),
        ExistingContent::Bytes(bytes) => match str::from_utf8(bytes) {
            Ok(text) if text == new => return "nothing changes".to_owned(),
            Ok(text) => (named, text),
            Err(_) => (format!("{named} ({} bytes that are not text)", bytes.len()), ""),
        },
    };
    let [old, new] = [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let diff = TextDiff::configure().timeout(PATIENCE).diff_slices(&old, &new);
    let mut shown = format!("--- {from}\n+++ b/{quoted}");
    let hunks = diff.grouped_ops(AROUND);
    for hunk in &hunks {
        let _ = write!(shown, "\n{}", UnifiedHunkHeader::new(hunk));
        for change in hunk.iter().flat_map(|operation| diff.iter_changes(operation)) {
            add(&mut shown, change.tag(), change.value());
        }
    }
    if hunks.is_empty() {
        shown.push_str("\n(an empty file)");
    }
    shown
}

fn add(shown: &mut String, tag: ChangeTag, line: &str) {
    let text = line.strip_suffix('\n');
    let sign = match (tag, text) {
        (ChangeTag::Delete, _) => "-",
        (ChangeTag::Insert, _) => "+",
        // A space at the end of a line would look like one of the file.
        (ChangeTag::Equal, Some("")) => "",
        (ChangeTag::Equal, _) => " ",
    };
    let _ = write!(shown, "\n{sign}{}", text.unwrap_or(line));
    if text.is_none() {
        shown.push_str("\n\\ No newline at end of file");
    }
}

/// A path on one line: a line break in it would look like a line of the diff.
fn quote(path: &str) -> String {
    if path.contains(char::is_control) { format!("{path:?}") } else { path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: impl AsRef<[u8]>) -> ExistingContent {
        ExistingContent::Bytes(text.as_ref().to_vec())
    }

    #[test]
    fn every_line_that_would_be_written_is_shown() {
        let many: String = (0..5_000).map(|number| format!("line {number}\n")).collect();

        let created = unified("a", &ExistingContent::Nothing, &many);
        let over_bytes = unified("a", &bytes(b"\xff\xfe"), &many);

        let lines: Vec<&str> = many.lines().collect();
        for diff in [created, over_bytes] {
            assert_eq!(diff.lines().filter_map(|line| line.strip_prefix("+line")).count(), lines.len());
        }
    }

    #[test]
    fn a_line_ends_at_a_newline_only() {
        let diff = unified("a", &bytes("one\rtwo\n\nthree\n"), "one\rtwo\n\nfour\r");

        let expected =
            "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\rtwo\n\n-three\n+four\r\n\\ No newline at end of file";
        assert_eq!(diff, expected);
    }

    #[test]
    fn a_path_makes_no_line_of_its_own() {
        let diff = unified("a\n+++ b/other", &ExistingContent::Nothing, "");

        assert_eq!(diff, "--- /dev/null\n+++ b/\"a\\n+++ b/other\"\n(an empty file)");
    }

    #[test]
    fn a_change_of_nothing_says_so() {
        assert_eq!(unified("a", &bytes("x"), "x"), "nothing changes");
        assert_eq!(
            unified("a", &bytes(b"\xff"), ""),
            "--- a/a (1 bytes that are not text)\n+++ b/a\n(an empty file)"
        );
    }
}
