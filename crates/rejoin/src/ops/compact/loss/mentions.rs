//! Finds which facts a text mentions, all of them at once.
//!
//! Facts and texts are cut into atoms: runs of letters and digits in small letters. A fact is a path in a
//! tree of atoms, and a text is followed through the tree from each of its atoms. Single words need the same
//! marks between their atoms; of quotations and sentences only the atoms count.

use std::collections::HashMap;

use super::words::is_ideograph;
use crate::ops::view::FactKind;

/// The facts that are looked for.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    /// Numbers of atoms, and of what stands between them.
    atoms: HashMap<Box<str>, u32>,
    marks: HashMap<Box<str>, u32>,
    /// From a node, by an atom and what stands before it, to the next node.
    edges: HashMap<(u32, u32, u32), u32>,
    /// The facts that end at a node.
    ends: HashMap<u32, Vec<Expected>>,
    nodes: u32,
}

/// A fact at the end of its path.
#[derive(Debug)]
struct Expected {
    fact: usize,
    kind: FactKind,
    /// Signs of currencies and the like, which must stand beside a number too.
    signs: Vec<char>,
}

/// Where single words begin, and where quotations and sentences do.
const ROOTS: [u32; 2] = [0, 1];

/// What stands before the first atom, and what stands between those of a sentence.
const ANY: u32 = u32::MAX;

/// What no fact has between its atoms.
const UNKNOWN: u32 = u32::MAX - 1;

const fn root(kind: FactKind) -> u32 {
    match kind {
        FactKind::Url | FactKind::Path | FactKind::Identifier | FactKind::Number => ROOTS[0],
        FactKind::Quote | FactKind::Instruction => ROOTS[1],
    }
}

impl Mentions {
    /// Looks for one more fact from now on. False when it has no words, or the same is looked for already.
    pub(super) fn expect(&mut self, kind: FactKind, text: &str, fact: usize) -> bool {
        let root = root(kind);
        let (mut node, mut first, mut before) = (root, None, None);
        let Self { atoms, marks, edges, nodes, .. } = self;
        each_atom(text, |atom, name| {
            let number = number_of(atoms, name);
            let mark = match before {
                Some(before) if root == ROOTS[0] => number_of(marks, between(text, before, atom)),
                _ => ANY,
            };
            let next = ROOTS.len() as u32 + *nodes;
            let entry = edges.entry((node, number, mark)).or_insert(next);
            *nodes += u32::from(*entry == next);
            node = *entry;
            first.get_or_insert(atom.begin);
            before = Some(atom);
        });
        let (Some(first), Some(Atom { end: last, .. })) = (first, before) else { return false };
        let signs = if kind == FactKind::Number { signs(text, first, last) } else { Vec::new() };
        let ends = self.ends.entry(node).or_default();
        let is_new = ends.iter().all(|known| known.signs != signs);
        if is_new {
            ends.push(Expected { fact, kind, signs });
        }
        is_new
    }

    /// Tells each fact that a text mentions.
    pub(super) fn look(&self, text: &str, mut tell: impl FnMut(usize)) {
        let mut atoms: Vec<(Atom, Option<u32>, u32)> = Vec::new();
        each_atom(text, |atom, name| {
            let number = self.atoms.get(name).copied();
            // What stands between matters only between two atoms of facts.
            let mark = match atoms.last() {
                Some((before, Some(_), _)) if number.is_some() => {
                    self.marks.get(between(text, *before, atom)).copied().unwrap_or(UNKNOWN)
                }
                _ => UNKNOWN,
            };
            atoms.push((atom, number, mark));
        });
        for first in 0..atoms.len() {
            for root in ROOTS {
                self.follow(text, &atoms[first..], root, &mut tell);
            }
        }
    }

    fn follow(
        &self,
        text: &str,
        atoms: &[(Atom, Option<u32>, u32)],
        root: u32,
        tell: &mut impl FnMut(usize),
    ) {
        let mut node = root;
        for (place, (atom, number, mark)) in atoms.iter().enumerate() {
            let Some(number) = number else { return };
            let mark = if place == 0 || root == ROOTS[1] { ANY } else { *mark };
            let Some(next) = self.edges.get(&(node, *number, mark)) else { return };
            node = *next;
            let (begin, end) = (atoms[0].0.begin, atom.end);
            for expected in self.ends.get(&node).into_iter().flatten() {
                if is_whole(text, begin, end, expected.kind) && has_signs(text, begin, end, &expected.signs) {
                    tell(expected.fact);
                }
            }
        }
    }
}

/// The number of a text, which is the next one when it is met for the first time.
fn number_of(numbers: &mut HashMap<Box<str>, u32>, text: &str) -> u32 {
    if let Some(number) = numbers.get(text) {
        return *number;
    }
    let number = numbers.len() as u32;
    numbers.insert(text.into(), number);
    number
}

/// True when what stands around makes it no other word, number or path.
fn is_whole(text: &str, begin: usize, end: usize, kind: FactKind) -> bool {
    let mut left = text[..begin].chars().rev();
    let mut right = text[end..].chars();
    let inner = (text[begin..].chars().next(), text[..end].chars().next_back());
    !is_joined(left.next(), inner.0)
        && !is_joined(inner.1, right.next())
        && !goes_on(kind, Side::Left, &text[..begin])
        && !goes_on(kind, Side::Right, &text[end..])
}

/// True when two neighbours belong to one word.
fn is_joined(left: Option<char>, right: Option<char>) -> bool {
    let is_part = |letter: Option<char>| {
        letter.is_some_and(|letter| (letter.is_alphanumeric() || letter == '_') && !is_ideograph(letter))
    };
    is_part(left) && is_part(right)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// True when a mark and more follow that make it another thing: `1.2` in `1.2.3`, `main.rs` in `main.rs.bak`.
fn goes_on(kind: FactKind, side: Side, around: &str) -> bool {
    let (near, beyond) = match side {
        Side::Left => {
            let mut letters = around.chars().rev();
            (letters.next(), letters.next())
        }
        Side::Right => {
            let mut letters = around.chars();
            (letters.next(), letters.next())
        }
    };
    let (Some(near), Some(beyond)) = (near, beyond) else { return false };
    match (kind, side) {
        (FactKind::Number, _) => ".:".contains(near) && beyond.is_ascii_digit(),
        (FactKind::Path, _) => ".-".contains(near) && beyond.is_alphanumeric(),
        (FactKind::Identifier, _) => near == '-' && beyond.is_alphanumeric(),
        (FactKind::Url, Side::Right) => ".-%=+~@".contains(near) && beyond.is_alphanumeric(),
        (FactKind::Url, Side::Left) | (FactKind::Quote | FactKind::Instruction, _) => false,
    }
}

/// Signs that change what a number means.
const SIGNS: &str = "$€£¥%°";

/// The signs beside a number, in a fixed order; one blank may stand between.
fn signs(text: &str, begin: usize, end: usize) -> Vec<char> {
    let left = text[..begin].trim_end_matches(' ').chars().rev().take_while(|letter| SIGNS.contains(*letter));
    let right = text[end..].trim_start_matches(' ').chars().take_while(|letter| SIGNS.contains(*letter));
    let mut signs: Vec<char> = left.take(4).chain(right.take(4)).collect();
    signs.sort_unstable();
    signs.dedup();
    signs
}

fn has_signs(text: &str, begin: usize, end: usize, wanted: &[char]) -> bool {
    wanted.is_empty() || {
        let present = signs(text, begin, end);
        wanted.iter().all(|sign| present.contains(sign))
    }
}

/// Where an atom stands.
#[derive(Clone, Copy, Debug)]
struct Atom {
    begin: usize,
    end: usize,
    is_digits: bool,
}

/// What stands between two atoms, in one spelling.
fn between(text: &str, left: Atom, right: Atom) -> &str {
    let gap = &text[left.end..right.begin];
    if gap.chars().all(|letter| "/\\".contains(letter)) && !gap.is_empty() {
        return "/";
    }
    // `250 ms` is `250ms`.
    let is_unit = left.is_digits && !right.is_digits && gap.chars().count() == 1;
    if is_unit && gap.chars().all(char::is_whitespace) { "" } else { gap }
}

/// Cuts a text into atoms and tells their names.
fn each_atom(text: &str, mut tell: impl FnMut(Atom, &str)) {
    let mut name = String::new();
    let mut letters = text.char_indices().peekable();
    while let Some((begin, letter)) = letters.next() {
        if !letter.is_alphanumeric() && letter != '_' {
            continue;
        }
        name.clear();
        name.extend(letter.to_lowercase());
        let mut end = begin + letter.len_utf8();
        while !is_ideograph(letter)
            && let Some((place, next)) =
                letters.next_if(|(place, next)| goes_with(text, begin, *place, *next))
        {
            end = place + next.len_utf8();
            match next {
                ',' => {}
                _ if next.is_ascii() => name.push(next.to_ascii_lowercase()),
                _ => name.extend(next.to_lowercase()),
            }
        }
        tell_run(text, begin, end, &name, &mut tell);
    }
}

/// True when a letter belongs to the run that began before it.
fn goes_with(text: &str, begin: usize, place: usize, letter: char) -> bool {
    if letter != ',' {
        return (letter.is_alphanumeric() || letter == '_') && !is_ideograph(letter);
    }
    // A comma before three digits groups a number.
    let bytes = text.as_bytes();
    let is_digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    is_digit(begin)
        && is_digit(place - 1)
        && (1..=3).all(|step| is_digit(place + step))
        && !is_digit(place + 4)
}

/// Tells a run as one atom, or as two when it is a number with its unit.
fn tell_run(text: &str, begin: usize, end: usize, name: &str, tell: &mut impl FnMut(Atom, &str)) {
    let is_digit = |letter: char| letter.is_ascii_digit();
    // `v1` is `1`, and `1_000` is `1000`.
    let version = name.strip_prefix('v').filter(|rest| rest.starts_with(is_digit)).unwrap_or(name);
    let digits = version.len() - version.trim_start_matches(|letter| is_digit(letter) || letter == '_').len();
    if digits == version.len() && version.starts_with(is_digit) {
        let plain: std::borrow::Cow<'_, str> =
            if version.contains('_') { version.replace('_', "").into() } else { version.into() };
        return tell(Atom { begin, end, is_digits: true }, &plain);
    }
    let unit = &version[digits..];
    let is_measure = version.starts_with(is_digit)
        && !version[..digits].contains('_')
        && unit.chars().count() <= 4
        && unit.chars().all(|letter| letter.is_ascii_alphabetic() || letter == 'µ');
    if is_measure {
        let middle = end - unit_of(&text[begin..end]).len();
        tell(Atom { begin, end: middle, is_digits: true }, &version[..digits]);
        return tell(Atom { begin: middle, end, is_digits: false }, unit);
    }
    tell(Atom { begin, end, is_digits: false }, name);
}

/// What follows the digits of a run, as it is written: a small letter may be
/// shorter than the large one in the text.
fn unit_of(run: &str) -> &str {
    run.trim_start_matches(['v', 'V'])
        .trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == ',')
}
