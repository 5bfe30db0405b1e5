//! Checking that what is stored is what was written: every body readable, every digest right, every parent there.

use std::collections::HashMap;

use crate::error::Result;
use crate::model::{Digest, Message, MessageId};
use crate::store::{Order, Read, Row, Selection};

/// What was found out about one conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// How many messages were checked.
    pub messages: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// What is wrong, one sentence each.
    pub faults: Vec<String>,
}

/// Checks every message of a conversation, on every branch.
///
/// A digest covers the message and all its ancestors, so a message that was changed, swapped, moved or lost its
/// parent is found. A branch that was cut off at its end is not; counts and the head are compared for that.
pub(crate) fn verify(store: &dyn Read, row: &Row) -> Result<Verdict> {
    let mut verdict = Verdict::default();
    let mut links: HashMap<MessageId, Digest> = HashMap::new();
    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    let read = store.read(row.id, everything, &mut |seen| {
        verdict.messages += 1;
        verdict.bytes += seen.body.len() as u64;
        let parent = seen.parent.map(|parent| links.get(&parent).copied());
        match parent {
            Some(None) => verdict.faults.push(format!("message {} comes before its parent", seen.id)),
            Some(Some(_)) | None => {
                if Digest::chain(parent.flatten(), seen.body.as_bytes()) != seen.link {
                    verdict.faults.push(format!("message {} does not match its digest", seen.id));
                }
            }
        }
        if let Err(error) = Message::from_body(seen.body) {
            verdict.faults.push(format!("message {} cannot be read: {error:?}", seen.id));
        }
        // What follows is judged by what is stored, so that one bad message is named once.
        links.insert(seen.id, seen.link);
        Ok(())
    });
    if let Err(error) = read {
        verdict.faults.push(format!("reading stopped: {error:?}"));
        return Ok(verdict);
    }
    check_counts(row, &links, &mut verdict);
    Ok(verdict)
}

fn check_counts(row: &Row, links: &HashMap<MessageId, Digest>, verdict: &mut Verdict) {
    if verdict.messages != row.messages {
        let (found, said) = (verdict.messages, row.messages);
        verdict.faults.push(format!("it should have {said} messages and has {found}"));
    }
    if verdict.bytes != row.bytes {
        let (found, said) = (verdict.bytes, row.bytes);
        verdict.faults.push(format!("its messages should have {said} bytes and have {found}"));
    }
    if let Some(head) = row.head
        && links.get(&head.id) != Some(&head.digest)
    {
        verdict.faults.push(format!("its head {} is not one of its messages", head.id));
    }
    if let Err(error) = serde_json::from_str::<crate::model::Conversation>(&row.header) {
        verdict.faults.push(format!("its header cannot be read: {error}"));
    }
}

impl Verdict {
    /// True when nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}
