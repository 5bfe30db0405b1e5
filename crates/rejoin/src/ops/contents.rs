//! What a store holds, in a few numbers.

use crate::error::{Error, Result};
use crate::model::Time;
use crate::ops::verify::{survey, verify_conversation};
use crate::store::{ListQuery, Read, Store, Task};

/// What a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// How many conversations.
    pub conversations: u64,
    /// How many messages.
    pub messages: u64,
    /// How many bytes the messages have.
    pub bytes: u64,
    /// When something was last said.
    pub newest: Option<Time>,
}

/// Adds up what the list says.
pub(crate) fn contents(store: &dyn Read) -> Result<Contents> {
    let mut contents = Contents::default();
    let mut after = None;
    loop {
        let page = store.list(&ListQuery { after, limit: 500, ..ListQuery::default() })?;
        for row in &page.items {
            contents.conversations += 1;
            contents.messages += row.messages;
            contents.bytes += row.bytes;
            contents.newest = contents.newest.max(Some(row.active));
        }
        let Some(next) = page.next else { return Ok(contents) };
        after = Some(next);
    }
}

/// Checks everything in a store: its structure and every digest. The first fault is the error.
///
/// `report` is told how many conversations are done, and how many there are.
pub(crate) fn prove(store: &dyn Store, report: &mut dyn FnMut(u64, u64)) -> Result<Contents> {
    if let Some(fault) = store.maintain(Task::Check, std::time::Duration::MAX)?.faults.first() {
        return Err(Error::corrupt(fault.what.clone()));
    }
    let survey = survey(store)?;
    if let Some(fault) = survey.faults.first() {
        return Err(Error::corrupt(fault.clone()));
    }
    let all = survey.conversations.len() as u64;
    for (done, id) in survey.conversations.into_iter().enumerate() {
        report(done as u64, all);
        if let Some(fault) = verify_conversation(store, id)?.faults.first() {
            return Err(Error::corrupt(format!("conversation {}: {fault}", id.short())));
        }
    }
    report(all, all);
    contents(store)
}
