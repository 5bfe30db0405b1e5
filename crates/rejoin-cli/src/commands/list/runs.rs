//! Runs of sub-agents in a list: folded under the conversation that started them, shown below it, or found
//! by their name.

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use rejoin::{Archive, ConversationId, Parent, StoredConversation, Subagents};
use serde::Serialize;

use super::{Args, ListedPage};
use crate::context::Context;
use crate::error::Failure;
use crate::shapes::ConversationShape;
use crate::source;

/// The kind of a conversation that is a run.
pub(super) const KIND: &str = "subagent";

/// The value of `--subagent`: a name, and one of its runs where that is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunFilter {
    name: String,
    run_id: Option<String>,
}

impl FromStr for RunFilter {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        // A label is taken, too, as lists show it.
        let typed = typed.strip_prefix("subagent:").unwrap_or(typed);
        let (name, run_id) = match typed.split_once(':') {
            Some((name, run_id)) => (name, Some(run_id)),
            None => (typed, None),
        };
        if name.is_empty() || run_id.is_some_and(str::is_empty) {
            return Err("expected NAME or NAME:RUN".to_owned());
        }
        Ok(Self { name: name.to_owned(), run_id: run_id.map(str::to_owned) })
    }
}

/// The runs of this name that the other filters admit, as one page.
pub(super) fn named(
    run: &RunFilter,
    args: &Args,
    archive: &Archive,
    context: &Context,
) -> Result<ListedPage, Failure> {
    let which = Subagents { parent: None, name: Some(run.name.clone()), run_id: run.run_id.clone() };
    let project = args.project(archive, context)?;
    let project = project.map(|key| archive.projects().key_as_kept(&key));
    let source = args.source.as_deref().map(source::key);
    let mut items = archive.subagents().list(&which)?;
    items.retain(|stored| {
        let header = &stored.conversation;
        let format = header.origin.as_ref().map_or("", |origin| origin.format.as_str());
        project.as_ref().is_none_or(|project| header.project.as_ref() == Some(project))
            && args.status.is_none_or(|status| header.status == status)
            && source.as_ref().is_none_or(|source| source == format)
    });
    let total = items.len() as u64;
    items.truncate(args.limit.into());
    Ok(ListedPage { items, next_cursor: None, left_out: Vec::new(), total, folded: 0 })
}

/// How many runs stand behind each conversation of a page, or which are listed.
#[derive(Debug, Default)]
pub(super) struct RunCounts {
    folded: HashMap<ConversationId, u64>,
}

/// A conversation in a list, as programs read it.
#[derive(Serialize)]
pub(super) struct ListedShape<'a> {
    #[serde(flatten)]
    conversation: ConversationShape<'a>,
    /// How many runs of sub-agents are below it, where they are not listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    /// What started it, where it is a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Parent>,
}

impl RunCounts {
    /// Counts what is folded. A store without runs is not asked again.
    pub(super) fn of(page: &ListedPage, args: &Args, archive: &Archive) -> Result<Self, Failure> {
        if !args.folds() || page.folded == 0 {
            return Ok(Self::default());
        }
        Ok(Self { folded: archive.subagents().count_below(&page.items)? })
    }

    pub(super) fn folded(&self, id: ConversationId) -> u64 {
        self.folded.get(&id).copied().unwrap_or_default()
    }

    pub(super) fn shape<'a>(
        &self,
        stored: &'a StoredConversation,
        active: Option<ConversationId>,
    ) -> ListedShape<'a> {
        let conversation = ConversationShape::of(stored, active);
        ListedShape { conversation, runs: self.folded.get(&stored.id).copied(), parent: stored.parent() }
    }

    /// The conversations of a page, each run below what started it where both are on the page.
    pub(super) fn in_order<'a>(
        &self,
        items: &'a [StoredConversation],
    ) -> impl Iterator<Item = (&'a StoredConversation, bool)> {
        let listed: HashSet<ConversationId> = items.iter().map(|stored| stored.id).collect();
        let mut below: HashMap<ConversationId, Vec<&StoredConversation>> = HashMap::new();
        let mut waiting: Vec<(&StoredConversation, bool)> = Vec::new();
        for stored in items {
            let parent = stored.parent().map(|parent| parent.conversation);
            match parent.filter(|parent| listed.contains(parent) && *parent != stored.id) {
                Some(parent) => below.entry(parent).or_default().push(stored),
                None => waiting.push((stored, false)),
            }
        }
        waiting.reverse();
        let mut ordered = Vec::with_capacity(items.len());
        while let Some((stored, is_below)) = waiting.pop() {
            ordered.push((stored, is_below));
            let runs = below.remove(&stored.id).unwrap_or_default();
            waiting.extend(runs.into_iter().rev().map(|run| (run, true)));
        }
        // Damage can make runs start each other; they are listed all the same.
        let mut lost: Vec<_> = below.into_values().flatten().map(|stored| (stored, false)).collect();
        lost.sort_by_key(|(stored, _)| stored.id);
        ordered.extend(lost);
        ordered.into_iter()
    }
}
