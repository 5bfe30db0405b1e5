//! The path of a conversation as a talk knows it: every message, also those that no view shows any more.
//!
//! A message's tokens are counted once and remembered, so that a new turn counts only itself.

use std::sync::OnceLock;

use rejoin::view::{Compaction, PathMessage, Recipient, View};
use rejoin::{Block, Handle, Message, MessageId, Receipt, Role, StoredMessage};

use crate::talk::{cut_short, note};
use crate::tokens::Estimate;

/// Every message from the root to where the talk is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    entries: Vec<HistoryEntry>,
    /// Summaries that are passed over.
    ignored: Vec<MessageId>,
    /// The one of them that the store was told about without an answer yet.
    undoing: Option<MessageId>,
    /// Where the usage begins that was measured on views like the next. Before it, other messages were shown.
    measured_from: usize,
}

/// A message of the history.
#[derive(Clone, Debug, PartialEq)]
struct HistoryEntry {
    /// None while it waits to be stored.
    id: Option<MessageId>,
    is_pinned: bool,
    message: Message,
    tokens: LazyCount,
}

impl HistoryEntry {
    fn new(id: Option<MessageId>, message: Message) -> Self {
        Self { id, is_pinned: false, message, tokens: LazyCount::default() }
    }

    fn is_summary(&self) -> bool {
        self.message.blocks.iter().any(|block| matches!(block, Block::Summary(_)))
    }
}

/// A count that is made when it is first needed. It follows from the message,
/// so it makes no difference to equality.
#[derive(Clone, Debug, Default)]
struct LazyCount(OnceLock<u64>);

impl LazyCount {
    fn known(&self) -> Option<u64> {
        self.0.get().copied()
    }

    fn get(&self, count: impl FnOnce() -> u64) -> u64 {
        *self.0.get_or_init(count)
    }
}

impl PartialEq for LazyCount {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// How a history was before something was added.
#[derive(Clone, Copy, Debug)]
pub(super) struct HistoryMark {
    length: usize,
    measured_from: usize,
}

/// What the next view weighs: what is known, and where what has to be counted begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownTokens {
    /// Tokens that were counted before.
    pub(crate) tokens: u64,
    /// The first message they do not include.
    pub(crate) from: usize,
    /// Who counted them.
    pub(crate) by: CountedBy,
}

/// Who counted tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedBy {
    /// The provider, with the initial context.
    Provider,
    /// This program, without it.
    Estimate,
}

impl History {
    /// The history that a stored path holds. Summaries named in `ignored` are passed over.
    pub fn new(path: Vec<StoredMessage>, ignored: Vec<MessageId>) -> Self {
        let entries: Vec<HistoryEntry> = path
            .into_iter()
            .map(|stored| HistoryEntry {
                is_pinned: stored.is_pinned,
                ..HistoryEntry::new(Some(stored.id), stored.message)
            })
            .collect();
        let mut history = Self { entries, ignored, undoing: None, measured_from: 0 };
        if let Some(summary) = history.entries.iter().rposition(HistoryEntry::is_summary) {
            // What was said after a summary that is passed over now may have
            // been measured before or after that.
            let is_ignored = !history.is_compaction(&history.entries[summary]);
            history.measured_from = if is_ignored { history.len() } else { summary + 1 };
        }
        history
    }

    /// The history that a handle goes on from.
    pub fn load(handle: &Handle) -> rejoin::Result<Self> {
        Ok(Self::new(handle.path()?, handle.conversation()?.conversation.ignored_summaries))
    }

    /// What a recipient is sent.
    pub fn view(&self, recipient: &Recipient) -> View<'_> {
        let mut said = self.said();
        cut_short::leave_out(&mut said);
        let mut view = View::of(&said, &self.ignored, recipient);
        note::show(&mut view.messages);
        view
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator + Clone {
        self.entries.iter().map(|entry| &entry.message)
    }

    /// True when nothing was said.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many messages there are.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// True when a summary stands for a part of it, so that its view does not show everything.
    pub fn is_compacted(&self) -> bool {
        self.newest_compaction().is_some()
    }

    /// The place of the summary that the view begins with.
    pub(crate) fn newest_compaction(&self) -> Option<usize> {
        self.entries.iter().rposition(|entry| self.is_compaction(entry))
    }

    /// True when the newest summary is passed over and nothing was answered since:
    /// someone undid it, to go on with everything.
    pub(crate) fn is_just_undone(&self) -> bool {
        let Some(place) = self.entries.iter().rposition(HistoryEntry::is_summary) else { return false };
        let is_answered = self.entries[place..].iter().any(|entry| entry.message.role == Role::Assistant);
        self.is_ignored(&self.entries[place]) && !is_answered
    }

    /// The place of the summary to undo next: the one that the view begins with, or one whose
    /// undoing was left before the store answered.
    pub(crate) fn next_to_undo(&self) -> Option<usize> {
        let is_undoing = |entry: &HistoryEntry| entry.id.is_some() && entry.id == self.undoing;
        self.entries.iter().rposition(|entry| self.is_compaction(entry) || is_undoing(entry))
    }

    /// The id of the message at a place; none while it waits to be stored.
    pub(crate) fn id_at(&self, place: usize) -> Option<MessageId> {
        self.entries.get(place).and_then(|entry| entry.id)
    }

    fn is_compaction(&self, entry: &HistoryEntry) -> bool {
        entry.is_summary() && !self.is_ignored(entry)
    }

    fn is_ignored(&self, entry: &HistoryEntry) -> bool {
        entry.id.is_some_and(|id| self.ignored.contains(&id))
    }

    pub(crate) fn said(&self) -> Vec<PathMessage<'_>> {
        let said = self.entries.iter().map(|entry| PathMessage {
            id: entry.id,
            is_pinned: entry.is_pinned,
            message: &entry.message,
        });
        said.collect()
    }

    /// The summaries that are passed over.
    pub(crate) fn ignored(&self) -> &[MessageId] {
        &self.ignored
    }

    /// The newest message's id, once it is stored.
    pub(crate) fn newest(&self) -> Option<MessageId> {
        self.entries.last().and_then(|entry| entry.id)
    }

    /// True when the message is on this path.
    pub(crate) fn holds(&self, message: MessageId) -> bool {
        self.entries.iter().any(|entry| entry.id == Some(message))
    }

    /// True when every view shows the message.
    pub(crate) fn is_pinned(&self, message: MessageId) -> bool {
        self.entries.iter().any(|entry| entry.id == Some(message) && entry.is_pinned)
    }

    /// Shows a pinned message in every view from now on.
    pub(crate) fn pin(&mut self, message: MessageId) {
        self.mark(message, |entry| entry.is_pinned = true);
    }

    /// Takes the pin away.
    pub(crate) fn unpin(&mut self, message: MessageId) {
        self.mark(message, |entry| entry.is_pinned = false);
    }

    fn mark(&mut self, message: MessageId, change: impl FnOnce(&mut HistoryEntry)) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == Some(message)) {
            change(entry);
        }
    }

    /// Passes over a summary from now on, before the store is told. Returns
    /// whether it was not passed over yet.
    pub(crate) fn begin_undoing(&mut self, summary: MessageId) -> bool {
        self.undoing = Some(summary);
        self.measured_from = self.len();
        let is_news = !self.ignored.contains(&summary);
        if is_news {
            self.ignored.push(summary);
        }
        is_news
    }

    /// The store passes over the summary too.
    pub(crate) fn end_undoing(&mut self) {
        self.undoing = None;
    }

    /// Shows the summary again: the store could not be changed.
    pub(crate) fn take_back_undoing(&mut self) {
        let undoing = self.undoing.take();
        self.ignored.retain(|summary| Some(*summary) != undoing);
    }

    /// What is known of the tokens of the next view, without counting. `is_by` tells whether a
    /// reply is by the model that will be asked.
    pub(crate) fn known(&self, is_by: impl Fn(&Message) -> bool) -> KnownTokens {
        let measured =
            self.entries.iter().enumerate().skip(self.measured_from).rev().find_map(|(place, entry)| {
                let usage = entry.message.usage.as_ref().filter(|_| entry.message.role == Role::Assistant)?;
                let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
                (tokens > 0 && is_by(&entry.message)).then_some((place, tokens))
            });
        if let Some((place, tokens)) = measured {
            return KnownTokens { tokens, from: place + 1, by: CountedBy::Provider };
        }
        let by = CountedBy::Estimate;
        let Some(place) = self.newest_compaction() else { return KnownTokens { tokens: 0, from: 0, by } };
        let compaction = Compaction::from_message(&self.entries[place].message).and_then(Result::ok);
        match compaction.map_or(0, |compaction| compaction.tokens_after) {
            // A summary that another program wrote.
            0 => KnownTokens { tokens: 0, from: place, by },
            tokens => KnownTokens { tokens, from: place + 1, by },
        }
    }

    /// More tokens than the messages from a place on can have, without counting.
    pub(crate) fn most_tokens(&self, from: usize, estimate: &Estimate) -> u64 {
        let most = |entry: &HistoryEntry| estimate.message_at_most(&entry.message);
        self.shown(from).map(|entry| entry.tokens.known().unwrap_or_else(|| most(entry))).sum()
    }

    /// A guess at the tokens of the messages from a place on, without counting:
    /// most tokens have about four bytes.
    pub(crate) fn guessed_tokens(&self, from: usize, estimate: &Estimate) -> u64 {
        let guess = |entry: &HistoryEntry| estimate.message_at_most(&entry.message).div_ceil(4);
        self.shown(from).map(|entry| entry.tokens.known().unwrap_or_else(|| guess(entry))).sum()
    }

    /// The tokens of the messages from a place on. Each message is counted once.
    pub(crate) fn tokens(&self, from: usize, count: impl Fn(&Message) -> u64) -> u64 {
        self.shown(from).map(|entry| entry.tokens.get(|| count(&entry.message))).sum()
    }

    /// Forgets what was counted: another model counts in another way.
    pub(super) fn forget_tokens(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.tokens = LazyCount::default());
    }

    fn shown(&self, from: usize) -> impl Iterator<Item = &HistoryEntry> {
        self.entries[from.min(self.len())..].iter().filter(|entry| !self.is_ignored(entry))
    }

    /// Adds messages that are about to be stored.
    pub(super) fn extend(&mut self, messages: &[Message]) -> HistoryMark {
        let added = HistoryMark { length: self.len(), measured_from: self.measured_from };
        self.entries.extend(messages.iter().map(|message| HistoryEntry::new(None, message.clone())));
        if self.entries.last().is_some_and(HistoryEntry::is_summary) {
            self.measured_from = self.len();
        }
        added
    }

    /// Takes back what was added last.
    pub(super) fn take_back(&mut self, added: HistoryMark) {
        self.entries.truncate(added.length);
        self.measured_from = added.measured_from;
    }

    /// Names the newest messages, which were stored.
    pub(super) fn name(&mut self, receipt: &Receipt) {
        for (entry, id) in self.entries.iter_mut().rev().zip(receipt.messages.iter().rev()) {
            entry.id = Some(*id);
        }
    }

    /// True when messages waited to be stored, so that their ids are not known here.
    pub(crate) fn has_unnamed(&self) -> bool {
        self.entries.iter().any(|entry| entry.id.is_none())
    }

    /// Names the messages that waited, from the ids of the stored path.
    ///
    /// The store may have refused one when nobody listened any more. Then nothing tells which one that
    /// was, and those without a name stay so.
    pub(crate) fn learn(&mut self, path: &[MessageId]) {
        let is_stored = |(entry, id): (&HistoryEntry, &MessageId)| entry.id.is_none_or(|known| known == *id);
        if path.len() == self.len() && self.entries.iter().zip(path).all(is_stored) {
            self.entries.iter_mut().zip(path).for_each(|(entry, id)| entry.id = Some(*id));
        }
    }
}

#[cfg(test)]
impl History {
    /// Gives the newest message an id.
    pub(super) fn name_for_test(&mut self, id: MessageId) {
        self.entries.last_mut().expect("something was said").id = Some(id);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rejoin::Usage;

    use super::*;
    use crate::providers::Api;

    fn replied(text: &str, model: &str, tokens: u64) -> Message {
        let mut message = Message::assistant(text);
        message.usage = Some(Usage { input_tokens: tokens - 1, output_tokens: 1, detail: None });
        message.finish = Some(model.to_owned());
        message
    }

    fn by_one(message: &Message) -> bool {
        message.finish.as_deref() == Some("one")
    }

    #[test]
    fn a_new_turn_counts_only_itself() {
        let calls = Cell::new(0);
        let count = |message: &Message| {
            calls.set(calls.get() + 1);
            message.text().len() as u64
        };
        let mut history = History::default();
        let mut counted = Vec::new();
        for turn in 0..3 {
            history.extend(&[Message::user(format!("question {turn}")), Message::assistant("reply")]);
            history.tokens(0, count);
            counted.push(calls.replace(0));
        }

        assert_eq!(counted, [2, 2, 2]);
        assert_eq!(history.tokens(0, count), 3 * (10 + 5));
        assert_eq!(calls.get(), 0);
    }

    #[test]
    fn what_the_provider_counted_last_for_this_model_is_known() {
        let mut history = History::default();
        history.extend(&[Message::user("a"), replied("b", "one", 100)]);
        history.extend(&[Message::user("c"), replied("d", "other", 7)]);

        let known = history.known(by_one);

        assert_eq!(known, KnownTokens { tokens: 100, from: 2, by: CountedBy::Provider });
    }

    #[test]
    fn what_was_counted_before_a_compaction_is_not_known() {
        let mut compaction = Compaction::default();
        compaction.tokens_after = 30;
        let mut history = History::default();
        history.extend(&[Message::user("a"), replied("b", "one", 100)]);
        history.extend(&[compaction.to_message("so far").unwrap()]);

        let after = history.known(by_one);
        history.extend(&[Message::user("c"), replied("d", "one", 40)]);
        let later = history.known(by_one);
        let summary: MessageId = "s1".parse().unwrap();
        history.entries[2].id = Some(summary);
        history.begin_undoing(summary);
        let undone = history.known(by_one);

        assert_eq!(after, KnownTokens { tokens: 30, from: 3, by: CountedBy::Estimate });
        assert_eq!(later, KnownTokens { tokens: 40, from: 5, by: CountedBy::Provider });
        assert_eq!(undone, KnownTokens { tokens: 0, from: 0, by: CountedBy::Estimate });
    }

    #[test]
    fn ids_are_learned_only_when_each_message_is_certainly_the_stored_one() {
        let ids = ["m1", "m2", "m3"].map(|id| id.parse::<MessageId>().unwrap());
        let other = ["m2", "m1", "m3"].map(|id| id.parse::<MessageId>().unwrap());
        let learned = |stored: &[MessageId]| {
            let mut history = History::default();
            history.extend(&[Message::user("a"), Message::assistant("b"), Message::user("c")]);
            history.entries[1].id = Some(ids[1]);
            history.learn(stored);
            history.entries.iter().map(|entry| entry.id).collect::<Vec<_>>()
        };

        let unnamed = vec![None, Some(ids[1]), None];
        assert_eq!(learned(&ids), ids.map(Some));
        assert_eq!(learned(&ids[..2]), unnamed);
        assert_eq!(learned(&ids[1..]), unnamed);
        assert_eq!(learned(&other), unnamed);
        assert_eq!(learned(&[]), unnamed);
    }

    #[test]
    fn a_guess_is_less_than_the_most_and_gives_way_to_a_count() {
        let estimate = Estimate::of(Api::Responses, "m");
        let mut history = History::default();
        history.extend(&[Message::user("x".repeat(96))]);
        let weigh =
            |history: &History| (history.guessed_tokens(0, &estimate), history.most_tokens(0, &estimate));

        let before = weigh(&history);
        history.tokens(0, |_| 50);
        let counted = weigh(&history);
        history.forget_tokens();

        assert_eq!((before, counted, weigh(&history)), ((25, 100), (50, 50), before));
    }
}
