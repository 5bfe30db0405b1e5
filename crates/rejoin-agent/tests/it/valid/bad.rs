//! Requests that are known to be refused: each is one that is accepted, with one flaw.

use std::collections::BTreeSet;

use rejoin_agent::Api;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::valid::{Schemas, faults};

/// The rule of a flaw that the published schema rules out.
const SCHEMA: &str = "schema";

/// The requests of one API.
#[derive(Deserialize)]
struct Cases {
    /// Requests that are accepted.
    good: Map<String, Value>,
    bad: Vec<Bad>,
}

/// A request that is refused.
#[derive(Deserialize)]
struct Bad {
    /// What is wrong with it.
    flaw: String,
    /// The rule that refuses it.
    rule: String,
    /// The good request that it was made of.
    of: String,
    /// How: `set`, `insert` or `remove`, the place as a JSON pointer, and the value.
    edit: Vec<Vec<Value>>,
    /// Where people have met it.
    #[serde(default)]
    #[expect(dead_code, reason = "for those who read the file")]
    seen: String,
}

impl Bad {
    fn request(&self, cases: &Cases) -> Value {
        let mut request = cases.good[&self.of].clone();
        for edit in &self.edit {
            change(&mut request, edit);
        }
        request
    }
}

fn change(request: &mut Value, edit: &[Value]) {
    let (verb, pointer) = (edit[0].as_str().unwrap(), edit[1].as_str().unwrap());
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let parent = request.pointer_mut(parent).unwrap_or_else(|| panic!("there is no `{pointer}`"));
    match (parent, verb) {
        (Value::Object(fields), "set") => drop(fields.insert(last.to_owned(), edit[2].clone())),
        (Value::Object(fields), "remove") => drop(fields.remove(last).unwrap()),
        (Value::Array(values), "set") => values[last.parse::<usize>().unwrap()] = edit[2].clone(),
        (Value::Array(values), "insert") => values.insert(last.parse().unwrap(), edit[2].clone()),
        (Value::Array(values), "remove") => drop(values.remove(last.parse().unwrap())),
        (_, verb) => panic!("`{verb}` is not possible at `{pointer}`"),
    }
}

fn all() -> [(Api, Cases); 3] {
    [
        (Api::Anthropic, include_str!("../../bad/anthropic.json")),
        (Api::Responses, include_str!("../../bad/responses.json")),
        (Api::Chat, include_str!("../../bad/chat.json")),
    ]
    .map(|(api, text)| (api, serde_json::from_str(text).unwrap()))
}

#[test]
fn every_known_bad_request_is_refused_by_its_rule_alone() {
    for (api, cases) in all() {
        for bad in cases.bad.iter().filter(|bad| bad.rule != SCHEMA) {
            let found = faults(api, &bad.request(&cases));
            let rules: BTreeSet<&str> = found.iter().map(|fault| fault.rule).collect();

            assert_eq!(rules, BTreeSet::from([bad.rule.as_str()]), "{api:?}: {}", bad.flaw);
        }
    }
}

#[test]
fn without_their_flaw_they_are_accepted() {
    for (api, cases) in all() {
        for (name, good) in &cases.good {
            assert_eq!(faults(api, good), [], "{api:?}: {name}");
        }
    }
}

#[test]
fn the_published_schemas_refuse_what_no_rule_has_to() {
    let Some(schemas) = Schemas::find() else { return };
    let mut requests = Vec::new();
    let mut expected = Vec::new();
    for (api, cases) in all() {
        for (name, good) in &cases.good {
            requests.push((api, good.clone()));
            expected.push((api, name.clone(), true));
        }
        for bad in cases.bad.iter().filter(|bad| bad.rule == SCHEMA) {
            requests.push((api, bad.request(&cases)));
            expected.push((api, bad.flaw.clone(), false));
        }
    }

    let complaints = schemas.complaints(&requests);

    let found = expected.iter().zip(&complaints);
    let found = found.map(|((api, name, _), complaint)| (*api, name.clone(), complaint.is_none()));
    assert_eq!(found.collect::<Vec<_>>(), expected, "{complaints:#?}");
}

#[test]
fn there_are_more_than_a_hundred_of_them() {
    let count: usize = all().iter().map(|(_, cases)| cases.bad.len()).sum();

    assert!(count >= 100, "{count}");
}
