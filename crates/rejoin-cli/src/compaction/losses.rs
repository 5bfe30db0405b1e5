//! The loss report for people: what a view no longer mentions, by kind, the weightiest first.

use rejoin::view::{Fact, FactKind};

use crate::ui::{clean, fit, size};

/// The kinds in the order shown, with their words for one and for several.
const KINDS: [(FactKind, &str, &str); 6] = [
    (FactKind::Instruction, "instruction", "instructions"),
    (FactKind::Quote, "quote", "quotes"),
    (FactKind::Path, "path", "paths"),
    (FactKind::Identifier, "identifier", "identifiers"),
    (FactKind::Url, "address", "addresses"),
    (FactKind::Number, "number", "numbers"),
];

/// Facts of one kind that are shown before the rest is only counted.
const SHOWN: usize = 6;

/// Sentences that are shown before the rest is only counted: each takes a line.
const SHOWN_LINES: usize = 3;

/// Columns of one fact in a report that is cut.
const LONGEST: usize = 60;

/// Columns to draw for where lines may have any length.
const USUAL: usize = 100;

/// How much of a report is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossesExtent {
    Short,
    All,
}

/// The lines of a report. Each kind is counted; its facts stand beside it, or
/// below it when they are sentences.
pub(crate) fn losses(lost: &[Fact], extent: LossesExtent, screen: Option<usize>) -> Vec<String> {
    let counts: Vec<String> = KINDS.iter().map(|kind| counted(kind, lost)).collect();
    let column = counts.iter().map(|count| fit::width(count)).max().unwrap_or(0) + 4;
    let screen = screen.unwrap_or(USUAL);
    let mut lines = Vec::new();
    for ((kind, _, _), count) in KINDS.iter().zip(counts) {
        let facts: Vec<String> =
            lost.iter().filter(|fact| fact.kind == *kind).map(|fact| shown(&fact.text, extent)).collect();
        if facts.is_empty() {
            continue;
        }
        let start = fit::pad_right(&format!("  {count}"), column);
        let room = screen.saturating_sub(column).max(20);
        let is_sentences = matches!(kind, FactKind::Instruction | FactKind::Quote);
        let most = match extent {
            LossesExtent::All => facts.len(),
            LossesExtent::Short if is_sentences => SHOWN_LINES,
            LossesExtent::Short => SHOWN,
        };
        let mut told: Vec<String> = facts.iter().take(most).cloned().collect();
        if facts.len() > most {
            told.push(format!("… and {} more", size::number((facts.len() - most) as u64)));
        }
        let told = if is_sentences { told } else { vec![told.join(", ").replace(", …", " …")] };
        let told = told.iter().flat_map(|fact| fit::wrap(fact, room));
        for (number, line) in told.enumerate() {
            let before = if number == 0 { start.clone() } else { " ".repeat(column) };
            lines.push(format!("{before}{line}").trim_end().to_owned());
        }
    }
    lines
}

fn counted((kind, one, many): &(FactKind, &str, &str), lost: &[Fact]) -> String {
    match lost.iter().filter(|fact| fact.kind == *kind).count() as u64 {
        0 => String::new(),
        count => size::count(count, one, many),
    }
}

fn shown(text: &str, extent: LossesExtent) -> String {
    match extent {
        LossesExtent::Short => fit::snippet(text, LONGEST),
        LossesExtent::All => clean::line(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(kind: FactKind, text: impl Into<String>) -> Fact {
        Fact { kind, text: text.into(), message: None }
    }

    #[test]
    fn a_long_report_is_cut_and_says_so() {
        let mut lost: Vec<Fact> =
            (0..8).map(|number| fact(FactKind::Path, format!("src/{number}.rs"))).collect();
        lost.push(fact(FactKind::Number, "8080\u{1b}[2J"));
        lost.extend((0..4).map(|number| fact(FactKind::Instruction, format!("Never do {number}."))));

        let short = losses(&lost, LossesExtent::Short, Some(60));
        let all = losses(&lost, LossesExtent::All, Some(60));

        let expected = [
            "  4 instructions  Never do 0.",
            "                  Never do 1.",
            "                  Never do 2.",
            "                  … and 1 more",
            "  8 paths         src/0.rs, src/1.rs, src/2.rs, src/3.rs,",
            "                  src/4.rs, src/5.rs … and 2 more",
            "  1 number        8080",
        ];
        assert_eq!(short, expected);
        assert_eq!((all.len(), all[3].as_str()), (7, "                  Never do 3."));
    }

    #[test]
    fn nothing_lost_is_no_report() {
        assert_eq!(losses(&[], LossesExtent::Short, None), Vec::<String>::new());
    }
}
