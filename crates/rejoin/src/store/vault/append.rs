//! Appending: each entry is sealed with what is known of the conversation, and stored as one turn of the inner store.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Head, MessageId, Time};
use crate::store::activity::last_activity;
use crate::store::vault::VaultStore;
use crate::store::vault::blob::SealedPut;
use crate::store::vault::data_key::DataKey;
use crate::store::vault::grown::{First, Grown, Reached};
use crate::store::vault::held::{DATA, DataKeys};
use crate::store::vault::message::{Plain, SealedNote};
use crate::store::vault::named::{NAME_NAME, seal_name};
use crate::store::vault::names::Names;
use crate::store::vault::row::{SealedHeader, SealedLast, seal_first};
use crate::store::vault::slots::InUse;
use crate::store::{Anchor, Appended, Entry, Facets, Note, Opening, Order, Put, Selection, Space, Tip, Turn};

/// The keys that seal a turn, and what keeps them from being taken away until it is stored.
struct InHand<'k> {
    keys: &'k DataKeys,
    held: Option<InUse>,
}

/// An entry, sealed.
struct SealedEntry {
    entry: Entry<'static>,
    label: Option<String>,
    body: String,
}

impl VaultStore {
    pub(super) fn append_sealed(&self, turn: &Turn<'_>) -> Result<Appended> {
        turn.check()?;
        self.refuse_unnamed(turn.conversation)?;
        match &turn.opening {
            Some(opening) => self.append_opening(turn, opening),
            None => self.append_growing(turn),
        }
    }

    fn append_opening(&self, turn: &Turn<'_>, opening: &Opening<'_>) -> Result<Appended> {
        let workspace = self.held.workspace();
        let inner = workspace.names().conversation(turn.conversation);
        let keys = DataKeys::only(DataKey::random());
        let wrapped = workspace.wrap(keys.newest(), Some(inner));
        let name = seal_name(turn.conversation, opening.created, keys.newest(), inner);
        let put = |name, bytes| Put { space: Space::Key, owner: Some(inner), name, bytes: Some(bytes) };
        let own = [put(DATA, wrapped.as_slice()), put(NAME_NAME, name.as_slice())];
        let header = SealedHeader::new(turn.conversation, opening.created, opening.facets, opening.header)
            .seal(keys.newest(), inner);
        // The time it was created is inside; the inner store needs one and gets the same for all.
        let sealed = Opening { facets: &Facets::default(), header: &header, created: Time::from_micros(0) };
        let reached = self.growth_reached();
        let hand = InHand { keys: &keys, held: self.held.hold()? };
        let appended = self.append_with(turn, inner, Some(sealed), hand, (None, reached), &own)?;
        // Remembered before it is sure: whoever tries again needs the key.
        let keys = if appended.replayed {
            self.keys_of(Some(turn.conversation), Some(inner))?
        } else {
            self.held.keep(Some(inner), keys)
        };
        self.held.confirm_epoch(inner, &keys)?;
        self.learn_name(inner, turn.conversation);
        Ok(appended)
    }

    fn append_growing(&self, turn: &Turn<'_>) -> Result<Appended> {
        let inner = self.held.workspace().names().conversation(turn.conversation);
        let Some((grown, reached)) = self.grown(inner)? else {
            return Err(Error::not_found(format!("there is no conversation `{}`", turn.conversation)));
        };
        let held = self.held.hold()?;
        let keys = self.keys_of(Some(turn.conversation), Some(inner))?;
        let hand = InHand { keys: &keys, held };
        self.append_with(turn, inner, None, hand, (Some(grown), reached), &[])
    }

    fn append_with(
        &self,
        turn: &Turn<'_>,
        inner: ConversationId,
        opening: Option<Opening<'_>>,
        hand: InHand<'_>,
        (before, reached): (Option<Grown>, Reached),
        own: &[Put<'_>],
    ) -> Result<Appended> {
        let workspace = self.held.workspace();
        let (names, key) = (workspace.names(), hand.keys.newest());
        let floor = before.as_ref().map_or(Ok(0), |before| self.newest_sequence(inner, before.messages))?;
        let sealed: Vec<SealedEntry> = turn
            .entries
            .iter()
            .zip(floor..)
            .map(|(entry, floor)| SealedEntry::seal(entry, floor, key, names, inner))
            .collect();
        let entries: Vec<Entry<'_>> = sealed.iter().map(SealedEntry::as_entry).collect();
        let (first_preview, last_preview) = tip(turn, before.as_ref());
        let first = seal_first(first_preview, key, inner);
        let last = last_preview.seal(key, inner);
        let mut others = Vec::new();
        for owner in turn.blobs.iter().filter(|blob| blob.bytes.is_some()).map(|blob| blob.owner) {
            if owner != Some(turn.conversation) {
                let inner = owner.map(|owner| names.conversation(owner));
                let keys = match self.keys_of(owner, inner) {
                    // Whether that matters, the inner store says.
                    Err(error) if error.kind() == ErrorKind::NotFound => {
                        Arc::new(DataKeys::only(DataKey::random()))
                    }
                    keys => keys?,
                };
                others.push((inner, keys));
            }
        }
        let key_of = |owner: Option<ConversationId>| {
            let other = others.iter().find(|(other, _)| *other == owner);
            Ok(other.map_or(key, |(_, keys)| keys.newest()))
        };
        let blobs: Vec<SealedPut> =
            turn.blobs.iter().map(|blob| SealedPut::seal(blob, names, key_of)).collect::<Result<_>>()?;
        let blobs: Vec<Put<'_>> = own.iter().copied().chain(blobs.iter().map(SealedPut::as_put)).collect();
        let appended = self.inner.append(&Turn {
            conversation: inner,
            opening,
            stale: turn.stale,
            entries: &entries,
            tip: Tip { first: &first, last: &last },
            branch: turn.branch.map(|branch| names.branch(inner, branch)),
            active: names.time(turn.active),
            // The inner store keeps other times, which are in no order.
            now: Time::from_micros(i64::MAX),
            blobs: &blobs,
        });
        let appended = appended.map_err(|error| {
            let parents = turn.entries.iter().filter_map(|entry| entry.parent).map(|parent| parent.id);
            let named: Vec<MessageId> = turn.entries.iter().map(|entry| entry.id).chain(parents).collect();
            self.renamed_owners(self.renamed(error, turn.conversation, &named), turn.blobs)
        })?;
        let own = before.is_some() && !appended.replayed;
        let own = own.then_some((Some(inner), hand.keys));
        self.held
            .confirm(others.iter().map(|(owner, keys)| (*owner, keys.as_ref())).chain(own), hand.held)?;
        self.newest().insert(inner, appended.seq);
        if !appended.replayed {
            self.has_grown(inner, after(turn, before.as_ref(), first_preview, last_preview), reached);
        }
        Ok(appended)
    }

    /// The newest sequence that is known of a conversation. The first time, it is looked up.
    fn newest_sequence(&self, inner: ConversationId, messages: u64) -> Result<u32> {
        let counted = u32::try_from(messages).unwrap_or(u32::MAX);
        let remembered = self.newest().get(&inner).copied();
        if let Some(newest) = remembered {
            return Ok(newest.max(counted));
        }
        let mut newest = counted;
        let one = Selection::All { order: Order::NewestFirst, offset: 0, limit: 1 };
        self.inner.read(inner, one, &mut |seen| {
            newest = newest.max(seen.seq);
            Ok(())
        })?;
        Ok(newest)
    }
}

impl SealedEntry {
    fn seal(entry: &Entry<'_>, floor: u32, key: &DataKey, names: &Names, inner: ConversationId) -> Self {
        let id = names.message(inner, entry.id);
        let plain = Plain { id: entry.id, parent: entry.parent, digest: entry.link, floor, body: entry.body };
        let parent = entry
            .parent
            .map(|parent| Anchor { id: names.message(inner, parent.id), link: names.link(parent.link) });
        Self {
            entry: Entry { id, parent, link: names.link(entry.link), note: Note::default(), body: "" },
            label: SealedNote::seal(&entry.note, key, inner, id),
            body: plain.seal(key, names, inner),
        }
    }

    fn as_entry(&self) -> Entry<'_> {
        let note = Note { label: self.label.as_deref(), is_pinned: false };
        Entry { note, body: &self.body, ..self.entry }
    }
}

/// What a list shows after a turn: the first preview where the inner store has none, and the last.
fn tip<'t>(turn: &Turn<'t>, before: Option<&'t Grown>) -> (&'t str, SealedLast) {
    let first = match before.map(|before| &before.first) {
        Some(First::Kept) => "",
        Some(First::Lost(first)) => first.as_str(),
        Some(First::Absent) | None => turn.tip.first,
    };
    let active = before.map_or(turn.active, |before| last_activity(before.active, turn));
    let head = before.and_then(|before| before.head);
    let last = turn.entries.last();
    let preview = match before {
        Some(before) if turn.tip.last.is_empty() => before.last.clone(),
        Some(_) | None => turn.tip.last.to_owned(),
    };
    let last = SealedLast {
        active: active.as_micros(),
        head: last.map(|entry| entry.id).or(head.map(|head| head.id)),
        digest: last.map(|entry| entry.link).or(head.map(|head| head.digest)),
        preview,
    };
    (first, last)
}

/// How a turn leaves a conversation, if nobody else did anything to it meanwhile.
fn after(turn: &Turn<'_>, before: Option<&Grown>, sent: &str, last: SealedLast) -> Grown {
    Grown {
        first: match before {
            _ if !sent.is_empty() => First::Kept,
            Some(before) => before.first.clone(),
            None => First::Absent,
        },
        last: last.preview,
        active: Time::from_micros(last.active),
        head: last.head.zip(last.digest).map(|(id, digest)| Head { id, digest }),
        messages: before.map_or(0, |before| before.messages) + turn.entries.len() as u64,
    }
}
