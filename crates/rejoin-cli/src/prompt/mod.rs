//! The prompt: where a person talks, line by line.

mod attach;
mod commands;
mod compacting;
mod complete;
mod editor;
mod hangup;
mod history;
mod line;
mod reader;
mod shell;
mod show;
mod sign;
mod turn;
mod typed_ahead;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use rejoin::{Block, Message, Role, SavingState};
use rejoin_agent::Api;
use tokio::runtime::Runtime;

pub(crate) use self::attach::attached_as;
pub(crate) use self::compacting::compact;
pub(crate) use self::show::{
    Course, LossReport, ThinkingDisplay, TurnDisplay, TurnEnd, again, choose, tell_unsaved,
};
pub(crate) use self::turn::{TurnOutcome, not_saved, settle, turn};
pub(crate) use self::typed_ahead::TypedAhead;

use self::commands::After;
use self::history::Past;
use self::line::PromptInput;
use self::reader::{LineReader, Typed};
use crate::attempt::as_failure;
use crate::context::Context;
use crate::error::Failure;
use crate::provider::explain_key;
use crate::retention::{RetentionWorker, question};
use crate::session::idle::IdleWatch;
use crate::session::stop;
use crate::session::{FirstSave, GRACE, Session, SessionOverrides, Start, UnsavedReason};
use crate::session_files::save_session;
use crate::ui::clean;
use crate::ui::paint::Meaning;
use crate::ui::size;

/// The prompt of one run.
#[derive(Debug)]
pub(crate) struct Prompt<'a> {
    context: &'a Context,
    runtime: &'a Runtime,
    session: Session,
    overrides: SessionOverrides,
    keeping: Keeping,
    thinking: ThinkingDisplay,
    reader: LineReader,
    past: Past,
    retention_worker: RetentionWorker,
    is_unsaved: bool,
    /// Output of the user's own commands, which goes along with the next message.
    command_output: Vec<Block>,
}

/// What to do about a model that takes no images. The message stays in the conversation until then.
const NO_IMAGES: &str = "take the message back with /rewind, or ask a model that accepts images with /model";

/// How soon after the first a second Ctrl+C exits.
const TWICE: Duration = Duration::from_secs(2);

/// Whether what is said is written anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeping {
    Kept,
    Incognito,
    /// The configuration keeps nothing.
    Off,
}

impl From<Option<&UnsavedReason>> for Keeping {
    fn from(unsaved: Option<&UnsavedReason>) -> Self {
        match unsaved {
            None => Self::Kept,
            Some(UnsavedReason::Incognito) => Self::Incognito,
            Some(UnsavedReason::Disabled { .. } | UnsavedReason::Memory { .. }) => Self::Off,
        }
    }
}

/// How the prompt is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PromptExit {
    /// The conversation may go on any time.
    Left,
    /// The conversation was stopped, and how to come back is told.
    Stopped,
}

/// Opens the prompt. A first message is sent before a line is read.
pub(crate) fn open(
    context: &Context,
    runtime: &Runtime,
    start: &Start,
    overrides: &SessionOverrides,
    first: Option<String>,
) -> Result<(), Failure> {
    let session = runtime.block_on(async { Session::begin(context, start, overrides, FirstSave::AtOnce) })?;
    let keeping = Keeping::from(session.unsaved.as_ref());
    let mut past = Past::open(context, &session.archive, keeping);
    let mut prompt = Prompt {
        context,
        runtime,
        session,
        overrides: overrides.clone(),
        keeping,
        thinking: ThinkingDisplay::default(),
        reader: LineReader::open(context, past.take_lines())?,
        past,
        retention_worker: RetentionWorker::idle(),
        is_unsaved: false,
        command_output: Vec::new(),
    };
    prompt.redraw()?;
    prompt.greet()?;
    prompt.look_after_retention()?;
    if let Some(first) = first {
        prompt.line(Meaning::User, &format!("> {first}"))?;
        let taken = prompt.say(&first);
        prompt.report(taken.map(|()| After::Stay))?;
    }
    match prompt.serve() {
        // A terminal that is gone shows nothing, but the conversation is still paused.
        Err(_) if prompt.reader.is_hung_up() => prompt.leave(PromptExit::Left),
        outcome => outcome,
    }
}

impl Prompt<'_> {
    fn serve(&mut self) -> Result<(), Failure> {
        let mut interrupted_at: Option<Instant> = None;
        loop {
            self.tell_saving()?;
            self.tell_retention()?;
            self.prepare_reader();
            let watch = IdleWatch::start(self.context, &self.session.archive, self.session.conversation());
            let typed = self.reader.read();
            for told in watch.finish() {
                self.dim(&told)?;
            }
            match typed? {
                typed @ (Typed::Text(_) | Typed::Key(_)) => {
                    interrupted_at = None;
                    self.retention_worker.go_on(&self.session.archive);
                    self.tell_saving()?;
                    if let Typed::Text(text) = &typed {
                        self.past.keep(text);
                    }
                    let (Typed::Text(text) | Typed::Key(text)) = typed else { continue };
                    match self.take(&text)? {
                        After::Stay => {}
                        After::Leave => return self.leave(PromptExit::Left),
                        After::Stopped => return self.leave(PromptExit::Stopped),
                    }
                }
                Typed::Interrupt if is_twice(interrupted_at, Instant::now()) => {
                    return self.leave(PromptExit::Left);
                }
                Typed::Interrupt => {
                    interrupted_at = Some(Instant::now());
                    self.dim("Press Ctrl+C again to exit.")?;
                }
                Typed::End => return self.leave(PromptExit::Left),
            }
        }
    }

    /// Does what a line asks for. A failure is told, and the prompt goes on.
    fn take(&mut self, text: &str) -> Result<After, Failure> {
        let outcome = match line::read(text) {
            PromptInput::Nothing => return Ok(After::Stay),
            PromptInput::Message(message) => self.say(&message).map(|()| After::Stay),
            PromptInput::Stop => commands::run(self, "stop", ""),
            PromptInput::Command(name, argument) => commands::run(self, name, argument),
            PromptInput::Shell(command) => self.shell(command).map(|()| After::Stay),
        };
        self.report(outcome)
    }

    /// Tells a failure. Only some of them end the prompt.
    fn report(&self, outcome: Result<After, Failure>) -> Result<After, Failure> {
        let after = match outcome {
            Ok(after) => after,
            Err(failure) if self.ends_talk(&failure) => return Err(failure),
            Err(failure) => {
                failure.at_prompt().report(self.context.manner.format);
                After::Stay
            }
        };
        if after == After::Stay {
            writeln!(io::stdout())?;
        }
        Ok(after)
    }

    /// Sends a message, with the files that it names, and shows the reply.
    fn say(&mut self, message: &str) -> Result<(), Failure> {
        let attached = match attach::attach(self.context, message) {
            Ok(attached) => attached,
            Err(failure) => {
                // It was not sent, so it can be corrected.
                self.reader.offer(message.to_owned());
                return Err(failure);
            }
        };
        for told in &attached.told {
            self.dim(told)?;
        }
        let has_image = attach::has_image(&attached.blocks);
        if has_image && self.session.talk.provider().api() == Api::Offline {
            self.reader.offer(message.to_owned());
            return Err(Failure::invalid("send an image without a model")
                .hint("choose a model that accepts images with /provider NAME"));
        }
        let mut blocks = vec![Block::text(attached.text)];
        blocks.append(&mut self.command_output);
        blocks.extend(attached.blocks);
        let outcome = self.send(Message::new(Role::User, blocks));
        match outcome {
            Err(failure) if has_image && is_about_images(&failure) => Err(failure.or_hint(NO_IMAGES)),
            outcome => outcome,
        }
    }

    /// Sends a message and shows the reply.
    fn send(&mut self, message: Message) -> Result<(), Failure> {
        self.session.make_active(self.context);
        let state = self.session.talk.recorder().state();
        let mut show = choose(self.context, self.keeping, self.thinking, &state, LossReport::Here);
        let on_error = self.context.config.on_save_error();
        let mut ahead = self.reader.typed_ahead();
        let turn = turn(&mut self.session.talk, message, show.as_mut(), &mut ahead, on_error);
        let outcome = self.runtime.block_on(turn);
        drop(show);
        self.reader.keep(ahead);
        self.session.follow(self.context);
        self.is_unsaved = self.session.talk.recorder().state() != SavingState::Saved;
        let provider = self.session.talk.provider().name();
        outcome.map(drop).map_err(|failure| explain_key(self.context, provider, failure))
    }

    /// Only a talk that must be saved, or a screen that is gone, ends the prompt.
    fn ends_talk(&self, failure: &Failure) -> bool {
        let must_be_saved = self.context.config.on_save_error() == crate::config::choices::OnSaveError::Fail;
        let is_unsaved = self.session.talk.recorder().state() != SavingState::Saved;
        (must_be_saved && is_unsaved) || failure.is_broken_pipe()
    }

    /// Draws the end of a conversation that is resumed, for a person who wants to be told things.
    fn redraw(&self) -> Result<(), Failure> {
        if !self.session.is_resumed() || !self.context.shows_notes() {
            return Ok(());
        }
        let messages: Vec<&Message> = self.session.talk.history().messages().collect();
        if messages.is_empty() {
            return Ok(());
        }
        let redrawn = show::redraw(&messages, attach::typed, show::screen(), self.context.paint());
        if let Some(told) = redrawn.told() {
            self.dim(&told)?;
        }
        let mut out = io::stdout().lock();
        writeln!(out, "\n{}", redrawn.text)?;
        out.flush()?;
        Ok(())
    }

    /// Whom it is talked with, and how to get help. What came back is told where it is taken up.
    fn greet(&self) -> Result<(), Failure> {
        let talk = &self.session.talk;
        let name = talk.provider().name();
        let partner = match talk.model() {
            "" | "none" => name.to_owned(),
            model => format!("{name} ({model})"),
        };
        let keeping = match self.keeping {
            Keeping::Kept => "",
            Keeping::Incognito => " · incognito",
            Keeping::Off => " · not saving",
        };
        self.dim(&format!("{partner}{keeping} · /help shows commands"))
    }

    /// Tells when what was said is saved again, or is not saved any more, since the last line.
    fn tell_saving(&mut self) -> Result<(), Failure> {
        let state = self.session.talk.recorder().state();
        let is_unsaved = state != SavingState::Saved;
        if is_unsaved != self.is_unsaved {
            self.is_unsaved = is_unsaved;
            match state {
                SavingState::Saved => self.line(Meaning::Success, "Saved again.")?,
                SavingState::Waiting { reason, .. } => {
                    self.line(
                        Meaning::Warning,
                        &format!("Failed to save turn: {}. Saving is tried again.", as_failure(&reason)),
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Asks how long conversations are kept, or says what retention does where that is not known, and keeps
    /// to it from now on.
    fn look_after_retention(&mut self) -> Result<(), Failure> {
        if self.keeping != Keeping::Kept {
            return Ok(());
        }
        // Nothing goes while the prompt is open at which it was asked.
        if question::is_open(self.context, &self.session.archive) {
            return match question::settle(self.context, &self.session.archive) {
                Ok(told) => told.iter().try_for_each(|line| self.dim(line)),
                Err(failure) => self.report(Err(failure)).map(drop),
            };
        }
        let (retention_worker, told) = RetentionWorker::start(self.context, &self.session.archive);
        self.retention_worker = retention_worker;
        told.iter().try_for_each(|line| self.dim(line))
    }

    /// Tells what expired since the last line, and marks the conversation that is open.
    fn tell_retention(&mut self) -> Result<(), Failure> {
        if self.keeping == Keeping::Kept {
            self.retention_worker.hold(&self.session.archive, self.session.conversation());
        }
        let news = self.retention_worker.news();
        news.iter().filter(|line| !line.is_empty()).try_for_each(|line| self.dim(line))
    }

    fn prepare_reader(&mut self) {
        let names = complete::NameScope {
            archive: self.session.archive.clone(),
            conversation: self.session.conversation(),
            project: self.context.project_key(&self.session.archive).ok(),
            keeping: self.keeping,
            directory: self.context.surroundings.working_directory.clone(),
        };
        self.reader.prepare(names, self.session.talk.recorder().watch(), self.runtime);
    }

    /// Waits for what is not saved, then says how to come back.
    fn leave(&mut self, way: PromptExit) -> Result<(), Failure> {
        let mut state = self.session.talk.recorder().watch();
        let left = state.state();
        if let SavingState::Waiting { messages: messages @ 1.., reason } = left {
            let count = size::count(messages as u64, "message is", "messages are");
            self.line(
                Meaning::Warning,
                &format!("{count} not saved: {reason}. Trying again; press Ctrl+C to leave without."),
            )?;
            let is_hung_up = self.reader.is_hung_up();
            let patience =
                async { if is_hung_up { tokio::time::sleep(GRACE).await } else { interrupted().await } };
            let left = self.runtime.block_on(settle(&mut state, patience));
            match left {
                SavingState::Waiting { messages: 1.., reason } => return Err(not_saved(&reason)),
                SavingState::Saved | SavingState::Waiting { .. } => {
                    self.line(Meaning::Success, "Saved again.")?;
                }
            }
        }
        let has_something = !self.session.talk.history().is_empty();
        let parted = if self.keeping == Keeping::Kept && has_something && way == PromptExit::Left {
            self.part()
        } else {
            Ok(())
        };
        self.retention_worker.finish();
        self.session.forget_if_empty();
        self.past.finish();
        parted
    }

    /// Pauses the conversation and says how to come back, if there is something to come back to.
    fn part(&self) -> Result<(), Failure> {
        let short = self.session.conversation().short();
        match self.runtime.block_on(self.session.stop(stop::StopMode::Pause)) {
            Err(failure) if failure.is_not_found() => {
                return self.line(Meaning::Warning, &format!("Conversation {short} was deleted meanwhile."));
            }
            Err(failure) if failure.is_displaced() => return Err(failure),
            // Another may have stopped or completed it already.
            Ok(_) | Err(_) => {}
        }
        let told = self.dim(&format!("Continue: rejoin -r {short}"));
        save_session(self.context, &self.session.archive, self.session.conversation());
        // Nobody reads it on a terminal that is gone.
        if self.reader.is_hung_up() { Ok(()) } else { told }
    }

    fn dim(&self, text: &str) -> Result<(), Failure> {
        self.line(Meaning::Dim, text)
    }

    /// Text that is ready for the screen.
    fn write(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
        Ok(())
    }

    /// A line whose spaces count.
    fn line_as_it_is(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", clean::block(text).replace('\n', " "))?;
        out.flush()?;
        Ok(())
    }

    /// A line of Rejoin's own.
    fn line(&self, meaning: Meaning, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        out.write_all(show::own_line(text, meaning, self.context.paint()).as_bytes())?;
        out.flush()?;
        Ok(())
    }
}

/// Providers have no common code for a model that takes no images; all of them name what it does not take.
fn is_about_images(failure: &Failure) -> bool {
    let told = failure.to_string().to_lowercase();
    ["image", "multimodal"].iter().any(|word| told.contains(word))
}

/// True when this Ctrl+C follows another one quickly.
fn is_twice(first: Option<Instant>, now: Instant) -> bool {
    first.is_some_and(|first| now.duration_since(first) <= TWICE)
}

/// Returns when Ctrl+C is pressed.
pub(crate) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a way to notice it there is no reason to wait for ever.
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_second_interrupt_that_comes_quickly_exits() {
        let first = Instant::now();
        let after = |millis| is_twice(Some(first), first + Duration::from_millis(millis));

        assert_eq!(
            [is_twice(None, first), after(10), after(2_000), after(2_001)],
            [false, true, true, false]
        );
    }
}
