//! Compaction: when a conversation fills the window of its model, a summary
//! takes the place of its older part.
//!
//! History stays as it is. The summary is one more message, and views begin there. A talk
//! looks at the window before each request and after each turn. It believes what the provider
//! counted last, and estimates the rest.

mod ask;
mod run;
mod weigh;
mod when;

use rejoin::view::{Compaction, Fact, Summarised};
use rejoin::{Message, MessageId, SavingState};
use tokio::sync::mpsc;

use crate::compact::ask::{SummaryRequest, asking};
use crate::compact::weigh::ViewPrefix;
pub(crate) use crate::compact::when::{CompactionMoment, Compactor};
use crate::error::{Error, ErrorKind, Result};
use crate::providers::ToolSpec;
use crate::talk::{Talk, TurnEvent};

/// The field of a reply's `extra` that names its model.
const MODEL: &str = "model";

/// How long a summary is asked to be.
const SUMMARY_TOKENS: u64 = 500;

/// When and how a talk is compacted.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactSettings {
    /// Tokens the model can be sent; while they are not known, nothing is compacted by itself.
    pub window: Option<u64>,
    /// The part of the window above which a talk is compacted by itself.
    pub threshold: f64,
    /// Tokens of the user's own messages that stay, or half of what the threshold allows if that is less.
    pub user_tokens: u64,
    /// The model that writes the summary; the talk's own when none is named.
    pub model: Option<String>,
    /// What to do when no summary can be had.
    pub on_failure: OnFailure,
}

/// What to do when the provider gives no summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Keep the view as it is, and warn.
    Keep,
    /// Go on with words that stand for the summary.
    Placeholder,
}

/// What a compaction did.
#[derive(Clone, Debug, PartialEq)]
pub struct Compacted {
    /// The summary's message; none while it waits to be stored.
    pub message: Option<MessageId>,
    /// The summary's words, as the model will read them.
    pub summary: String,
    /// Tokens of the view before.
    pub tokens_before: u64,
    /// Tokens of the view after.
    pub tokens_after: u64,
    /// How many of the oldest messages the summariser could not be shown.
    pub trimmed: u64,
    /// What the new view no longer mentions.
    pub lost: Vec<Fact>,
}

/// What a compaction would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// What would be posted to have a summary written; none when the provider posts nothing.
    pub request: Option<String>,
    /// Tokens of that request.
    pub request_tokens: u64,
    /// Tokens of the view now.
    pub tokens_before: u64,
    /// Tokens of the view afterwards, with a summary of the usual length.
    pub tokens_after: u64,
    /// How many messages of the user would stay.
    pub kept: usize,
    /// What would no longer be mentioned, unless the summary does.
    pub lost: Vec<Fact>,
}

/// How much of the window a talk fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fullness {
    /// Tokens of the next request: what the provider counted last, and an estimate of what was said since.
    pub tokens: u64,
    /// Tokens the model can be sent.
    pub window: Option<u64>,
}

impl Default for CompactSettings {
    /// An unknown window, and what most conversations need.
    fn default() -> Self {
        Self {
            window: None,
            threshold: Compaction::THRESHOLD,
            user_tokens: Compaction::USER_TOKENS,
            model: None,
            on_failure: OnFailure::Keep,
        }
    }
}

impl Talk {
    /// Sets when and how it is compacted. Without this, it is compacted only
    /// when [`Talk::compact`] is called.
    #[must_use]
    pub fn with_compaction(mut self, settings: CompactSettings) -> Self {
        self.compactor.set(settings);
        self
    }

    /// Changes when and how it is compacted, for instance for another model.
    pub fn set_compaction(&mut self, settings: CompactSettings) {
        self.compactor.set(settings);
    }

    /// How much of the window is filled. While there is much room, this is a guess that costs nothing.
    pub fn fullness(&self) -> Fullness {
        let window = self.compactor.settings.as_ref().and_then(|settings| settings.window);
        Fullness { tokens: self.weigh(self.compactor.limit()), window }
    }

    /// Compacts now. A failure leaves everything as it was; it is the error,
    /// and told as an [`TurnEvent::Warning`] too.
    ///
    /// Dropping the future leaves everything as it was, or the compaction complete.
    pub async fn compact(&mut self, events: &mpsc::UnboundedSender<TurnEvent>) -> Result<Compacted> {
        // What was dropped without a word comes first.
        self.interrupt(events).await?;
        self.compactor.start_over();
        let (compacted, _) = self.compact_told(None, events).await?;
        Ok(compacted)
    }

    /// What compacting now would do. Nothing is asked or written.
    pub async fn foresee(&self) -> Foreseen {
        let specs = self.specs().await;
        let initial = ViewPrefix::new(&self.system, specs.clone());
        let settings = self.compact_settings();
        let (recipient, said) = (self.provider.recipient(), self.history.said());
        let before = self.history.view(&recipient);
        let summary = self.summary(&settings, &specs);
        let asked = asking(before.messages.clone());
        let request = self.provider.written(&summary.request(&asked));
        let estimate = self.estimate();
        let count = |text: &str| estimate.text(text);
        let prompt = estimate.message(&Message::user(Compaction::PROMPT));
        let budget = self.compactor.user_tokens(&settings);
        let summarised = Summarised { budget, ..Summarised::default() };
        let compaction = Compaction::of(&said, self.history.ignored(), &recipient, summarised, &count)
            .map(|(_, compaction)| compaction)
            .unwrap_or_default();
        Foreseen {
            request,
            request_tokens: initial.tokens(&estimate) + compaction.tokens_before + prompt,
            tokens_before: compaction.tokens_before,
            tokens_after: compaction.tokens_after + SUMMARY_TOKENS,
            kept: compaction.kept.len() + compaction.unsaved.len(),
            lost: compaction.lost,
        }
    }

    /// Undoes the newest compaction; later turns stay. Returns its summary; none when nothing was compacted.
    ///
    /// Nothing is compacted by itself before the next turn is complete. When the future is
    /// dropped, the compaction is as it was or undone; the next call sees to the same one once
    /// more, so that no other is undone unasked.
    pub async fn uncompact(&mut self) -> Result<Option<MessageId>> {
        let Some(place) = self.history.next_to_undo() else { return Ok(None) };
        self.learn_ids().await?;
        let Some(summary) = self.history.id_at(place) else {
            return Err(Error::new(ErrorKind::Store, "undo a compaction that is not saved yet"));
        };
        // The history comes first: when this future is dropped, the recorder changes the store all the same.
        let is_news = self.history.begin_undoing(summary);
        self.compactor.hold();
        let undone = self.recorder.with(move |recorder| {
            recorder.handle().archive().marks().uncompact(recorder.conversation(), summary)
        });
        match undone.await.flatten() {
            Ok(()) => {
                self.history.end_undoing();
                Ok(Some(summary))
            }
            Err(error) => {
                // An earlier call that was dropped may have changed the store.
                if is_news {
                    self.history.take_back_undoing();
                }
                Err(error.into())
            }
        }
    }

    /// Pins a message: every view shows it, however often the talk is compacted.
    pub async fn pin(&mut self, message: MessageId) -> Result<()> {
        // The history comes first, as when a compaction is undone.
        let was_pinned = self.history.is_pinned(message);
        self.history.pin(message);
        let pinned = self
            .recorder
            .with(move |recorder| recorder.handle().archive().marks().pin(recorder.conversation(), message));
        let pinned = pinned.await.flatten();
        if pinned.is_err() && !was_pinned {
            self.history.unpin(message);
        }
        Ok(pinned?)
    }

    /// Takes the pin away.
    pub async fn unpin(&mut self, message: MessageId) -> Result<()> {
        let was_pinned = self.history.is_pinned(message);
        self.history.unpin(message);
        let unpinned = self.recorder.with(move |recorder| {
            recorder.handle().archive().marks().unpin(recorder.conversation(), message)
        });
        let unpinned = unpinned.await.flatten();
        if unpinned.is_err() && was_pinned {
            self.history.pin(message);
        }
        Ok(unpinned?)
    }

    fn compact_settings(&self) -> CompactSettings {
        self.compactor.settings.clone().unwrap_or_default()
    }

    fn summary<'a>(&'a self, settings: &'a CompactSettings, tools: &'a [ToolSpec]) -> SummaryRequest<'a> {
        let model = settings.model.as_deref().unwrap_or(&self.model);
        SummaryRequest { provider: self.provider.as_ref(), model, system: &self.system, tools }
    }

    /// Finds out the ids of messages that had to wait to be stored.
    async fn learn_ids(&mut self) -> Result<()> {
        if !self.history.has_unnamed() || self.recorder.state() != SavingState::Saved {
            return Ok(());
        }
        let path = self.recorder.with(|recorder| match recorder.waiting() {
            0 => recorder.handle().path(),
            _ => Ok(Vec::new()),
        });
        let ids: Vec<MessageId> = path.await??.iter().map(|stored| stored.id).collect();
        self.history.learn(&ids);
        Ok(())
    }
}
