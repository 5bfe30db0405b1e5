//! The operations that are measured, one file each, and what they share.

pub(crate) mod append;
pub(crate) mod bytes;
pub(crate) mod cold;
pub(crate) mod fork;
pub(crate) mod growth;
pub(crate) mod list;
pub(crate) mod load;
pub(crate) mod search;
pub(crate) mod view;

use std::path::{Path, PathBuf};

use crate::entrant::Entrant;
use crate::options::{Operation, Scale};
use crate::protocol::{Reply, Request};
use crate::results::{Heading, Round, Table};
use crate::session::Session;
use rejoin_bench::failure::{Context, Result};

/// How many conversations a list shows and how many messages a search returns.
pub(crate) const PAGE: usize = 20;

/// Operations of a few microseconds are sampled in so many batches a round: a process that was just woken
/// spends longer on its caches than on the query.
pub(crate) const BATCHES: usize = 4;

/// What every operation needs to know.
pub(crate) struct Arena {
    pub(crate) scale: Scale,
    /// A directory on the disk that is measured.
    pub(crate) scratch: PathBuf,
    /// A directory in memory, where a sync costs nothing; nothing if the machine has none.
    pub(crate) memory: Option<PathBuf>,
}

impl Arena {
    pub(crate) fn long_file(&self) -> PathBuf {
        self.scratch.join("long.jsonl")
    }

    pub(crate) fn many_file(&self) -> PathBuf {
        self.scratch.join("many.jsonl")
    }

    pub(crate) fn turns_file(&self) -> PathBuf {
        self.scratch.join("turns.jsonl")
    }

    /// Returns where a contestant keeps one of its stores.
    pub(crate) fn place(&self, entrant: &Entrant, store: &str) -> PathBuf {
        self.scratch.join(&entrant.name).join(store)
    }

    /// Returns where the reference keeps one of its stores, apart from the contestant of the same name.
    pub(crate) fn reference_place(&self, store: &str) -> PathBuf {
        self.scratch.join("reference").join(store)
    }
}

/// Takes `pairs` samples, or batches of samples, of each side in turn.
///
/// The two sides take turns in going first, because the second is a quarter faster on a disk that was just
/// synced. Fails if they found different things: a contestant that does less is not faster.
pub(crate) fn pair(
    reference: &mut Session,
    contestant: &mut Session,
    request: &Request,
    pairs: usize,
) -> Result<Round> {
    let mut round = Round::default();
    for number in 0..pairs {
        sample_both(number, reference, contestant, request, &mut round)?;
    }
    Ok(round)
}

/// Takes one sample of each side; the reference goes first if `number` is even.
pub(crate) fn sample_both(
    number: usize,
    reference: &mut Session,
    contestant: &mut Session,
    request: &Request,
    round: &mut Round,
) -> Result<()> {
    let (expected, found);
    if number.is_multiple_of(2) {
        expected = step(reference, request)?;
        found = step(contestant, request)?;
    } else {
        found = step(contestant, request)?;
        expected = step(reference, request)?;
    }
    if (expected.found, expected.bytes) != (found.found, found.bytes) {
        return Err(format!(
            "it found {} ({} bytes) where the reference found {} ({} bytes)",
            found.found, found.bytes, expected.found, expected.bytes
        )
        .into());
    }
    round.reference.extend(expected.samples);
    round.contestant.extend(found.samples);
    Ok(())
}

/// Asks for one sample, then lets the store rest, so that its checkpoint delays nobody else's sample.
fn step(session: &mut Session, request: &Request) -> Result<Reply> {
    let reply = session.ask(request)?;
    session.ask(&Request::Rest)?;
    Ok(reply)
}

/// Fills a store and leaves it checkpointed.
pub(crate) fn fill(entrant: &Entrant, place: &Path, file: &Path, per_conversation: usize) -> Result<()> {
    let mut session = Session::start(entrant, place)?;
    session.ask(&Request::Fill { file: file.to_owned(), per_conversation })?;
    session.ask(&Request::Checkpoint)?;
    session.finish()
}

/// Returns the size of all files below a directory.
pub(crate) fn weigh(place: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(place).context(|| format!("read `{}`", place.display()))? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { weigh(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

/// Returns the heading of a row in the table of results.
pub(crate) fn headline(
    group: Operation,
    operation: &str,
    entrant: &Entrant,
    reference: &str,
    bar: f64,
) -> Heading {
    Heading { bar: Some(bar), table: Table::Headline, ..detail(group, operation, entrant, reference) }
}

/// Returns the heading of a row that explains another.
pub(crate) fn detail(group: Operation, operation: &str, entrant: &Entrant, reference: &str) -> Heading {
    Heading {
        group,
        operation: operation.to_owned(),
        contestant: entrant.name.clone(),
        reference: reference.to_owned(),
        bar: None,
        table: Table::Detail,
    }
}

/// Writes a number with a comma every three digits.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped_in_threes() {
        assert_eq!([20, 1_000, 200_000].map(grouped), ["20", "1,000", "200,000"]);
    }
}
