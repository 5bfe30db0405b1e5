//! Draws messages as a tree in the manner of `git log`, a line for each message.
//!
//! ```text
//! abc123 (2024-01-15 10:30) [USER] Hello, can you help me?
//!     def456 (2024-01-15 10:31) [ASSISTANT] (idea) Of course!
//!     ------
//! ```
//!
//! A line holds id, local time, role, the label in brackets if there is one, and the beginning of the text.
//! `------` closes each branch. The most recently active branch stands last, next to the prompt.

use std::io::{self, Write};

use super::{
    clean, fit,
    forest::{Forest, ForestLink},
    paint::{Meaning, Paint},
    when::WallClock,
};

/// Spaces for each level on a screen of ordinary width, and on a narrow one.
const STEP: usize = 4;
const NARROW_STEP: usize = 2;
const NARROW_SCREEN: usize = 60;

/// Levels drawn where no screen sets the limit: 160 columns, which a page or an editor still shows.
const MOST_LEVELS: usize = 40;

/// Columns of text where no screen sets the limit.
const SNIPPET: usize = 50;

/// The least text worth showing; a line longer than the screen wraps rather than show less.
const LEAST_SNIPPET: usize = 16;

const BRANCH_END: &str = "------";

/// The value of `--style`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Style {
    /// Indent every reply under its parent.
    #[default]
    Full,
    /// Indent only branches, and fit lines to the screen.
    Compact,
}

/// A message to draw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawnMessage<'a> {
    /// The id, as it is shown and as the children name it.
    pub(crate) id: &'a str,
    /// The id of the message it answers.
    pub(crate) parent: Option<&'a str>,
    /// When it was made, in microseconds since 1970.
    pub(crate) time: i64,
    /// Who said it, as the role is stored: `tool_result` is shown as `TOOL RESULT`.
    pub(crate) role: &'a str,
    /// What was said.
    pub(crate) text: &'a str,
    /// The label of the branch that starts here.
    pub(crate) label: Option<&'a str>,
}

/// How to draw.
#[derive(Clone, Debug)]
pub(crate) struct TreeDrawing<'a> {
    /// Which levels are indented.
    pub(crate) style: Style,
    /// The zone of the times shown.
    pub(crate) clock: &'a WallClock,
    /// Whether to colour.
    pub(crate) paint: Paint,
    /// The width of the terminal, if there is one.
    pub(crate) screen: Option<usize>,
}

/// Draws all messages in any order given; no message draws nothing.
///
/// Indentation ends at a third of the screen (40 levels without one). Deeper messages stand at that limit
/// with `+N` before the id, N being the levels not drawn. So the text stays readable, and the output grows
/// with the number of messages and not with its square, even for a conversation of a hundred thousand answers
/// in a row.
pub(crate) fn draw(
    nodes: &[DrawnMessage<'_>],
    drawing: &TreeDrawing<'_>,
    output: &mut dyn Write,
) -> io::Result<()> {
    let links = nodes.iter().map(|node| ForestLink { id: node.id, parent: node.parent, time: node.time });
    let forest = Forest::grow(&links.collect::<Vec<_>>());

    let mut waiting = forest.roots().iter().rev().map(|&root| (root, 0)).collect::<Vec<_>>();
    while let Some((position, level)) = waiting.pop() {
        let (indentation, hidden_levels) = drawing.indentation(level);
        drawing.draw_message(&nodes[position], indentation, hidden_levels, output)?;

        let children = forest.children(position);
        if children.is_empty() {
            let end = drawing.paint.apply(Meaning::Dim, BRANCH_END);
            writeln!(output, "{:indentation$}{end}", "")?;
        }
        let is_indented = match drawing.style {
            Style::Full => true,
            Style::Compact => children.len() > 1,
        };
        let next_level = level + usize::from(is_indented);
        waiting.extend(children.iter().rev().map(|&child| (child, next_level)));
    }
    Ok(())
}

impl TreeDrawing<'_> {
    /// Returns the spaces before a message of this level, and how many levels they leave out.
    fn indentation(&self, level: usize) -> (usize, usize) {
        let (step, most) = match self.screen {
            None => (STEP, MOST_LEVELS),
            Some(columns) if columns < NARROW_SCREEN => (NARROW_STEP, columns / 3 / NARROW_STEP),
            Some(columns) => (STEP, (columns / 3 / STEP).min(MOST_LEVELS)),
        };
        (level.min(most) * step, level.saturating_sub(most))
    }

    fn draw_message(
        &self,
        node: &DrawnMessage<'_>,
        indentation: usize,
        hidden_levels: usize,
        output: &mut dyn Write,
    ) -> io::Result<()> {
        let role = format!("[{}]", clean::line(node.role).replace('_', " ").to_uppercase());
        let time = format!("({})", self.clock.minute(node.time));
        let mut parts = vec![
            (Meaning::Id, clean::line(node.id)),
            (Meaning::Dim, time),
            (Meaning::of_role(node.role), role),
        ];
        if hidden_levels > 0 {
            parts.insert(0, (Meaning::Dim, format!("+{hidden_levels}")));
        }
        if let Some(label) = node.label {
            parts.push((Meaning::Title, format!("({})", clean::line(label))));
        }
        let taken = |parts: &[(Meaning, String)]| {
            indentation + parts.iter().map(|(_, part)| fit::width(part) + 1).sum::<usize>()
        };
        let room = match (self.screen, self.style) {
            (None, _) => SNIPPET,
            (Some(columns), Style::Full) => columns.saturating_sub(taken(&parts)).max(LEAST_SNIPPET),
            (Some(columns), Style::Compact) => {
                // The time is what a narrow screen misses least.
                if taken(&parts) + LEAST_SNIPPET > columns {
                    parts.retain(|(meaning, _)| *meaning != Meaning::Dim);
                }
                cut(&mut parts, columns.saturating_sub(indentation));
                columns.saturating_sub(taken(&parts))
            }
        };
        let snippet = fit::snippet(node.text, room);
        if !snippet.is_empty() {
            parts.push((Meaning::Plain, snippet));
        }

        let painted = parts.iter().map(|(meaning, part)| self.paint.apply(*meaning, part));
        writeln!(output, "{:indentation$}{}", "", painted.collect::<Vec<_>>().join(" "))
    }
}

/// Cuts the parts of a line so that they fit side by side.
fn cut(parts: &mut [(Meaning, String)], columns: usize) {
    let mut left = columns;
    for (_, part) in parts {
        *part = fit::truncate(part, left);
        left = left.saturating_sub(fit::width(part) + 1);
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    /// 2024-01-15 10:30:00 UTC.
    const START: i64 = 1_705_314_600_000_000;
    const MINUTE: i64 = 60_000_000;

    const EXAMPLE: [(&str, Option<&str>, i64, &str, &str); 6] = [
        ("mno345", Some("def456"), 5, "user", "Actually, Python instead"),
        ("pqr678", Some("mno345"), 6, "assistant", "No problem! What about Python interests you?"),
        ("abc123", None, 0, "user", "Hello, can you help me?"),
        ("def456", Some("abc123"), 1, "assistant", "Of course!\nWhat do you need?"),
        ("ghi789", Some("def456"), 2, "user", "I need help with Go"),
        ("jkl012", Some("ghi789"), 3, "assistant", "Sure, what's your question?"),
    ];

    fn example() -> Vec<DrawnMessage<'static>> {
        let node = |(id, parent, minutes, role, text)| {
            let time = START + minutes * MINUTE;
            DrawnMessage { id, parent, time, role, text, label: None }
        };
        EXAMPLE.into_iter().map(node).collect()
    }

    fn drawn(nodes: &[DrawnMessage<'_>], style: Style, screen: Option<usize>) -> String {
        let clock = WallClock::new(START, TimeZone::UTC);
        let drawing = TreeDrawing { style, clock: &clock, paint: Paint::Plain, screen };
        let mut output = Vec::new();
        draw(nodes, &drawing, &mut output).expect("memory does not fail");
        String::from_utf8(output).expect("only text is drawn")
    }

    fn chain(ids: &[String]) -> Vec<DrawnMessage<'_>> {
        let parents = std::iter::once(None).chain(ids.iter().map(|id| Some(id.as_str())));
        let pairs = ids.iter().zip(parents);
        pairs
            .map(|(id, parent)| DrawnMessage {
                id,
                parent,
                time: START,
                role: "user",
                text: "x",
                label: None,
            })
            .collect()
    }

    fn ids(count: usize) -> Vec<String> {
        (0..count).map(|number| number.to_string()).collect()
    }

    #[test]
    fn full_style_is_the_documented_example() {
        let expected = "\
abc123 (2024-01-15 10:30) [USER] Hello, can you help me?
    def456 (2024-01-15 10:31) [ASSISTANT] Of course! What do you need?
        ghi789 (2024-01-15 10:32) [USER] I need help with Go
            jkl012 (2024-01-15 10:33) [ASSISTANT] Sure, what's your question?
            ------
        mno345 (2024-01-15 10:35) [USER] Actually, Python instead
            pqr678 (2024-01-15 10:36) [ASSISTANT] No problem! What about Py...
            ------
";

        assert_eq!(drawn(&example(), Style::Full, Some(78)), expected);
    }

    #[test]
    fn compact_style_indents_only_the_branches_of_a_fork() {
        let expected = "\
abc123 (2024-01-15 10:30) [USER] Hello, can you help me?
def456 (2024-01-15 10:31) [ASSISTANT] Of course! What do you need?
    ghi789 (2024-01-15 10:32) [USER] I need help with Go
    jkl012 (2024-01-15 10:33) [ASSISTANT] Sure, what's your question?
    ------
    mno345 (2024-01-15 10:35) [USER] Actually, Python instead
    pqr678 (2024-01-15 10:36) [ASSISTANT] No problem! What about Python interests you?
    ------
";

        assert_eq!(drawn(&example(), Style::Compact, None), expected);
    }

    #[test]
    fn a_compact_line_is_never_longer_than_the_screen() {
        let widest = |columns: usize| {
            let drawn = drawn(&example(), Style::Compact, Some(columns));
            drawn.lines().map(fit::width).max().unwrap()
        };

        let widths = [100, 60, 40, 20, 5].map(widest);

        assert_eq!(widths.map(|width| width <= 100), [true; 5]);
        assert!(widths.iter().zip([100, 60, 40, 20, 6]).all(|(width, most)| *width <= most), "{widths:?}");
        assert_eq!(
            drawn(&example(), Style::Compact, Some(40)).lines().next().unwrap(),
            "abc123 [USER] Hello, can you help me?"
        );
    }

    #[test]
    fn the_most_recently_active_tree_stands_last() {
        let node = |id, parent, time| DrawnMessage { id, parent, time, role: "user", text: "", label: None };
        let nodes =
            [node("old", None, START), node("new", None, START + 1), node("answer", Some("old"), START + 2)];

        let expected = "\
new (2024-01-15 10:30) [USER]
------
old (2024-01-15 10:30) [USER]
    answer (2024-01-15 10:30) [USER]
    ------
";
        assert_eq!(drawn(&nodes, Style::Full, None), expected);
    }

    #[test]
    fn a_label_is_shown_and_stored_text_is_inert() {
        let node = DrawnMessage {
            id: "a\u{1b}[2J",
            parent: None,
            time: START,
            role: "tool_result",
            text: "one\r\n\u{1b}]0;x\u{7}two",
            label: Some("subagent:review:1a2b\n"),
        };

        let expected = "a (2024-01-15 10:30) [TOOL RESULT] (subagent:review:1a2b) one two\n------\n";
        assert_eq!(drawn(&[node], Style::Full, None), expected);
    }

    #[test]
    fn indentation_stays_small_on_a_narrow_screen() {
        let ids = ids(9);

        let drawn = drawn(&chain(&ids), Style::Full, Some(40));

        let expected = "            +2 8 (2024-01-15 10:30) [USER] x\n            ------\n";
        let last_lines = drawn.lines().skip(8).map(|line| format!("{line}\n")).collect::<String>();
        assert_eq!(last_lines, expected);
    }

    #[test]
    fn a_very_deep_conversation_is_drawn_without_recursion_and_in_linear_size() {
        let ids = ids(100_000);
        let nodes = chain(&ids);

        let full = drawn(&nodes, Style::Full, None);
        let compact = drawn(&nodes, Style::Compact, Some(80));

        assert_eq!((full.lines().count(), compact.lines().count()), (100_001, 100_001));
        assert!(full.len() < 100_000 * 220, "full style takes {} bytes", full.len());
        assert!(compact.len() < 100_000 * 40, "compact style takes {} bytes", compact.len());
    }

    #[test]
    fn no_messages_draw_nothing() {
        assert_eq!(drawn(&[], Style::Full, None), "");
    }
}
