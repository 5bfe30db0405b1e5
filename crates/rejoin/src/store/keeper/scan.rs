//! Lists, names and words for backends without indexes of their own: everything is looked at.

use std::cmp::Reverse;

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::{ConversationRow, Presence, Rows, Which};
use crate::store::keeper::read::text;
use crate::store::query::Sought;
use crate::store::tip::{is_json, searchable};
use crate::store::{Found, Hit, ListQuery, Order, Page, Row, SearchQuery};

pub(super) fn list(rows: &dyn Rows, query: &ListQuery<'_>) -> Result<Page<Row>> {
    let mut found = Vec::new();
    rows.conversations(&mut |row| {
        found.push(row.into_row());
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
    let mut damage = Damage::default();
    let mut hits = Hits { query, reads_on, found: Vec::new() };
    for id in conversations(rows, query, &mut damage)? {
        match damage.take_told(hits.look_through(rows, id)) {
            // It was removed meanwhile, where a moment covers one conversation only.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(Page { damaged: damage.0, ..query.page_of(hits.found) })
}

/// The conversations that are looked through.
fn conversations(
    rows: &dyn Rows,
    query: &SearchQuery<'_>,
    damage: &mut Damage,
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

/// What could not be looked at, in words.
#[derive(Default)]
struct Damage(Vec<String>);

impl Damage {
    /// Takes in what a visit names that went on past damage.
    fn take_told(&mut self, visited: Result<()>) -> Result<()> {
        match visited {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                // A list and a read may both name the same line.
                for told in std::iter::once(&error.to_string()).chain(error.others()) {
                    if !self.0.contains(told) {
                        self.0.push(told.clone());
                    }
                }
                Ok(())
            }
            other => other,
        }
    }
}

/// What was found so far: little more than a page is held.
struct Hits<'q> {
    query: &'q SearchQuery<'q>,
    /// True when the backend visits what comes after damage.
    reads_on: bool,
    found: Vec<Hit>,
}

impl Hits<'_> {
    fn look_through(&mut self, rows: &dyn Rows, conversation: ConversationId) -> Result<()> {
        let all = Which::Range(Order::OldestFirst, 0, u64::MAX);
        rows.messages(conversation, all, &mut |row| {
            let body = text(row.body);
            let Some(said) = searchable(&body) else {
                // What is no JSON may be damaged: the backend looks, and names it.
                let is_suspect = self.reads_on && !is_json(&body);
                return if is_suspect { Err(Error::corrupt("it is no JSON")) } else { Ok(()) };
            };
            if self.query.finds(&said) {
                let (message, seq, time) = (row.id, row.seq, said.time);
                self.add(Hit { conversation, message, seq, time, body: body.into_owned() });
            }
            Ok(())
        })
    }

    fn add(&mut self, hit: Hit) {
        let is_after = self.query.after.is_none_or(|after| hit.cursor().key() < after.key());
        if is_after && self.query.since.is_none_or(|since| hit.time >= since) {
            self.found.push(hit);
        }
        // One more than the page tells that there is a next one.
        if self.found.len() > self.query.limit.saturating_mul(2).saturating_add(64) {
            self.found.sort_by_key(|hit| Reverse(hit.cursor().key()));
            self.found.truncate(self.query.limit.saturating_add(1));
        }
    }
}
