//! Writing a file anew: without messages that are removed, or with other bodies where they are rewritten.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::path::PathBuf;

use memchr::memmem;

use crate::error::Result;
use crate::model::{Branch, ConversationId, MessageId, Time};
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::changes::Noted;
use crate::store::jsonl::fault::During;
use crate::store::jsonl::files::{Opened, Purpose};
use crate::store::jsonl::kept::{Held, Kept};
use crate::store::jsonl::line::{Kind, Line};
use crate::store::jsonl::lines::{Content, Lines};
use crate::store::jsonl::meta::{Meta, Standing, Start};
use crate::store::jsonl::read::Window;
use crate::store::jsonl::remove::READERS;
use crate::store::jsonl::scan::{Known, Meaning, meaning};
use crate::store::jsonl::writing::{Certainty, Turnstile};
use crate::store::tip::previews;
use crate::store::{Rewritten, Stamp, Tip, Version, durable};

/// How much is gathered before it is written.
const PIECE: usize = 1 << 20;

/// What the new file of a conversation holds.
pub(super) struct Remains<'a> {
    pub(super) known: &'a Known,
    pub(super) loss: Loss<'a>,
    pub(super) version: Version,
    pub(super) stamp: Stamp,
    pub(super) at: Time,
}

/// What the new file does not say any more.
pub(super) enum Loss<'a> {
    /// Messages are removed.
    Trimmed {
        going: &'a BTreeSet<u32>,
        /// All that go, and what was asked for. A line of one of these goes even if it cannot be read or repeats
        /// another.
        named: &'a BTreeSet<MessageId>,
        reason: &'a str,
    },
    /// Messages say something else. Copies of their lines, and lines of theirs that cannot be read, go.
    Rewritten { messages: &'a HashMap<MessageId, &'a Rewritten<'a>>, tip: &'a Tip<'a> },
    /// Lines that later ones made void.
    Spent,
}

impl Loss<'_> {
    fn takes(&self, seq: u32) -> bool {
        match self {
            Self::Trimmed { going, .. } => going.contains(&seq),
            Self::Rewritten { .. } | Self::Spent => false,
        }
    }

    fn names(&self, id: MessageId) -> bool {
        match self {
            Self::Trimmed { named, .. } => named.contains(&id),
            Self::Rewritten { messages, .. } => messages.contains_key(&id),
            Self::Spent => false,
        }
    }

    fn replacement(&self, id: MessageId) -> Option<&Rewritten<'_>> {
        match self {
            Self::Trimmed { .. } | Self::Spent => None,
            Self::Rewritten { messages, .. } => messages.get(&id).copied(),
        }
    }
}

impl JsonlStore {
    /// Writes what is left to a new file, and syncs it. It lies among what is to be erased: until it takes the old
    /// one's place, that is what it is.
    fn write_remains(&self, opened: &Opened, remains: &Remains<'_>) -> Result<PathBuf> {
        let path = self.layout.gone_name(remains.known.kept.id);
        let written = durable::create_to_write(&path)
            .during(|| format!("create `{}`", path.display()))
            .and_then(|file| self.fill(&file, &path, opened, remains));
        if written.is_err() {
            let _ = durable::remove(&path);
        }
        written.map(|()| path)
    }

    /// Puts a new file in the place of a conversation's, and overwrites the old one.
    pub(super) fn write_anew(
        &self,
        turnstile: &mut Turnstile<'_>,
        opened: Opened,
        remains: &Remains<'_>,
        noted: Option<&Noted>,
    ) -> Result<()> {
        self.unload_blobs(&remains.known.kept, remains.stamp)?;
        let fresh = self.write_remains(&opened, remains)?;
        // Order: the new file is whole and synced; the note and its sync, because the lines of earlier changes go;
        // then the new file takes the name, and the old one is overwritten.
        let mark = noted.map(|noted| turnstile.log().note(noted)).transpose()?;
        let exchanged = turnstile.log().sync().and_then(|()| {
            durable::exchange(&fresh, &opened.path).during(|| format!("replace `{}`", opened.path.display()))
        });
        if let Err(error) = exchanged {
            if let Some(mark) = mark {
                turnstile.log().take_back(mark);
            }
            turnstile.fail(Certainty::Unknown);
            return Err(error);
        }
        // Its own lock would keep it from being overwritten.
        drop(opened);
        if let Some(noted) = noted {
            turnstile.log().confirm(noted.stamp);
        }
        self.finish_removal(remains.known.kept.id, READERS)?;
        turnstile.log().finish();
        Ok(())
    }

    /// Writes a file anew without lines that later ones made void. Nothing that can be seen changes.
    pub(super) fn fold(&self, turnstile: &mut Turnstile<'_>, id: ConversationId) -> Result<()> {
        let (opened, known) = self.must_open(Purpose::Write, id)?;
        let (version, at) = (known.kept.version, known.kept.active);
        let stamp = turnstile.log().newest().max(known.kept.stamp);
        let remains = Remains { known: &known, loss: Loss::Spent, version, stamp, at };
        self.write_anew(turnstile, opened, &remains, None)
    }

    fn fill(
        &self,
        file: &File,
        path: &std::path::Path,
        opened: &Opened,
        remains: &Remains<'_>,
    ) -> Result<()> {
        let kept = &remains.known.kept;
        let attempt = || format!("write `{}`", path.display());
        let staying = || kept.messages.iter().filter(|held| !remains.loss.takes(held.seq));
        let (first, last) = match &remains.loss {
            Loss::Rewritten { tip, .. } => (tip.first.to_owned(), tip.last.to_owned()),
            Loss::Trimmed { .. } => self.previews_of(opened, staying())?,
            Loss::Spent => (kept.first.clone(), kept.last.clone()),
        };
        let mut bytes = Vec::new();
        let mut written = 0;
        begin(remains, first, last, &mut bytes);
        let mut flush = |bytes: &mut Vec<u8>, least: usize| {
            if bytes.len() >= least {
                durable::write_at(file, written, bytes).during(attempt)?;
                written += bytes.len() as u64;
                bytes.clear();
            }
            Ok(())
        };
        let mut window = Window::new(&opened.file);
        for held in staying() {
            let replacement = remains.loss.replacement(held.id);
            let line = Line {
                message_type: Kind::Conversation,
                message_index: held.seq,
                id: Some(held.id),
                parent: held.named,
                turn: Some(held.turn),
                digest: Some(replacement.map_or(held.link, |rewritten| rewritten.link)),
                forked: held.forked,
                label: held.label.as_deref().map(str::to_owned),
                pinned: held.is_pinned,
                ..Line::meta(kept.id, held.timestamp)
            };
            match replacement {
                Some(rewritten) => line.write(rewritten.body, &mut bytes),
                None => {
                    let message = window.bytes(held.offset, held.length as usize).during(attempt)?;
                    line.write_around(message, &mut bytes);
                }
            }
            flush(&mut bytes, PIECE)?;
        }
        self.each_riddle(opened, remains, &mut |line| {
            if !is_of(line, &remains.loss) {
                bytes.extend_from_slice(line);
                bytes.push(b'\n');
            }
            flush(&mut bytes, PIECE)
        })?;
        end(remains, &mut bytes);
        flush(&mut bytes, 0)?;
        file.sync_all().during(attempt)
    }

    /// True when a line that cannot be read, or a copy of one, is one of a message that is to be removed.
    pub(super) fn has_lines_of(&self, opened: &Opened, remains: &Remains<'_>) -> Result<bool> {
        let mut has = false;
        if !remains.known.faults.is_empty() {
            self.each_riddle(opened, remains, &mut |line| {
                has |= is_of(line, &remains.loss);
                Ok(())
            })?;
        }
        Ok(has)
    }

    /// Visits the lines that this version makes nothing of. What is not understood is kept.
    fn each_riddle(
        &self,
        opened: &Opened,
        remains: &Remains<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (id, messages) = (remains.known.kept.id, &remains.known.kept.messages);
        let mut lines = Lines::new(&opened.file, 0, remains.known.end, self.options.longest_line);
        while let Some(piece) = lines.next().during(|| format!("read `{}`", opened.path.display()))? {
            let is_known = match meaning(&piece, id) {
                Meaning::Message(offset) => {
                    messages.binary_search_by_key(&offset, |held| held.offset).is_ok()
                }
                Meaning::About => true,
                Meaning::NotUnderstood => false,
            };
            // One that is too long to be held is too long to be kept.
            if let Content::Bytes(line) = piece.content
                && !is_known
            {
                visit(line)?;
            }
        }
        Ok(())
    }

    /// The previews of what stays.
    fn previews_of<'k>(
        &self,
        opened: &Opened,
        staying: impl Iterator<Item = &'k Held>,
    ) -> Result<(String, String)> {
        let (mut first, mut last) = (None, String::new());
        self.visit_held(opened, staying, &mut |seen| {
            let (shown, answered) = previews(seen.body);
            first.get_or_insert(shown);
            last = answered.unwrap_or_else(|| std::mem::take(&mut last));
            Ok(())
        })?;
        Ok((first.unwrap_or_default(), last))
    }
}

/// The first line, which says where everything stands.
fn begin(remains: &Remains<'_>, first: String, last: String, bytes: &mut Vec<u8>) {
    let kept = &remains.known.kept;
    let branches = kept.branches.iter().filter_map(|branch| {
        let head = remaining(kept, kept.seq_of(branch.head), &remains.loss)?;
        Some(Branch { head: kept.held(head)?.id, ..branch.clone() })
    });
    let mut start = Start::new(&kept.facets, &kept.header, kept.created);
    start.standing = Some(Standing {
        version: remains.version,
        active: kept.active,
        next: kept.next,
        messages: Some(kept.messages.iter().filter(|held| !remains.loss.takes(held.seq)).count() as u64),
        change: Some(remains.stamp),
        branches: branches.collect(),
        first,
        last,
    });
    Line::meta(kept.id, kept.created).write(&Meta::SessionStart(Box::new(start)).to_json(), bytes);
}

/// True when a line says that it is one of these messages.
fn is_of(line: &[u8], loss: &Loss<'_>) -> bool {
    ["\"id\":\"", "\"id\": \""].iter().any(|name| {
        memmem::find_iter(line, name).any(|at| {
            let said = line[at + name.len()..].split(|byte| *byte == b'"').next();
            let said = said.and_then(|said| std::str::from_utf8(said).ok()?.parse().ok());
            said.is_some_and(|id| loss.names(id))
        })
    })
}

/// The last lines: what happened, and the head.
fn end(remains: &Remains<'_>, bytes: &mut Vec<u8>) {
    let (kept, version) = (&remains.known.kept, remains.version);
    let head = remaining(kept, kept.head, &remains.loss).and_then(|seq| kept.held(seq)).map(|held| held.id);
    let happened = match &remains.loss {
        Loss::Trimmed { reason, .. } => Some(Meta::Trimmed { reason: (*reason).to_owned() }),
        Loss::Rewritten { .. } => Some(Meta::Rewritten { version }),
        Loss::Spent => None,
    };
    let of = 1 + u32::from(happened.is_some());
    let meta = Line { of, ..Line::meta(kept.id, remains.at) };
    if let Some(happened) = happened {
        meta.write(&happened.to_json(), bytes);
    }
    let last = Line { n: of, change: Some(remains.stamp), ..meta };
    last.write(&Meta::Head { version, head }.to_json(), bytes);
}

/// The nearest ancestor that stays.
fn remaining(kept: &Kept, mut seq: Option<u32>, loss: &Loss<'_>) -> Option<u32> {
    while let Some(now) = seq.filter(|now| loss.takes(*now)) {
        seq = kept.held(now).and_then(|held| held.parent);
    }
    seq
}
