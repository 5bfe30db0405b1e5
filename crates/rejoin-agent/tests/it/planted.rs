//! Planted facts: the loss report names every one that the compacted view no longer has, and none that
//! it has; and every one can be recalled.

use std::collections::{HashMap, HashSet};

use rejoin::view::{Fact, FactKind};
use rejoin::{Block, Json, Message, MessageId, Role};
use rejoin_agent::CompactSettings;

use crate::dice::Dice;
use crate::recalling::recall;
use crate::scribe::{Desk, Scribe, writes};

/// How many facts are planted.
const FACTS: usize = 200;

/// How many tokens the conversation has at least.
const TOKENS: u64 = 150_000;

/// Where a fact can stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Soil {
    User,
    Prose,
    Anywhere,
}

/// A fact that no other text has, of one of many sorts.
fn fact(number: usize) -> (FactKind, String, Soil) {
    // Each fact has a number of its own, so that none is a part of another.
    let own = 10_000 + 37 * number;
    let word = format!("{}{}", SYLLABLES[number % 16], SYLLABLES[number / 16 % 16]);
    match number % 20 {
        0 => (FactKind::Path, format!("src/{word}/part_{own}.rs"), Soil::Anywhere),
        1 => (FactKind::Path, format!(r"C:\work\{word}\notes{own}.txt"), Soil::Anywhere),
        2 => (FactKind::Path, format!("lib/{word}{own}.py:{}", own % 90 + 10), Soil::Anywhere),
        3 => (FactKind::Path, format!("/var/log/{word}-{own}.log"), Soil::Anywhere),
        4 => (FactKind::Url, format!("https://example.org/{word}/{own}?view=full"), Soil::Anywhere),
        5 => (FactKind::Url, format!("{word}.{own}@mail.example.org"), Soil::Anywhere),
        6 => (FactKind::Identifier, format!("read_{word}_{own}"), Soil::Anywhere),
        7 => (FactKind::Identifier, format!("Http{}{own}Client", title(&word)), Soil::Anywhere),
        8 => (
            FactKind::Identifier,
            format!("{:08x}{own}", own.wrapping_mul(2_654_435_761) as u32),
            Soil::Anywhere,
        ),
        9 => (FactKind::Identifier, format!("--with-{word}{own}"), Soil::Anywhere),
        10 => (FactKind::Number, format!("{own}"), Soil::Anywhere),
        11 => (FactKind::Number, format!("{own}ms"), Soil::Anywhere),
        12 => (FactKind::Number, format!("7.{own}.3"), Soil::Anywhere),
        13 => (FactKind::Number, format!("3,{:03},{:03}", own / 1000 + 100, own % 1000), Soil::Anywhere),
        14 => (FactKind::Number, format!("{:04}-03-14", own / 10), Soil::Anywhere),
        15 => (FactKind::Quote, format!("the {word} plan of group {own}"), Soil::Prose),
        16 => (FactKind::Quote, format!("größer als {word} {own}"), Soil::Prose),
        17 => (
            FactKind::Instruction,
            format!("We decided to keep {word} number {own} in the store."),
            Soil::Prose,
        ),
        18 => (FactKind::Instruction, format!("Never rename the {word} table {own}."), Soil::User),
        _ => (FactKind::Instruction, format!("Please use {word} for case {own} only."), Soil::User),
    }
}

const SYLLABLES: [&str; 16] =
    ["ba", "ce", "di", "fo", "gu", "ha", "ke", "li", "mo", "nu", "pa", "re", "si", "to", "vu", "za"];

/// Words that are no facts.
const WORDS: [&str; 32] = [
    "the", "river", "and", "stone", "was", "quiet", "when", "morning", "came", "over", "hills", "with",
    "light", "that", "fell", "on", "every", "roof", "of", "town", "where", "people", "slept", "while",
    "birds", "began", "their", "song", "near", "old", "mill", "again",
];

fn title(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// A conversation with the facts in it, and how they are written where they stand.
struct Garden {
    dice: Dice,
    facts: Vec<(FactKind, String, Soil)>,
}

impl Garden {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::seeded(seed);
        let mut facts: Vec<_> = (0..FACTS).map(fact).collect();
        for place in (1..facts.len()).rev() {
            facts.swap(place, dice.below(place as u64 + 1) as usize);
        }
        Self { dice, facts }
    }

    fn sentence(&mut self) -> String {
        let length = 8 + self.dice.below(10);
        let words: Vec<&str> = (0..length).map(|_| WORDS[self.dice.below(32) as usize]).collect();
        title(&words.join(" ")) + "."
    }

    fn prose(&mut self, sentences: u64) -> String {
        (0..sentences).map(|_| self.sentence()).collect::<Vec<_>>().join(" ")
    }

    /// What a program printed: lines with names and numbers of their own.
    fn printed(&mut self, lines: u64) -> String {
        let line = |dice: &mut Dice| {
            let (a, b) = (dice.below(9_000), dice.below(90));
            format!("ok   step_{a} in target/out{b}/f{a}.o took {b}.{a}s\n")
        };
        (0..lines).map(|_| line(&mut self.dice)).collect()
    }

    /// Where a fact stands in a sentence or a line.
    fn planted(&mut self, kind: FactKind, fact: &str) -> String {
        let ways: &[&str] = match kind {
            FactKind::Instruction => &["{} ", "\n- {}\n", "\n{}\n"],
            FactKind::Quote => &["He said “{}” then. ", "See \"{}\". ", "It is `{}`, they say. "],
            _ => &["Look at {}, please. ", "(see {}) ", "It is {}. ", "\n{}\n", "It was **{}**! "],
        };
        ways[self.dice.below(ways.len() as u64) as usize].replace("{}", fact)
    }

    /// The messages; about every second has a fact.
    fn messages(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut waiting = std::mem::take(&mut self.facts);
        for turn in 0..85 {
            let asked = self.with_facts(&mut waiting, &[Soil::User, Soil::Prose, Soil::Anywhere], 10, 3);
            let answered = self.with_facts(&mut waiting, &[Soil::Prose, Soil::Anywhere], 12, 2);
            let mut printed = self.printed(70);
            if let Some((_, fact, _)) = take(&mut waiting, &[Soil::Anywhere], self.dice.below(2) as usize) {
                printed.push_str(&format!("note: {fact}\n"));
                printed.push_str(&self.printed(5));
            }
            let read = take(&mut waiting, &[Soil::Anywhere], self.dice.below(4) as usize / 3);
            let input =
                Json::of(&serde_json::json!({"what": read.map_or_else(String::new, |(_, fact, _)| fact)}));
            let call = Block::tool_call(format!("c{turn}"), "look", input.unwrap());
            messages.push(Message::user(asked));
            messages.push(Message::new(Role::Assistant, vec![Block::text(answered), call]));
            let output = Json::of(&printed).unwrap();
            messages.push(Message::new(Role::Tool, vec![Block::tool_result(format!("c{turn}"), output)]));
            messages.push(Message::assistant(self.prose(10)));
        }
        assert_eq!(waiting.len(), 0, "every fact is planted");
        messages
    }

    fn with_facts(
        &mut self,
        waiting: &mut Vec<(FactKind, String, Soil)>,
        soils: &[Soil],
        sentences: u64,
        most: u64,
    ) -> String {
        let mut text = String::new();
        for _ in 0..most {
            text.push_str(&self.prose(sentences / most));
            text.push(' ');
            if let Some((kind, fact, _)) = take(waiting, soils, 1) {
                text.push_str(&self.planted(kind, &fact));
            }
        }
        text
    }
}

/// Takes the next fact that can stand here, if one is wanted.
fn take(
    waiting: &mut Vec<(FactKind, String, Soil)>,
    soils: &[Soil],
    wanted: usize,
) -> Option<(FactKind, String, Soil)> {
    let place = waiting.iter().position(|(_, _, soil)| soils.contains(soil)).filter(|_| wanted > 0)?;
    Some(waiting.remove(place))
}

/// Compacts a garden with a summary that keeps some facts, and checks the report and the recall.
async fn harvest(seed: u64, user_tokens: u64, kept_in_ten: u64) {
    let mut garden = Garden::new(seed);
    let all = garden.facts.clone();
    let messages = garden.messages();
    let kept = all.iter().filter(|_| garden.dice.below(10) < kept_in_ten);
    let summary: Vec<String> = kept.map(|(_, fact, _)| format!("- about {fact}, as it was")).collect();
    let scribe = Scribe::new([], [writes(&summary.join("\n"))]);
    let settings = CompactSettings { user_tokens, ..CompactSettings::default() };
    let mut desk = Desk::new(&scribe, settings, messages);

    let compacted = desk.compact().await.unwrap();

    assert!(compacted.tokens_before >= TOKENS, "{}", compacted.tokens_before);
    let view = desk.view().join("\n");
    let planted: HashMap<&str, FactKind> = all.iter().map(|(kind, fact, _)| (fact.as_str(), *kind)).collect();
    let missing: HashSet<&str> = planted.keys().copied().filter(|fact| !view.contains(fact)).collect();
    let reported: Vec<&Fact> =
        compacted.lost.iter().filter(|fact| planted.contains_key(fact.text.as_str())).collect();
    let named: HashSet<&str> = reported.iter().map(|fact| fact.text.as_str()).collect();
    let overlooked: Vec<&&str> = missing.difference(&named).collect();
    let still_there: Vec<&&str> = named.difference(&missing).collect();
    assert_eq!((overlooked, still_there), (vec![], vec![]), "seed {seed}");
    assert_eq!(twice(&reported), [""; 0], "seed {seed}: each is named once");
    assert!(reported.iter().all(|fact| planted[fact.text.as_str()] == fact.kind), "each is of its kind");
    assert!(missing.len() >= 20 || kept_in_ten > 8, "{} are missing", missing.len());
    assert_eq!(words_still_there(&compacted.lost, &view), [""; 0]);
    recall_all(&mut desk, &reported).await;
}

/// Facts of the report, planted or not, that stand in the view between blanks all the same.
fn words_still_there(lost: &[Fact], view: &str) -> Vec<String> {
    let words: HashSet<&str> = view.split_whitespace().collect();
    lost.iter().map(|fact| &fact.text).filter(|text| words.contains(text.as_str())).cloned().collect()
}

fn twice(reported: &[&Fact]) -> Vec<String> {
    let mut seen = HashSet::new();
    reported.iter().filter(|fact| !seen.insert(&fact.text)).map(|fact| format!("{fact:?}")).collect()
}

/// Fetches the message of each fact, and compares it with what is stored.
async fn recall_all(desk: &mut Desk, reported: &[&Fact]) {
    let stored: HashMap<MessageId, Message> = desk.stored().into_iter().collect();
    let mut ids: Vec<MessageId> = reported.iter().map(|fact| fact.message.expect("it is stored")).collect();
    ids.dedup();
    let inputs: Vec<String> = ids.iter().map(|id| format!(r#"{{"message":"{id}"}}"#)).collect();

    let answers = recall(&mut desk.talk, &inputs).await;

    let mut recalled = HashMap::new();
    for (id, (answer, is_error)) in ids.iter().zip(&answers) {
        let (head, text) = answer.split_once("]\n").unwrap();
        let words: Vec<_> = stored[id].blocks.iter().filter_map(Block::words).collect();
        assert!(!is_error && head.starts_with(&format!("[message {id}, ")), "{head}");
        assert_eq!(text, words.join("\n"), "{head}");
        recalled.insert(*id, text);
    }
    let is_recalled = |fact: &&&Fact| {
        let text = recalled[&fact.message.expect("it is stored")];
        // In the arguments of a call, backslashes are written twice.
        text.replace(r"\\", r"\").contains(&fact.text)
    };
    let not_recalled: Vec<&&Fact> = reported.iter().filter(|fact| !is_recalled(fact)).collect();
    assert_eq!(not_recalled, Vec::<&&Fact>::new());
}

#[tokio::test]
async fn every_planted_fact_that_is_missing_is_named_and_can_be_recalled() {
    harvest(1, 20_000, 3).await;
}

#[tokio::test]
async fn with_nothing_of_the_user_left_the_summary_alone_decides() {
    harvest(2, 0, 5).await;
}

#[tokio::test]
async fn with_an_empty_summary_only_the_newest_words_of_the_user_remain() {
    harvest(3, 5_000, 0).await;
}

#[tokio::test]
async fn a_summary_that_keeps_everything_loses_none() {
    harvest(4, 1_000, 10).await;
}
