//! One conversation as its file tells it: everything but the bodies, which stay in the file.

use std::collections::BTreeMap;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ConversationId, MessageId, Time};
use crate::store::backend::{Amendment, ConversationRow, NewConversation, NewMessage};
use crate::store::jsonl::line::meta::{ConversationStart, FORMAT, Meta, header_of};
use crate::store::jsonl::line::{Blob, Line};
use crate::store::tree::{self, ConversationTree};
use crate::store::{Anchor, BlobKey, Facets, Stamp};

/// A conversation.
#[derive(Clone, Debug)]
pub(super) struct LoadedConversation {
    pub(super) id: ConversationId,
    pub(super) tree: ConversationTree<Spot>,
    /// The newest change that stands in the file.
    pub(super) stamp: Stamp,
    /// What turns did to blobs, the newest of each name.
    pub(super) blobs: BTreeMap<BlobKey, (Stamp, Option<Vec<u8>>)>,
    /// False until a line said how it began.
    pub(super) has_start: bool,
    /// True when messages were removed, so that numbers may be missing.
    pub(super) has_gaps: bool,
    /// Messages before this sequence stood in the file when it was written anew;
    /// the first line says when it was active.
    settled: u32,
    /// How many messages the file had when it was written anew, and its newest change then.
    promised: Option<(u64, Stamp)>,
    /// Lines that a new file would not have.
    pub(super) spent: Spent,
}

/// A message, and where it stands in its file.
pub(super) type LocatedMessage = tree::TreeMessage<Spot>;

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

    /// True when they are worth a new file: so many of them, and a quarter of the file, so that a long
    /// conversation is not copied for a few changes of its title.
    pub(super) const fn are_many(&self, least: u32, length: u64) -> bool {
        least > 0 && self.lines >= least && self.bytes >= length / 4
    }
}

/// Where the message of a line stands in its file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MessageSpan {
    pub(super) offset: u64,
    pub(super) length: u32,
    /// How long its body is.
    pub(super) body: u32,
}

/// Where a message stands in its file, and what only its line says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    /// Where its body begins, without what stands around it in its line.
    pub(super) offset: u64,
    /// How long that is, as it stands there.
    pub(super) length: u32,
    /// The parent that its line names, which is not the one before it on its path
    /// when the line of that one is damaged.
    pub(super) named: Option<MessageId>,
    pub(super) timestamp: Time,
}

impl LoadedConversation {
    pub(super) fn new(id: ConversationId) -> Self {
        let (facets, long_ago) = (Facets::default(), Time::default());
        let opening = NewConversation { facets: &facets, header: b"{}", created: long_ago };
        Self {
            id,
            tree: ConversationTree::new(&opening, long_ago),
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
                let header = header_of(&header);
                self.tree.amend(version, &Amendment::Header(&facets.into_facets(), header.as_bytes()));
            }
            Meta::Head { version, head } => {
                let head = head.and_then(|head| Some((head, self.tree.seq_of(head)?)));
                self.tree.amend(version, &Amendment::Head(head));
            }
            Meta::Note { version, id, label, pinned } => {
                let label = label.as_deref().map(str::as_bytes);
                self.tree.amend(version, &Amendment::Note(id, self.seq_or_none(id), label, pinned));
            }
            Meta::Branch { version, branch } => {
                self.tree.amend(version, &Amendment::Branch(&branch, self.seq_or_none(branch.head)));
            }
            Meta::Unbranch { version, id } => self.tree.amend(version, &Amendment::Unbranch(id)),
            Meta::Rewritten { version } => self.tree.version = version,
            Meta::Repaired { .. } | Meta::Trimmed { .. } | Meta::Unknown => {}
        }
        self.take_ends(line, self.tree.active);
        Ok(())
    }

    /// The sequence of a message; 0, which none has, when its line is damaged.
    fn seq_or_none(&self, id: MessageId) -> u32 {
        self.tree.seq_of(id).unwrap_or(0)
    }

    fn begin(&mut self, line: &Line, start: ConversationStart) -> Result<()> {
        if start.format > FORMAT {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "conversation `{}` is in format {}, this version knows {FORMAT}",
                    self.id, start.format
                ),
            ));
        }
        self.has_start = true;
        let tree = &mut self.tree;
        tree.facets = start.facets.into_facets();
        tree.header = header_of(&start.header).into_bytes();
        tree.created = start.created;
        tree.active = line.timestamp;
        if let Some(standing) = start.standing {
            self.has_gaps = true;
            self.settled = standing.next;
            self.promised = standing.messages.zip(standing.change);
            tree.version = standing.version;
            tree.active = standing.active;
            tree.next = standing.next;
            tree.first = standing.first.into_bytes();
            tree.last = standing.last.into_bytes();
            tree.branches = standing.branches;
        }
        Ok(())
    }

    /// Takes in a message, and tells whether it fits. One that follows nothing that is
    /// there follows what stands before it.
    pub(super) fn take_message(&mut self, line: &Line, extent: MessageSpan) -> Option<()> {
        let (id, seq, link) = (line.id?, Some(line.message_index).filter(|seq| *seq > 0)?, line.digest?);
        let previous = self.tree.messages().last().map(|held| &held.node);
        let turn = line.turn.unwrap_or(seq);
        // A wrong number must not make all that follow look out of order.
        let fits = turn <= seq && (self.has_gaps || seq - turn < line.of);
        let is_after = previous.is_none_or(|previous| seq > previous.seq);
        if !fits || !is_after || self.tree.seq_of(id).is_some() {
            return None;
        }
        let parent = line.parent.and_then(|parent| match previous {
            Some(previous) if previous.id == parent => Some(previous),
            _ => self.tree.seq_of(parent).and_then(|seq| self.tree.node(seq)).or(previous),
        });
        let new = NewMessage {
            id,
            seq,
            parent: parent.map(|parent| (Anchor { id: parent.id, link: parent.link }, parent.seq)),
            depth: parent.map_or(0, |parent| parent.depth + 1),
            turn,
            forked: line.forked,
            link,
            label: line.label.as_deref().map(str::as_bytes),
            is_pinned: line.pinned,
            body: &[],
        };
        let MessageSpan { offset, length, body } = extent;
        let spot = Spot { offset, length, named: line.parent, timestamp: line.timestamp };
        self.tree.push(&new, body.into(), spot);
        let active = match self.tree.active {
            _ if line.resets_activity => line.timestamp,
            before if seq < self.settled => before,
            before => before.max(line.timestamp),
        };
        self.take_ends(line, active);
        Some(())
    }

    /// Takes in what the last line of a turn says about the whole of it.
    fn take_ends(&mut self, line: &Line, active: Time) {
        if let Some(stamp) = line.change {
            self.stamp = self.stamp.max(stamp);
        }
        let [first, last] = [&line.first, &line.last].map(|text| text.as_deref().map(str::as_bytes));
        self.tree.settle(active, first, last, line.branch.zip(line.id));
        for blob in &line.blobs {
            self.take_blob(line.change.unwrap_or_default(), blob);
        }
    }

    fn take_blob(&mut self, stamp: Stamp, blob: &Blob) {
        let Some(space) = blob.space() else { return };
        let key = (space, blob.owner, blob.name.clone().into_bytes());
        self.blobs.insert(
            key,
            (stamp, blob.bytes.clone().map(crate::store::jsonl::line::octets::Octets::into_bytes)),
        );
    }

    /// How many messages are missing of those that were written anew, once a line with a change was met.
    pub(super) fn missing_when_settled(&self) -> u64 {
        let promised = self.promised.filter(|_| self.stamp == 0).map_or(0, |(messages, _)| messages);
        promised.saturating_sub(self.tree.messages().len() as u64)
    }

    /// True when the last line is missing of those that were written anew. They
    /// were whole when the file got its name.
    pub(super) fn lacks_end(&self) -> bool {
        self.promised.is_some_and(|(_, stamp)| self.stamp < stamp)
    }

    pub(super) fn row(&self) -> ConversationRow {
        self.tree.row(self.id)
    }
}
