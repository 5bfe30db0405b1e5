//! What to do with what was said on the command line: one turn, or the prompt.

use std::io::{self, Read, Write};
use std::time::Duration;

use rejoin::{Message, SavingState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::runtime::Runtime;

use crate::commands::offer_import;
use crate::config::Config;
use crate::config::choices::OnSaveError;
use crate::context::Context;
use crate::error::Failure;
use crate::prompt::{self, Keeping, LossReport, ThinkingDisplay, TurnOutcome, TypedAhead};
use crate::provider::{explain_key, setup};
use crate::retention;
use crate::session::{FirstSave, GRACE, Session, SessionOverrides, Start, runtime};
use crate::ui::paint::Meaning;

/// The longest message read from a pipe. A provider takes far less.
const LONGEST_INPUT: u64 = 64 << 20;

/// How long one turn waits at its end for a store that fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the store remembers about the offer to choose a model.
const OFFERED: &str = "notice.setup";

/// What the store remembers about the first turn.
const FIRST_TURN: &str = "notice.continue";

/// What was said on the command line.
#[derive(Debug)]
pub(crate) struct TalkInput {
    /// The message among the arguments.
    pub(crate) message: Option<String>,
    pub(crate) then: Then,
}

/// What happens after the first turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Leave,
    /// The prompt stays open.
    Stay,
}

/// Sends what was said, among the arguments or through a pipe, and opens the
/// prompt where there is nothing to send.
pub(crate) fn say(
    context: &Context,
    start: &Start,
    overrides: &SessionOverrides,
    said: TalkInput,
) -> Result<(), Failure> {
    let terminal = context.surroundings.terminal;
    let piped = match &said.message {
        _ if terminal.stdin => None,
        Some(_) if !has_input() => {
            context.note("stdin was empty; sending only the message.");
            None
        }
        _ => piped()?,
    };
    let message = match (said.message, piped) {
        (Some(message), Some(piped)) => Some(format!("{message}\n\n{piped}")),
        (message, piped) => message.or(piped),
    };
    let can_prompt = terminal.stdin && terminal.stdout && !context.is_json();
    let runtime = runtime()?;
    let opens_prompt = can_prompt && (said.then == Then::Stay || message.is_none());
    let chosen = if opens_prompt { offer_setup(context, &runtime, start, overrides)? } else { None };
    let configured = chosen.map(|config| context.configured(config));
    let context = configured.as_ref().unwrap_or(context);
    if opens_prompt
        && *start != Start::Incognito
        && let Err(failure) = offer_import(context)
    {
        // The conversation can begin without it.
        failure.report(context.manner.format);
    }
    match (message, said.then) {
        (message, Then::Stay) if can_prompt => prompt::open(context, &runtime, start, overrides, message),
        (_, Then::Stay) => {
            Err(Failure::usage("`--interactive` needs a terminal").hint("omit `--interactive` or `--json`"))
        }
        (Some(message), Then::Leave) => runtime.block_on(once(context, start, overrides, &message)),
        (None, Then::Leave) if can_prompt => prompt::open(context, &runtime, start, overrides, None),
        (None, Then::Leave) => {
            Err(Failure::usage("there is nothing to send").hint("run `rejoin \"your message\"`"))
        }
    }
}

/// Offers to choose a model at the first prompt without one. Whoever declines is not asked again.
fn offer_setup(
    context: &Context,
    runtime: &Runtime,
    start: &Start,
    overrides: &SessionOverrides,
) -> Result<Option<Config>, Failure> {
    let is_named = overrides.provider.is_some() || overrides.model.is_some() || overrides.base_url.is_some();
    let may_have_model = matches!(start, Start::Conversation(_) | Start::Message(_) | Start::Incognito);
    let is_chosen = context.config.provider().is_some();
    if is_named || is_chosen || may_have_model || !context.config.persistence_enabled() {
        return Ok(None);
    }
    let archive = context.archive()?;
    if archive.state().recall(OFFERED)?.is_some() {
        return Ok(None);
    }
    let Some(chosen) = setup::offer(context, runtime)? else { return Ok(None) };
    archive.state().remember(OFFERED, Some(&archive.now().to_string()))?;
    Ok(chosen)
}

/// Whether anything comes through the input, its end included. A program that started this one may
/// have left open what it never writes to.
fn has_input() -> bool {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let limit = Timespec { tv_sec: 3, tv_nsec: 0 };
    // What cannot be watched, such as a file, is there at once.
    !matches!(poll(&mut watched, Some(&limit)), Ok(0))
}

/// What came through the pipe, without the line breaks at its end; none when that is nothing.
fn piped() -> Result<Option<String>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(LONGEST_INPUT + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::io("read the message from the input", error))?;
    if bytes.len() as u64 > LONGEST_INPUT {
        return Err(Failure::invalid("the message on stdin is larger than 64 MB"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| Failure::invalid("read the message from the input").because(error))?;
    let text = text.trim_end_matches(['\r', '\n']);
    Ok((!text.trim().is_empty()).then(|| text.to_owned()))
}

async fn once(
    context: &Context,
    start: &Start,
    overrides: &SessionOverrides,
    message: &str,
) -> Result<(), Failure> {
    let mut session = Session::begin(context, start, overrides, FirstSave::WithFirstMessage)?;
    session.make_active(context);
    if let Some(unsaved) = &session.unsaved {
        prompt::tell_unsaved(context, unsaved)?;
    }
    let mut show = prompt::choose(
        context,
        Keeping::from(session.unsaved.as_ref()),
        ThinkingDisplay::default(),
        &SavingState::Saved,
        LossReport::Elsewhere,
    );
    let on_error = context.config.on_save_error();
    // What is typed belongs to the shell.
    let mut ahead = TypedAhead::ignored();
    let message = Message::user(message);
    let outcome = prompt::turn(&mut session.talk, message, show.as_mut(), &mut ahead, on_error).await;
    let mut state = session.talk.recorder().watch();
    // Who wants to know at once does not wait for a store that may come back.
    let patience = match on_error {
        OnSaveError::Warn => PATIENCE,
        OnSaveError::Fail => Duration::ZERO,
    };
    let left = prompt::settle(&mut state, tokio::time::sleep(patience)).await;
    show.saving(&left)?;
    session.follow(context);
    session.talk.finish(GRACE).await;
    let provider = session.talk.provider().name().to_owned();
    if outcome.map_err(|failure| explain_key(context, &provider, failure))? == TurnOutcome::Interrupted {
        return Ok(());
    }
    if let SavingState::Waiting { messages: 1.., reason } = left {
        return Err(prompt::not_saved(&reason));
    }
    if session.unsaved.is_none() {
        tell_how_to_continue(context, &session)?;
        retention::sweep_after(context, &session.archive);
    }
    Ok(())
}

/// Says once how to go on, to somebody who sees the first reply.
fn tell_how_to_continue(context: &Context, session: &Session) -> Result<(), Failure> {
    let terminal = context.surroundings.terminal;
    if !terminal.stdout || !terminal.stderr || !context.shows_notes() {
        return Ok(());
    }
    let archive = &session.archive;
    if archive.state().recall(FIRST_TURN)?.is_none() {
        let told = context.paint().apply(Meaning::Dim, "Continue: rejoin -r \"...\"");
        let _ = writeln!(io::stderr(), "{told}");
        archive.state().remember(FIRST_TURN, Some(&archive.now().to_string()))?;
    }
    Ok(())
}
