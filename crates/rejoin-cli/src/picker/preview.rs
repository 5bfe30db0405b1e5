//! What was said last in a conversation, read when it is looked at and kept while the list is open.

use std::collections::HashMap;

use rejoin::store::Order;
use rejoin::{Archive, ConversationId, MessageId, StoredConversation, StoredMessage};

use super::state::{PickerRow, PickerState};
use crate::ui::size;

/// How many messages are shown: more than fit on a usual screen.
const SHOWN: usize = 12;

/// A branch of a longer conversation is not walked for a preview; its newest messages stand for it.
const SHORT: u64 = 1_000;

/// Characters of one message; the rest of a long one would not be seen.
const LONGEST: usize = 2_000;

/// A message as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PreviewMessage {
    pub(super) role: &'static str,
    pub(super) text: String,
}

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct PreviewCache {
    known: HashMap<(ConversationId, Option<MessageId>), Result<Vec<PreviewMessage>, String>>,
}

impl PreviewCache {
    /// A reader for what is selected.
    pub(super) fn of<'a>(
        &'a mut self,
        archive: &'a Archive,
    ) -> impl FnMut(&PickerState) -> Result<Vec<PreviewMessage>, String> + 'a {
        move |state| {
            let Some(row) = state.selected() else { return Ok(Vec::new()) };
            let stored = state.conversation_of(row);
            let target = match row {
                PickerRow::Conversation(_) => None,
                PickerRow::Branch(_, branch) => Some(branch.head),
            };
            self.known.entry((stored.id, target)).or_insert_with(|| read(archive, stored, target)).clone()
        }
    }
}

fn read(
    archive: &Archive,
    stored: &StoredConversation,
    target: Option<MessageId>,
) -> Result<Vec<PreviewMessage>, String> {
    let messages = if stored.messages <= SHORT {
        archive.path(stored.id, target)
    } else {
        let newest = archive.reader().all_messages(stored.id, Order::NewestFirst, 0, SHOWN as u64);
        newest.map(|messages| messages.into_iter().rev().collect())
    };
    let messages = messages.map_err(|error| error.to_string())?;
    let last = messages.len().saturating_sub(SHOWN);
    let mut shown: Vec<PreviewMessage> =
        messages[last..].iter().map(said).filter(|said| !said.text.is_empty()).collect();
    shown.extend(left_out(archive).map(|text| PreviewMessage { role: "left out", text }));
    Ok(shown)
}

/// How much of what was just read is damaged; none when nothing is.
pub(super) fn left_out(archive: &Archive) -> Option<String> {
    let missing = archive.reader().passed_over().len() as u64;
    (missing > 0).then(|| size::count(missing, "damaged record", "damaged records"))
}

fn said(stored: &StoredMessage) -> PreviewMessage {
    let text = stored.message.folded_text();
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
    PreviewMessage { role: stored.message.role.as_str(), text: text[..end].trim().to_owned() }
}
