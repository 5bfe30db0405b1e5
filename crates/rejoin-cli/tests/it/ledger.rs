//! Numbered turns, and the account of them: what was acknowledged must be in
//! the store, in order, to the letter.

use std::collections::BTreeMap;
use std::time::Duration;

use rejoin::store::{Order, Task};
use rejoin::{Archive, ConversationId, List, MessageId, Search, StoredMessage};
use serde_json::json;

use crate::feed::Receipt;

/// What the messages of a numbered turn say. Some are larger than a page of the store, so
/// that a turn takes few writes or many.
pub(crate) fn texts(turn: usize) -> Vec<String> {
    let padding = match turn % 8 {
        3 => 20_000,
        6 => 60_000,
        _ => 100,
    };
    (0..=turn % 3).map(|place| format!("turn{turn} part{place} {}", "x".repeat(padding))).collect()
}

/// A numbered turn as a line of input.
pub(crate) fn line(turn: usize) -> String {
    let messages = texts(turn).into_iter().map(|text| json!({"role": "user", "content": text}));
    json!(messages.collect::<Vec<_>>()).to_string()
}

/// The account of a store that numbered turns go to, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// How many turns the store held when it was last audited.
    pub(crate) turns: usize,
    messages: u64,
    last: Option<MessageId>,
    conversation: Option<ConversationId>,
}

impl Ledger {
    /// Compares what was stored since the last audit with the receipts since
    /// then; a failure is what is wrong.
    ///
    /// All that was acknowledged must be there, then at most one turn that was not, then nothing.
    pub(crate) fn audit(&mut self, archive: &Archive, receipts: &[Receipt]) -> Result<(), String> {
        let Some(id) = self.find(archive)? else {
            let is_right = receipts.is_empty() && self.turns == 0;
            return if is_right { Ok(()) } else { Err("there are no messages".to_owned()) };
        };
        let new = archive
            .reader()
            .all_messages(id, Order::OldestFirst, self.messages, u64::MAX)
            .map_err(explain)?;
        let turns = self.compare(&new)?;
        let mut acknowledged: BTreeMap<u32, &Receipt> =
            receipts.iter().map(|receipt| (receipt.seq, receipt)).collect();
        for found in &new {
            let receipt = acknowledged.remove(&found.seq);
            if receipt.is_some_and(|told| {
                (told.head, told.digest, told.conversation) != (found.id, found.digest, id)
            }) {
                return Err(format!("message {} is not the one that was acknowledged", found.seq));
            }
        }
        if !acknowledged.is_empty() {
            return Err(format!("{} acknowledged turns are lost", acknowledged.len()));
        }
        let Some(0..=1) = turns.checked_sub(receipts.len()) else {
            return Err(format!("{turns} turns were stored, {} acknowledged", receipts.len()));
        };
        self.turns += turns;
        Ok(())
    }

    /// The one conversation that has messages. A run that ends early can leave others that are empty.
    fn find(&mut self, archive: &Archive) -> Result<Option<ConversationId>, String> {
        let mut listed = archive.list(&List::default()).map_err(explain)?.items;
        listed.retain(|stored| stored.messages > 0);
        let found = listed.first().map(|stored| stored.id);
        if listed.len() > 1 || (self.conversation.is_some() && found != self.conversation) {
            return Err("the messages are in another conversation".to_owned());
        }
        self.conversation = found;
        Ok(found)
    }

    /// Compares messages with the turns that come next; the answer is how many turns they are.
    fn compare(&mut self, new: &[StoredMessage]) -> Result<usize, String> {
        let mut expected = Vec::new();
        let mut turns = 0;
        while expected.len() < new.len() {
            expected.extend(texts(self.turns + turns));
            turns += 1;
        }
        if expected.len() != new.len() {
            return Err(format!("turn {} is not whole", self.turns + turns - 1));
        }
        for (found, text) in new.iter().zip(&expected) {
            self.messages += 1;
            if (u64::from(found.seq), found.parent) != (self.messages, self.last) {
                return Err(format!("message {} does not follow the one before it", found.seq));
            }
            if found.message.text() != *text {
                return Err(format!("message {} says something else", found.seq));
            }
            self.last = Some(found.id);
        }
        Ok(turns)
    }

    /// Checks the whole store: its pages, every digest, and that messages are
    /// found before and after indexing.
    pub(crate) fn close(&self, archive: &Archive) -> Result<(), String> {
        self.find_words(archive)?;
        let faults = archive.maintenance().check().map_err(explain)?.faults;
        let left = archive.maintenance().run(Task::Index, Duration::from_secs(60)).map_err(explain)?;
        let Some(id) = self.conversation else { return Ok(()) };
        let verdict = archive.maintenance().verify(id).map_err(explain)?;
        if (faults.len(), left, verdict.messages, verdict.is_sound()) != (0, 0, self.messages, true) {
            return Err(format!("{faults:?}, {left} not indexed, {verdict:?}"));
        }
        self.find_words(archive)
    }

    /// Looks for the first and the last turn by their words.
    fn find_words(&self, archive: &Archive) -> Result<(), String> {
        for turn in [0, self.turns.saturating_sub(1)] {
            let search = Search { text: format!("turn{turn} part0"), ..Search::default() };
            let hits = archive.search(&search).map_err(explain)?.items.len();
            if hits != usize::from(turn < self.turns) {
                return Err(format!("turn {turn} was found {hits} times"));
            }
        }
        Ok(())
    }
}

fn explain(error: rejoin::Error) -> String {
    format!("{error:?}")
}
