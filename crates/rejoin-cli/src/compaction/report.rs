//! What a compaction did, as people and programs read it.

use rejoin::view::Compaction;
use rejoin::view::Fact;
use rejoin::{Archive, MessageId, StoredConversation};
use serde::{Serialize, Serializer};

use crate::compaction::{LossesExtent, facts, losses, share, trimmed};
use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::shapes::Within;
use crate::ui::{fit, size};

/// The window of a model, and how much of it is taken before anything is said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowUse {
    pub(crate) tokens: u64,
    /// Tokens of the initial context and the tools.
    pub(crate) initial: u64,
}

impl WindowUse {
    /// The part that is filled beside so many tokens of a conversation.
    pub(crate) fn share(self, tokens: u64) -> String {
        share(self.initial + tokens, self.tokens)
    }
}

/// What a compaction did.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CompactionReport {
    pub(crate) message: Option<MessageId>,
    /// The summary, when it is news.
    pub(crate) summary: Option<String>,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    #[serde(serialize_with = "size_alone")]
    pub(crate) window: Option<WindowUse>,
    /// Messages of the user that stay; none while that is not known.
    pub(crate) kept: Option<usize>,
    pub(crate) trimmed: u64,
    pub(crate) lost: Vec<Fact>,
}

/// A report as programs read it.
#[derive(Serialize)]
struct CompactionAnswer<'a> {
    #[serde(flatten)]
    within: Within,
    #[serde(flatten)]
    report: &'a CompactionReport,
}

/// A program reads how large the window is, and not what is taken of it.
fn size_alone<S: Serializer>(window: &Option<WindowUse>, output: S) -> Result<S::Ok, S::Error> {
    window.map(|window| window.tokens).serialize(output)
}

impl CompactionReport {
    pub(crate) fn answer(
        &self,
        stored: &StoredConversation,
        extent: LossesExtent,
        context: &Context,
    ) -> Result<(), Failure> {
        let short = stored.id.short();
        if context.is_json() {
            return context.answer_json(&CompactionAnswer { within: stored.id.into(), report: self });
        }
        let sizes = sizes(self.tokens_before, self.tokens_after);
        let mut lines = vec![format!("Compacted \"{}\": {sizes}.", named::title(stored))];
        lines.extend(self.window.map(|window| {
            let (before, after) = (window.share(self.tokens_before), window.share(self.tokens_after));
            let tokens = size::number(window.tokens);
            format!("With instructions and tools, the window of {tokens} is {after} full; it was {before}.")
        }));
        lines.extend(self.kept.map(|kept| stays(kept, "stays", "stay")));
        // Whoever asked for the compaction was warned of this already.
        lines.extend(trimmed(self.trimmed).filter(|_| self.summary.is_none()));
        lines.extend(match self.lost.len() {
            0 => vec!["Everything that was named is still mentioned.".to_owned()],
            1 => vec!["1 fact is no longer mentioned:".to_owned()],
            lost => vec![format!("{} are no longer mentioned:", facts(lost))],
        });
        let shown = losses(&self.lost, extent, context.columns());
        let is_cut = shown != losses(&self.lost, LossesExtent::All, context.columns());
        let mut rest = Vec::new();
        if is_cut {
            rest.push(format!("All of them: rejoin compact {short} --report"));
        }
        if self.summary.is_some() {
            rest.push(format!("Undo: rejoin uncompact {short}"));
        }
        show(&lines, &shown, &rest, context)
    }
}

/// The report of the newest compaction that is not undone, on the path to a message or to the head; none when
/// there is no such compaction. What the window was then is not known.
pub(crate) fn newest(
    archive: &Archive,
    stored: &StoredConversation,
    to: Option<MessageId>,
) -> Result<Option<CompactionReport>, Failure> {
    let path = archive.path(stored.id, to)?;
    let ignored = &stored.conversation.ignored_summaries;
    let newest = path
        .iter()
        .rev()
        .filter(|said| !ignored.contains(&said.id))
        .find_map(|said| Compaction::from_message(&said.message).map(|compaction| (said.id, compaction)));
    let Some((message, compaction)) = newest else { return Ok(None) };
    let compaction = compaction?;
    Ok(Some(CompactionReport {
        message: Some(message),
        summary: None,
        tokens_before: compaction.tokens_before,
        tokens_after: compaction.tokens_after,
        window: None,
        kept: Some(compaction.kept.len() + compaction.unsaved.len()),
        trimmed: compaction.trimmed,
        lost: compaction.lost,
    }))
}

/// Tokens before and after.
pub(crate) fn sizes(before: u64, after: u64) -> String {
    format!("{} → {} tokens", size::number(before), size::number(after))
}

/// Answers with sentences, wrapped where there is a screen, and the lines of a loss report.
pub(crate) fn show(
    sentences: &[String],
    losses: &[String],
    rest: &[String],
    context: &Context,
) -> Result<(), Failure> {
    let room = context.columns().unwrap_or(usize::MAX);
    let wrapped = |lines: &[String]| lines.iter().flat_map(|line| fit::wrap(line, room)).collect::<Vec<_>>();
    let lines = [wrapped(sentences), losses.to_vec(), wrapped(rest)].concat();
    context.show(|page| Ok(lines.iter().try_for_each(|line| writeln!(page, "{line}"))?))
}

/// How many messages of the user stay.
pub(crate) fn stays(kept: usize, one: &str, many: &str) -> String {
    match kept {
        0 => format!("None of your messages {one}."),
        1 => format!("1 of your messages {one}."),
        kept => format!("{} of your messages {many}.", size::number(kept as u64)),
    }
}
