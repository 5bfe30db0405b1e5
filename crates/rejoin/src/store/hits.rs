//! Collects one page of hits from messages that are examined one by one.

use std::cmp::Reverse;

use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::backend::{MessageRow, text};
use crate::store::body::{Searchable, is_json};
use crate::store::{Hit, Page, SearchQuery};

/// What was found so far: little more than a page is held.
pub(crate) struct Hits<'q> {
    query: &'q SearchQuery<'q>,
    /// True when the backend visits what comes after damage.
    reads_on: bool,
    found: Vec<Hit>,
}

impl<'q> Hits<'q> {
    pub(crate) const fn of(query: &'q SearchQuery<'q>, reads_on: bool) -> Self {
        Self { query, reads_on, found: Vec::new() }
    }

    /// Looks at a message.
    pub(crate) fn look_at(&mut self, conversation: ConversationId, row: &MessageRow<'_>) -> Result<()> {
        let body = text(row.body);
        let Some(said) = Searchable::of(&body) else {
            // What is no JSON may be damaged: the backend looks, and names it.
            let is_suspect = self.reads_on && !is_json(&body);
            return if is_suspect { Err(Error::corrupt("it is not JSON")) } else { Ok(()) };
        };
        if self.query.finds(&said) {
            let (message, seq, time) = (row.id, row.seq, said.time);
            self.add(Hit { conversation, message, seq, time, body: body.into_owned() });
        }
        Ok(())
    }

    /// Adds a hit, unless the query's times and its cursor leave it out.
    pub(crate) fn add(&mut self, hit: Hit) {
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

    /// The page of what was found.
    pub(crate) fn into_page(self, damage: SearchDamage) -> Page<Hit> {
        Page { damaged: damage.0, ..self.query.page_of(self.found) }
    }
}

/// What could not be looked at, in words, each once.
#[derive(Default)]
pub(crate) struct SearchDamage(Vec<String>);

impl SearchDamage {
    /// Takes in what a visit names that went on past damage.
    pub(crate) fn take_told(&mut self, visited: Result<()>) -> Result<()> {
        match visited {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.add(std::iter::once(&error.to_string()).chain(error.others()));
                Ok(())
            }
            other => other,
        }
    }

    /// Adds what is not named yet: a list and a read may both name the same line.
    pub(crate) fn add<'t>(&mut self, told: impl Iterator<Item = &'t String>) {
        for told in told {
            if !self.0.contains(told) {
                self.0.push(told.clone());
            }
        }
    }
}
