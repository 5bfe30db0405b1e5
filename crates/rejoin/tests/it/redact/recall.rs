//! How much is found of a corpus that was written after the rules, and how much
//! is taken for a secret that is none.

use std::collections::BTreeMap;

use rejoin::{Archive, Block, Conversation, Json, Message, Redaction, Role};

use super::corpus::{self, Secret};
use super::dice::Dice;

/// How often each kind of secret is drawn.
const ROUNDS: u64 = 5;

fn archive() -> Archive {
    Archive::open("memory:").unwrap().with_redaction(Redaction::new())
}

/// A text as it is stored, said by a person and put out by a tool.
fn stored(archive: &Archive, text: &str) -> [String; 2] {
    let said = Message::user(text);
    let output = match Json::parse(text) {
        Ok(json) => json,
        Err(_) => Json::of(&text).unwrap(),
    };
    let ran = Message::new(Role::Tool, vec![Block::tool_result("c", output)]);
    [said, ran].map(|message| archive.redaction().apply(&message).unwrap_or(message).to_body())
}

/// True when nothing of a secret is left, however it is written.
fn is_gone(secret: &str, body: &str) -> bool {
    let numbers: String = secret.chars().map(|letter| format!("u{:04x}", u32::from(letter))).collect();
    let plain: String = body.chars().filter(|letter| *letter != '\\').collect();
    !plain.contains(secret) && !plain.contains(&numbers)
}

/// What is searched for in a stored body: an address is not secret, its end is.
fn secret_part(secret: &Secret) -> &str {
    secret
        .value
        .rsplit_once('/')
        .filter(|_| secret.value.starts_with("https://"))
        .map_or(&secret.value, |(_, end)| end)
}

/// A share in thousandths, rounded.
fn share(part: usize, whole: usize) -> usize {
    (part * 1_000 + whole / 2) / whole
}

#[test]
fn nineteen_of_twenty_secrets_are_found_in_text_that_was_written_later() {
    let archive = archive();
    let mut missed: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut all = 0;
    for round in 1..=ROUNDS {
        let mut dice = Dice::new(0x5eed_0000 + round);
        let named = corpus::secrets(&mut dice);
        let written = named.iter().flat_map(|secret| {
            let texts = corpus::texts(secret).into_iter();
            texts
                .map(|(context, text)| (secret.kind, context, text, secret_part(secret).to_owned()))
                .collect::<Vec<_>>()
        });
        let shaped = corpus::shapes(&mut dice)
            .into_iter()
            .map(|(context, text, secret)| ("shape", context, text, secret));
        for (kind, context, text, secret) in written.chain(shaped) {
            for body in stored(&archive, &text) {
                all += 1;
                if !is_gone(&secret, &body) {
                    *missed.entry((kind, context)).or_default() += 1;
                }
            }
        }
    }

    let lost: usize = missed.values().sum();
    println!(
        "recall: {} of {all} found, {} of a thousand; missed: {missed:?}",
        all - lost,
        share(all - lost, all)
    );
    assert!(share(all - lost, all) >= 950, "{missed:?}");
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let archive = archive();
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = 0;
    for round in 1..=ROUNDS {
        for (context, text) in corpus::harmless(&mut Dice::new(0xc1ea_0000 + round)) {
            all += 1;
            let [said, _] = stored(&archive, &text);
            if said.contains("[redacted:") && !text.contains("[redacted:") {
                *taken.entry(format!("{context}: {said}")).or_default() += 1;
            }
        }
    }

    let wrong: usize = taken.values().sum();
    println!("false alarms: {wrong} of {all}, {} of a thousand: {taken:?}", share(wrong, all));
    assert!(share(wrong, all) <= 10, "{taken:?}");
}

/// What is stored of a reply of which this has arrived.
fn arrived(archive: &Archive, text: &str) -> String {
    let mut recorder = archive.record(archive.start(Conversation::new()).unwrap(), "1@1");
    recorder.save_open(&Message::assistant(text), &[]);
    let turns = recorder.handle().archive().open_turns().list(recorder.conversation()).unwrap();
    turns.iter().map(|turn| turn.partial.text()).collect()
}

#[test]
fn a_reply_may_arrive_up_to_any_letter() {
    let archive = archive();
    let text = "Lis «\u{a0}https://example.org/é\u{a0}», puis\u{202f}: («\u{3000}password\u{a0}»).éà 🙂";
    let cuts = text.char_indices().map(|(cut, _)| &text[..cut]);

    let spoilt: Vec<String> =
        cuts.map(|text| arrived(&archive, text)).filter(|kept| !text.starts_with(kept.as_str())).collect();

    assert_eq!(spoilt, [""; 0]);
}

#[test]
fn a_secret_that_arrives_in_two_pieces_is_not_stored_by_half() {
    let archive = archive();
    let mut all = 0;
    let mut halves = Vec::new();
    for round in 1..=2 {
        let mut dice = Dice::new(0xba1f_0000 + round);
        for secret in corpus::secrets(&mut dice) {
            for (context, text) in corpus::texts(&secret) {
                let part = secret_part(&secret).to_owned();
                let Some(start) = text.find(&part) else { continue };
                let cut = start + 1 + dice.below(part.len());
                all += 1;

                let kept = arrived(&archive, &text[..cut]);

                // A few letters of a secret open nothing.
                let half = &part[..(cut - start).min(6)];
                if half.len() == 6 && kept.contains(half) {
                    halves.push(format!("{} {context}: {kept}", secret.kind));
                }
            }
        }
    }

    println!("held back: {} of {all}", all - halves.len());
    assert_eq!(halves, [""; 0]);
}
