//! What `rejoin compact` answers when it does nothing: a forecast, or why there is nothing to do.

use rejoin::view::Fact;
use rejoin::{Json, MessageId, StoredConversation};
use rejoin_agent::Foreseen;
use serde::Serialize;

use crate::compaction::{LossesExtent, WindowUse, facts, losses, show, sizes, stays};
use crate::config::families::Prices;
use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::shapes::Within;
use crate::ui::{json, size};

/// Tokens of a summary of the usual length, for an estimate of what it costs.
const SUMMARY: f64 = 500.0;

/// What a compaction would do.
pub(super) struct Forecast<'a> {
    pub(super) foreseen: &'a Foreseen,
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) window: Option<WindowUse>,
    pub(super) prices: Option<Prices>,
}

/// A forecast as programs read it.
#[derive(Serialize)]
struct Foretold<'a> {
    #[serde(flatten)]
    within: Within,
    provider: &'a str,
    model: &'a str,
    #[serde(serialize_with = "json::in_one_form")]
    request: Option<Json>,
    request_tokens: u64,
    request_bytes: Option<usize>,
    cost: Option<f64>,
    tokens_before: u64,
    tokens_after: u64,
    window: Option<u64>,
    kept: usize,
    lost: &'a [Fact],
}

/// That nothing was compacted, with the tokens that the model is sent.
#[derive(Serialize)]
struct Unchanged {
    #[serde(flatten)]
    never: Never,
    tokens_before: u64,
    tokens_after: u64,
    lost: [Fact; 0],
}

/// That there is no compaction.
#[derive(Serialize)]
struct Never {
    #[serde(flatten)]
    within: Within,
    message: Option<MessageId>,
}

impl Never {
    fn in_it(stored: &StoredConversation) -> Self {
        Self { within: stored.id.into(), message: None }
    }
}

impl Forecast<'_> {
    pub(super) fn answer(&self, stored: &StoredConversation, context: &Context) -> Result<(), Failure> {
        let foreseen = self.foreseen;
        let bytes = foreseen.request.as_ref().map(String::len);
        if context.is_json() {
            let request = foreseen.request.as_ref().map(Json::parse).transpose()?;
            return context.answer_json(&Foretold {
                within: stored.id.into(),
                provider: self.provider,
                model: self.model,
                request,
                request_tokens: foreseen.request_tokens,
                request_bytes: bytes,
                cost: self.cost(),
                tokens_before: foreseen.tokens_before,
                tokens_after: foreseen.tokens_after,
                window: self.window.map(|window| window.tokens),
                kept: foreseen.kept,
                lost: &foreseen.lost,
            });
        }
        let title = named::title(stored);
        let sent = match bytes {
            Some(bytes) => format!(
                "Compacting \"{title}\" would send {} ({}) to {} ({}){}.",
                size::count(foreseen.request_tokens, "token", "tokens"),
                size::bytes(bytes as u64),
                self.provider,
                self.model,
                self.cost().map(|cost| format!(", about {}", size::money(cost))).unwrap_or_default(),
            ),
            None => format!("No model is configured that could write a summary of \"{title}\"."),
        };
        let sizes = sizes(foreseen.tokens_before, foreseen.tokens_after);
        let mut lines = vec![sent, format!("What the model is sent would shrink: {sizes}.")];
        lines.extend(self.window.map(|window| {
            let (before, after) = (window.share(foreseen.tokens_before), window.share(foreseen.tokens_after));
            let tokens = size::number(window.tokens);
            format!(
                "With instructions and tools, the window of {tokens} would be {after} full; it is {before}."
            )
        }));
        if self.window.is_some_and(|window| window.initial >= window.tokens) {
            lines.push("Instructions and tools alone fill it, so compacting would be refused.".to_owned());
        }
        lines.push(stays(foreseen.kept, "would stay", "would stay"));
        lines.push(match foreseen.lost.len() {
            0 => "Everything that was named would still be mentioned.".to_owned(),
            lost => format!("At most {} would no longer be mentioned, unless the summary does:", facts(lost)),
        });
        let shown = losses(&foreseen.lost, LossesExtent::Short, context.columns());
        let is_cut = shown != losses(&foreseen.lost, LossesExtent::All, context.columns());
        let rest: &[String] = if is_cut { &["All of them: add --json".to_owned()] } else { &[] };
        show(&lines, &shown, rest, context)?;
        context.note("Nothing was sent or changed.");
        Ok(())
    }

    /// What the summary would cost, when the prices are known.
    #[expect(
        clippy::cast_precision_loss,
        reason = "no request has so many tokens that the last digit counts"
    )]
    fn cost(&self) -> Option<f64> {
        let prices = self.prices?;
        Some((self.foreseen.request_tokens as f64 * prices.input + SUMMARY * prices.output) / 1_000_000.0)
    }
}

/// That compacting would not make anything shorter.
pub(super) fn nothing(
    stored: &StoredConversation,
    foreseen: &Foreseen,
    context: &Context,
) -> Result<(), Failure> {
    if context.is_json() {
        let tokens = foreseen.tokens_before;
        return context.answer_json(&Unchanged {
            never: Never::in_it(stored),
            tokens_before: tokens,
            tokens_after: tokens,
            lost: [],
        });
    }
    let tokens = size::count(foreseen.tokens_before, "token", "tokens");
    context.note(&format!(
        "There is nothing to compact in \"{}\": the model is sent {tokens} of it.",
        named::title(stored)
    ));
    Ok(())
}

/// That there is no compaction to report.
pub(super) fn never(stored: &StoredConversation, context: &Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(&Never::in_it(stored));
    }
    context.note(&format!("\"{}\" is not compacted.", named::title(stored)));
    Ok(())
}
