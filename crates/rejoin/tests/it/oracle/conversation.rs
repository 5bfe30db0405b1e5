//! One conversation in memory: its messages by sequence, and the rules of growing and shrinking.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::oracle::rules::{last_activity, left_behind, previews, version_after};
use rejoin::store::{
    Anchor, Appended, Children, Entry, Facets, Outcome, PreviewUpdate, Rewritten, Row, Stale, Turn,
};
use rejoin::{Branch, ConversationId, Digest, Error, ErrorKind, Head, MessageId, Result, Time};

#[derive(Clone)]
pub(super) struct Kept {
    pub(super) version: u64,
    pub(super) facets: Facets,
    pub(super) header: String,
    pub(super) created: Time,
    pub(super) active: Time,
    pub(super) head: Option<u32>,
    pub(super) next: u32,
    pub(super) first: String,
    pub(super) last: String,
    pub(super) branches: Vec<Branch>,
    /// By sequence.
    pub(super) messages: BTreeMap<u32, Held>,
}

#[derive(Clone)]
pub(super) struct Held {
    pub(super) id: MessageId,
    pub(super) parent: Option<u32>,
    pub(super) turn: u32,
    pub(super) forked: bool,
    pub(super) link: Digest,
    pub(super) label: Option<String>,
    pub(super) is_pinned: bool,
    pub(super) body: Arc<str>,
}

impl Kept {
    pub(super) fn seq_of(&self, id: MessageId) -> Option<u32> {
        self.messages.iter().find(|(_, held)| held.id == id).map(|(seq, _)| *seq)
    }

    pub(super) fn id_of(&self, seq: u32) -> MessageId {
        self.messages[&seq].id
    }

    pub(super) fn has_child(&self, parent: Option<u32>) -> bool {
        self.messages.values().any(|held| held.parent == parent)
    }

    pub(super) fn path_to(&self, target: u32) -> Vec<u32> {
        let mut path: Vec<u32> =
            std::iter::successors(Some(target), |seq| self.messages[seq].parent).collect();
        path.reverse();
        path
    }

    pub(super) fn row(&self, id: ConversationId) -> Row {
        Row {
            id,
            version: self.version,
            facets: self.facets.clone(),
            header: self.header.clone(),
            head: self.head.map(|seq| Head { id: self.id_of(seq), digest: self.messages[&seq].link }),
            branches: self.branches.clone(),
            created: self.created,
            active: self.active,
            messages: self.messages.len() as u64,
            bytes: self.messages.values().map(|held| held.body.len() as u64).sum(),
            first: self.first.clone(),
            last: self.last.clone(),
        }
    }

    /// The answer to an append that already happened, if these entries are exactly that append.
    pub(super) fn replay(&self, entries: &[Entry<'_>]) -> Option<Appended> {
        let seqs: Vec<u32> = entries.iter().filter_map(|entry| self.seq_of(entry.id)).collect();
        let same = seqs.len() == entries.len()
            && seqs.iter().zip(entries).all(|(seq, entry)| self.messages[seq].link == entry.link);
        let seq = *seqs.last().filter(|_| same)?;
        Some(Appended { seq, forked: seqs.iter().any(|seq| self.messages[seq].forked), replayed: true })
    }

    /// Adds the entries to this copy; the caller keeps the copy only when all went well.
    pub(super) fn grow(&mut self, turn: &Turn<'_>) -> Result<bool> {
        let parents = self.parents(turn)?;
        let (start, mut forked) = (self.next, false);
        for (entry, parent) in turn.entries.iter().zip(parents) {
            if self.seq_of(entry.id).is_some() {
                return Err(Error::new(ErrorKind::Conflict, format!("message id `{}` is taken", entry.id)));
            }
            let forks = self.has_child(parent);
            forked |= forks;
            let held = Held {
                id: entry.id,
                parent,
                turn: start,
                forked: forks,
                link: entry.link,
                label: entry.note.label.map(str::to_owned),
                is_pinned: entry.note.is_pinned,
                body: entry.body.into(),
            };
            self.messages.insert(self.next, held);
            self.head = Some(self.next);
            self.next += 1;
        }
        let branch = self.branches.iter_mut().find(|branch| Some(branch.id) == turn.branch);
        if let (Some(branch), Some(last)) = (branch, turn.entries.last()) {
            branch.head = last.id;
        }
        if self.first.is_empty() {
            self.first = turn.previews.first.to_owned();
        }
        if !turn.previews.last.is_empty() {
            self.last = turn.previews.last.to_owned();
        }
        self.active = last_activity(self.active, turn);
        Ok(forked)
    }

    /// The sequence of each entry's parent; those of the turn itself get theirs in order.
    pub(super) fn parents(&self, turn: &Turn<'_>) -> Result<Vec<Option<u32>>> {
        let mut parents = Vec::with_capacity(turn.entries.len());
        for (place, entry) in turn.entries.iter().enumerate() {
            let parent =
                entry.parent.map(|anchor| self.parent(anchor, &turn.entries[..place])).transpose()?;
            if place == 0 && turn.stale == Stale::Refuse && parent != self.head {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    "the conversation has moved on since its head was read",
                ));
            }
            parents.push(parent);
        }
        Ok(parents)
    }

    pub(super) fn parent(&self, anchor: Anchor, earlier: &[Entry<'_>]) -> Result<u32> {
        let within = earlier.iter().zip(self.next..).find(|(entry, _)| entry.id == anchor.id);
        let (seq, link) = match within {
            Some((entry, seq)) => (seq, entry.link),
            None => {
                let seq = self.seq_of(anchor.id).ok_or_else(|| no_message(anchor.id))?;
                (seq, self.messages[&seq].link)
            }
        };
        if link != anchor.link {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("message `{}` was rewritten meanwhile", anchor.id),
            ));
        }
        Ok(seq)
    }

    /// Replaces what messages of this copy say.
    pub(super) fn rewrite(&mut self, messages: &[Rewritten<'_>], previews: &PreviewUpdate<'_>) -> Result<()> {
        let mut relinked = BTreeSet::new();
        for rewritten in messages {
            let seq = self.seq_of(rewritten.id).ok_or_else(|| no_message(rewritten.id))?;
            let held = self.messages.get_mut(&seq).expect("the sequence was just found");
            if held.link != rewritten.link {
                relinked.insert(seq);
            }
            held.link = rewritten.link;
            held.body = rewritten.body.into();
        }
        let stays = |(seq, held): &(&u32, &Held)| {
            held.parent.is_some_and(|parent| relinked.contains(&parent)) && !relinked.contains(seq)
        };
        if let Some((_, child)) = self.messages.iter().find(stays) {
            return Err(left_behind(child.id));
        }
        self.first = previews.first.to_owned();
        self.last = previews.last.to_owned();
        Ok(())
    }

    /// Removes messages from this copy.
    pub(super) fn shrink(&mut self, ids: &[MessageId], children: Children) -> Outcome {
        let mut going: BTreeSet<u32> = ids.iter().filter_map(|id| self.seq_of(*id)).collect();
        // A child's sequence is above its parent's, so one pass in order reaches the whole subtree.
        for (seq, held) in &self.messages {
            if held.parent.is_some_and(|parent| going.contains(&parent)) && !going.contains(seq) {
                match children {
                    Children::Remove => going.insert(*seq),
                    Children::Refuse => {
                        return Outcome::HasChildren(self.id_of(held.parent.expect("it was just looked at")));
                    }
                };
            }
        }
        let remaining = |mut seq: Option<u32>| {
            while let Some(now) = seq.filter(|now| going.contains(now)) {
                seq = self.messages[&now].parent;
            }
            seq
        };
        let head = remaining(self.head);
        let branches = self
            .branches
            .iter()
            .filter_map(|branch| {
                let seq = remaining(self.seq_of(branch.head))?;
                Some(Branch { head: self.id_of(seq), ..branch.clone() })
            })
            .collect();
        (self.head, self.branches) = (head, branches);
        let mut bytes = 0;
        for seq in &going {
            bytes += self.messages.remove(seq).map_or(0, |held| held.body.len() as u64);
        }
        if !going.is_empty() {
            self.version = version_after(self.version, going.len());
            self.first = self.messages.values().find_map(|held| previews(&held.body).0).unwrap_or_default();
            self.last =
                self.messages.values().rev().find_map(|held| previews(&held.body).1).unwrap_or_default();
        }
        Outcome::Removed { messages: going.len() as u64, bytes }
    }
}

pub(super) fn no_message(id: MessageId) -> Error {
    Error::new(ErrorKind::NotFound, format!("no message `{id}` in this conversation"))
}
