//! Runs of sub-agents: conversations of their own, linked to the message that asked for them.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, ArchiveSubagents, Handle, decode};
use crate::error::{Error, Result};
use crate::model::{Conversation, ConversationId, Json, MessageId, StoredConversation, Time};
use crate::store::ListQuery;

/// The kind of such a conversation, and the beginning of its label.
pub(super) const KIND: &str = "subagent";

/// The header's own fields.
const RUN: &str = "subagent";
const PARENT: &str = "parent";

/// Names and run ids stand in labels; longer ones are text.
const LENGTH: usize = 100;

/// How many conversations are looked at in one read.
const PAGE: usize = 200;

/// One run of a sub-agent. Its label is `subagent:<name>:<run_id>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subagent {
    name: String,
    run_id: String,
}

/// What a run of a sub-agent was started by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The conversation.
    pub conversation: ConversationId,
    /// The message in it that asked for the run, where it is known. An import may not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

/// Which runs of sub-agents to find. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct Subagents {
    /// Only those that this conversation started.
    pub parent: Option<ConversationId>,
    /// Only those of this name.
    pub name: Option<String>,
    /// Only this run.
    pub run_id: Option<String>,
}

impl Subagent {
    /// A run of a sub-agent. Neither part may be empty, hold a colon or a control character, or be very long.
    pub fn new(name: impl Into<String>, run_id: impl Into<String>) -> Result<Self> {
        let (name, run_id) = (name.into(), run_id.into());
        for part in [&name, &run_id] {
            let is_good = !part.trim().is_empty()
                && part.len() <= LENGTH
                && !part.contains(|letter: char| letter == ':' || letter.is_control());
            if !is_good {
                let shown: String = part.chars().take(40).filter(|letter| !letter.is_control()).collect();
                return Err(Error::invalid(format!("`{shown}` cannot stand in the label of a sub-agent")));
            }
        }
        Ok(Self { name, run_id })
    }

    /// Which sub-agent.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which of its runs.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }
}

impl fmt::Display for Subagent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KIND}:{}:{}", self.name, self.run_id)
    }
}

impl FromStr for Subagent {
    type Err = Error;

    fn from_str(label: &str) -> Result<Self> {
        let parts = label.strip_prefix(KIND).and_then(|rest| rest.strip_prefix(':')?.split_once(':'));
        match parts {
            Some((name, run_id)) => Self::new(name, run_id),
            None => Err(Error::invalid("a sub-agent's label is `subagent:<name>:<run_id>`")),
        }
    }
}

impl StoredConversation {
    /// The run of a sub-agent that this conversation is, if it is one.
    pub fn subagent(&self) -> Option<Subagent> {
        self.conversation.extra.field(RUN).filter(|_| self.conversation.kind == KIND)?.to().ok()
    }

    /// What started it, if it is a run of a sub-agent and that is known.
    pub fn parent(&self) -> Option<Parent> {
        self.conversation.extra.field(PARENT).filter(|_| self.conversation.kind == KIND)?.to().ok()
    }
}

impl ArchiveSubagents<'_> {
    /// Starts a conversation for a run of a sub-agent that a message asked for.
    ///
    /// It has the parent's project and privacy, and its label as its title.
    pub fn start(
        &self,
        parent: ConversationId,
        message: MessageId,
        name: &str,
        run_id: &str,
    ) -> Result<Handle> {
        let subagent = Subagent::new(name, run_id)?;
        let (stored, head) = (self.archive.conversation(parent)?, self.archive.head_at(parent, message)?);
        let mut header = Conversation {
            project: stored.conversation.project,
            privacy: stored.conversation.privacy,
            follows_retention: stored.conversation.follows_retention,
            kind: KIND.to_owned(),
            ..Conversation::titled(subagent.to_string())
        };
        header.extra.set(RUN, Json::of(&subagent)?);
        header.extra.set(PARENT, Json::of(&Parent { conversation: parent, message: Some(head.id) })?);
        self.archive.start(header)
    }

    /// Runs of sub-agents, newest activity first.
    pub fn list(&self, which: &Subagents) -> Result<Vec<StoredConversation>> {
        let mut found = Vec::new();
        self.archive.each_run(None, &mut |stored| {
            found.extend(Some(stored?).filter(|stored| which.includes(stored)));
            Ok(())
        })?;
        Ok(found)
    }

    /// Counts the runs below each of these conversations: those it started, and those that they started.
    ///
    /// Only runs that were active since the oldest of these conversations began are looked at.
    pub fn count_below(&self, conversations: &[StoredConversation]) -> Result<HashMap<ConversationId, u64>> {
        let mut counts = HashMap::new();
        let Some(oldest) = conversations.iter().map(|stored| stored.created_at).min() else {
            return Ok(counts);
        };
        let mut parents: HashMap<ConversationId, ConversationId> = HashMap::new();
        self.archive.each_run(Some(oldest), &mut |run| {
            let Ok(run) = run else { return Ok(()) };
            parents.extend(run.parent().map(|parent| (run.id, parent.conversation)));
            Ok(())
        })?;
        let asked: HashSet<ConversationId> = conversations.iter().map(|stored| stored.id).collect();
        for run in parents.keys() {
            // Damage can make a run its own ancestor, so each is met once.
            let (mut met, mut below) = (HashSet::from([*run]), parents.get(run));
            while let Some(id) = below.filter(|id| met.insert(**id)) {
                if asked.contains(id) {
                    *counts.entry(*id).or_default() += 1;
                }
                below = parents.get(id);
            }
        }
        Ok(counts)
    }
}

impl Archive {
    /// Visits every run of a sub-agent, or those that were active since a time, newest activity first. One
    /// whose header cannot be read is an error that the visitor may pass over.
    pub(super) fn each_run(
        &self,
        since: Option<Time>,
        visit: &mut dyn FnMut(Result<StoredConversation>) -> Result<()>,
    ) -> Result<()> {
        let now = self.now();
        let mut query = ListQuery { kind: Some(KIND), limit: PAGE, ..ListQuery::default() };
        loop {
            let page = self.page(&query, now)?;
            self.note_left_out(&page.damaged);
            let is_over = page.items.last().is_some_and(|row| since.is_some_and(|since| row.active < since));
            let recent = page.items.into_iter().filter(|row| since.is_none_or(|since| row.active >= since));
            recent.map(decode).try_for_each(&mut *visit)?;
            query.after = page.next.filter(|_| !is_over);
            if query.after.is_none() {
                return Ok(());
            }
        }
    }
}

impl Subagents {
    fn includes(&self, stored: &StoredConversation) -> bool {
        let Some(subagent) = stored.subagent() else { return false };
        self.name.as_ref().is_none_or(|name| *name == subagent.name)
            && self.run_id.as_ref().is_none_or(|run_id| *run_id == subagent.run_id)
            && self.parent.is_none_or(|id| stored.parent().is_some_and(|parent| parent.conversation == id))
    }
}
