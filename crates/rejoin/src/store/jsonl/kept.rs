//! One conversation as its file tells it: everything but the bodies, which stay in the file.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::{Error, Result};
use crate::model::{Branch, ConversationId, Digest, Head, MessageId, Time};
use crate::store::jsonl::line::{Blob, Line};
use crate::store::jsonl::meta::{FORMAT, Meta, Start, header_of};
use crate::store::{Anchor, Appended, Entry, Facets, Row, Space, Stale, Stamp, Turn, Version};

/// A conversation.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) id: ConversationId,
    pub(super) version: Version,
    pub(super) facets: Facets,
    pub(super) header: String,
    pub(super) created: Time,
    pub(super) active: Time,
    pub(super) head: Option<u32>,
    pub(super) next: u32,
    pub(super) first: String,
    pub(super) last: String,
    pub(super) branches: Vec<Branch>,
    /// In order of sequence, which is the order of the file.
    pub(super) messages: Vec<Held>,
    ids: HashMap<MessageId, u32>,
    roots: u32,
    pub(super) bytes: u64,
    /// The newest change that stands in the file.
    pub(super) stamp: Stamp,
    /// What turns did to blobs, the newest of each name.
    pub(super) blobs: BTreeMap<BlobKey, (Stamp, Option<Vec<u8>>)>,
    /// False until a line said how it began.
    pub(super) has_start: bool,
    /// True when messages were removed, so that numbers may be missing.
    pub(super) has_gaps: bool,
    /// Messages before this sequence stood in the file when it was written anew; the first line says when it was active.
    settled: u32,
    /// How many messages the file had when it was written anew, and its newest change then.
    promised: Option<(u64, Stamp)>,
    /// Lines that a new file would not have.
    pub(super) spent: Spent,
}

/// Lines that say what the first line of a new file would say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) lines: u32,
    bytes: u64,
}

impl Spent {
    pub(super) const fn add(&mut self, bytes: u64) {
        self.lines += 1;
        self.bytes += bytes;
    }

    /// True when they are worth a new file: so many of them, and a quarter of the file, so that a long conversation is not
    /// copied for a few changes of its title.
    pub(super) const fn are_many(&self, least: u32, length: u64) -> bool {
        least > 0 && self.lines >= least && self.bytes >= length / 4
    }
}

/// Whose blob, in which space, by which name.
pub(super) type BlobKey = (Space, Option<ConversationId>, Vec<u8>);

/// A message, and where it stands in its file.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) id: MessageId,
    pub(super) seq: u32,
    /// What comes before it on its path.
    pub(super) parent: Option<u32>,
    /// What its line says, which is another one when the line of its parent is damaged.
    pub(super) named: Option<MessageId>,
    pub(super) turn: u32,
    pub(super) timestamp: Time,
    pub(super) forked: bool,
    pub(super) link: Digest,
    pub(super) label: Option<Box<str>>,
    pub(super) is_pinned: bool,
    children: u32,
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) body: u32,
}

/// Where a message stands in its file, without what stands around it in its line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spot {
    pub(super) offset: u64,
    pub(super) length: u32,
    /// How long its body is.
    pub(super) body: u32,
}

impl Kept {
    pub(super) fn new(id: ConversationId) -> Self {
        Self {
            id,
            version: 1,
            facets: Facets::default(),
            header: "{}".to_owned(),
            created: Time::default(),
            active: Time::default(),
            head: None,
            next: 1,
            first: String::new(),
            last: String::new(),
            branches: Vec::new(),
            messages: Vec::new(),
            ids: HashMap::new(),
            roots: 0,
            bytes: 0,
            stamp: 0,
            blobs: BTreeMap::new(),
            has_start: false,
            has_gaps: false,
            settled: 0,
            promised: None,
            spent: Spent::default(),
        }
    }

    /// Takes in a line that is no message.
    pub(super) fn take_meta(&mut self, line: &Line, meta: Meta) -> Result<()> {
        match meta {
            Meta::SessionStart(start) => self.begin(line, *start)?,
            Meta::Header { version, facets, header } => {
                self.version = version;
                self.facets = facets.into_facets();
                self.header = header_of(&header);
            }
            Meta::Head { version, head } => {
                self.version = version;
                self.head = head.and_then(|head| self.seq_of(head));
            }
            Meta::Note { version, id, label, pinned } => {
                self.version = version;
                if let Some(held) = self.seq_of(id).and_then(|seq| self.held_mut(seq)) {
                    held.label = label.map(Into::into);
                    held.is_pinned = pinned;
                }
            }
            Meta::Branch { version, branch } => {
                self.version = version;
                match self.branches.iter_mut().find(|old| old.id == branch.id) {
                    Some(old) => *old = branch,
                    None => self.branches.push(branch),
                }
            }
            Meta::Unbranch { version, id } => {
                self.version = version;
                self.branches.retain(|old| old.id != id);
            }
            Meta::Rewritten { version } => self.version = version,
            Meta::Repaired { .. } | Meta::Trimmed { .. } | Meta::Unknown => {}
        }
        self.take_ends(line);
        Ok(())
    }

    fn begin(&mut self, line: &Line, start: Start) -> Result<()> {
        if start.format > FORMAT {
            return Err(Error::new(
                crate::error::ErrorKind::Unsupported,
                format!(
                    "conversation `{}` is in format {}, this version knows {FORMAT}",
                    self.id, start.format
                ),
            ));
        }
        self.has_start = true;
        self.facets = start.facets.into_facets();
        self.header = header_of(&start.header);
        self.created = start.created;
        self.active = line.timestamp;
        if let Some(standing) = start.standing {
            self.has_gaps = true;
            self.version = standing.version;
            self.active = standing.active;
            self.next = standing.next;
            self.settled = standing.next;
            self.promised = standing.messages.zip(standing.change);
            self.first = standing.first;
            self.last = standing.last;
            self.branches = standing.branches;
        }
        Ok(())
    }

    /// Takes in a message. One that follows nothing that is there follows what stands before it.
    pub(super) fn take_message(&mut self, line: &Line, spot: Spot) -> Option<()> {
        let (id, seq, link) = (line.id?, Some(line.message_index).filter(|seq| *seq > 0)?, line.digest?);
        let previous = self.messages.last().map(|held| held.seq);
        let turn = line.turn.unwrap_or(seq);
        // A wrong number must not make all that follow look out of order.
        let fits = turn <= seq && (self.has_gaps || seq - turn < line.of);
        if !fits || previous.is_some_and(|previous| seq <= previous) || self.ids.contains_key(&id) {
            return None;
        }
        let parent = line.parent.and_then(|parent| self.seq_of(parent).or(previous));
        match parent.and_then(|parent| self.held_mut(parent)) {
            Some(parent) => parent.children += 1,
            None => self.roots += 1,
        }
        self.messages.push(Held {
            id,
            seq,
            parent,
            named: line.parent,
            turn,
            timestamp: line.timestamp,
            forked: line.forked,
            link,
            label: line.label.as_deref().map(Into::into),
            is_pinned: line.pinned,
            children: 0,
            offset: spot.offset,
            length: spot.length,
            body: spot.body,
        });
        self.ids.insert(id, seq);
        self.bytes += u64::from(spot.body);
        self.next = self.next.max(seq + 1);
        self.head = Some(seq);
        if line.resets_activity {
            self.active = line.timestamp;
        } else if seq >= self.settled {
            self.active = self.active.max(line.timestamp);
        }
        self.take_ends(line);
        Some(())
    }

    /// Takes in what the last line of a turn says about the whole of it.
    fn take_ends(&mut self, line: &Line) {
        if let Some(stamp) = line.change {
            self.stamp = self.stamp.max(stamp);
        }
        if let Some(first) = line.first.as_ref().filter(|_| self.first.is_empty()) {
            self.first.clone_from(first);
        }
        if let Some(last) = &line.last {
            self.last.clone_from(last);
        }
        if let (Some(branch), Some(head)) = (line.branch, line.id)
            && let Some(branch) = self.branches.iter_mut().find(|own| own.id == branch)
        {
            branch.head = head;
        }
        for blob in &line.blobs {
            self.take_blob(line.change.unwrap_or_default(), blob);
        }
    }

    fn take_blob(&mut self, stamp: Stamp, blob: &Blob) {
        let Some(space) = blob.space() else { return };
        let key = (space, blob.owner, blob.name.clone().into_bytes());
        self.blobs.insert(key, (stamp, blob.bytes.clone().map(super::octets::Octets::into_bytes)));
    }

    /// How many messages are missing of those that were written anew, once a line with a change was met.
    pub(super) fn missing_when_settled(&self) -> u64 {
        let promised = self.promised.filter(|_| self.stamp == 0).map_or(0, |(messages, _)| messages);
        promised.saturating_sub(self.messages.len() as u64)
    }

    /// True when the last line is missing of those that were written anew. They were whole when the file got its name.
    pub(super) fn lacks_end(&self) -> bool {
        self.promised.is_some_and(|(_, stamp)| self.stamp < stamp)
    }

    pub(super) fn seq_of(&self, id: MessageId) -> Option<u32> {
        self.ids.get(&id).copied()
    }

    /// Sequences have gaps only where messages were removed, so the place is found at once in most files.
    fn place_of(&self, seq: u32) -> Option<usize> {
        let guess = (seq as usize).checked_sub(1)?;
        match self.messages.get(guess) {
            Some(held) if held.seq == seq => Some(guess),
            _ => self.messages.binary_search_by_key(&seq, |held| held.seq).ok(),
        }
    }

    pub(super) fn held(&self, seq: u32) -> Option<&Held> {
        self.place_of(seq).map(|place| &self.messages[place])
    }

    fn held_mut(&mut self, seq: u32) -> Option<&mut Held> {
        self.place_of(seq).map(|place| &mut self.messages[place])
    }

    /// The sequences from the root to a message.
    pub(super) fn path_to(&self, target: u32) -> Vec<u32> {
        let mut path: Vec<u32> =
            std::iter::successors(Some(target), |seq| self.held(*seq).and_then(|held| held.parent)).collect();
        path.reverse();
        path
    }

    pub(super) fn row(&self) -> Row {
        Row {
            id: self.id,
            version: self.version,
            facets: self.facets.clone(),
            header: self.header.clone(),
            head: self
                .head
                .and_then(|seq| self.held(seq))
                .map(|held| Head { id: held.id, digest: held.link }),
            branches: self.branches.clone(),
            created: self.created,
            active: self.active,
            messages: self.messages.len() as u64,
            bytes: self.bytes,
            first: self.first.clone(),
            last: self.last.clone(),
        }
    }

    /// The answer to an append that already happened, if these entries are exactly that append.
    pub(super) fn replay(&self, entries: &[Entry<'_>]) -> Option<Appended> {
        let mut forked = false;
        let mut last = None;
        for entry in entries {
            let held = self.held(self.seq_of(entry.id)?)?;
            if held.link != entry.link {
                return None;
            }
            forked |= held.forked;
            last = Some(held.seq);
        }
        Some(Appended { seq: last?, forked, replayed: true })
    }

    /// Whether each entry begins a branch, or why the turn cannot be appended.
    pub(super) fn forks(&self, turn: &Turn<'_>) -> Result<Vec<bool>> {
        let mut forks = Vec::with_capacity(turn.entries.len());
        let mut earlier: HashMap<MessageId, (u32, Digest)> = HashMap::new();
        // Within the turn, a parent has a child from its first one on.
        let mut parents: HashSet<Option<MessageId>> = HashSet::new();
        for (place, (entry, seq)) in turn.entries.iter().zip(self.next..).enumerate() {
            let parent = entry.parent.map(|anchor| self.check_parent(anchor, &earlier)).transpose()?;
            if place == 0 && turn.stale == Stale::Refuse && parent != self.head {
                return Err(Error::conflict("the conversation has moved on since its head was read"));
            }
            let named = entry.parent.map(|anchor| anchor.id);
            let has_child = match parent {
                Some(parent) => self.held(parent).is_some_and(|held| held.children > 0),
                None => self.roots > 0,
            };
            forks.push(has_child || !parents.insert(named));
            earlier.insert(entry.id, (seq, entry.link));
        }
        match turn.entries.iter().find(|entry| self.seq_of(entry.id).is_some()) {
            Some(taken) => Err(Error::conflict(format!("message id `{}` is taken", taken.id))),
            None => Ok(forks),
        }
    }

    /// The sequence that a parent has, or will have.
    fn check_parent(&self, anchor: Anchor, earlier: &HashMap<MessageId, (u32, Digest)>) -> Result<u32> {
        let (seq, link) = match earlier.get(&anchor.id) {
            Some(within) => *within,
            None => {
                let held = self.seq_of(anchor.id).and_then(|seq| self.held(seq));
                let held = held.ok_or_else(|| no_message(anchor.id))?;
                (held.seq, held.link)
            }
        };
        if link != anchor.link {
            return Err(Error::conflict(format!("message `{}` was rewritten meanwhile", anchor.id)));
        }
        Ok(seq)
    }
}

pub(super) fn no_message(id: MessageId) -> Error {
    Error::not_found(format!("there is no message `{id}` in this conversation"))
}
