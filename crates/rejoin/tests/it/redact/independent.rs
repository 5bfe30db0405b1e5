//! How much is found of a corpus that somebody wrote who had not seen the rules, and how
//! much is taken for a secret that is none.
//!
//! `secrets.jsonl` has lines of `{"class", "text", "secret"}` and `ordinary.jsonl` lines of `{"kind",
//! "text"}`. What is found in them is a figure; they are not changed to fit the rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use rejoin::{Archive, Block, Json, Message, Redaction, Role};
use serde::Deserialize;

/// The least that has to be found, and the most that may be taken by mistake, in thousandths.
const FOUND: usize = 970;
const TAKEN: usize = 5;

/// How large the corpus has to be.
const SECRETS: usize = 300;
const CLASSES: usize = 30;
const ORDINARY: usize = 1_000;

/// So many letters of a secret in a row are too many.
const PART: usize = 8;

#[derive(Debug, Deserialize)]
struct Secret {
    class: String,
    text: String,
    secret: String,
}

#[derive(Debug, Deserialize)]
struct Ordinary {
    kind: String,
    text: String,
}

/// The folders of the corpora. The second was written after the rules were mended by the first.
const CORPORA: [&str; 2] = ["independent", "independent-2"];

/// The lines of a file of a corpus.
fn lines<T: for<'de> Deserialize<'de>>(corpus: &str, name: &str) -> Vec<T> {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/redact").join(corpus).join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}:{}: {error}", number + 1))
    };
    numbered.map(read).collect()
}

fn archive() -> Archive {
    Archive::open("memory:").unwrap().with_redaction(Redaction::new())
}

/// A text as it is stored: said by a person, and put out by a tool as JSON if it is JSON.
fn stored(archive: &Archive, text: &str) -> Vec<String> {
    let said = Message::user(text);
    let output =
        Json::parse(text).ok().map(|json| Message::new(Role::Tool, vec![Block::tool_result("c", json)]));
    let redacted = |message: Message| archive.redaction().apply(&message).unwrap_or(message);
    let output = output.map(|message| redacted(message).to_body());
    std::iter::once(redacted(said).text()).chain(output).collect()
}

/// The letters of a text without what wraps or hides a secret.
fn squeezed(text: &str) -> Vec<char> {
    let is_hiding = |letter: char| {
        letter.is_whitespace()
            || matches!(letter, '\\' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{180e}')
    };
    text.chars().filter(|letter| !is_hiding(*letter)).collect()
}

/// True when no part of a secret is left but what the text has elsewhere too, such as the name of the vendor.
fn is_gone(secret: &Secret, stored: &str) -> bool {
    // What a marker says is no part of the secret, though it may name the vendor.
    let pieces = stored.split("[redacted:").enumerate();
    let unmarked = |(place, piece): (usize, &'_ str)| match piece.split_once(']') {
        Some((_, rest)) if place > 0 => rest.to_owned(),
        _ => piece.to_owned(),
    };
    let unmarked: Vec<String> = pieces.map(unmarked).collect();
    let (letters, left) =
        (squeezed(&secret.secret), squeezed(&unmarked.join("\0")).into_iter().collect::<String>());
    let elsewhere: String = squeezed(&secret.text.replace(&secret.secret, "\0")).into_iter().collect();
    let length = PART.min(letters.len());
    let mut parts = letters.windows(length).map(|part| part.iter().collect::<String>());
    !parts.any(|part| left.contains(&part) && !elsewhere.contains(&part))
}

/// A share in thousandths, rounded down.
const fn share(part: usize, whole: usize) -> usize {
    part * 1_000 / whole
}

#[test]
fn of_what_somebody_else_wrote_nearly_all_secrets_are_found() {
    CORPORA.iter().for_each(|corpus| find_secrets(corpus));
}

fn find_secrets(corpus: &str) {
    let secrets = lines::<Secret>(corpus, "secrets.jsonl");
    let archive = archive();
    let mut classes: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut missed = Vec::new();
    for secret in &secrets {
        let is_found = stored(&archive, &secret.text).iter().all(|stored| is_gone(secret, stored));
        let [found, all] = classes.entry(&secret.class).or_default();
        *found += usize::from(is_found);
        *all += 1;
        if !is_found {
            missed.push(format!("{}: {:?} in {:?}", secret.class, secret.secret, secret.text));
        }
    }

    let found = secrets.len() - missed.len();
    println!("{corpus}: found {found} of {} in {} classes: {classes:?}", secrets.len(), classes.len());
    missed.iter().for_each(|missed| println!("missed {missed}"));
    assert!(secrets.len() >= SECRETS && classes.len() >= CLASSES, "the corpus is too small");
    assert!(share(found, secrets.len()) >= FOUND, "{missed:#?}");
}

#[test]
fn of_what_somebody_else_wrote_hardly_any_ordinary_text_is_changed() {
    CORPORA.iter().for_each(|corpus| leave_ordinary(corpus));
}

fn leave_ordinary(corpus: &str) {
    let ordinary = lines::<Ordinary>(corpus, "ordinary.jsonl");
    let archive = archive();
    let changed: Vec<String> = ordinary
        .iter()
        .filter_map(|one| {
            let now = archive.redaction().apply(&Message::user(one.text.as_str()))?;
            Some(format!("{}: {:?} became {:?}", one.kind, one.text, now.text()))
        })
        .collect();

    println!("{corpus}: changed {} of {}", changed.len(), ordinary.len());
    changed.iter().for_each(|changed| println!("changed {changed}"));
    assert!(ordinary.len() >= ORDINARY, "the corpus is too small");
    assert!(changed.len() * 1_000 <= TAKEN * ordinary.len(), "{changed:#?}");
}
