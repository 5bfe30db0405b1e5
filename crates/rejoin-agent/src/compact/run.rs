//! One compaction: ask for a summary, see whether it helps, and append it.
//!
//! The append is the only change. Whatever fails before it leaves the talk as it was.

use rejoin::view::{Compaction, Spoken, Summarised};
use rejoin::{Block, Message, Role, Usage};
use tokio::sync::mpsc;

use crate::compact::ask::{SummaryReply, protected};
use crate::compact::{CompactSettings, Compacted, OnFailure};
use crate::error::{Error, ErrorKind, Result};
use crate::talk::{Talk, TurnEvent};

/// What is said when no summary can be had.
const FAILED: &str = "Compression failed, conversation may hit limits soon";

impl Talk {
    /// Compacts, and tells what becomes of it. The message at `pending` is not answered yet.
    pub(super) async fn compact_told(
        &mut self,
        pending: Option<usize>,
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) -> Result<(Compacted, Option<Usage>)> {
        let warn = |warning: String| drop(events.send(TurnEvent::Warning(warning)));
        match self.compact_now(pending, events).await {
            Ok((compacted, usage)) => {
                if compacted.trimmed > 0 {
                    let trimmed = compacted.trimmed;
                    warn(format!("Trimmed {trimmed} older item(s) before compacting to fit context window"));
                }
                let _ = events.send(TurnEvent::Compacted(compacted.clone()));
                Ok((compacted, usage))
            }
            Err(error) => {
                error.warnings().into_iter().for_each(warn);
                Err(error.into())
            }
        }
    }

    async fn compact_now(
        &mut self,
        pending: Option<usize>,
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) -> Result<(Compacted, Option<Usage>), CompactionFailure> {
        if self.learn_ids().await.is_err() {
            tracing::debug!("the ids of messages that waited could not be read");
        }
        if self.history.newest_compaction().map_or(0, |summary| summary + 1) == self.history.len() {
            return Err(CompactionFailure::Nothing);
        }
        let settings = self.compact_settings();
        let specs = self.specs().await;
        self.compactor.initial.update(&self.system, specs.clone());
        let estimate = self.estimate();
        let initial = self.compactor.initial.tokens(&estimate);
        self.check_window(&settings, initial)?;
        let _ = events.send(TurnEvent::Compacting);
        let recipient = self.provider.recipient();
        let asked = self
            .summary(&settings, &specs)
            .ask(self.history.view(&recipient), &protected(&self.history.said()))
            .await;
        let mut why = "The model gave no summary.".to_owned();
        let answer = match (asked, settings.on_failure) {
            (Ok(answer), _) => answer,
            (Err(error), _) if error.kind() == ErrorKind::TooLong => {
                return Err(CompactionFailure::TooLarge(error));
            }
            (Err(error), OnFailure::Keep) => return Err(CompactionFailure::NoSummary(error)),
            (Err(error), OnFailure::Placeholder) => {
                why = format!("No summary could be had: {}.", causes(&error));
                SummaryReply::default()
            }
        };
        let stored = self.stored_history().await?;
        let (mut message, compaction) = self.compaction(&answer, &settings, pending, initial, &stored)?;
        message.usage.clone_from(&answer.usage);
        if answer.text.trim().is_empty() {
            let _ =
                events.send(TurnEvent::Warning(format!("{why} `{}` stands for it.", Compaction::NO_SUMMARY)));
        }
        let summary = message.text();
        self.keep(vec![message], events).await.map_err(CompactionFailure::Store)?;
        let compacted = Compacted {
            message: self.history.newest(),
            summary,
            tokens_before: compaction.tokens_before,
            tokens_after: compaction.tokens_after,
            trimmed: compaction.trimmed,
            lost: compaction.lost,
        };
        Ok((compacted, answer.usage))
    }

    /// Fails when what no compaction takes away fills the window.
    fn check_window(&self, settings: &CompactSettings, initial: u64) -> Result<(), CompactionFailure> {
        let Some(window) = settings.window else { return Ok(()) };
        let (estimate, said) = (self.estimate(), self.history.said());
        let stays = said.iter().filter(|said| {
            let is_snapshot = |block: &Block| matches!(block, Block::Snapshot(state) if !state.is_of_files());
            said.is_pinned || said.message.role == Role::System || said.message.blocks.iter().any(is_snapshot)
        });
        let needed = initial + stays.map(|said| estimate.message(said.message)).sum::<u64>();
        if needed >= window { Err(CompactionFailure::SmallWindow { needed, window }) } else { Ok(()) }
    }

    /// Each message as it is stored, where that is other than it was said: what is cut out of it must not
    /// bring back half of what is not kept.
    async fn stored_history(&self) -> Result<Vec<Option<Message>>, CompactionFailure> {
        let archive = self.recorder.with(|recorder| recorder.handle().archive().clone());
        let archive = archive.await.map_err(|error| CompactionFailure::Store(error.into()))?;
        Ok(self.history.messages().map(|message| archive.redaction().apply(message)).collect())
    }

    /// The message to append, when it makes the view shorter and leaves room. What waits
    /// for an answer stays whole if it can.
    fn compaction(
        &self,
        answer: &SummaryReply,
        settings: &CompactSettings,
        pending: Option<usize>,
        initial: u64,
        stored: &[Option<Message>],
    ) -> Result<(Message, Compaction), CompactionFailure> {
        let (recipient, mut said, estimate) =
            (self.provider.recipient(), self.history.said(), self.estimate());
        for (said, stored) in said.iter_mut().zip(stored) {
            said.message = stored.as_ref().unwrap_or(said.message);
        }
        let make = |pending: Option<usize>| {
            let summarised = Summarised {
                answer: &answer.text,
                trimmed: answer.trimmed,
                budget: self.compactor.user_tokens(settings),
                pending,
            };
            Compaction::of(&said, self.history.ignored(), &recipient, summarised, &|text| estimate.text(text))
                .map_err(|error| CompactionFailure::Store(error.into()))
        };
        let (message, compaction) = make(pending)?;
        let limit = self.compactor.limit();
        let has_room = limit.is_none_or(|limit| initial + compaction.tokens_after <= limit);
        let helps = has_room && compaction.tokens_after < compaction.tokens_before;
        // What has no words cannot be cut, and without it there would be nothing to answer.
        let can_be_cut = Spoken::all(&said).iter().any(|spoken| Some(spoken.place) == pending);
        let (message, compaction) = if helps || !can_be_cut { (message, compaction) } else { make(None)? };
        if compaction.tokens_after >= compaction.tokens_before {
            return Err(CompactionFailure::NoShorter);
        }
        match settings.window {
            Some(window) if initial + compaction.tokens_after > window => {
                Err(CompactionFailure::StillTooLong { tokens: initial + compaction.tokens_after, window })
            }
            _ => Ok((message, compaction)),
        }
    }
}

/// Why nothing was compacted.
#[derive(Debug)]
enum CompactionFailure {
    /// Nothing was said since the last compaction.
    Nothing,
    /// What always stays fills the window.
    SmallWindow { needed: u64, window: u64 },
    /// The provider calls even the least too long.
    TooLarge(Error),
    /// The provider failed.
    NoSummary(Error),
    /// The summary is as long as what it stands for.
    NoShorter,
    /// The view with the summary does not fit the window.
    StillTooLong { tokens: u64, window: u64 },
    /// The archive refused the summary.
    Store(Error),
}

impl CompactionFailure {
    /// What a person is told.
    fn warnings(&self) -> Vec<String> {
        match self {
            Self::Nothing => vec!["There is nothing to compact.".to_owned()],
            Self::SmallWindow { needed, window } => vec![format!(
                "The initial context takes {needed} tokens and the window has {window}, so compacting cannot help."
            )],
            Self::TooLarge(error) => vec![error.to_string()],
            Self::NoSummary(error) => {
                vec![FAILED.to_owned(), format!("No summary could be had: {}.", causes(error))]
            }
            Self::NoShorter => {
                vec![
                    "The summary is no shorter than what it stands for, so nothing was compacted.".to_owned(),
                ]
            }
            Self::StillTooLong { tokens, window } => vec![format!(
                "With the summary there would be {tokens} tokens and the window has {window}, so nothing was compacted."
            )],
            Self::Store(error) => vec![format!("The summary could not be stored: {}.", causes(error))],
        }
    }

    const fn kind(&self) -> ErrorKind {
        match self {
            Self::Nothing | Self::NoShorter => ErrorKind::Invalid,
            Self::SmallWindow { .. } | Self::StillTooLong { .. } => ErrorKind::TooLong,
            Self::TooLarge(error) | Self::NoSummary(error) | Self::Store(error) => error.kind(),
        }
    }
}

impl From<CompactionFailure> for Error {
    fn from(failure: CompactionFailure) -> Self {
        match failure {
            CompactionFailure::TooLarge(cause)
            | CompactionFailure::NoSummary(cause)
            | CompactionFailure::Store(cause) => cause,
            other => Self::new(other.kind(), "the conversation was not compacted")
                .because(other.warnings().join(" ")),
        }
    }
}

fn causes(error: &Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
