//! What is left of a reply that was cut off: offered to whoever comes back.

use std::io::{self, Write};

use rejoin::{Archive, Handle, OpenTurn, PlainText};

use crate::context::Context;
use crate::error::Failure;
use crate::session::writer;
use crate::ui::ask;
use crate::ui::clean;

/// What to do with a reply that was cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Partial {
    /// Ask at a terminal; elsewhere leave it and say so.
    #[default]
    Ask,
    Keep,
    Discard,
}

/// Settles what is left of replies in a conversation, and returns the handle to go on with.
pub(super) fn settle(context: &Context, handle: Handle, partial: Partial) -> Result<Handle, Failure> {
    let archive = handle.archive().clone();
    let mut handle = handle;
    for turn in archive.open_turns().list(handle.id())? {
        if let Some(process) = writer::living(&turn.writer) {
            context.note(&format!(
                "Another rejoin (process {process}) is talking here; what you say becomes a branch."
            ));
            continue;
        }
        match decide(context, &turn, partial)? {
            LeftoverDecision::Keep => handle = keep(context, &archive, handle, &turn)?,
            LeftoverDecision::Discard => {
                archive.open_turns().discard(handle.id(), turn.name)?;
                context.note("The partial reply was discarded.");
            }
            LeftoverDecision::Leave => {}
        }
    }
    Ok(handle)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeftoverDecision {
    Keep,
    Discard,
    Leave,
}

fn decide(context: &Context, turn: &OpenTurn, partial: Partial) -> Result<LeftoverDecision, Failure> {
    match partial {
        Partial::Keep => return Ok(LeftoverDecision::Keep),
        Partial::Discard => return Ok(LeftoverDecision::Discard),
        Partial::Ask => {}
    }
    context.note(&format!("A reply was interrupted {}: {}", when(context, turn), excerpt(turn)));
    let terminal = context.surroundings.terminal;
    if !(terminal.stdin && terminal.stderr) || context.is_json() {
        context.note("It is not part of the conversation. To decide: --keep-partial or --discard-partial");
        return Ok(LeftoverDecision::Leave);
    }
    loop {
        let question = "Keep it, discard it, or look at it first? [k/d/l] ";
        match ask::ask(question, &mut ask::person(), &mut io::stderr())?.as_deref() {
            Some("k" | "keep" | "K") => return Ok(LeftoverDecision::Keep),
            Some("d" | "discard" | "D") => return Ok(LeftoverDecision::Discard),
            Some("l" | "look" | "L") => writeln!(io::stderr(), "{}", whole(turn))?,
            Some(_) => writeln!(io::stderr(), "Please answer k, d or l.")?,
            // Whoever closes the input decided nothing, so it stays as it is.
            None => return Ok(LeftoverDecision::Leave),
        }
    }
}

fn keep(context: &Context, archive: &Archive, handle: Handle, turn: &OpenTurn) -> Result<Handle, Failure> {
    let receipt = archive.open_turns().keep(handle.id(), turn)?;
    context.note("The partial reply was kept.");
    if handle.head() == turn.base {
        return Ok(archive.resume_at(handle.id(), receipt.head)?);
    }
    // The talk has gone on elsewhere meanwhile, so the reply became a branch of
    // its own and the head goes back.
    if let Some(head) = handle.head() {
        archive.rewind(handle.id(), head)?;
    }
    Ok(handle)
}

fn when(context: &Context, turn: &OpenTurn) -> String {
    context.clock().relative(turn.saved_at.as_micros())
}

fn excerpt(turn: &OpenTurn) -> String {
    match PlainText::preview(&turn.partial.text()) {
        text if text.is_empty() => "it had not said anything yet.".to_owned(),
        text => format!("\"{text}\""),
    }
}

fn whole(turn: &OpenTurn) -> String {
    let texts: Vec<String> = turn.messages().iter().map(rejoin::Message::text).collect();
    clean::block(texts.join("\n").trim_end())
}
