//! The models of a provider, and one request that shows whether a choice works.

use std::time::Duration;

use rejoin::Message;
use rejoin::view::Viewed;
use rejoin_agent::Request;

use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::provider::{FoundKey, KeyPlace, KnownProvider, explain_key, find_key};

/// What a model is told in the test of a choice.
const TEST: &str = "Reply with the word: ok";

/// Enough for a word. Some providers refuse less.
const TEST_TOKENS: u64 = 16;

/// How long the test may take: a local server may have to load the model first.
const TEST_LIMIT: Duration = Duration::from_secs(120);

/// The names of a provider's models. Having none is a failure that says so.
pub(crate) async fn models(context: &Context, known: &KnownProvider) -> Result<Vec<String>, Failure> {
    let provider = known.connect(find_key(context, known)?.source)?;
    let names =
        provider.models().await.map_err(|error| explain_key(context, &known.name, Failure::from(error)))?;
    if !names.is_empty() {
        return Ok(names);
    }
    let none = Failure::not_found(format!("{} has no models", known.short_title()));
    Err(match known.get_model() {
        Some(command) => none.hint(format!("run `{command}`")),
        None => none,
    })
}

/// Sends one short request, to see whether the model answers.
pub(crate) async fn check(context: &Context, known: &KnownProvider, model: &str) -> Result<(), Failure> {
    let FoundKey { place, source, .. } = find_key(context, known)?;
    let name = &known.name;
    if place == KeyPlace::Missing {
        return Err(Failure::new(Kind::Denied, format!("there is no key of `{name}`"))
            .hint(format!("run `rejoin auth set {name}`")));
    }
    let provider = known.clone().impatient(TEST_LIMIT).connect(source)?;
    let message = Message::user(TEST);
    let request = Request {
        model,
        system: "",
        messages: &[Viewed::from(&message)],
        tools: &[],
        max_tokens: Some(TEST_TOKENS),
    };
    let replied = provider.reply(request, &mut |_| {}).await;
    replied.map(drop).map_err(|error| explain_key(context, name, Failure::from(error)))
}
