//! Any history at all becomes a request that follows the rules of the API.

use std::collections::HashSet;

use proptest::prelude::*;
use rejoin::{Block, Fields, Message, Other, Role, Thinking};
use serde_json::Value;

use super::{json, sent};
use crate::providers::anthropic::history::string;

fn block() -> impl Strategy<Value = Block> {
    let id = prop::sample::select(vec!["a", "b", "a.b", "a_2", ""]);
    let text = prop::sample::select(vec!["", " ", "said"]);
    let signature = prop::option::of(prop::sample::select(vec!["", "sig"]));
    let other = |kind: &str, field: &str, id: &str| {
        let mut fields = Fields::new();
        fields.set(field, string(id));
        Block::Other(Other { kind: kind.to_owned(), fields })
    };
    prop_oneof![
        text.prop_map(Block::text),
        signature.prop_map(|signature| Block::Thinking(Thinking {
            text: "hm".to_owned(),
            signature: signature.map(str::to_owned),
            extra: Fields::new(),
        })),
        id.clone().prop_map(|id| Block::tool_call(id, "read", json("{}"))),
        id.clone().prop_map(|id| Block::tool_result(id, string("done"))),
        id.clone().prop_map(move |id| other("server_tool_use", "id", id)),
        id.prop_map(move |id| other("web_search_tool_result", "tool_use_id", id)),
        Just(other("redacted_thinking", "data", "x")),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let role = prop::sample::select(vec![Role::User, Role::Assistant, Role::Assistant, Role::Tool]);
    let origin = prop::option::of(prop::sample::select(vec!["mine", "another"]));
    (role, prop::collection::vec(block(), 0..4), origin).prop_map(|(role, blocks, origin)| {
        let mut message = Message::new(role, blocks);
        if let Some(provider) = origin {
            message.extra.set("api", string("anthropic"));
            message.extra.set("provider", string(provider));
        }
        message
    })
}

fn of_kind<'a>(turn: &'a Value, kind: &str, field: &str) -> Vec<&'a str> {
    let items = turn["content"].as_array().unwrap().iter().filter(|item| item["type"] == kind);
    items.map(|item| item[field].as_str().unwrap()).collect()
}

proptest! {
    #[test]
    fn any_history_becomes_a_request_that_the_api_takes(messages in prop::collection::vec(message(), 0..12)) {
        let turns: Vec<Value> = serde_json::from_str(&sent(&messages)).unwrap();

        let roles: Vec<&str> = turns.iter().map(|turn| turn["role"].as_str().unwrap()).collect();
        let expected: Vec<&str> = ["user", "assistant"].into_iter().cycle().take(roles.len()).collect();
        prop_assert_eq!(roles, expected);
        let mut ids = HashSet::new();
        for (index, turn) in turns.iter().enumerate() {
            let content = turn["content"].as_array().unwrap();
            prop_assert!(!content.is_empty());
            prop_assert!(of_kind(turn, "text", "text").iter().all(|text| !text.trim().is_empty()));
            prop_assert!(of_kind(turn, "thinking", "signature").iter().all(|signature| !signature.is_empty()));
            let calls = of_kind(turn, "tool_use", "id");
            prop_assert!(calls.iter().all(|id| ids.insert((*id).to_owned())), "{:?}", calls);
            let next = turns.get(index + 1);
            let results = next.map(|next| of_kind(next, "tool_result", "tool_use_id")).unwrap_or_default();
            prop_assert_eq!(&calls, &results);
            let first: Vec<&Value> = next.into_iter().flat_map(|next| next["content"].as_array().unwrap()).collect();
            prop_assert!(first.iter().take(results.len()).all(|item| item["type"] == "tool_result"));
            let last = content.last().unwrap()["type"].as_str().unwrap();
            prop_assert!(turn["role"] == "user" || !last.ends_with("thinking"));
        }
    }
}
