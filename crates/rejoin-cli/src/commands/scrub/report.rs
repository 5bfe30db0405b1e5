//! What is said about secrets that were found: the rule, the place and how often, never what they were.

use std::collections::BTreeMap;

use rejoin::{ConversationId, Digest, MessageId, ScrubMode, Scrubbed, ShortId};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Failure, Why};
use crate::removal::{Fate, RemovalPlan, RemovalReport};
use crate::ui::json::JsonText;
use crate::ui::paint::Meaning;
use crate::ui::size;
use crate::ui::table::{Column, Table};

/// What was found, and what was done about it.
#[derive(Debug)]
pub(super) struct ScrubOutput {
    mode: ScrubMode,
    /// Where something was found. Before it is replaced, this is what the question is about.
    pub(super) parts: RemovalPlan<ScrubPart>,
    /// What became of every conversation that was looked at.
    conversations: RemovalReport<ConversationId>,
    /// Why what was replaced could not be erased, if it could not.
    pub(super) erased: Option<Failure>,
    /// True when another program keeps what was replaced in the files.
    pub(super) has_traces: bool,
}

/// What was found in one conversation, or beside all of them.
#[derive(Debug)]
pub(super) struct ScrubPart {
    pub(super) conversation: Option<ConversationId>,
    pub(super) scrubbed: Scrubbed,
}

/// A report as programs read it.
#[derive(Serialize)]
struct ScrubAnswer<'a> {
    changed: bool,
    conversations: u64,
    rewritten: u64,
    erased: bool,
    items: Vec<ScrubItem<'a>>,
    failed: Vec<Unscrubbed>,
}

/// A part as programs read it.
#[derive(Serialize)]
struct ScrubItem<'a> {
    conversation: Option<ConversationId>,
    short: Option<JsonText<ShortId>>,
    findings: Vec<FindingShape<'a>>,
    rewritten: u64,
    digests: Vec<ChangedHead>,
}

/// What one rule found in one place.
#[derive(Serialize)]
struct FindingShape<'a> {
    #[serde(rename = "where")]
    place: &'a str,
    message: Option<MessageId>,
    rule: &'a str,
    count: u64,
}

/// A head that has another digest.
#[derive(Serialize)]
struct ChangedHead {
    message: MessageId,
    before: Digest,
    after: Digest,
}

/// A conversation that could not be scrubbed.
#[derive(Serialize)]
struct Unscrubbed {
    conversation: ConversationId,
    #[serde(flatten)]
    why: Why,
}

impl ScrubOutput {
    pub(super) const fn new(mode: ScrubMode) -> Self {
        Self {
            mode,
            parts: RemovalPlan::of(Vec::new()),
            conversations: RemovalReport::of(Vec::new()),
            erased: None,
            has_traces: false,
        }
    }

    pub(super) fn add(&mut self, part: ScrubPart) {
        let fate = match self.mode {
            ScrubMode::Look => Fate::Planned,
            ScrubMode::Replace => Fate::Deleted(0),
        };
        self.conversations.items.extend(part.conversation.map(|id| (id, fate)));
        if !part.scrubbed.is_clean() {
            self.has_traces |= part.scrubbed.has_traces;
            self.parts.items.push(part);
        }
    }

    pub(super) fn add_failure(&mut self, conversation: ConversationId, failure: Failure) {
        self.conversations.items.push((conversation, Fate::Failed(failure)));
    }

    pub(super) fn is_clean(&self) -> bool {
        self.parts.is_empty() && self.conversations.failed() == 0
    }

    /// What will be taken out, to be read before the question.
    pub(super) fn shown(&self, context: &Context) -> String {
        self.table(context)
    }

    pub(super) fn question(&self) -> String {
        let (found, conversations) = self.amounts();
        format!("Redact {found} in {conversations} permanently?")
    }

    pub(super) fn answer(self, context: &Context) -> Result<(), Failure> {
        if context.is_json() {
            context.answer_json(&self.as_answer())?;
        } else {
            let (table, told) = (self.table(context), self.told());
            context.show(|answer| {
                write!(answer, "{table}")?;
                writeln!(answer, "{told}")?;
                Ok(())
            })?;
        }
        if self.has_traces {
            context.manner.warn(
                "another program reads the store, so its files still hold what was taken out",
                Some("run `rejoin scrub --all` when it has ended"),
            );
        }
        self.conversations.warn("scrubbed", |id| id.short().to_string(), Failure::summary, context);
        let verdict = self.conversations.verdict("scrubbed", Some(self.conversations.items.len()));
        verdict.map_err(|failure| failure.or_hint("run `rejoin verify` to see what is wrong"))?;
        self.erased.map_or(Ok(()), |failure| {
            let attempt = "what was replaced is out of use, but not erased".to_owned();
            Err(failure.retold(attempt).or_hint("run the command again when nothing else uses the store"))
        })
    }

    /// How many conversations were looked at.
    fn looked(&self) -> u64 {
        (self.conversations.items.len() - self.conversations.failed()) as u64
    }

    fn told(&self) -> String {
        let looked = size::count(self.looked(), "conversation", "conversations");
        if self.parts.is_empty() {
            return format!("No secrets found in {looked}.");
        }
        let (found, conversations) = self.amounts();
        match self.mode {
            ScrubMode::Look => format!("{found} found in {conversations}. Nothing was changed."),
            ScrubMode::Replace => {
                let rewritten = size::count(self.rewritten(), "message", "messages");
                format!("{found} taken out of {conversations}; {rewritten} got another digest.")
            }
        }
    }

    fn amounts(&self) -> (String, String) {
        let findings = self.parts.items.iter().flat_map(|part| &part.scrubbed.findings);
        let found = findings.map(|finding| finding.count).sum();
        let conversations = self.parts.items.iter().filter(|part| part.conversation.is_some()).count() as u64;
        (size::count(found, "secret", "secrets"), size::count(conversations, "conversation", "conversations"))
    }

    fn rewritten(&self) -> u64 {
        self.parts.items.iter().map(|part| part.scrubbed.rewritten).sum()
    }

    fn table(&self, context: &Context) -> String {
        let mut table = Table::new([
            Column::text("conversation").meaning(Meaning::Id),
            Column::text("where"),
            Column::text("rule"),
            Column::number("count"),
        ]);
        for part in &self.parts.items {
            let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
            for finding in &part.scrubbed.findings {
                *counts.entry((finding.place.as_str(), &finding.rule)).or_default() += finding.count;
            }
            let short = part.conversation.map_or_else(|| "-".to_owned(), |id| id.short().to_string());
            for ((place, rule), count) in counts {
                table.push([short.clone(), place.to_owned(), rule.to_owned(), size::number(count)]);
            }
        }
        if self.parts.is_empty() { String::new() } else { table.draw(context.columns(), context.paint()) }
    }

    fn as_answer(&self) -> ScrubAnswer<'_> {
        let failed = self.conversations.failures();
        let failed = failed.map(|(id, failure)| Unscrubbed { conversation: *id, why: failure.why() });
        ScrubAnswer {
            changed: self.mode == ScrubMode::Replace,
            conversations: self.looked(),
            rewritten: self.rewritten(),
            erased: self.mode == ScrubMode::Replace && self.erased.is_none() && !self.has_traces,
            items: self.parts.items.iter().map(ScrubItem::from).collect(),
            failed: failed.collect(),
        }
    }
}

impl<'a> From<&'a ScrubPart> for ScrubItem<'a> {
    fn from(part: &'a ScrubPart) -> Self {
        let findings = part.scrubbed.findings.iter().map(|finding| FindingShape {
            place: finding.place.as_str(),
            message: finding.message,
            rule: &finding.rule,
            count: finding.count,
        });
        let heads = part.scrubbed.heads.iter();
        let digests =
            heads.map(|head| ChangedHead { message: head.message, before: head.before, after: head.after });
        Self {
            conversation: part.conversation,
            short: part.conversation.map(|id| JsonText(id.short())),
            findings: findings.collect(),
            rewritten: part.scrubbed.rewritten,
            digests: digests.collect(),
        }
    }
}
