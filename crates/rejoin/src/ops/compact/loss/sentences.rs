//! Finds what takes more than a word: quotations, instructions, decisions.

use super::TextSource;
use super::facts::FoundFact;
use super::words;
use crate::ops::view::FactKind;

/// Quotation marks: the one that opens, and the one that closes.
const MARKS: [(char, char); 8] =
    [('`', '`'), ('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('‘', '’'), ('「', '」'), ('\'', '\'')];

/// How many letters a quotation may have. A longer one is an excerpt.
const QUOTED: std::ops::RangeInclusive<usize> = 2..=200;

/// Finds words in quotation marks, on one line, outside of blocks of code.
pub(super) fn quotes<'a>(text: &'a str, found: &mut Vec<FoundFact<'a>>) {
    for (begin, line) in prose(text) {
        let mut place = 0;
        while let Some((at, open)) = line[place..].char_indices().find(|(_, letter)| is_mark(*letter)) {
            let at = place + at;
            let inside = at + open.len_utf8();
            place = inside;
            if open == '\'' && !opens(line, at) {
                continue;
            }
            let Some(end) = closing(line, inside, open) else { continue };
            let words = &line[inside..end];
            let quoted = words.trim();
            if is_quotation(quoted) {
                let lead = words.len() - words.trim_start().len();
                let place = begin + inside + lead;
                found.push(FoundFact { place, kind: FactKind::Quote, text: quoted });
            }
            place = end + line[end..].chars().next().map_or(0, char::len_utf8);
        }
    }
}

/// True for a mark that opens a quotation.
const fn is_mark(letter: char) -> bool {
    matches!(letter, '`' | '"' | '“' | '„' | '«' | '‘' | '「' | '\'')
}

/// True when an apostrophe stands where a quotation can begin.
fn opens(line: &str, at: usize) -> bool {
    line[..at].chars().next_back().is_none_or(|letter| letter.is_whitespace() || "([{".contains(letter))
}

/// Where the quotation ends that was opened by a mark.
fn closing(line: &str, inside: usize, open: char) -> Option<usize> {
    let longest = QUOTED.end() + 2;
    line[inside..].char_indices().take(longest).find_map(|(at, letter)| {
        let closes = MARKS.iter().any(|(mark, close)| *mark == open && *close == letter);
        let next = line[inside + at + letter.len_utf8()..].chars().next();
        // An apostrophe inside of a word is none.
        let is_apostrophe = "'’".contains(letter) && next.is_some_and(char::is_alphanumeric);
        (closes && !is_apostrophe).then_some(inside + at)
    })
}

/// A quotation that says more than the words in it, which are looked at anyway.
fn is_quotation(quoted: &str) -> bool {
    let is_word = !quoted.contains(char::is_whitespace);
    let is_known = is_word && (quoted.contains("://") || words::kind_of(words::bare(quoted).1).is_some());
    QUOTED.contains(&quoted.chars().count()) && !is_known
}

/// Words that make a sentence of a user an instruction.
const ORDERS: [&str; 14] = [
    "always",
    "never",
    "must",
    "don't",
    "do not",
    "only",
    "make sure",
    "remember",
    "prefer",
    "avoid",
    "instead of",
    "should",
    "needs to",
    "no longer",
];

/// Words that an instruction begins with.
const VERBS: [&str; 66] = [
    "add",
    "apply",
    "bump",
    "convert",
    "edit",
    "publish",
    "start",
    "ask",
    "build",
    "call",
    "change",
    "check",
    "clean",
    "commit",
    "compare",
    "copy",
    "create",
    "delete",
    "do",
    "document",
    "drop",
    "ensure",
    "explain",
    "extract",
    "find",
    "finish",
    "fix",
    "focus",
    "follow",
    "go",
    "ignore",
    "implement",
    "include",
    "install",
    "keep",
    "leave",
    "let",
    "list",
    "look",
    "make",
    "mark",
    "merge",
    "move",
    "name",
    "open",
    "print",
    "put",
    "read",
    "refactor",
    "remove",
    "rename",
    "replace",
    "restore",
    "return",
    "review",
    "run",
    "send",
    "set",
    "show",
    "skip",
    "stop",
    "test",
    "try",
    "update",
    "use",
    "write",
];

/// Words that may stand before the verb.
const STARTERS: [&str; 10] =
    ["please", "and", "then", "also", "now", "first", "next", "finally", "so", "just"];

/// Beginnings of questions that ask for something to be done.
const REQUESTS: [&str; 5] = ["can you", "could you", "would you", "will you", "please"];

/// Words that tell of a decision.
const DECISIONS: [&str; 12] = [
    "decided",
    "decision",
    "we agreed",
    "agreed to",
    "agreed on",
    "we chose",
    "let's go with",
    "we will use",
    "we'll use",
    "we will keep",
    "settled on",
    "going with",
];

/// How many letters a sentence may have.
const SENTENCE: std::ops::RangeInclusive<usize> = 8..=400;

/// Finds decisions, and in what a user says instructions.
pub(super) fn decisions<'a>(text: &'a str, source: TextSource, found: &mut Vec<FoundFact<'a>>) {
    for (begin, line) in prose(text) {
        for (place, sentence) in sentences(line) {
            let is_word = !sentence.contains(char::is_whitespace);
            if is_word || sentence.len() > 4 * SENTENCE.end() || !SENTENCE.contains(&sentence.chars().count())
            {
                continue;
            }
            let spoken = spoken(sentence);
            let is_order = source == TextSource::User && is_order(sentence, &spoken);
            if is_order || has_any(&spoken, &DECISIONS) {
                let place = begin + place;
                found.push(FoundFact { place, kind: FactKind::Instruction, text: sentence });
            }
        }
    }
}

fn is_order(sentence: &str, spoken: &str) -> bool {
    // A line of a program also begins with `use` or `return`.
    if sentence.ends_with([';', '{', '}', ',']) || sentence.contains("::") && !sentence.contains('`') {
        return false;
    }
    if sentence.ends_with('?') {
        return REQUESTS.iter().any(|request| spoken.trim_start().starts_with(request));
    }
    let verb = spoken.split(' ').filter(|word| !word.is_empty()).find(|word| !STARTERS.contains(word));
    verb.is_some_and(|verb| VERBS.contains(&verb)) || has_any(spoken, &ORDERS)
}

/// A sentence in small letters, with a blank for everything that is no word, and at both ends.
fn spoken(sentence: &str) -> String {
    let mut spoken = " ".to_owned();
    for letter in sentence.chars() {
        match letter {
            '’' => spoken.push('\''),
            _ if letter.is_alphanumeric() || "'_".contains(letter) => spoken.extend(letter.to_lowercase()),
            _ if spoken.ends_with(' ') => {}
            _ => spoken.push(' '),
        }
    }
    spoken.push(' ');
    spoken
}

/// True when one of the phrases stands in a sentence, as whole words.
fn has_any(spoken: &str, phrases: &[&str]) -> bool {
    memchr::memchr_iter(b' ', spoken.as_bytes()).any(|blank| {
        let words = &spoken[blank + 1..];
        let Some(first) = words.as_bytes().first() else { return false };
        phrases.iter().any(|phrase| {
            phrase.as_bytes()[0] == *first
                && words.strip_prefix(phrase).is_some_and(|rest| rest.starts_with(' '))
        })
    })
}

/// The sentences of a line, without what marks an item of a list.
fn sentences(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        if rest >= line.len() {
            return None;
        }
        let begin = rest;
        let mut letters = line[begin..].char_indices().peekable();
        rest = line.len();
        while let Some((at, letter)) = letters.next() {
            let is_end =
                ".!?".contains(letter) && letters.peek().is_none_or(|(_, next)| next.is_whitespace());
            if is_end || "。！？".contains(letter) {
                rest = begin + at + letter.len_utf8();
                break;
            }
        }
        let whole = &line[begin..rest];
        let sentence =
            whole.trim_start_matches(|letter: char| letter.is_whitespace() || "-*>•#".contains(letter));
        let skipped = whole.len() - sentence.len();
        Some((begin + skipped, sentence.trim_end()))
    })
}

/// The lines of a text outside of blocks of code, with their places.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut place = 0;
    let mut is_code = false;
    text.split_inclusive('\n').filter_map(move |line| {
        let begin = place;
        place += line.len();
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            is_code = !is_code;
            return None;
        }
        (!is_code).then_some((begin, line))
    })
}
