//! What a tool did, in one line.

use std::time::Duration;

use rejoin_agent::Output;

use super::figures::duration;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::{clean, fit, size};

/// Columns of what a tool answered, when that is a single line.
const ANSWER: usize = 50;

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
