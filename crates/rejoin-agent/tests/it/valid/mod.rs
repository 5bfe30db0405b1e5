//! What the three APIs ask of a request, as strictly as they can be: the
//! published schemas, and the rules beyond them.
//!
//! The schemas are those of the stock Python clients, which are generated from the providers' own documents;
//! see `schema.py`. The rules are in Rust. Each is named, and its line says where the API states it: in its
//! reference, or in the words with which it refuses.

mod anthropic;
mod bad;
mod chat;
mod responses;
mod schema;

use std::fmt;

use rejoin_agent::Api;
use serde_json::Value;

pub(crate) use schema::Schemas;

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The rule's name.
    pub(crate) rule: &'static str,
    /// Where, and with what.
    at: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.at)
    }
}

/// Every rule that a request breaks.
pub(crate) fn faults(api: Api, body: &Value) -> Vec<Fault> {
    match api {
        Api::Anthropic => anthropic::faults(body),
        Api::Responses => responses::faults(body),
        _ => chat::faults(body),
    }
}

/// What a request holds that only another provider can have said: thinking, items, ids.
pub(crate) fn foreign(api: Api, body: &Value) -> Vec<String> {
    match api {
        Api::Anthropic => anthropic::foreign(body),
        Api::Responses => responses::foreign(body),
        _ => chat::foreign(body),
    }
}

/// The faults found so far.
#[derive(Debug, Default)]
struct Found(Vec<Fault>);

impl Found {
    /// Notes a fault unless the rule is kept.
    fn check(&mut self, is_kept: bool, rule: &'static str, at: impl fmt::Display) {
        if !is_kept {
            self.0.push(Fault { rule, at: at.to_string() });
        }
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `^[a-zA-Z0-9_-]{1,longest}$`.
fn is_name(name: &str, longest: usize) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    (1..=longest).contains(&name.len()) && name.chars().all(is_allowed)
}

/// A web address, or an image of a kind that models see, as a data address.
fn is_image_address(address: &str) -> bool {
    let is_web = address.starts_with("https://") || address.starts_with("http://");
    let kinds = ["png", "jpeg", "gif", "webp"];
    let is_data =
        |kind: &str| address.strip_prefix(&format!("data:image/{kind};base64,")).is_some_and(is_base64);
    is_web || kinds.into_iter().any(is_data)
}

fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || matches!(letter, b'+' | b'/');
    !body.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - body.len() <= 2
        && body.bytes().all(is_letter)
}
