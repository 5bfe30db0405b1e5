//! `/status`: where this conversation stands.

use rejoin::{Message, SavingState};
use rejoin_agent::{Api, Fullness, SummaryRequests};

use super::After;
use super::help::entry;
use crate::compaction::share;
use crate::error::Failure;
use crate::named;
use crate::prompt::show::cost;
use crate::prompt::{Keeping, Prompt};
use crate::ui::{clean, size};

/// Shows what is known of the conversation and what it took.
pub(super) fn status(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    let talk = &prompt.session.talk;
    let history = talk.history();
    let messages = size::count(history.len() as u64, "message", "messages");
    let model = match talk.provider().api() {
        Api::Offline => "none".to_owned(),
        _ => clean::line(talk.model()),
    };
    let lines = [
        ("Conversation", format!("{} \u{b7} {messages}", conversation(prompt)?)),
        ("Provider", talk.provider().name().to_owned()),
        ("Model", model),
        ("Project", clean::line(&prompt.context.config.project().display().to_string())),
        ("Tokens", tokens(history.messages(), talk.fullness())),
        ("Cost", money(prompt)),
        ("Summaries", summaries(prompt)?),
        ("Store", store(prompt)),
        ("Saved", saved(prompt)),
    ];
    for (name, value) in lines {
        prompt.write(&entry(prompt, name, &value, COLUMN))?;
    }
    Ok(After::Stay)
}

/// Where the values begin.
const COLUMN: usize = 14;

fn conversation(prompt: &Prompt<'_>) -> Result<String, Failure> {
    let id = prompt.session.conversation();
    let stored = prompt.session.archive.conversation(id)?;
    Ok(format!("{} \u{b7} {}", id.short(), named::title(&stored)))
}

/// What the messages up to here took, and how full the window is.
fn tokens<'a>(messages: impl Iterator<Item = &'a Message>, fullness: Fullness) -> String {
    let (input, output) = used(messages);
    let told = format!("{} in, {} out", size::number(input), size::number(output));
    match fullness.window {
        Some(window) => {
            let full = share(fullness.tokens, window);
            format!("{told} \u{b7} the window of {} is {full} full", size::number(window))
        }
        None => told,
    }
}

fn used<'a>(messages: impl Iterator<Item = &'a Message>) -> (u64, u64) {
    messages.filter_map(|message| message.usage.as_ref()).fold((0, 0), |(input, output), usage| {
        (input.saturating_add(usage.input_tokens), output.saturating_add(usage.output_tokens))
    })
}

fn money(prompt: &Prompt<'_>) -> String {
    let talk = &prompt.session.talk;
    let (input, output) = used(talk.history().messages());
    match cost(input, output, prompt.context.config.prices(talk.model())) {
        Some(cost) => size::money(cost),
        None if talk.provider().api() == Api::Offline => size::money(0.0),
        None => "unknown; set models.NAME.input_price and output_price".to_owned(),
    }
}

/// What requests for the title and the synopsis took. They are not among the tokens above.
fn summaries(prompt: &Prompt<'_>) -> Result<String, Failure> {
    if prompt.keeping != Keeping::Kept {
        return Ok("no requests".to_owned());
    }
    let stored = prompt.session.archive.conversation(prompt.session.conversation())?;
    let SummaryRequests { requests, input_tokens, output_tokens, .. } =
        SummaryRequests::of(&stored.conversation);
    if requests == 0 {
        return Ok("no requests".to_owned());
    }
    let requests = size::count(requests, "request", "requests");
    Ok(format!("{requests}, {} in, {} out", size::number(input_tokens), size::number(output_tokens)))
}

fn store(prompt: &Prompt<'_>) -> String {
    match prompt.keeping {
        Keeping::Kept => match prompt.context.store_url() {
            Ok(url) => clean::line(&url.to_string()),
            Err(_) => clean::line(prompt.context.config.store()),
        },
        Keeping::Incognito | Keeping::Off => "memory".to_owned(),
    }
}

fn saved(prompt: &Prompt<'_>) -> String {
    match (prompt.keeping, prompt.session.talk.recorder().state()) {
        (Keeping::Incognito, _) => "no: incognito".to_owned(),
        (Keeping::Off, _) => "no: saving is turned off".to_owned(),
        (Keeping::Kept, SavingState::Saved) => "yes".to_owned(),
        (Keeping::Kept, SavingState::Waiting { messages, reason }) => {
            let waiting = size::count(messages as u64, "message is", "messages are");
            format!("no: {waiting} waiting ({})", clean::line(&reason))
        }
    }
}
