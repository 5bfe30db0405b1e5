//! What `rejoin compact` answers: a report of what was done, or a forecast of what would be.

use rejoin::compact::Fact;
use rejoin::{Json, MessageId, StoredConversation};
use rejoin_agent::Foreseen;
use serde_json::json;

use crate::compaction::{Extent, facts, losses, share, trimmed};
use crate::config::families::Prices;
use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::ui::{fit, size};

/// Tokens of a summary of the usual length, for an estimate of what it costs.
const SUMMARY: f64 = 500.0;

/// The window of a model, and how much of it is taken before anything is said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) tokens: u64,
    /// Tokens of the initial context and the tools.
    pub(super) initial: u64,
}

impl Window {
    /// The part that is filled beside so many tokens of a conversation.
    fn share(self, tokens: u64) -> String {
        share(self.initial + tokens, self.tokens)
    }
}

/// What a compaction did.
pub(super) struct Report<'a> {
    pub(super) message: Option<MessageId>,
    /// The summary, when it is news.
    pub(super) summary: Option<String>,
    pub(super) tokens_before: u64,
    pub(super) tokens_after: u64,
    pub(super) window: Option<Window>,
    /// Messages of the user that stay; none while that is not known.
    pub(super) kept: Option<usize>,
    pub(super) trimmed: u64,
    pub(super) lost: &'a [Fact],
}

impl Report<'_> {
    pub(super) fn answer(
        &self,
        stored: &StoredConversation,
        extent: Extent,
        context: &Context,
    ) -> Result<(), Failure> {
        let short = stored.id.short();
        if context.is_json() {
            return context.answer_json(&json!({
                "conversation": stored.id,
                "short": short.as_str(),
                "message": self.message,
                "summary": self.summary,
                "tokens_before": self.tokens_before,
                "tokens_after": self.tokens_after,
                "window": self.window.map(|window| window.tokens),
                "kept": self.kept,
                "trimmed": self.trimmed,
                "lost": self.lost,
            }));
        }
        let sizes = sizes(self.tokens_before, self.tokens_after);
        let mut lines = vec![format!("Compacted \"{}\": {sizes}.", named::title(stored))];
        lines.extend(self.window.map(|window| {
            let (before, after) = (window.share(self.tokens_before), window.share(self.tokens_after));
            format!("The window of {} is {after} full; it was {before}.", size::number(window.tokens))
        }));
        lines.extend(self.kept.map(|kept| stays(kept, "stays", "stay")));
        // Whoever asked for the compaction was warned of this already.
        lines.extend(trimmed(self.trimmed).filter(|_| self.summary.is_none()));
        lines.extend(match self.lost.len() {
            0 => vec!["Everything that was named is still mentioned.".to_owned()],
            1 => vec!["1 fact is no longer mentioned:".to_owned()],
            lost => vec![format!("{} are no longer mentioned:", facts(lost))],
        });
        let shown = losses(self.lost, extent, context.columns());
        let is_cut = shown != losses(self.lost, Extent::All, context.columns());
        let mut rest = Vec::new();
        if is_cut {
            rest.push(format!("All of them: rejoin compact {short} --report"));
        }
        if self.summary.is_some() {
            rest.push(format!("Undo: rejoin uncompact {short}"));
        }
        show(&lines, &shown, &rest, context)
    }
}

/// What a compaction would do.
pub(super) struct Forecast<'a> {
    pub(super) foreseen: &'a Foreseen,
    pub(super) provider: &'a str,
    pub(super) model: &'a str,
    pub(super) window: Option<Window>,
    pub(super) prices: Option<Prices>,
}

impl Forecast<'_> {
    pub(super) fn answer(&self, stored: &StoredConversation, context: &Context) -> Result<(), Failure> {
        let foreseen = self.foreseen;
        let bytes = foreseen.request.as_ref().map(String::len);
        if context.is_json() {
            let request = foreseen.request.as_ref().map(Json::parse).transpose()?;
            return context.answer_json(&json!({
                "conversation": stored.id,
                "short": stored.id.short().as_str(),
                "provider": self.provider,
                "model": self.model,
                "request": request,
                "request_tokens": foreseen.request_tokens,
                "request_bytes": bytes,
                "cost": self.cost(),
                "tokens_before": foreseen.tokens_before,
                "tokens_after": foreseen.tokens_after,
                "window": self.window.map(|window| window.tokens),
                "kept": foreseen.kept,
                "lost": foreseen.lost,
            }));
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
            format!("The window of {} would be {after} full; it is {before}.", size::number(window.tokens))
        }));
        lines.push(stays(foreseen.kept, "would stay", "would stay"));
        lines.push(match foreseen.lost.len() {
            0 => "Everything that was named would still be mentioned.".to_owned(),
            lost => format!("At most {} would no longer be mentioned, unless the summary does:", facts(lost)),
        });
        let shown = losses(&foreseen.lost, Extent::Short, context.columns());
        let is_cut = shown != losses(&foreseen.lost, Extent::All, context.columns());
        let rest: &[String] = if is_cut { &["All of them: add --json".to_owned()] } else { &[] };
        show(&lines, &shown, rest, context)?;
        context.note("Nothing was sent or changed.");
        Ok(())
    }

    /// What the summary would cost, when the prices are known.
    #[expect(clippy::cast_precision_loss, reason = "no request has so many tokens that the last digit counts")]
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
        return context.answer_json(&json!({
            "conversation": stored.id,
            "short": stored.id.short().as_str(),
            "message": null,
            "tokens_before": foreseen.tokens_before,
            "tokens_after": foreseen.tokens_before,
            "lost": [],
        }));
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
        return context.answer_json(&json!({
            "conversation": stored.id,
            "short": stored.id.short().as_str(),
            "message": null,
        }));
    }
    context.note(&format!("\"{}\" is not compacted.", named::title(stored)));
    Ok(())
}

fn sizes(before: u64, after: u64) -> String {
    format!("{} → {} tokens", size::number(before), size::number(after))
}

/// Answers with sentences, wrapped where there is a screen, and the lines of a loss report.
fn show(sentences: &[String], losses: &[String], rest: &[String], context: &Context) -> Result<(), Failure> {
    let room = context.columns().unwrap_or(usize::MAX);
    let wrapped = |lines: &[String]| lines.iter().flat_map(|line| fit::wrap(line, room)).collect::<Vec<_>>();
    let lines = [wrapped(sentences), losses.to_vec(), wrapped(rest)].concat();
    context.show(|page| Ok(lines.iter().try_for_each(|line| writeln!(page, "{line}"))?))
}

fn stays(kept: usize, one: &str, many: &str) -> String {
    match kept {
        0 => format!("None of your messages {one}."),
        1 => format!("1 of your messages {one}."),
        kept => format!("{} of your messages {many}.", size::number(kept as u64)),
    }
}
