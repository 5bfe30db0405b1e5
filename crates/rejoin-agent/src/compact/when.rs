//! When a talk is compacted by itself: above a part of the window, and when the
//! provider says that it is too long.

use rejoin::view::Compaction;
use rejoin::{Message, Usage};
use tokio::sync::mpsc;

use crate::compact::weigh::ViewPrefix;
use crate::compact::{CompactSettings, MODEL};
use crate::error::{Error, Result};
use crate::talk::{CountedBy, Talk, TurnEvent};

/// After so many turns in a row that compacting did not help, a person has to ask for it.
const MOST_FAILURES: u32 = 3;

/// What a talk remembers about its compactions.
#[derive(Debug, Default)]
pub(crate) struct Compactor {
    pub(super) settings: Option<CompactSettings>,
    pub(super) initial: ViewPrefix,
    /// What the model calls itself, which may be more exact than what it is asked for by.
    own_name: Option<String>,
    /// How many turns in a row compacting did not help.
    failures: u32,
    /// True when it did not help in this turn.
    has_failed: bool,
    /// True when the provider called a request of this turn too long, and it was compacted for that.
    has_reacted: bool,
    /// True while no reply has shown whether the last compaction helped.
    is_unproven: bool,
    /// True from the time a compaction is undone to the end of the next turn.
    is_held: bool,
}

/// When the window is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompactionMoment {
    /// Before a request of a turn; the message at this place is not answered yet.
    BeforeRequest {
        /// Which.
        pending: usize,
    },
    /// When a turn is complete.
    AfterTurn,
}

impl Compactor {
    pub(super) fn set(&mut self, settings: CompactSettings) {
        self.settings = Some(settings);
        self.start_over();
    }

    /// Another model may be asked: what was learned of the last one does not hold.
    pub(crate) fn forget_model(&mut self) {
        self.own_name = None;
        self.initial = ViewPrefix::default();
        self.start_over();
    }

    pub(crate) fn begin_turn(&mut self) {
        self.has_failed = false;
        self.has_reacted = false;
    }

    /// Learns what the model that is asked calls itself.
    pub(crate) fn learn_model(&mut self, reply: &Message) {
        self.own_name = name_of(reply);
    }

    /// True for a reply of the model that is asked for by this name.
    pub(super) fn is_by(&self, model: &str, reply: &Message) -> bool {
        let Some(name) = name_of(reply) else { return false };
        let is_date = |rest: &str| rest.chars().all(|letter| letter.is_ascii_digit() || letter == '-');
        let is_dated = name.strip_prefix(model).is_some_and(is_date);
        is_dated || self.own_name.as_deref() == Some(&name)
    }

    /// Waits for the end of the next turn before anything is compacted by itself.
    pub(super) fn hold(&mut self) {
        self.is_held = true;
    }

    /// A turn that ends without a failure ends a row of them, also where the window is not known.
    fn end_turn(&mut self, moment: CompactionMoment) {
        if moment == CompactionMoment::AfterTurn {
            self.is_held = false;
            if !self.has_failed {
                self.start_over();
            }
        }
    }

    /// Another path is gone on from: what was learned of the last one does not hold.
    pub(crate) fn change_path(&mut self) {
        self.is_held = false;
        self.start_over();
    }

    /// Forgets earlier failures.
    pub(super) fn start_over(&mut self) {
        self.failures = 0;
        self.has_failed = false;
        self.is_unproven = false;
    }

    /// Remembers a turn that compacting did not help, and returns what a person should know about it.
    fn fail(&mut self) -> Option<String> {
        self.has_failed = true;
        self.is_unproven = false;
        self.failures += 1;
        let warning = "turns in a row, and is not tried again by itself. Ask for it with `/compact`.";
        (self.failures == MOST_FAILURES)
            .then(|| format!("Compacting did not help in {MOST_FAILURES} {warning}"))
    }

    const fn is_resting(&self) -> bool {
        self.has_failed || self.failures >= MOST_FAILURES
    }

    /// The most tokens of a request that is not compacted, when the window is known.
    pub(super) fn limit(&self) -> Option<u64> {
        let settings = self.settings.as_ref()?;
        settings.window.map(|window| Compaction::limit(window, settings.threshold))
    }

    /// The most tokens of the user's messages that stay: no more than leaves room to go on.
    pub(super) fn user_tokens(&self, settings: &CompactSettings) -> u64 {
        self.limit().map_or(settings.user_tokens, |limit| settings.user_tokens.min(limit / 2))
    }
}

fn name_of(reply: &Message) -> Option<String> {
    reply.extra.field(MODEL)?.to().ok().filter(|name: &String| !name.is_empty())
}

impl Talk {
    /// Compacts when the window is too full, and returns what that cost. A
    /// failure is told and does not end the turn.
    pub(crate) async fn compact_when_full(
        &mut self,
        moment: CompactionMoment,
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) -> Option<Usage> {
        let Some(limit) = self.compactor.limit() else {
            self.compactor.end_turn(moment);
            return None;
        };
        let pending = match moment {
            CompactionMoment::BeforeRequest { .. }
                if self.compactor.is_held || self.history.is_just_undone() =>
            {
                return None;
            }
            CompactionMoment::BeforeRequest { pending } => Some(pending),
            CompactionMoment::AfterTurn => {
                self.compactor.is_held = false;
                None
            }
        };
        if self.compactor.is_resting() {
            return None;
        }
        let specs = self.specs().await;
        self.compactor.initial.update(&self.system, specs);
        let known = self.known();
        let is_counted = known.by == CountedBy::Provider;
        if self.weigh(Some(limit)) <= limit {
            // A provider that does not count has said nothing else after a turn.
            if is_counted || moment == CompactionMoment::AfterTurn {
                self.compactor.start_over();
            }
            return None;
        }
        if is_counted && self.compactor.is_unproven {
            if known.tokens > limit {
                // The view is short by the estimate, and the provider finds it long all the same.
                self.tell_failure(events);
                return None;
            }
            // It did help; what was said since has filled the window again.
            self.compactor.start_over();
        }
        self.compact_by_itself(pending, events).await.ok().flatten()
    }

    /// Compacts once in a turn because the provider calls a request too long.
    /// Returns the error when that is no help.
    pub(crate) async fn compact_after(
        &mut self,
        error: Error,
        pending: usize,
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) -> Result<Option<Usage>> {
        let is_wanted = self.compactor.settings.is_some();
        if !is_wanted || self.compactor.has_reacted || self.compactor.is_resting() {
            return Err(error);
        }
        self.compactor.has_reacted = true;
        self.compact_by_itself(Some(pending), events).await.map_err(|_| error)
    }

    async fn compact_by_itself(
        &mut self,
        pending: Option<usize>,
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) -> Result<Option<Usage>> {
        let outcome = self.compact_told(pending, events).await;
        let is_full = || self.compactor.limit().is_some_and(|limit| self.weigh(Some(limit)) > limit);
        if outcome.is_ok() && !is_full() {
            self.compactor.is_unproven = true;
        } else {
            self.tell_failure(events);
        }
        outcome.map(|(_, usage)| usage).inspect_err(|error| tracing::warn!(?error, "nothing was compacted"))
    }

    fn tell_failure(&mut self, events: &mpsc::UnboundedSender<TurnEvent>) {
        if let Some(warning) = self.compactor.fail() {
            let _ = events.send(TurnEvent::Warning(warning));
        }
    }
}
