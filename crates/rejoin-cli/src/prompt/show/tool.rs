//! What a tool did, in one line.

use std::time::Duration;

use rejoin_agent::Output;

use super::figures::duration;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::{clean, fit, size};

/// Columns of what a tool answered, when that is a single line.
const ANSWER: usize = 50;

/// Lines of a long answer that are shown.
const PREVIEW: usize = 3;

/// What a tool did, on one line of the screen.
pub(super) fn line(what: &str, output: &Output, took: Duration, columns: usize, paint: Paint) -> String {
    let answer = answer(output);
    let time = if took.as_millis() >= 1000 { format!(" · {}", duration(took)) } else { String::new() };
    let told = if answer.is_empty() { time } else { format!(" · {answer}{time}") };
    let (mark, meaning) = if output.is_error { ("✗", Meaning::Error) } else { ("•", Meaning::Tool) };
    // What was done is worth more of the line than what came of it.
    let room = columns.saturating_sub(2);
    let what = fit::truncate(&clean::line(what), room);
    let told = fit::truncate(&told, room - fit::width(&what).min(room));
    format!("{} {what}{}", paint.apply(meaning, mark), paint.apply(Meaning::Dim, &told))
}

/// The first lines of a long answer, below the line of its tool; nothing of a short one. `whole` says how to
/// see all of it, where there is a way.
pub(super) fn preview(output: &Output, whole: Option<&str>, columns: usize, paint: Paint) -> String {
    let text = clean::block(text(output).trim_matches('\n'));
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    if lines.len() < 2 {
        return String::new();
    }
    // One more line takes no more room than saying that there is one.
    let shown = if lines.len() <= PREVIEW + 1 { lines.len() } else { PREVIEW };
    let room = columns.saturating_sub(4);
    let dim = |line: &str| format!("  {}\n", paint.apply(Meaning::Dim, &format!("\u{2502} {line}")));
    let mut preview: String = lines[..shown].iter().map(|line| dim(&fit::truncate(line, room))).collect();
    let rest = lines.len() - shown;
    if rest > 0 {
        let whole = whole.map(|whole| format!(" ({whole})")).unwrap_or_default();
        let more = format!("... {}{whole}", size::count(rest as u64, "more line", "more lines"));
        preview += &dim(&fit::truncate(&more, room));
    }
    preview
}

/// What came back: a short answer itself, of a long one how long it is; of a failure its first line.
fn answer(output: &Output) -> String {
    let text = text(output);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().map(clean::line).unwrap_or_default();
    let more = lines.count();
    if output.is_error || (more == 0 && fit::width(&first) <= ANSWER) {
        return fit::truncate(&first, 2 * ANSWER);
    }
    size::count(more as u64 + 1, "line", "lines")
}

/// The answer as text: a string itself, anything else as JSON.
pub(super) fn text(output: &Output) -> String {
    output.output.to::<String>().unwrap_or_else(|_| output.output.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_answer_the_first_lines_are_shown() {
        let numbered = |count: usize| {
            let lines: Vec<String> = (1..=count).map(|number| format!("line {number}\n")).collect();
            Output::text(lines.concat())
        };
        let shown = |count, whole| preview(&numbered(count), whole, 20, Paint::Plain);

        let previews =
            [shown(1, None), shown(2, None), shown(4, None), shown(9, Some("Ctrl+O")), shown(9, None)];

        let expected = [
            "",
            "  \u{2502} line 1\n  \u{2502} line 2\n",
            "  \u{2502} line 1\n  \u{2502} line 2\n  \u{2502} line 3\n  \u{2502} line 4\n",
            "  \u{2502} line 1\n  \u{2502} line 2\n  \u{2502} line 3\n  \u{2502} ... 6 more li...\n",
            "  \u{2502} line 1\n  \u{2502} line 2\n  \u{2502} line 3\n  \u{2502} ... 6 more lines\n",
        ];
        assert_eq!(previews, expected);
    }

    #[test]
    fn a_tool_takes_one_line() {
        let quick = Duration::from_millis(20);
        let cases = [
            ("Run `date`", Output::text("Mon\n"), quick, 80),
            ("Read src/main.rs", Output::text("a\nb\n\nc\n"), Duration::from_millis(1_240), 80),
            ("Run `make`", Output::failure("no rule\nto make target"), quick, 80),
            ("Run `git status --short --branch`", Output::text("a\nb"), quick, 30),
            ("Write a.txt", Output::text(""), quick, 80),
        ];

        let told =
            cases.map(|(what, output, took, columns)| line(what, &output, took, columns, Paint::Plain));

        let expected = [
            "• Run `date` · Mon",
            "• Read src/main.rs · 3 lines · 1.2 s",
            "✗ Run `make` · no rule",
            "• Run `git status --short -...",
            "• Write a.txt",
        ];
        assert_eq!(told, expected);
    }
}
