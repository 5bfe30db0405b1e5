//! `/compact`, `/uncompact` and `/pin`: what of the conversation the model is sent.

use rejoin::{MessageId, SavingState};
use rejoin_agent::Api;

use super::After;
use super::branches::{head, in_prompt, last_said, nothing_said, settled};
use crate::compaction::{self as words, LossesExtent};
use crate::error::Failure;
use crate::named;
use crate::prompt::{self, LossReport, Prompt, choose};
use crate::ui::fit;
use crate::ui::paint::Meaning;

/// Columns of what a message says, inside a sentence.
const SAID: usize = 40;

/// What may follow `/compact`.
pub(super) const WORDS: &[(&str, &str)] = &[("report", "what the last summary no longer mentions")];

/// Compacts now, or shows what the last compaction left out.
pub(super) fn compact(prompt: &mut Prompt<'_>, word: &str) -> Result<After, Failure> {
    match word {
        "" => {}
        "report" => return report(prompt),
        other => return Err(Failure::usage(format!("`{other}` is not report"))),
    }
    let talk = &prompt.session.talk;
    if talk.provider().api() == Api::Offline {
        return Err(Failure::invalid("no model is configured to write a summary")
            .hint("type `/provider NAME MODEL`, then try again"));
    }
    let foreseen = prompt.runtime.block_on(talk.foresee());
    if foreseen.tokens_after >= foreseen.tokens_before {
        let tokens = crate::ui::size::count(foreseen.tokens_before, "token", "tokens");
        prompt.line(Meaning::Plain, &format!("There is nothing to compact: the model is sent {tokens}."))?;
        return Ok(After::Stay);
    }
    let state = talk.recorder().state();
    let mut show = choose(prompt.context, prompt.keeping, prompt.thinking, &state, LossReport::Here);
    let mut ahead = prompt.reader.typed_ahead();
    let work = prompt::compact(&mut prompt.session.talk, show.as_mut(), &mut ahead);
    let outcome = prompt.runtime.block_on(work);
    drop(show);
    prompt.reader.keep(ahead);
    prompt.is_unsaved = prompt.session.talk.recorder().state() != SavingState::Saved;
    outcome.map(|_| After::Stay)
}

/// Shows what the newest compaction of this branch left out.
fn report(prompt: &Prompt<'_>) -> Result<After, Failure> {
    let archive = &prompt.session.archive;
    let stored = archive.conversation(prompt.session.conversation())?;
    let head = head(prompt)?;
    match words::newest(archive, &stored, head)? {
        Some(report) => report.answer(&stored, LossesExtent::All, prompt.context)?,
        None => prompt.line(Meaning::Plain, "This conversation is not compacted.")?,
    }
    Ok(After::Stay)
}

/// Sends the model again what the newest summary stands for.
pub(super) fn uncompact(prompt: &mut Prompt<'_>, _: &str) -> Result<After, Failure> {
    settled(prompt)?;
    let undone = prompt.runtime.block_on(prompt.session.talk.uncompact())?;
    let Some(summary) = undone else {
        prompt.line(Meaning::Plain, "This conversation is not compacted; there is nothing to undo.")?;
        return Ok(After::Stay);
    };
    let threshold = prompt.context.config.compact_threshold();
    let tokens = words::sent_again(prompt.session.talk.fullness(), threshold);
    prompt.line(Meaning::Plain, &format!("The model is sent the messages again: {tokens}"))?;
    prompt.dim(&format!("The ignored summary: {summary}"))?;
    Ok(After::Stay)
}

/// Pins a message, or what was said last; one that is pinned is let go.
pub(super) fn pin(prompt: &mut Prompt<'_>, name: &str) -> Result<After, Failure> {
    let (archive, id) = settled(prompt)?;
    let message = match name {
        "" => newest_said(prompt)?,
        name => named::message_in(&archive, id, name).map_err(in_prompt)?,
    };
    let found = archive.messages(id, &[message])?.pop().ok_or_else(nothing_said)?;
    let talk = &mut prompt.session.talk;
    let done = if found.is_pinned {
        prompt.runtime.block_on(talk.unpin(message))?;
        "No longer pinned"
    } else {
        prompt.runtime.block_on(talk.pin(message))?;
        "Pinned; compaction keeps it"
    };
    let said = fit::snippet(&found.message.text(), SAID);
    prompt.line(Meaning::Plain, &format!("{done}: \"{said}\" {message}"))?;
    Ok(After::Stay)
}

/// The last message of the user on this branch.
fn newest_said(prompt: &Prompt<'_>) -> Result<MessageId, Failure> {
    let head = head(prompt)?.ok_or_else(nothing_said)?;
    let path = prompt.session.archive.path(prompt.session.conversation(), Some(head))?;
    last_said(&path).map(|stored| stored.id).ok_or_else(nothing_said)
}
