//! Checking that what is stored is what was written: every body readable, every
//! digest right, every parent there.
//!
//! Damage ends nothing: what is still readable is checked, and what is not is said.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Digest, Message, MessageId};
use crate::ops::attachment::Referred;
use crate::store::{Cursor, ListQuery, Order, Read, Row, Selection, What};

/// How many conversations are listed at a time.
const PAGE: usize = 500;

/// So often a conversation that others change is looked at before what differs is told.
const LOOKS: usize = 10;

/// The conversations of a store, as far as they can be found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Their ids, the newest activity first.
    pub conversations: Vec<ConversationId>,
    /// Why the list is not complete, or had to be pieced together; none in a sound store.
    pub faults: Vec<String>,
}

/// What was found out about one conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many messages were checked.
    pub messages: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// What is wrong, one sentence each.
    pub faults: Vec<String>,
}

/// Finds every conversation: in the list, and where damage cuts that short, in the log of changes too.
pub(crate) fn survey(store: &dyn Read) -> Result<Survey> {
    let mut survey = Survey::default();
    let mut after = None;
    loop {
        match next_page(store, after) {
            Ok((ids, next)) => {
                survey.conversations.extend(ids);
                let Some(next) = next else { return Ok(survey) };
                after = Some(next);
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                survey.faults.push(format!("the list of conversations cannot be read: {}", told(&error)));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    let known: BTreeSet<_> = survey.conversations.iter().copied().collect();
    match changed(store) {
        Ok(changed) => survey.conversations.extend(changed.difference(&known)),
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            survey.faults.push(format!("the log of changes cannot be read: {}", told(&error)));
        }
        Err(error) => return Err(error),
    }
    Ok(survey)
}

fn next_page(store: &dyn Read, after: Option<Cursor>) -> Result<(Vec<ConversationId>, Option<Cursor>)> {
    let page = store.list(&ListQuery { after, limit: PAGE, ..ListQuery::default() })?;
    Ok((page.items.iter().map(|row| row.id).collect(), page.next))
}

/// Every conversation that was ever stored and not deleted.
fn changed(store: &dyn Read) -> Result<BTreeSet<ConversationId>> {
    let (mut found, mut stamp) = (BTreeSet::new(), 0);
    loop {
        let changes = store.changes(stamp, Duration::ZERO)?;
        let Some(last) = changes.last() else { return Ok(found) };
        stamp = last.stamp;
        for change in &changes {
            match change.what {
                What::Stored { .. } | What::Changed | What::Rewritten | What::Trimmed { .. } => {
                    found.insert(change.conversation)
                }
                What::Deleted { .. } => found.remove(&change.conversation),
            };
        }
    }
}

/// Checks a conversation by its id. One that is there and cannot be read is a verdict, not an error.
///
/// What is known of it and its messages are read one after the other. Where they do not agree and somebody
/// changed it meanwhile, that is no damage, and it is checked again.
pub(crate) fn verify_conversation(store: &dyn Read, id: ConversationId) -> Result<Verification> {
    let mut looked = look_up(store, id)?;
    for _ in 1..LOOKS {
        let Ok(row) = &looked else { break };
        let verdict = verify(store, row)?;
        if verdict.is_sound() {
            return Ok(verdict);
        }
        match look_up(store, id)? {
            Ok(now) if now != *row => looked = Ok(now),
            Ok(_) | Err(_) => return Ok(verdict),
        }
    }
    match looked {
        Ok(row) => verify(store, &row),
        Err(verdict) => Ok(verdict),
    }
}

/// What is known of a conversation besides its messages, or why that cannot be read.
fn look_up(store: &dyn Read, id: ConversationId) -> Result<std::result::Result<Row, Verification>> {
    let unreadable = |faults| Ok(Err(Verification { faults, ..Verification::default() }));
    let listed = store.list(&ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() });
    match listed.map(|mut page| (page.items.pop(), page.damaged)) {
        Ok((Some(row), _)) => Ok(Ok(row)),
        Ok((None, faults)) if !faults.is_empty() => unreadable(faults),
        Ok((None, _)) => match absent(store, id) {
            lost if lost.kind() == ErrorKind::Corrupt => unreadable(vec![lost.to_string()]),
            unknown => Err(unknown),
        },
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            unreadable(vec![format!("it cannot be read: {}", told(&error))])
        }
        Err(error) => Err(error),
    }
}

/// Why a conversation is not listed: it was stored and is lost, or there is none.
pub(crate) fn absent(store: &dyn Read, id: ConversationId) -> Error {
    match store.read(id, Selection::Ids(&[]), &mut |_| Ok(())) {
        Err(lost) if lost.kind() == ErrorKind::Corrupt => lost,
        Ok(()) | Err(_) => Error::not_found(format!("no conversation `{id}`")),
    }
}

/// The innermost cause, which is what a person can act on.
fn told(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// Checks every message of a conversation, on every branch.
///
/// A digest covers the message and all its ancestors, so a message that was changed,
/// swapped, moved or lost its parent is found. A branch that was cut off at its end is not;
/// counts and the head are compared for that.
fn verify(store: &dyn Read, row: &Row) -> Result<Verification> {
    let mut verdict = Verification::default();
    let mut links: HashMap<MessageId, Digest> = HashMap::new();
    let mut referred = Referred::default();
    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    let read = store.read(row.id, everything, &mut |seen| {
        verdict.messages += 1;
        verdict.bytes += seen.size;
        let parent = seen.parent.map(|parent| links.get(&parent).copied());
        match parent {
            Some(None) => verdict.faults.push(format!("message {} comes before its parent", seen.id)),
            Some(Some(_)) | None => {
                if Digest::chain(parent.flatten(), seen.body.as_bytes()) != seen.link {
                    verdict.faults.push(format!("message {} does not match its digest", seen.id));
                }
            }
        }
        match Message::from_body(seen.body) {
            Ok(message) => referred.note(seen.id, &message),
            Err(error) => {
                verdict.faults.push(format!("message {} cannot be read: {}", seen.id, told(&error)));
            }
        }
        // What follows is judged by what is stored, so that one bad message is named once.
        links.insert(seen.id, seen.link);
        Ok(())
    });
    match read {
        Ok(()) => {}
        // Every other message was checked; the counts cannot be right.
        Err(error) if error.kind() == ErrorKind::Corrupt && store.capabilities().reads_past_damage => {
            verdict.faults.push(told(&error));
            verdict.faults.extend(error.others().iter().cloned());
            return Ok(verdict);
        }
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            let (read, all) = (verdict.messages, row.messages);
            let newer = readable_from_the_end(store, row.id);
            verdict.faults.push(format!(
                "{read} of its {all} messages can be read from the first on, {newer} from the last back: {}",
                told(&error)
            ));
            return Ok(verdict);
        }
        Err(error) => return Err(error),
    }
    check_counts(row, &links, &mut verdict);
    verdict.faults.extend(referred.faults(store, row.id)?);
    Ok(verdict)
}

/// How many messages stand behind the damage.
fn readable_from_the_end(store: &dyn Read, id: ConversationId) -> u64 {
    let mut count = 0;
    let backwards = Selection::All { order: Order::NewestFirst, offset: 0, limit: u64::MAX };
    // It ends in the same error from the other side.
    let _ = store.read(id, backwards, &mut |_| {
        count += 1;
        Ok(())
    });
    count
}

fn check_counts(row: &Row, links: &HashMap<MessageId, Digest>, verdict: &mut Verification) {
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

impl Verification {
    /// True when nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}
