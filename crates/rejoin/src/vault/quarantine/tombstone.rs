//! Tombstones: what replaces a lost message that has replies.
//!
//! The tree keeps its shape and replies stay readable. A tombstone keeps the lost message's id but has its
//! own digest, so every later digest changes too, in one commit, as in a scrub.

use std::collections::{BTreeSet, HashMap};

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Digest, Json, Message, MessageId, Time};
use crate::store::backend::{Amendment, Rows};
use crate::store::body::time_of;
use crate::store::index::IndexedMessage;
use crate::store::keeper::rewrite;
use crate::store::sealed::Sealed;
use crate::store::sealed::keys::key_cache::OpenError;
use crate::store::sealed::records::message::PlainMessage;
use crate::store::sealed::records::row::{DecryptedRow, seal_first};
use crate::store::{Anchor, Order, Selection, What};

/// How often a conversation that somebody else changes meanwhile is looked at
/// again. The next sweep tries again.
const ATTEMPTS: usize = 10;

const ALL: Selection<'static> = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };

/// What a person, or a model, reads in the place of what was lost. Nobody knows who said it.
const WORDS: &str = "[A message stood here. It was damaged, did not open any more, and was purged.]";

/// The field that marks a tombstone.
const LOST: &str = "lost";

/// A message of the inner store.
struct InnerMessage {
    parent: Option<MessageId>,
    seq: u32,
    /// Its id and its digest; none when it does not open.
    opened: Option<Anchor>,
}

/// The tombstones that can be written to a conversation.
#[derive(Default)]
struct TombstonePlan {
    nodes: HashMap<MessageId, InnerMessage>,
    /// What messages that do not open are called outside.
    ids: HashMap<MessageId, MessageId>,
    /// When those were said, or the message before them.
    times: HashMap<MessageId, Time>,
    /// The messages to replace, by inner name.
    tombstones: BTreeSet<MessageId>,
}

impl TombstonePlan {
    /// Keeps the tombstones that can be written. One names its parent, and everything after it is encrypted
    /// again, so all of that has to decrypt or to become a tombstone too.
    fn choose(&mut self, lost: &BTreeSet<MessageId>) {
        let broken: Vec<MessageId> =
            self.nodes.iter().filter(|(_, node)| node.opened.is_none()).map(|(name, _)| *name).collect();
        let is_known = |name: &&MessageId| lost.contains(name) && self.ids.contains_key(name);
        let mut tombstones: BTreeSet<MessageId> = broken.iter().filter(is_known).copied().collect();
        loop {
            let before = tombstones.len();
            let staying: BTreeSet<MessageId> =
                broken.iter().filter(|name| !tombstones.contains(name)).copied().collect();
            tombstones.retain(|name| self.nodes[name].parent.is_none_or(|parent| !staying.contains(&parent)));
            let above = |name: &MessageId| self.nodes.get(name).and_then(|node| node.parent);
            let mut passed = BTreeSet::new();
            for name in staying {
                // Above one that was passed, all were.
                let ancestors = std::iter::successors(above(&name), above);
                for ancestor in ancestors.take_while(|ancestor| passed.insert(*ancestor)) {
                    tombstones.remove(&ancestor);
                }
            }
            if tombstones.len() == before {
                break;
            }
        }
        self.tombstones = tombstones;
    }

    /// What a message is called outside, and the digest it has or gets.
    fn anchor(&self, name: MessageId, links: &HashMap<MessageId, Digest>) -> Option<Anchor> {
        let link = links.get(&name).copied();
        let opened = self.nodes.get(&name).and_then(|node| node.opened);
        let id = opened.map(|anchor| anchor.id).or_else(|| self.ids.get(&name).copied())?;
        Some(Anchor { id, link: link.or(opened.map(|anchor| anchor.link))? })
    }
}

impl Sealed {
    /// The messages that the search index knows.
    pub(crate) fn indexed(&self, inner: ConversationId) -> Result<Vec<IndexedMessage>> {
        let chain = self.chain_of(inner, &mut self.key_cache.owner_keys(Some(inner)))?;
        Ok(chain.segments.into_iter().flat_map(|ids| ids.held).collect())
    }

    /// Replaces lost messages, given by inner name, by tombstones, and returns those that it replaced.
    pub(crate) fn write_tombstones(
        &self,
        inner: ConversationId,
        lost: &BTreeSet<MessageId>,
        indexed: &[IndexedMessage],
    ) -> Result<BTreeSet<MessageId>> {
        for _ in 0..ATTEMPTS {
            if lost.is_empty() {
                break;
            }
            let Some(known) = self.row_now(inner)? else { return Ok(lost.clone()) };
            let plan = self.plan_tombstones(&known, lost, indexed)?;
            if plan.tombstones.is_empty() {
                break;
            }
            match self.carry_out(&known, &plan) {
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                other => {
                    other?;
                    self.forget_words(inner)?;
                    return Ok(plan.tombstones);
                }
            }
        }
        Ok(BTreeSet::new())
    }

    fn plan_tombstones(
        &self,
        known: &DecryptedRow,
        lost: &BTreeSet<MessageId>,
        indexed: &[IndexedMessage],
    ) -> Result<TombstonePlan> {
        let (workspace, inner) = (self.key_cache.workspace(), known.raw.id);
        let names = workspace.names();
        let (mut owner_keys, mut buffer) = (self.key_cache.owner_keys(Some(inner)), Vec::new());
        let (mut plan, mut time) = (TombstonePlan::default(), known.row.created);
        self.visit_sealed(inner, ALL, &mut |seen| {
            let opened = match PlainMessage::open(&mut owner_keys, names, inner, seen, &mut buffer) {
                Ok(plain) => {
                    plan.ids.extend(seen.parent.zip(plain.parent.map(|parent| parent.id)));
                    time = time_of(plain.body);
                    Some(Anchor { id: plain.id, link: plain.digest })
                }
                Err(OpenError::Broken(_)) => None,
                Err(OpenError::Failed(error)) => return Err(error),
            };
            plan.times.insert(seen.id, time);
            plan.nodes.insert(seen.id, InnerMessage { parent: seen.parent, seq: seen.seq, opened });
            Ok(())
        })?;
        // What nobody follows that opens may be named by the search index, or be a head.
        for held in indexed {
            let name = names.message(inner, held.id);
            if plan.nodes.get(&name).is_some_and(|node| node.seq == held.seq) {
                plan.ids.insert(name, held.id);
                plan.times.insert(name, held.time);
            }
        }
        let heads = known.row.head.iter().map(|head| head.id);
        for id in heads.chain(known.row.branches.iter().map(|branch| branch.head)) {
            plan.ids.insert(names.message(inner, id), id);
        }
        plan.choose(lost);
        Ok(plan)
    }

    fn carry_out(&self, known: &DecryptedRow, plan: &TombstonePlan) -> Result<()> {
        let (workspace, inner) = (self.key_cache.workspace(), known.raw.id);
        let names = workspace.names();
        let keys = self.keys_of(Some(known.row.id), Some(inner))?;
        let (mut owner_keys, mut buffer) = (self.key_cache.owner_keys(Some(inner)), Vec::new());
        let mut links: HashMap<MessageId, Digest> = HashMap::new();
        let mut sealed: Vec<(MessageId, Digest, Vec<u8>)> = Vec::new();
        self.visit_sealed(inner, ALL, &mut |seen| {
            let parent = seen.parent.and_then(|parent| plan.anchor(parent, &links));
            let body;
            let plain = if plan.tombstones.contains(&seen.id) {
                body = tombstone(plan.times.get(&seen.id).copied().unwrap_or_default()).to_body();
                let digest = Digest::chain(parent.map(|parent| parent.link), body.as_bytes());
                PlainMessage {
                    id: plan.ids[&seen.id],
                    parent,
                    digest,
                    seq: seen.seq,
                    turn: seen.turn,
                    forked: seen.forked,
                    body: &body,
                }
            } else if seen.parent.is_some_and(|parent| links.contains_key(&parent)) {
                let plain = PlainMessage::open(&mut owner_keys, names, inner, seen, &mut buffer);
                let plain = plain.map_err(|failure| failure.of(&format!("the message `{}`", seen.id)))?;
                PlainMessage { parent, digest: rechained(&plain, parent), ..plain }
            } else {
                return Ok(());
            };
            links.insert(seen.id, plain.digest);
            let body = self.key_cache.encoding().write(plain.seal(keys.newest(), names, inner));
            sealed.push((seen.id, names.link(plain.digest), body));
            Ok(())
        })?;
        let first = self.key_cache.encoding().write(seal_first(&known.row.first, keys.newest(), inner));
        let write = &mut |rows: &dyn Rows| {
            let new = sealed.iter().map(|(id, link, body)| (*id, *link, body.as_slice()));
            // The trailer is encrypted in the commit.
            Ok(Amendment::Rewrite(rewrite(rows, inner, new)?, &first, &[]))
        };
        self.amend_raw(keys.newest(), (inner, known.raw.version), What::Rewritten, write).map(drop)
    }
}

/// The digest of a message whose parent has another. What did not fit its digest
/// before must not look sound because of it.
fn rechained(plain: &PlainMessage<'_>, parent: Option<Anchor>) -> Digest {
    let before = Digest::chain(plain.parent.map(|parent| parent.link), plain.body.as_bytes());
    if before == plain.digest {
        Digest::chain(parent.map(|parent| parent.link), plain.body.as_bytes())
    } else {
        Digest::chain(Some(plain.digest), b"damaged")
    }
}

/// The message that replaces a lost one.
fn tombstone(time: Time) -> Message {
    let mut message = Message::user(WORDS).at(time);
    message.extra.set(LOST, Json::of(&"corruption-detected").expect("a word is JSON"));
    message
}
