//! Every line of the tables does what it says.

use std::time::{Duration, Instant};

use super::*;
use crate::ops::redact::find::letters::Letters;
use crate::ops::redact::find::reads::Reads;
use crate::ops::redact::find::token::{Before, Token, TokenShape};
use crate::ops::redact::tests::bounds::worked;
use crate::ops::redact::tests::{plain, with};
use crate::ops::redact::{Redaction, RedactionTally};

/// Letters of every kind, of which the bodies of tokens are made.
const BODY: &str = "k7Qz3mV9xT2bR8nW5cJ4hL6pY1gF0dSaEuIoKrNtMvXwB3q9Zs7Lf5Hj2Pd8Gc4Ra6Tn1Wy0Ub";

fn redacted(text: &str) -> String {
    let clean = with(&Redaction::new(), |redactor| redactor.line(text, &mut RedactionTally::default()));
    plain(&clean.unwrap_or_else(|| text.to_owned()))
}

/// So many of these letters.
fn letters(of: Letters, count: usize) -> String {
    BODY.chars()
        .cycle()
        .filter(|letter| u8::try_from(*letter).is_ok_and(|byte| of.include(byte)))
        .take(count)
        .collect()
}

/// A token as a line of the table describes it.
fn example(token: &Token) -> String {
    let before = match token.before {
        Before::Nothing => String::new(),
        Before::Between(of, count, _) | Before::Last(of, count) => letters(of, count),
    };
    let body = match token.shape {
        TokenShape::Any | TokenShape::Strong | TokenShape::Filled => letters(token.letters, token.least),
        TokenShape::Exactly(length) => letters(token.letters, length),
        TokenShape::Uuid => "7c3e9a1f-5b2d-4046-a3a7-c1f9b5d20486".to_owned(),
        TokenShape::Like(_, example) => example.to_owned(),
    };
    format!("{before}{}{body}", token.first)
}

#[test]
fn a_token_of_every_line_is_found() {
    let left = tokens::TOKENS.iter().map(example).filter(|token| {
        let clean = redacted(&format!("it is {token} now"));
        !clean.starts_with("it is <") || !clean.ends_with("> now")
    });

    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn what_repeats_one_letter_or_lacks_its_beginning_is_no_token() {
    let same = |token: &Token| {
        let body = letters(token.letters, 1).repeat(token.least);
        format!("it is {}{body} now", token.first)
    };
    let texts = tokens::TOKENS.iter().map(same);

    assert_eq!(texts.filter(|text| redacted(text) != *text).collect::<Vec<_>>(), [""; 0]);
}

/// The texts of the other tables: those in which something is found, and those that stay.
fn texts() -> [Vec<&'static str>; 2] {
    let contexts = || contexts::CONTEXTS.iter().chain(commands::COMMANDS);
    let finds = contexts()
        .flat_map(|line| line.examples.finds)
        .chain(leads::LEADS.iter().flat_map(|line| line.examples.finds));
    let leaves = contexts()
        .flat_map(|line| line.examples.leaves)
        .chain(leads::LEADS.iter().flat_map(|line| line.examples.leaves));
    [finds.copied().collect(), leaves.copied().collect()]
}

#[test]
fn what_the_lines_of_the_tables_find_goes_and_the_rest_of_the_text_stays() {
    let [finds, _] = texts();

    let wrong = finds.iter().filter_map(|text| {
        let clean = redacted(&text.replace(['‹', '›'], ""));
        let secrets = text.split('‹').skip(1).filter_map(|part| part.split('›').next());
        let around = text.split('‹').map(|part| part.rsplit('›').next().unwrap_or_default());
        let is_left = secrets.into_iter().any(|secret| clean.contains(secret));
        let is_whole = around.into_iter().all(|part| part.contains("AKIA") || clean.contains(part));
        (is_left || !is_whole).then_some((*text, clean))
    });

    assert_eq!(wrong.collect::<Vec<_>>(), []);
}

#[test]
fn what_the_lines_of_the_tables_leave_stays() {
    let [_, leaves] = texts();

    let changed = leaves.iter().map(|text| (*text, redacted(text))).filter(|(text, clean)| text != clean);

    assert_eq!(changed.collect::<Vec<_>>(), []);
}

#[test]
fn every_line_of_the_tables_has_a_text_that_it_changes_and_one_that_it_leaves() {
    let contexts = contexts::CONTEXTS.iter().chain(commands::COMMANDS);
    let contexts = contexts
        .map(|line| (line.pattern, line.examples.finds.is_empty() || line.examples.leaves.is_empty()));
    // A line that says that there is no value finds none.
    let leads = leads::LEADS.iter().map(|line| {
        (
            line.after,
            line.examples.finds.is_empty() && line.reads != Reads::Nothing || line.examples.leaves.is_empty(),
        )
    });
    let bare = contexts.chain(leads).filter(|(_, is_bare)| *is_bare).map(|(pattern, _)| pattern);

    assert_eq!(bare.collect::<Vec<_>>(), [""; 0]);
}

/// A text of every line of the tables, one letter of which is disguised in some of them.
fn repeated() -> Vec<String> {
    let contexts = contexts::CONTEXTS.iter().chain(commands::COMMANDS);
    let anchors = contexts.clone().step_by(3).map(|line| line.anchors[0].to_owned());
    let first = |finds: &[&str]| finds.first().map(|text| text.replace(['‹', '›'], ""));
    let finds = contexts.filter_map(|line| first(line.examples.finds));
    let leads = leads::LEADS.iter().filter_map(|line| first(line.examples.finds));
    let names = names::WORDS.iter().chain(&names::ENDINGS).step_by(3).map(|word| format!("{word}="));
    let tokens = tokens::TOKENS.iter().step_by(31).map(example);
    let disguised = |(place, text): (usize, String)| match place % 4 {
        0 => text.replace('\n', " "),
        1 => text + "\n",
        2 => text.replacen('e', "\u{435}", 1).replacen('a', "\u{430}", 1).replace('\n', " "),
        _ => text.chars().flat_map(|letter| [letter, '\u{200b}']).collect(),
    };
    anchors.chain(finds).chain(leads).chain(names).chain(tokens).enumerate().map(disguised).collect()
}

#[test]
fn whatever_is_repeated_the_work_grows_with_the_length_of_the_text() {
    const SHORT: usize = 8 << 10;
    const TIMES: u32 = 8;
    let took = |unit: &str, bytes: usize| {
        let text = unit.repeat(bytes / unit.len() + 1);
        let start = Instant::now();
        let before = worked(start);
        redacted(&text);
        worked(start).saturating_sub(before)
    };
    // The square is eight times as much. Up to here a text is short to some
    // rules, which look as far as it goes.
    let is_square = |[short, long]: &[Duration; 2]| *long > *short * TIMES * 3 + Duration::from_millis(40);
    let both = |unit: &String| [took(unit, SHORT), took(unit, SHORT * 8)];
    // What another program does meanwhile may count once.
    let square = |unit: &String| {
        (0..3).map(|_| both(unit)).take_while(is_square).nth(2).map(|both| (unit.clone(), both))
    };

    assert_eq!(repeated().iter().filter_map(square).collect::<Vec<_>>(), []);
}
