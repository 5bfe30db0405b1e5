//! Scrubbing: secrets that are stored already are found and taken out, wherever they stand.
//!
//! A message that loses one gets another digest, and so does everything that follows it. All of them are
//! replaced in one step, or none. What belongs to the conversation beside its messages is changed before that
//! step, because it is the step that erases what stood there; only attachments go after it, which messages
//! refer to until then. Whoever calls this erases their traces.

mod attachments;
mod blobs;
mod files;
mod messages;

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{Branch, Conversation, ConversationId, Digest, MessageId, Redacted, Time};
use crate::ops::attachment::{AttachmentWriter, erase_unused, settle};
use crate::ops::redact::{RedactionTally, Redactor};
use crate::ops::scrub::attachments::Cleansed;
use crate::ops::scrub::blobs::Shelves;
use crate::ops::scrub::messages::ScrubbedChain;
use crate::store::{Change, Facets, ListQuery, Note, PreviewUpdate, Row, Safety, Store};

/// How often a conversation that somebody else changes meanwhile is looked at again.
const ATTEMPTS: usize = 10;

/// Whether what is found is taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubMode {
    /// It is only told.
    Look,
    /// A marker takes its place.
    Replace,
}

/// What a scrub found, and what it did about it. It never says what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scrubbed {
    /// What was found, by place and rule.
    pub findings: Vec<Finding>,
    /// How many messages have, or would have, another digest.
    pub rewritten: u64,
    /// The digests of the head and of the heads of branches, where they were changed.
    pub heads: Vec<Rechained>,
    /// True when what was replaced still stands in the files of the store, because somebody was reading them.
    /// [`ArchiveRemoval::finish_erasing`](crate::parts::ArchiveRemoval::finish_erasing) erases it, and so
    /// does the next purge or sweep.
    pub has_traces: bool,
}

/// Something that one rule found in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where.
    pub place: ScrubPlace,
    /// The message, where it stands in one or belongs to one.
    pub message: Option<MessageId>,
    /// The name of the rule.
    pub rule: String,
    /// How often.
    pub count: u64,
}

/// A head whose digest changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rechained {
    /// The message.
    pub message: MessageId,
    /// Its digest as it was.
    pub before: Digest,
    /// Its digest as it is.
    pub after: Digest,
}

/// Where a secret stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ScrubPlace {
    /// In a message.
    Message,
    /// In an attachment that is text.
    Attachment,
    /// In the label of a message.
    Label,
    /// In the title, the synopsis or another field of the header.
    Header,
    /// In the title of a branch.
    Branch,
    /// In what a list shows of messages.
    Preview,
    /// In a reply that was not finished.
    OpenTurn,
    /// In what an imported message was read from.
    Source,
    /// In what a program remembers.
    State,
    /// In the path of a project.
    Project,
}

impl ScrubPlace {
    /// The place as it is told.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Attachment => "attachment",
            Self::Label => "label",
            Self::Header => "header",
            Self::Branch => "branch",
            Self::Preview => "preview",
            Self::OpenTurn => "open-turn",
            Self::Source => "source",
            Self::State => "state",
            Self::Project => "project",
        }
    }
}

impl Scrubbed {
    /// True when nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// How often each rule found something, by name.
    pub fn rules(&self) -> Vec<Redacted> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for finding in &self.findings {
            *counts.entry(&finding.rule).or_default() += finding.count;
        }
        counts.into_iter().map(|(rule, count)| Redacted { rule: rule.to_owned(), count }).collect()
    }
}

/// What was found, each once, however often a conversation had to be looked at.
#[derive(Debug, Default)]
struct ScrubFindings(BTreeMap<(ScrubPlace, Option<MessageId>, String), u64>);

impl ScrubFindings {
    fn add(&mut self, place: ScrubPlace, message: Option<MessageId>, tally: &RedactionTally) {
        for Redacted { rule, count } in tally.to_redacted() {
            let most = self.0.entry((place, message, rule)).or_default();
            *most = count.max(*most);
        }
    }

    fn into_list(self) -> Vec<Finding> {
        self.0
            .into_iter()
            .map(|((place, message, rule), count)| Finding { place, message, rule, count })
            .collect()
    }
}

/// Scrubs one conversation, on every branch, with all that belongs to it. `before`
/// is called before anything is changed.
pub(crate) fn scrub_conversation(
    store: &dyn Store,
    redactor: &Redactor<'_>,
    id: ConversationId,
    mode: ScrubMode,
    (chunk_bytes, now): (u64, Time),
    before: &mut dyn FnMut() -> Result<()>,
) -> Result<Scrubbed> {
    let mut findings = ScrubFindings::default();
    for _ in 0..ATTEMPTS {
        let plan = ScrubPlan::make(store, redactor, id, &mut findings)?;
        if mode == ScrubMode::Replace && !plan.is_empty() {
            before()?;
            let writer = AttachmentWriter { store, owner: id, chunk_bytes, now };
            match plan.carry_out(&writer) {
                Err(error) if error.kind() == ErrorKind::Conflict => continue,
                other => other?,
            }
        }
        if mode == ScrubMode::Replace {
            erase_unused(store, id, &plan.cleansed.dirty(), now)?;
        }
        return Ok(Scrubbed {
            findings: findings.into_list(),
            rewritten: plan.chain.changed.len() as u64,
            heads: if mode == ScrubMode::Replace { plan.heads() } else { Vec::new() },
            has_traces: false,
        });
    }
    Err(Error::conflict(format!("conversation `{id}` keeps changing; try again")))
}

/// Scrubs what programs remember that belongs to no conversation, and which projects there are. `before`
/// is called before anything is changed.
pub(crate) fn scrub_state(
    store: &dyn Store,
    redactor: &Redactor<'_>,
    mode: ScrubMode,
    before: &mut dyn FnMut(),
) -> Result<Scrubbed> {
    let mut findings = ScrubFindings::default();
    let shelves = Shelves::of_nobody(store, redactor, &mut findings)?;
    if mode == ScrubMode::Replace && !shelves.is_empty() {
        before();
        store.put(&shelves.puts(None), Safety::Synced)?;
    }
    Ok(Scrubbed { findings: findings.into_list(), ..Scrubbed::default() })
}

/// What has to change in one conversation.
struct ScrubPlan {
    row: Row,
    header: Option<Conversation>,
    branches: Vec<Branch>,
    chain: ScrubbedChain,
    shelves: Shelves,
    cleansed: Cleansed,
}

impl ScrubPlan {
    fn make(
        store: &dyn Store,
        redactor: &Redactor<'_>,
        id: ConversationId,
        findings: &mut ScrubFindings,
    ) -> Result<Self> {
        let query = ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() };
        let row = store.list(&query)?.items.pop();
        let row = row.ok_or_else(|| Error::not_found(format!("no conversation `{id}`")))?;
        let mut tally = RedactionTally::default();
        let header = Conversation::from_header(&row.header)?;
        let header = redactor.header(&header, &mut tally);
        findings.add(ScrubPlace::Header, None, &tally);
        let mut branches = Vec::new();
        for branch in &row.branches {
            let mut tally = RedactionTally::default();
            if let Some(title) = redactor.text(&branch.title, &mut tally) {
                branches.push(Branch { title, ..branch.clone() });
                findings.add(ScrubPlace::Branch, None, &tally);
            }
        }
        let shelves = Shelves::of(store, redactor, id, findings)?;
        let cleansed = Cleansed::of(store, redactor, id)?;
        let chain = ScrubbedChain::of(store, redactor, &row, &shelves, &cleansed, findings)?;
        Ok(Self { row, header, branches, chain, shelves, cleansed })
    }

    fn is_empty(&self) -> bool {
        self.header.is_none() && self.branches.is_empty() && self.chain.is_empty() && self.shelves.is_empty()
    }

    /// Order: what stands beside the messages first, because rewriting them erases what stood there.
    fn carry_out(&self, writer: &AttachmentWriter<'_>) -> Result<()> {
        let (store, id, now) = (writer.store, self.row.id, writer.now);
        let mut version = self.row.version;
        let mut amend = |change: &Change<'_>| {
            version = store.amend(id, Some(version), change, now)?;
            Ok(())
        };
        if !self.shelves.is_empty() {
            store.put(&self.shelves.puts(Some(id)), Safety::Synced)?;
        }
        if let Some(header) = &self.header {
            amend(&Change::Header { facets: &Facets::of(header), header: &header.to_header() })?;
        }
        for branch in &self.branches {
            amend(&Change::Branch(branch))?;
        }
        for (message, label, is_pinned) in &self.chain.labels {
            let note = Note { label: Some(label), is_pinned: *is_pinned };
            amend(&Change::Note(*message, note))?;
        }
        self.cleansed.clean().try_for_each(|clean| writer.keep(clean))?;
        let (first, last) = (&self.chain.first, &self.chain.last);
        amend(&Change::Rewrite {
            messages: &self.chain.rewritten(),
            previews: PreviewUpdate { first, last },
        })?;
        let settled = settle(store, id, self.cleansed.clean().map(|clean| clean.digest))?;
        let cards: Vec<_> = settled.iter().map(|card| card.put(id)).collect();
        if cards.is_empty() { Ok(()) } else { store.put(&cards, Safety::Synced) }
    }

    fn heads(&self) -> Vec<Rechained> {
        let mut heads: Vec<MessageId> = self.row.branches.iter().map(|branch| branch.head).collect();
        heads.extend(self.row.head.map(|head| head.id));
        heads.sort_unstable();
        heads.dedup();
        heads.into_iter().filter_map(|message| self.chain.rechained(message)).collect()
    }
}
