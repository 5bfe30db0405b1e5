//! Lists, names and words for backends without indexes of their own: everything is looked at.

use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::{ConversationRow, Presence, Rows, Which};
use crate::store::hits::{Hits, SearchDamage};
use crate::store::query::Sought;
use crate::store::{Found, Hit, ListQuery, Order, Page, SearchQuery};

pub(super) fn list(rows: &dyn Rows, query: &ListQuery<'_>) -> Result<Page<ConversationRow>> {
    let mut found = Vec::new();
    rows.conversations(&mut |row| {
        found.push(row);
        Ok(())
    })?;
    Ok(query.page_of(found))
}

pub(super) fn find(rows: &dyn Rows, text: &str, limit: usize) -> Result<Vec<Found>> {
    let sought = Sought::of(text);
    let (mut all, mut found) = (Vec::new(), Vec::new());
    rows.conversations(&mut |row| {
        let is_meant = sought.begins(row.id) || row.facets.slug == text;
        found.extend(is_meant.then_some(Found { conversation: row.id, message: None }));
        all.push(row.id);
        Ok(())
    })?;
    found.sort_by_key(|found: &Found| found.conversation);
    all.sort_unstable();
    for conversation in all {
        if found.len() >= limit {
            break;
        }
        rows.nodes(conversation, &mut |node| {
            let is_meant = node.id.as_str().starts_with(text);
            found.extend(is_meant.then_some(Found { conversation, message: Some(node.id) }));
            Ok(())
        })?;
    }
    found.truncate(limit);
    Ok(found)
}

pub(super) fn search(rows: &dyn Rows, query: &SearchQuery<'_>, reads_on: bool) -> Result<Page<Hit>> {
    let mut damage = SearchDamage::default();
    let mut hits = Hits::of(query, reads_on);
    let all = Which::Range(Order::OldestFirst, 0, u64::MAX);
    for id in conversations(rows, query, &mut damage)? {
        match damage.take_told(rows.messages(id, all, &mut |row| hits.look_at(id, row))) {
            // It was removed meanwhile, where a snapshot covers one conversation only.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(hits.into_page(damage))
}

/// The conversations that are looked through.
fn conversations(
    rows: &dyn Rows,
    query: &SearchQuery<'_>,
    damage: &mut SearchDamage,
) -> Result<Vec<ConversationId>> {
    let mut meant = Vec::new();
    let mut admit = |row: ConversationRow| {
        let is_meant = query.project.is_none_or(|project| row.facets.project == project);
        meant.extend(is_meant.then_some(row.id));
        Ok(())
    };
    match query.conversation {
        None => damage.take_told(rows.conversations(&mut admit))?,
        Some(only) => match rows.state(only)? {
            Presence::Absent => {}
            Presence::Lost(error) => damage.take_told(Err(error))?,
            Presence::Stored(_) => rows.conversation(only)?.map_or(Ok(()), admit)?,
        },
    }
    Ok(meant)
}
