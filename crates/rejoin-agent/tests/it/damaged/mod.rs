//! Histories that were damaged at random become requests that every provider
//! accepts, and always the same ones.

mod asked;
mod compacted;
mod damage;
mod known_faults;
mod spoken;

use std::collections::{BTreeMap, BTreeSet};

use rejoin::{Message, Role};
use rejoin_agent::Api;
use serde_json::Value;

use crate::damaged::asked::{Asked, growing, published, smallest};
use crate::damaged::damage::{Entry, damage};
use crate::damaged::spoken::{Replies, spoken};
use crate::dice::Dice;
use crate::valid::Schemas;

/// How many histories are damaged.
const HISTORIES: u64 = 500;

/// A damaged history, and what the user says to it next.
fn damaged(replies: &Replies, seed: u64) -> Vec<Entry> {
    let mut dice = Dice::seeded(seed);
    let mut path = damage(spoken(replies, &mut dice), replies, &mut dice);
    path.push(Message::user("And now?").into());
    path
}

#[tokio::test]
async fn a_damaged_history_is_a_request_that_every_provider_accepts() {
    let replies = Replies::read().await;
    // One of each kind is enough to look at.
    let mut told = BTreeMap::new();
    for seed in 0..HISTORIES {
        let path = damaged(&replies, seed);
        for asked in Asked::all() {
            for objection in asked.objections(&path) {
                let rule = objection.split(':').next().unwrap_or_default().to_owned();
                let key = (asked.api().as_str(), rule.clone());
                told.entry(key).or_insert_with(|| small_case(&asked, &path, &rule));
            }
        }
    }

    assert!(told.is_empty(), "{told:#?}");
}

/// The smallest history found that breaks a rule, for a person to look at.
fn small_case(asked: &Asked, path: &[Entry], rule: &str) -> Vec<String> {
    let breaks = |path: &[Entry]| asked.objections(path).iter().any(|each| each.starts_with(rule));
    let path = smallest(path, breaks);
    let bodies = path.iter().map(|entry| format!("{} {}", entry.is_pinned, entry.message.to_body()));
    bodies.chain(asked.objections(&path)).map(|line| line.chars().take(600).collect()).collect()
}

#[tokio::test]
async fn the_published_schemas_allow_the_requests_of_damaged_histories() {
    let Some(schemas) = Schemas::find() else { return };
    let replies = Replies::read().await;
    let paths = (0..HISTORIES).step_by(10).map(|seed| damaged(&replies, seed));
    let requests: Vec<(Api, Value)> = paths
        .flat_map(|path| Asked::all().into_iter().map(move |asked| (asked, path.clone())))
        .map(|(asked, path)| (asked.api(), published(asked.request(&path))))
        .collect();

    let complaints: BTreeSet<String> = schemas.complaints(&requests).into_iter().flatten().collect();

    assert_eq!(complaints, BTreeSet::new(), "of {} requests", requests.len());
}

#[tokio::test]
async fn the_same_history_gives_the_same_bytes() {
    let replies = Replies::read().await;
    for seed in 0..HISTORIES / 5 {
        for asked in Asked::all() {
            let (first, again) = (damaged(&replies, seed), damaged(&replies, seed));

            assert_eq!(asked.written(&first), asked.written(&again), "{seed}");
        }
    }
}

/// Everything that is sent once is sent again in the same place: what a provider has read before costs less.
#[tokio::test]
async fn a_later_request_begins_with_the_earlier_one() {
    let replies = Replies::read().await;
    for seed in 0..HISTORIES / 4 {
        let mut dice = Dice::seeded(seed);
        let path: Vec<Entry> = spoken(&replies, &mut dice).into_iter().map(Entry::from).collect();
        for asked in Asked::all() {
            let whole = growing(&asked.request(&path));
            for place in asked_at(&path) {
                let before = growing(&asked.request(&path[..place]));

                assert_begins(&whole, &before, &asked, seed);
            }
        }
    }
}

#[tokio::test]
async fn what_is_said_after_damage_leaves_what_was_sent_before() {
    let replies = Replies::read().await;
    for seed in 0..HISTORIES / 4 {
        let path = damaged(&replies, seed);
        for asked in Asked::all() {
            let before = growing(&asked.request(&path));
            let mut longer = path.clone();
            longer.push(replies.some(asked.api(), &mut Dice::seeded(seed), 1_000).into());
            longer.push(Message::user("And then?").into());

            assert_begins(&growing(&asked.request(&longer)), &before, &asked, seed);
        }
    }
}

/// Where a talk asks: after the user has spoken, and after the results of a reply.
fn asked_at(path: &[Entry]) -> Vec<usize> {
    let roles: Vec<Role> = path.iter().map(|entry| entry.message.role).collect();
    let is_asked = |place: &usize| {
        matches!(roles[place - 1], Role::User | Role::Tool) && roles.get(*place) == Some(&Role::Assistant)
    };
    (1..path.len()).filter(is_asked).collect()
}

fn assert_begins(whole: &[Value], before: &[Value], asked: &Asked, seed: u64) {
    let differs = before.iter().enumerate().find(|(place, item)| whole.get(*place) != Some(*item));
    if let Some((place, item)) = differs {
        let after = whole.get(place).unwrap_or(&Value::Null);
        panic!("{seed}, {:?}, place {place}:\n{item}\nbecame\n{after}", asked.api());
    }
}
