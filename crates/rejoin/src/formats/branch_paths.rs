//! The paths of a tree, for formats whose files hold a linear list of messages: one file per leaf.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::formats::derived_uuid::uuid_of;
use crate::formats::{SourceConversation, SourceMessage, Tree};

/// Returns the path to the head first, then the paths to the other leaves.
pub(super) fn paths<'a>(tree: &'a Tree, conversation: &'a SourceConversation) -> Vec<Vec<&'a SourceMessage>> {
    let messages: Vec<&SourceMessage> = tree.messages_of(&conversation.id).collect();
    let by_id: HashMap<&str, &SourceMessage> =
        messages.iter().map(|found| (found.id.as_str(), *found)).collect();
    let above: HashSet<&str> = messages.iter().filter_map(|found| found.parent.as_deref()).collect();
    let path_to = |leaf: &'a SourceMessage| {
        let mut seen = HashSet::new();
        let up = std::iter::successors(Some(leaf), |found| by_id.get(found.parent.as_deref()?).copied());
        let mut path: Vec<&SourceMessage> = up.take_while(|found| seen.insert(found.id.as_str())).collect();
        path.reverse();
        path
    };
    let head =
        conversation.head.as_deref().and_then(|head| by_id.get(head).copied()).or(messages.last().copied());
    let Some(head) = head else { return Vec::new() };
    let chosen = path_to(head);
    let on_path: HashSet<&str> = chosen.iter().map(|found| found.id.as_str()).collect();
    let others: Vec<&SourceMessage> = messages
        .iter()
        .filter(|found| !above.contains(found.id.as_str()) && !on_path.contains(found.id.as_str()))
        .copied()
        .collect();
    std::iter::once(chosen).chain(others.into_iter().map(path_to)).collect()
}

/// Returns the paths of a conversation with the ids of their files: the conversation's own for the first
/// path, and an id derived from it for each of the others.
pub(super) fn files<'a>(
    tree: &'a Tree,
    conversation: &'a SourceConversation,
) -> impl Iterator<Item = (Uuid, Vec<&'a SourceMessage>)> {
    paths(tree, conversation).into_iter().enumerate().map(|(place, path)| match place {
        0 => (uuid_of(&conversation.id), path),
        _ => (uuid_of(&format!("{}/{place}", conversation.id)), path),
    })
}

/// Returns the main conversation of a tree first, then the others.
pub(super) fn main_first(tree: &Tree) -> crate::Result<impl Iterator<Item = &SourceConversation>> {
    let main = tree.main()?;
    Ok(std::iter::once(main).chain(tree.conversations.iter().filter(move |other| other.id != main.id)))
}
