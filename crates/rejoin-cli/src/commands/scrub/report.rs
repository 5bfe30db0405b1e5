//! What is said about secrets that were found: the rule, the place and how often, never what they were.

use std::collections::BTreeMap;

use rejoin::{ConversationId, ScrubMode, Scrubbed};
use serde_json::{Value as Json, json};

use crate::context::Context;
use crate::error::Failure;
use crate::ui::paint::Meaning;
use crate::ui::size;
use crate::ui::table::{Column, Table};

/// What was found, and what was done about it.
#[derive(Debug)]
pub(super) struct Report {
    mode: ScrubMode,
    looked: u64,
    parts: Vec<Part>,
    /// Conversations that could not be scrubbed, and why.
    pub(super) failed: Vec<(ConversationId, Failure)>,
    /// Why what was replaced could not be erased, if it could not.
    pub(super) erased: Option<Failure>,
    /// True when another program keeps what was replaced in the files.
    pub(super) has_traces: bool,
}

/// What was found in one conversation, or beside all of them.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) conversation: Option<ConversationId>,
    pub(super) scrubbed: Scrubbed,
}

impl Report {
    pub(super) const fn new(mode: ScrubMode) -> Self {
        Self { mode, looked: 0, parts: Vec::new(), failed: Vec::new(), erased: None, has_traces: false }
    }

    pub(super) fn add(&mut self, part: Part) {
        self.looked += u64::from(part.conversation.is_some());
        if !part.scrubbed.is_clean() {
            self.has_traces |= part.scrubbed.has_traces;
            self.parts.push(part);
        }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.parts.is_empty() && self.failed.is_empty()
    }

    /// What will be taken out, to be read before the question.
    pub(super) fn shown(&self, context: &Context) -> String {
        self.table(context)
    }

    pub(super) fn question(&self) -> String {
        let (found, conversations) = self.amounts();
        format!("Take {found} out of {conversations} for good?")
    }

    pub(super) fn answer(self, context: &Context) -> Result<(), Failure> {
        if context.is_json() {
            context.answer_json(&self.to_json())?;
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
        for (id, failure) in &self.failed {
            context.manner.warn(&format!("not scrubbed: {}: {}", id.short(), failure.summary()), None);
        }
        let failed = self.failed.len();
        match self.failed.into_iter().next() {
            Some((_, failure)) => Err(failure
                .retold(format!("{failed} of {} could not be scrubbed", self.looked + failed as u64))
                .or_hint("run `rejoin verify` to see what is wrong")),
            None => self.erased.map_or(Ok(()), |failure| {
                let attempt = "what was replaced is out of use, but not erased".to_owned();
                Err(failure.retold(attempt).or_hint("run the command again when nothing else uses the store"))
            }),
        }
    }

    fn told(&self) -> String {
        let looked = size::count(self.looked, "conversation", "conversations");
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
        let findings = self.parts.iter().flat_map(|part| &part.scrubbed.findings);
        let found = findings.map(|finding| finding.count).sum();
        let conversations = self.parts.iter().filter(|part| part.conversation.is_some()).count() as u64;
        (
            size::count(found, "secret", "secrets"),
            size::count(conversations, "conversation", "conversations"),
        )
    }

    fn rewritten(&self) -> u64 {
        self.parts.iter().map(|part| part.scrubbed.rewritten).sum()
    }

    fn table(&self, context: &Context) -> String {
        let mut table = Table::new([
            Column::text("conversation").meaning(Meaning::Id),
            Column::text("where"),
            Column::text("rule"),
            Column::number("count"),
        ]);
        for part in &self.parts {
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

    fn to_json(&self) -> Json {
        let items: Vec<Json> = self.parts.iter().map(Part::to_json).collect();
        let failed: Vec<Json> = self
            .failed
            .iter()
            .map(|(id, failure)| json!({"conversation": id, "kind": failure.kind(), "message": failure.summary()}))
            .collect();
        json!({
            "changed": self.mode == ScrubMode::Replace,
            "conversations": self.looked,
            "rewritten": self.rewritten(),
            "erased": self.mode == ScrubMode::Replace && self.erased.is_none() && !self.has_traces,
            "items": items,
            "failed": failed,
        })
    }
}

impl Part {
    fn to_json(&self) -> Json {
        let findings: Vec<Json> = self
            .scrubbed
            .findings
            .iter()
            .map(|finding| {
                json!({
                    "where": finding.place.as_str(),
                    "message": finding.message,
                    "rule": finding.rule,
                    "count": finding.count,
                })
            })
            .collect();
        let digests: Vec<Json> = self
            .scrubbed
            .heads
            .iter()
            .map(|head| json!({"message": head.message, "before": head.before, "after": head.after}))
            .collect();
        json!({
            "conversation": self.conversation,
            "short": self.conversation.map(|id| id.short().to_string()),
            "findings": findings,
            "rewritten": self.scrubbed.rewritten,
            "digests": digests,
        })
    }
}
