//! Replacing what messages say, or what they are sealed with.
//!
//! A child names the digest of its parent inside. The contract wants it to be rewritten with its parent, so that both fit.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, Digest, MessageId, Time};
use crate::store::vault::VaultStore;
use crate::store::vault::held::DataKeys;
use crate::store::vault::message::Plain;
use crate::store::vault::row::{Known, SealedLast, seal_first};
use crate::store::{Anchor, Change, Order, Rewritten, Selection, Tip, Version};

/// A message to seal anew.
struct Renewed {
    id: MessageId,
    parent: Option<Anchor>,
    digest: Digest,
    floor: u32,
    body: String,
}

impl VaultStore {
    /// Rewrites messages. `at` is the inner time.
    pub(super) fn rewrite_sealed(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        messages: &[Rewritten<'_>],
        tip: Tip<'_>,
        at: Time,
    ) -> Result<Version> {
        let inner = self.held.workspace().names().conversation(id);
        // The words of what is replaced must not stay. The index is erased before, for a crash, and after, because somebody may
        // have filled it meanwhile: a rewrite of the same length does not show in what it covers.
        self.forget_words(inner)?;
        let version = self.rewrite_once(id, expected, messages, tip, at)?;
        self.forget_words(inner)?;
        Ok(version)
    }

    /// Erases the search index of a conversation, if it is there.
    pub(super) fn forget_words(&self, inner: ConversationId) -> Result<()> {
        match self.forget_segments(inner) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            forgotten => forgotten,
        }
    }

    fn rewrite_once(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        messages: &[Rewritten<'_>],
        tip: Tip<'_>,
        at: Time,
    ) -> Result<Version> {
        let workspace = self.held.workspace();
        let names = workspace.names();
        let inner = names.conversation(id);
        let Some(known) = self.row_now(inner)? else {
            return Err(Error::not_found(format!("there is no conversation `{id}`")));
        };
        let held = self.held.hold()?;
        let keys = self.keys_of(Some(id), Some(inner))?;
        let renewed = self.renewed(id, inner, messages)?;
        let sealed: Vec<(MessageId, Digest, String)> = renewed
            .iter()
            .map(|own| {
                let Renewed { id, parent, digest, floor, body } = own;
                let plain = Plain { id: *id, parent: *parent, digest: *digest, floor: *floor, body };
                let body = plain.seal(keys.newest(), names, inner);
                (names.message(inner, *id), names.link(*digest), body)
            })
            .collect();
        // A message that is not there is left to the inner store to refuse.
        let found: HashSet<MessageId> = renewed.iter().map(|own| own.id).collect();
        let missing = messages.iter().filter(|own| !found.contains(&own.id));
        let missing = missing.map(|own| Rewritten { id: names.message(inner, own.id), ..*own });
        let sealed = sealed.iter().map(|(id, link, body)| Rewritten { id: *id, link: *link, body });
        let all: Vec<Rewritten<'_>> =
            missing.map(|own| Rewritten { body: "", ..own }).chain(sealed).collect();
        let (first, last) = self.sealed_tip(&known, &keys, messages, tip);
        let change = Change::Rewrite { messages: &all, tip: Tip { first: &first, last: &last } };
        let ids: Vec<MessageId> = messages.iter().map(|own| own.id).collect();
        let amended = self.inner.amend(inner, expected, &change, at);
        let version = amended.map_err(|error| self.renamed(error, id, &ids))?;
        self.held.confirm([(Some(inner), keys.as_ref())], held)?;
        Ok(version)
    }

    fn sealed_tip(
        &self,
        known: &Known,
        keys: &Arc<DataKeys>,
        messages: &[Rewritten<'_>],
        tip: Tip<'_>,
    ) -> (String, String) {
        let head = known.row.head;
        let rewritten = head.and_then(|head| messages.iter().find(|own| own.id == head.id));
        let last = SealedLast {
            active: known.row.active.as_micros(),
            head: head.map(|head| head.id),
            digest: rewritten.map(|own| own.link).or(head.map(|head| head.digest)),
            preview: tip.last.to_owned(),
        };
        let (key, inner) = (keys.newest(), known.raw.id);
        (seal_first(tip.first, key, inner), last.seal(key, inner))
    }

    /// The messages that are rewritten and there, as they are to be sealed.
    fn renewed(
        &self,
        id: ConversationId,
        inner: ConversationId,
        messages: &[Rewritten<'_>],
    ) -> Result<Vec<Renewed>> {
        let workspace = self.held.workspace();
        let links: HashMap<MessageId, &Rewritten<'_>> = messages.iter().map(|own| (own.id, own)).collect();
        let named: BTreeSet<MessageId> =
            messages.iter().map(|own| workspace.names().message(inner, own.id)).collect();
        let mut ring = self.held.ring(Some(inner));
        let (mut renewed, mut buffer) = (Vec::new(), Vec::new());
        let all = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        self.inner.read(inner, all, &mut |seen| {
            if !named.contains(&seen.id) {
                return Ok(());
            }
            let plain = Plain::open(&mut ring, workspace.names(), inner, &seen, &mut buffer);
            let what = || format!("the message `{}` of conversation `{id}`, number {},", seen.id, seen.seq);
            let plain = plain.map_err(|trouble| trouble.of(&what()))?;
            let parent = plain.parent.map(|parent| Anchor {
                id: parent.id,
                link: links.get(&parent.id).map_or(parent.link, |rewritten| rewritten.link),
            });
            if let Some(own) = links.get(&plain.id) {
                let (digest, body) = (own.link, own.body.to_owned());
                renewed.push(Renewed { id: plain.id, parent, digest, floor: plain.floor, body });
            }
            Ok(())
        })?;
        Ok(renewed)
    }
}
