//! Asks whether a tool may do what it wants to do.

use std::io::{self, Write};

use rejoin_agent::{Decision, Plan};

use super::Course;
use crate::ui::consent::{self, Desk, Line, Paged, Shown};
use crate::ui::keyboard::{self, Key, TypedLine};
use crate::ui::paint::{Meaning, Paint};
use crate::ui::size;

/// What the keys mean.
const KEYS: &str = "y once, a always, n no, v never, i instead [n] ";

/// Asks what to do in place of what was asked for.
const INSTEAD: &str = "What should it do instead? ";

/// Reads a line.
type ReadLine<'a> = &'a mut dyn FnMut() -> io::Result<TypedLine>;

/// Shows what a tool would do, and asks.
pub(super) fn ask(plan: &Plan, paint: Paint, out: &mut dyn Write) -> io::Result<(Decision, Course)> {
    let mut desk = Desk { out, paint, screen: &consent::screen, key: &mut keyboard::key };
    decide(plan, &mut desk, &mut keyboard::line)
}

fn decide(plan: &Plan, desk: &mut Desk<'_>, line: ReadLine<'_>) -> io::Result<(Decision, Course)> {
    let unseen = match consent::show(&lines(plan), &question, desk)? {
        Paged::ToTheEnd { unseen } => unseen,
        Paged::Left(key) => {
            let (word, decision, course) = meaning(key).unwrap_or(("no", Decision::No(None), Course::Go));
            writeln!(desk.out, "Allow? {word}")?;
            return Ok((decision, course));
        }
    };
    loop {
        write!(desk.out, "{}", question(unseen))?;
        desk.out.flush()?;
        let key = (desk.key)();
        if key == Key::Letter('i') {
            writeln!(desk.out, "no")?;
            return instead(desk, line);
        }
        let Some((word, decision, course)) = meaning(key) else {
            writeln!(desk.out)?;
            continue;
        };
        writeln!(desk.out, "{word}")?;
        return Ok((decision, course));
    }
}

/// Refuses, and tells the model what to do in place of it.
fn instead(desk: &mut Desk<'_>, line: ReadLine<'_>) -> io::Result<(Decision, Course)> {
    write!(desk.out, "{INSTEAD}")?;
    desk.out.flush()?;
    match line()? {
        TypedLine::Text(text) => Ok((Decision::No(Some(text).filter(|text| !text.is_empty())), Course::Go)),
        TypedLine::Interrupt => {
            writeln!(desk.out)?;
            Ok((Decision::No(None), Course::Stop))
        }
    }
}

fn question(unseen: usize) -> String {
    match unseen {
        0 => format!("Allow? {KEYS}"),
        _ => format!("Allow without having seen {}? {KEYS}", size::count(unseen as u64, "line", "lines")),
    }
}

/// What a key decides, with a word for it.
fn meaning(key: Key) -> Option<(&'static str, Decision, Course)> {
    match key {
        Key::Letter('y') => Some(("once", Decision::Once, Course::Go)),
        Key::Letter('a') => Some(("always", Decision::Always, Course::Go)),
        Key::Letter('n') | Key::Enter | Key::End => Some(("no", Decision::No(None), Course::Go)),
        Key::Letter('v') => Some(("never", Decision::Never, Course::Go)),
        Key::Interrupt => Some(("stopped", Decision::No(None), Course::Stop)),
        Key::Letter(_) | Key::Space | Key::Escape | Key::Other => None,
    }
}

/// Everything that the answer is about.
fn lines(plan: &Plan) -> Vec<Line> {
    let summary = Shown::line(&plan.summary);
    let detail = plan.detail.as_deref().map(Shown::block).unwrap_or_default();
    let rule = Shown::line(&plan.rule);
    let is_diff = plan.detail.as_ref().is_some_and(|detail| detail.starts_with("--- "));
    let mut lines = Line::edged(&summary, |_| Meaning::Title);
    lines.extend(Line::edged(&detail, |line| if is_diff { in_diff(line) } else { Meaning::Plain }));
    // A rule that names the command by the letter would repeat it.
    let is_exact = plan.detail.as_ref().is_some_and(|detail| plan.rule == format!("run(={detail})"));
    if is_exact {
        lines.push(Line::own("Always and never are about exactly this command.", Meaning::Dim));
    } else if !plan.rule.is_empty() {
        lines.push(Line::own("Always and never are about:", Meaning::Dim));
        lines.extend(Line::edged(&rule, |_| Meaning::Dim));
    }
    lines.extend(Line::notes(&[&summary, &detail]));
    lines
}

fn in_diff(line: &str) -> Meaning {
    match line.as_bytes().first() {
        Some(b'+') => Meaning::Success,
        Some(b'-') => Meaning::Error,
        Some(b'@') => Meaning::Dim,
        _ => Meaning::Plain,
    }
}

#[cfg(test)]
mod tests;
