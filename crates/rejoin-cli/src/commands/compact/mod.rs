//! `rejoin compact`: a summary takes the place of the older part of a conversation in what the model is sent.

mod answer;

use std::time::Duration;

use rejoin::view::Compaction;
use rejoin::{Archive, MessageId, SavingState, StoredConversation};
use rejoin_agent::{Api, CompactSettings, Compacted, Foreseen, TurnEvent};

use crate::commands::compact::answer::Forecast;
use crate::compaction::{self, COMPACTING, CompactionReport, LossesExtent, WindowUse};
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::named;
use crate::prompt::{self, Course, TurnDisplay, TurnEnd, TypedAhead};
use crate::session::{Asked, Quiet, SessionOverrides, banner, runtime};

/// How long to wait at the end for a store that fails.
const PATIENCE: Duration = Duration::from_secs(10);

/// Summarize older messages to free up context
///
/// The conversation's model writes a summary. Later requests send the summary, recent user messages and
/// pinned messages instead of the full history. The stored history does not change, and `rejoin
/// uncompact` undoes the compaction. Details that the summary no longer mentions are listed: paths,
/// names, numbers, addresses, quotes, instructions. Without ID, the active conversation is compacted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin compact lisbon --dry-run     What it would send, cost and drop
  rejoin compact lisbon
  rejoin compact lisbon --report      What the last one dropped
  rejoin uncompact lisbon")]
pub(crate) struct Args {
    /// The conversation; default: the active one
    id: Option<String>,

    /// Show what would be sent, dropped and paid for, without compacting
    #[arg(long)]
    dry_run: bool,

    /// Show what the last compaction no longer mentions
    #[arg(long, conflicts_with = "dry_run")]
    report: bool,

    /// Use this provider for the summary
    #[arg(long, value_name = "NAME", conflicts_with = "report")]
    provider: Option<String>,

    /// Use this model for the summary
    #[arg(long, value_name = "MODEL", conflicts_with = "report")]
    model: Option<String>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let stored = which(args.id.as_deref(), &archive, context)?;
    if args.report {
        return report(&archive, &stored, context);
    }
    let overrides =
        SessionOverrides { provider: args.provider, model: args.model, ..SessionOverrides::default() };
    let runtime = runtime()?;
    if args.dry_run {
        return runtime.block_on(foresee(archive, &stored, overrides, context));
    }
    runtime.block_on(compact(archive, &stored, overrides, context))
}

/// The conversation with a name, or the active one.
pub(super) fn which(
    name: Option<&str>,
    archive: &Archive,
    context: &Context,
) -> Result<StoredConversation, Failure> {
    match name {
        Some(name) => named::conversation(archive, name),
        None => Ok(archive.conversation(context.needed_conversation(archive)?)?),
    }
}

async fn compact(
    archive: Archive,
    stored: &StoredConversation,
    overrides: SessionOverrides,
    context: &Context,
) -> Result<(), Failure> {
    let mut quiet = Quiet::begin(context, archive, stored, None, &Asked::Partner(overrides))?;
    if quiet.talk.provider().api() == Api::Offline {
        return Err(Failure::invalid("no model is configured to write a summary")
            .hint("run `rejoin setup`, or add `--provider NAME --model MODEL`"));
    }
    let CompactSettings { window, .. } =
        compaction::settings(&context.config, quiet.talk.provider(), quiet.talk.model());
    let foreseen = quiet.talk.foresee().await;
    if foreseen.tokens_after >= foreseen.tokens_before {
        return answer::nothing(stored, &foreseen, context);
    }
    let mut show = Beside { context };
    let Some(compacted) = prompt::compact(&mut quiet.talk, &mut show, &mut TypedAhead::ignored()).await?
    else {
        return Err(Failure::new(Kind::NotConfirmed, "stopped; nothing was compacted"));
    };
    let mut state = quiet.talk.recorder().watch();
    if let SavingState::Waiting { messages: 1.., reason } =
        prompt::settle(&mut state, tokio::time::sleep(PATIENCE)).await
    {
        return Err(prompt::not_saved(&reason));
    }
    let Compacted { message, summary, tokens_before, tokens_after, trimmed, lost } = compacted;
    let kept = message.map(|id| kept(&quiet.archive, stored, id)).transpose()?.flatten();
    let report = CompactionReport {
        message,
        summary: Some(summary),
        tokens_before,
        tokens_after,
        window: window.map(|tokens| WindowUse { tokens, initial: initial(&foreseen) }),
        kept,
        trimmed,
        lost,
    };
    report.answer(stored, LossesExtent::Short, context)
}

async fn foresee(
    archive: Archive,
    stored: &StoredConversation,
    overrides: SessionOverrides,
    context: &Context,
) -> Result<(), Failure> {
    let quiet = Quiet::begin(context, archive, stored, None, &Asked::Nobody(overrides))?;
    let provider = quiet.talk.provider();
    let CompactSettings { window, model, .. } =
        compaction::settings(&context.config, provider, quiet.talk.model());
    let model = model.unwrap_or_else(|| quiet.talk.model().to_owned());
    let foreseen: Foreseen = quiet.talk.foresee().await;
    if foreseen.tokens_after >= foreseen.tokens_before {
        return answer::nothing(stored, &foreseen, context);
    }
    let prices = context.config.prices(&model);
    let window = window.map(|tokens| WindowUse { tokens, initial: initial(&foreseen) });
    Forecast { foreseen: &foreseen, provider: provider.name(), model: &model, window, prices }
        .answer(stored, context)
}

/// The tokens that stand before every view: the initial context and the tools.
const fn initial(foreseen: &Foreseen) -> u64 {
    foreseen.request_tokens.saturating_sub(foreseen.tokens_before)
}

/// How many messages of the user stay beside a summary.
fn kept(
    archive: &Archive,
    stored: &StoredConversation,
    summary: MessageId,
) -> Result<Option<usize>, Failure> {
    let message = archive.messages(stored.id, &[summary])?.pop();
    let compaction = message.and_then(|found| Compaction::from_message(&found.message)).transpose()?;
    Ok(compaction.map(|compaction| compaction.kept.len() + compaction.unsaved.len()))
}

fn report(archive: &Archive, stored: &StoredConversation, context: &Context) -> Result<(), Failure> {
    match compaction::newest(archive, stored, None)? {
        Some(report) => report.answer(stored, LossesExtent::All, context),
        None => answer::never(stored, context),
    }
}

/// Tells what happens beside the answer, and leaves the outcome to it.
struct Beside<'a> {
    context: &'a Context,
}

impl TurnDisplay for Beside<'_> {
    fn event(&mut self, event: TurnEvent) -> Result<Course, Failure> {
        match event {
            TurnEvent::Compacting => self.context.note(COMPACTING),
            TurnEvent::Warning(warning) => self.context.manner.warn(&warning, None),
            TurnEvent::BegunAgain(begun_again) => {
                self.context.manner.insist(&banner::begun_again(&begun_again), None);
            }
            TurnEvent::Piece(rejoin_agent::Piece::Again { reason, failed, wait }) => {
                self.context.note(&prompt::again(&reason, failed, wait));
            }
            _ => {}
        }
        Ok(Course::Go)
    }

    fn tick(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn saving(&mut self, _: &SavingState) -> Result<(), Failure> {
        Ok(())
    }

    fn end(&mut self, _: &TurnEnd) -> Result<(), Failure> {
        Ok(())
    }
}
