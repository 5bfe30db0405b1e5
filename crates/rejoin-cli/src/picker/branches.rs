//! The branches of a conversation: every message that nothing follows, and every named branch.

use std::collections::HashSet;

use rejoin::store::Order;
use rejoin::{Archive, MessageId, PlainText, Result, StoredConversation};

/// How many messages are looked through; branches of longer conversations are found among the newest.
const LONGEST: u64 = 20_000;

/// The end of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BranchEnd {
    pub(super) head: MessageId,
    /// Its name, or the beginning of what was said last on it.
    pub(super) title: String,
}

/// The branches in order of arrival, the newest last.
pub(super) fn of(archive: &Archive, stored: &StoredConversation) -> Result<Vec<BranchEnd>> {
    let mut messages = archive.reader().all_messages(stored.id, Order::NewestFirst, 0, LONGEST)?;
    messages.reverse();
    let followed: HashSet<MessageId> = messages.iter().filter_map(|message| message.parent).collect();
    let name = |head: MessageId| {
        let named = stored.branches.iter().rev().find(|branch| branch.head == head);
        named.map(|branch| branch.title.clone())
    };
    let ends =
        messages.iter().filter(|message| !followed.contains(&message.id) || name(message.id).is_some());
    let titled = ends.map(|message| BranchEnd {
        head: message.id,
        title: name(message.id).unwrap_or_else(|| PlainText::preview(&message.message.folded_text())),
    });
    Ok(titled.collect())
}

#[cfg(test)]
mod tests {
    use rejoin::{Conversation, Message};

    use super::*;

    #[test]
    fn every_end_is_a_branch_and_a_name_is_its_title() {
        let archive = Archive::open("memory:").unwrap();
        let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
        let question = talk.append(Message::user("Where to eat?")).unwrap().head;
        let first = talk.append(Message::assistant("In Alfama.")).unwrap().head;
        let mut cheap = talk.fork(question, "On a budget").unwrap();
        let second = cheap.append(Message::assistant("At a tasca.")).unwrap().head;
        let stored = archive.conversation(talk.id()).unwrap();

        let found = of(&archive, &stored).unwrap();

        let expected = [(first, "In Alfama."), (second, "On a budget")]
            .map(|(head, title)| BranchEnd { head, title: title.to_owned() });
        assert_eq!(found, expected);
    }
}
