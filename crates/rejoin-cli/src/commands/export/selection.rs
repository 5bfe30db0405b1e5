//! Which conversations are written, and what each is called.

use std::collections::{HashMap, HashSet};

use rejoin::{Archive, ConversationId, Extent, List, Named, StoredConversation, Subagents};

use super::Args;
use crate::context::Context;
use crate::error::Failure;
use crate::named;

/// The kind of a run of a sub-agent, which goes along with the conversation that started it.
const SUBAGENT: &str = "subagent";

/// One conversation to be written, and how much of it.
#[derive(Debug)]
pub(super) struct SelectedConversation {
    pub(super) stored: StoredConversation,
    pub(super) extent: Extent,
    /// The id in the names of its files.
    pub(super) id: String,
    pub(super) standing: SelectionReason,
}

/// Why a conversation is written by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelectionReason {
    /// It was asked for.
    Chosen,
    /// It is a run of a sub-agent, and nothing that is written could take it along.
    Orphan,
}

impl SelectedConversation {
    fn new(stored: StoredConversation, extent: Extent, standing: SelectionReason) -> Self {
        let id = stored.id.short().to_string();
        Self { stored, extent, id, standing }
    }
}

/// What was asked for, in the order in which it was.
pub(super) fn wanted(
    args: &Args,
    archive: &Archive,
    context: &Context,
) -> Result<Vec<SelectedConversation>, Failure> {
    let mut wanted =
        if args.all || args.all_projects { all(args, archive, context)? } else { named(args, archive)? };
    tell_apart(&mut wanted);
    Ok(wanted)
}

fn named(args: &Args, archive: &Archive) -> Result<Vec<SelectedConversation>, Failure> {
    let mut wanted: Vec<SelectedConversation> = Vec::new();
    for id in &args.ids {
        let named = named::resolve(archive, id)?;
        let stored = archive.conversation(named.conversation())?;
        let extent = match (&args.branch, named) {
            (Some(name), _) => Extent::Path(Some(named::branch(&stored, name)?.head)),
            (None, Named::Message(_, message)) => Extent::Path(Some(message)),
            (None, Named::Conversation(_)) => Extent::Tree,
        };
        if !wanted.iter().any(|one| one.stored.id == stored.id && one.extent == extent) {
            wanted.push(SelectedConversation::new(stored, extent, SelectionReason::Chosen));
        }
    }
    Ok(wanted)
}

/// Every conversation, and every run that none of them takes along.
fn all(args: &Args, archive: &Archive, context: &Context) -> Result<Vec<SelectedConversation>, Failure> {
    let project = if args.all_projects { None } else { Some(context.project_key(archive)?) };
    let list = List { project, includes_expired: true, ..List::default() };
    let (mut wanted, mut runs) = (Vec::new(), Vec::new());
    archive.reader().each_conversation(&list, &mut |stored| {
        match (stored.messages > 0, stored.conversation.kind == SUBAGENT) {
            (true, false) => {
                wanted.push(SelectedConversation::new(stored, Extent::Tree, SelectionReason::Chosen));
            }
            (true, true) => runs.push(stored),
            (false, _) => {}
        }
        Ok(())
    })?;
    if !runs.is_empty() {
        add_orphans(&mut wanted, runs, archive)?;
    }
    if wanted.is_empty() {
        return Err(Failure::not_found("there are no conversations to export")
            .hint("run `rejoin list --all-projects` to see other projects"));
    }
    Ok(wanted)
}

/// Adds the runs that no conversation takes along: what started them is gone,
/// is not written, or is not known.
fn add_orphans(
    wanted: &mut Vec<SelectedConversation>,
    runs: Vec<StoredConversation>,
    archive: &Archive,
) -> Result<(), Failure> {
    let mut started: HashMap<ConversationId, Vec<ConversationId>> = HashMap::new();
    for run in archive.subagents().list(&Subagents::default())? {
        if let Some(parent) = run.parent() {
            started.entry(parent.conversation).or_default().push(run.id);
        }
    }
    let mut taken: HashSet<ConversationId> = HashSet::new();
    let take = |id: ConversationId, taken: &mut HashSet<ConversationId>| {
        let mut next = vec![id];
        while let Some(id) = next.pop() {
            if taken.insert(id) {
                next.extend(started.get(&id).into_iter().flatten());
            }
        }
    };
    wanted.iter().for_each(|one| take(one.stored.id, &mut taken));
    let own: HashSet<ConversationId> = runs.iter().map(|run| run.id).collect();
    let is_below =
        |run: &StoredConversation| run.parent().is_some_and(|parent| own.contains(&parent.conversation));
    // Those that stand highest come first, so that they take along what they
    // started. What is left then leads in a circle.
    let (below, highest): (Vec<_>, Vec<_>) = runs.into_iter().partition(is_below);
    for run in highest.into_iter().chain(below) {
        if !taken.contains(&run.id) {
            take(run.id, &mut taken);
            wanted.push(SelectedConversation::new(run, Extent::Tree, SelectionReason::Orphan));
        }
    }
    Ok(())
}

/// Gives conversations that share a short id names with their whole ids.
fn tell_apart(wanted: &mut [SelectedConversation]) {
    let mut ids: HashMap<String, HashSet<ConversationId>> = HashMap::new();
    for one in wanted.iter() {
        ids.entry(one.id.clone()).or_default().insert(one.stored.id);
    }
    for one in wanted.iter_mut().filter(|one| ids[&one.id].len() > 1) {
        one.id = one.stored.id.to_string();
    }
}
