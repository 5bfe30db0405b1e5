//! Asks whether a tool may do what it wants to do.

use std::io::{self, Write};

use rejoin_agent::{Decision, Plan};

use super::Course;
use super::keyboard::{self, Key};
use crate::ui::clean;
use crate::ui::paint::{Meaning, Paint};

/// Lines of a detail that are shown before the question; a long one would push the beginning off the screen.
const SHOWN_LINES: usize = 60;

/// Shows what a tool would do, and asks.
pub(super) fn ask(plan: &Plan, paint: Paint, out: &mut dyn Write) -> io::Result<(Decision, Course)> {
    writeln!(out, "{}", paint.apply(Meaning::Title, &clean::line(&plan.summary)))?;
    if let Some(detail) = &plan.detail {
        out.write_all(shown(detail, paint).as_bytes())?;
    }
    let rule = clean::line(&plan.rule);
    if !rule.is_empty() {
        writeln!(out, "{}", paint.apply(Meaning::Dim, &format!("Always and never are about {rule}")))?;
    }
    loop {
        write!(out, "Allow? y once, a always, n no, v never [n] ")?;
        out.flush()?;
        let (word, decision, course) = match keyboard::key() {
            Key::Letter('y') => ("once", Decision::Once, Course::Go),
            Key::Letter('a') => ("always", Decision::Always, Course::Go),
            Key::Letter('n') | Key::Enter | Key::End => ("no", Decision::No(None), Course::Go),
            Key::Letter('v') => ("never", Decision::Never, Course::Go),
            Key::Interrupt => ("stopped", Decision::No(None), Course::Stop),
            Key::Letter(_) | Key::Other => {
                writeln!(out)?;
                continue;
            }
        };
        writeln!(out, "{word}")?;
        return Ok((decision, course));
    }
}

/// The detail with the lines of a diff in colour.
fn shown(detail: &str, paint: Paint) -> String {
    let detail = clean::block(detail);
    let count = detail.lines().count();
    let mut shown = String::new();
    for line in detail.lines().take(SHOWN_LINES) {
        let meaning = match line.as_bytes().first() {
            Some(b'+') => Meaning::Success,
            Some(b'-') => Meaning::Error,
            Some(b'@') => Meaning::Dim,
            _ => Meaning::Plain,
        };
        shown += &paint.apply(meaning, line);
        shown.push('\n');
    }
    if count > SHOWN_LINES {
        shown += &paint.apply(Meaning::Dim, &format!("... and {} more lines", count - SHOWN_LINES));
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_coloured_and_inert() {
        let told = shown("@@ -1 +1 @@\n-old\n+new\u{1b}[2J\n same", Paint::Colored);

        assert_eq!(
            told,
            "\u{1b}[2m@@ -1 +1 @@\u{1b}[0m\n\u{1b}[1m\u{1b}[31m-old\u{1b}[0m\n\u{1b}[32m+new\u{1b}[0m\n same\n"
        );
    }

    #[test]
    fn a_long_detail_says_how_much_is_left_out() {
        let told = shown(&"line\n".repeat(70), Paint::Plain);

        assert_eq!(told, format!("{}... and 10 more lines\n", "line\n".repeat(60)));
    }
}
