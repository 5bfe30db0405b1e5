//! What is to be deleted, found out before anything is.

use std::collections::BTreeMap;

use rejoin::store::{Children, Order, Selection};
use rejoin::{
    Archive, Conversation, ConversationId, Error, ErrorKind, MessageId, Named, StoredConversation, Time,
};

use crate::error::{Failure, Kind};
use crate::named;
use crate::removal::{Fate, RemovalPlan, RemovalReport};
use crate::ui::size;

/// What each name stands for, and what is to be done.
#[derive(Debug)]
pub(super) struct DeletePlan {
    /// The names, each with what becomes of it.
    pub(super) names: RemovalReport<DeleteItem>,
    pub(super) removals: RemovalPlan<DeleteRemoval>,
}

/// One name that was given.
#[derive(Debug)]
pub(super) struct DeleteItem {
    pub(super) name: String,
    pub(super) named: Option<Named>,
    /// What goes because of this name and no other.
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

/// What goes in one piece.
#[derive(Debug)]
pub(super) struct DeleteRemoval {
    pub(super) stored: StoredConversation,
    pub(super) part: DeletePart,
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

#[derive(Debug)]
pub(super) enum DeletePart {
    Whole,
    Messages(Vec<MessageId>),
}

impl DeletePlan {
    /// Finds what the names stand for. A name that stands for nothing does not spoil the others.
    pub(super) fn make(archive: &Archive, names: &[String], children: Children) -> Result<Self, Failure> {
        let mut plan = Self { names: RemovalReport::of(Vec::new()), removals: RemovalPlan::of(Vec::new()) };
        for name in names {
            let (named, fate) = match named::find(archive, name) {
                Ok(named) => (Some(named), Fate::Planned),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    (None, Fate::Missing(named::explain(archive, name, error)))
                }
                Err(error) => (None, Fate::Failed(named::explain(archive, name, error))),
            };
            let is_repeated = named.is_some() && plan.items().any(|item| item.named == named);
            if !is_repeated {
                let item = DeleteItem { name: name.clone(), named, messages: 0, bytes: 0 };
                plan.names.items.push((item, fate));
            }
        }
        let mut conversations: Vec<ConversationId> = Vec::new();
        for id in plan.items().filter_map(|item| item.named).map(Named::conversation) {
            if !conversations.contains(&id) {
                conversations.push(id);
            }
        }
        for id in conversations {
            if let Err(failure) = plan.add_removal(archive, id, children) {
                plan.settle(id, &Err(failure));
            }
        }
        Ok(plan)
    }

    fn items(&self) -> impl Iterator<Item = &DeleteItem> {
        self.names.items.iter().map(|(item, _)| item)
    }

    /// Says what became of every name in a conversation.
    pub(super) fn settle(&mut self, id: ConversationId, outcome: &Result<(), Failure>) {
        for (item, fate) in self.names.items.iter_mut().filter(|(item, _)| item.is_of(id)) {
            *fate = match outcome {
                Ok(()) => Fate::Deleted(item.bytes),
                Err(failure) => Fate::Failed(again(failure)),
            };
        }
    }

    fn add_removal(
        &mut self,
        archive: &Archive,
        id: ConversationId,
        children: Children,
    ) -> Result<(), Failure> {
        let stored = match archive.conversation(id) {
            Err(error) if self.gives_up(archive, id, &error) => {
                self.removals.items.push(DeleteRemoval {
                    stored: lost(id),
                    part: DeletePart::Whole,
                    messages: 0,
                    bytes: 0,
                });
                return Ok(());
            }
            other => other?,
        };
        let is_whole = |item: &DeleteItem| item.named == Some(Named::Conversation(id));
        let whole = self.names.items.iter_mut().find(|(item, _)| is_whole(item));
        if let Some((item, _)) = whole {
            let (messages, bytes) = (stored.messages, stored.bytes + archive.attachments().bytes(id)?);
            (item.messages, item.bytes) = (messages, bytes);
            self.removals.items.push(DeleteRemoval { stored, part: DeletePart::Whole, messages, bytes });
            return Ok(());
        }
        let places: BTreeMap<MessageId, usize> = self
            .items()
            .enumerate()
            .filter(|(_, item)| item.is_of(id))
            .filter_map(|(place, item)| Some((item.named?.message()?, place)))
            .collect();
        let going = going(archive, id, &places)?;
        let orphaning = going.iter().find_map(|(message, seen)| {
            seen.parent.filter(|parent| places.contains_key(parent) && !places.contains_key(message))
        });
        if let Some(parent) = orphaning.filter(|_| children == Children::Refuse) {
            self.refuse(id, parent, going.len() - places.len());
            return Ok(());
        }
        for seen in going.values() {
            let (item, _) = &mut self.names.items[seen.because_of];
            item.messages += 1;
            item.bytes += seen.bytes;
        }
        let (messages, bytes) = (going.len() as u64, going.values().map(|seen| seen.bytes).sum());
        let part = DeletePart::Messages(places.into_keys().collect());
        self.removals.items.push(DeleteRemoval { stored, part, messages, bytes });
        Ok(())
    }

    /// Whether a conversation of plain files is to go of which nothing can be read.
    /// It would be missed forever otherwise.
    fn gives_up(&self, archive: &Archive, id: ConversationId, error: &Error) -> bool {
        let is_whole = self.items().any(|item| item.named == Some(Named::Conversation(id)));
        let store = archive.reader().capabilities();
        is_whole && error.kind() == ErrorKind::Corrupt && store.reads_past_damage && !store.is_sealed
    }

    /// All messages of the conversation stay because of the one that has children.
    fn refuse(&mut self, id: ConversationId, parent: MessageId, below: usize) {
        let below = size::count(below as u64, "message that follows", "messages that follow");
        for (item, fate) in self.names.items.iter_mut().filter(|(item, _)| item.is_of(id)) {
            let is_parent = item.named == Some(Named::Message(id, parent));
            let why = if is_parent {
                format!("message `{parent}` has children")
            } else {
                format!("it goes together with `{parent}`, which has children")
            };
            *fate = Fate::Failed(
                Failure::new(Kind::Conflict, why)
                    .hint(format!("pass `--cascade` to also delete the {below}")),
            );
        }
    }
}

impl DeleteItem {
    fn is_of(&self, id: ConversationId) -> bool {
        self.named.is_some_and(|named| named.conversation() == id)
    }
}

/// What is known of a conversation of which nothing can be read.
fn lost(id: ConversationId) -> StoredConversation {
    StoredConversation {
        id,
        version: 1,
        conversation: Conversation::titled("of which nothing is left"),
        head: None,
        branches: Vec::new(),
        created_at: Time::default(),
        last_active_at: Time::default(),
        messages: 0,
        bytes: 0,
        first: String::new(),
        last: String::new(),
    }
}

/// The same failure, for another name.
fn again(failure: &Failure) -> Failure {
    let retold = failure.retold(failure.summary());
    match failure.next_step() {
        Some(hint) => retold.hint(hint),
        None => retold,
    }
}

/// A message that goes.
struct GoingMessage {
    parent: Option<MessageId>,
    bytes: u64,
    /// The item it goes for: its own, or else its parent's.
    because_of: usize,
}

/// The messages that were named and everything below them.
fn going(
    archive: &Archive,
    id: ConversationId,
    places: &BTreeMap<MessageId, usize>,
) -> Result<BTreeMap<MessageId, GoingMessage>, Failure> {
    let mut going: BTreeMap<MessageId, GoingMessage> = BTreeMap::new();
    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    // A message arrives after its parent, so one pass reaches the whole subtree.
    archive.reader().visit(id, everything, &mut |seen| {
        let own = places.get(&seen.id).copied();
        let parents = seen.parent.and_then(|parent| going.get(&parent)).map(|parent| parent.because_of);
        if let Some(because_of) = own.or(parents) {
            let bytes = seen.body.len() as u64;
            // What stands above a root of the removal stays, so it is nobody's child here.
            let parent = parents.and(seen.parent);
            going.insert(seen.id, GoingMessage { parent, bytes, because_of });
        }
        Ok(())
    })?;
    Ok(going)
}
