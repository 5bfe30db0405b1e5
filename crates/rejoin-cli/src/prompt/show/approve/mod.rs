//! Asks whether a tool may do what it wants to do.

use std::io::{self, Write};

use rejoin_agent::{Decision, Plan};

use super::Course;
use crate::ui::consent::{self, ConsentDesk, ConsentLine, ConsentText, Paged};
use crate::ui::keyboard::{self, KeyPress, TypedLine};
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
    let mut desk = ConsentDesk { out, paint, screen: &consent::screen, key: &mut keyboard::key };
    decide(plan, &mut desk, &mut keyboard::line)
}

fn decide(plan: &Plan, desk: &mut ConsentDesk<'_>, line: ReadLine<'_>) -> io::Result<(Decision, Course)> {
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
        if key == KeyPress::Letter('i') {
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
fn instead(desk: &mut ConsentDesk<'_>, line: ReadLine<'_>) -> io::Result<(Decision, Course)> {
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
fn meaning(key: KeyPress) -> Option<(&'static str, Decision, Course)> {
    match key {
        KeyPress::Letter('y') => Some(("once", Decision::Once, Course::Go)),
        KeyPress::Letter('a') => Some(("always", Decision::Always, Course::Go)),
        KeyPress::Letter('n') | KeyPress::Enter | KeyPress::End => {
            Some(("no", Decision::No(None), Course::Go))
        }
        KeyPress::Letter('v') => Some(("never", Decision::Never, Course::Go)),
        KeyPress::Interrupt => Some(("stopped", Decision::No(None), Course::Stop)),
        KeyPress::Letter(_) | KeyPress::Space | KeyPress::Escape | KeyPress::Other => None,
    }
}

/// Everything that the answer is about.
fn lines(plan: &Plan) -> Vec<ConsentLine> {
    let summary = ConsentText::line(&plan.summary);
    let detail = plan.detail.as_deref().map(ConsentText::block).unwrap_or_default();
    let rule = ConsentText::line(&plan.rule);
    let is_diff = plan.detail.as_ref().is_some_and(|detail| detail.starts_with("--- "));
    let mut lines = ConsentLine::edged(&summary, |_| Meaning::Title);
    lines.extend(ConsentLine::edged(&detail, |line| if is_diff { in_diff(line) } else { Meaning::Plain }));
    // A rule that names the command by the letter would repeat it.
    let is_exact = plan.detail.as_ref().is_some_and(|detail| plan.rule == format!("run(={detail})"));
    if is_exact {
        lines.push(ConsentLine::own("Always and never are about exactly this command.", Meaning::Dim));
    } else if !plan.rule.is_empty() {
        lines.push(ConsentLine::own("Always and never are about:", Meaning::Dim));
        lines.extend(ConsentLine::edged(&rule, |_| Meaning::Dim));
    }
    lines.extend(ConsentLine::notes(&[&summary, &detail]));
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
