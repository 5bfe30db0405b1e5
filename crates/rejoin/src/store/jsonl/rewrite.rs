//! Writing a file anew without the messages that are removed.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;

use memchr::memmem;

use crate::error::Result;
use crate::model::{Branch, MessageId, Time};
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::fault::During;
use crate::store::jsonl::files::Opened;
use crate::store::jsonl::kept::Kept;
use crate::store::jsonl::line::{Kind, Line};
use crate::store::jsonl::lines::{Content, Lines};
use crate::store::jsonl::meta::{Meta, Standing, Start};
use crate::store::jsonl::read::Window;
use crate::store::jsonl::scan::{Known, Meaning, meaning};
use crate::store::tip::previews;
use crate::store::{Stamp, durable};

/// How much is gathered before it is written.
const PIECE: usize = 1 << 20;

/// What is left of a conversation.
pub(super) struct Remains<'a> {
    pub(super) known: &'a Known,
    pub(super) going: &'a BTreeSet<u32>,
    /// All that go, and what was asked for. A line of one of these goes even if it cannot be read or repeats another.
    pub(super) named: &'a BTreeSet<MessageId>,
    pub(super) stamp: Stamp,
    pub(super) at: Time,
    pub(super) reason: &'a str,
}

impl JsonlStore {
    /// Writes what is left to a new file, and syncs it. It lies among what is to be erased: until it takes the old
    /// one's place, that is what it is.
    pub(super) fn write_remains(&self, opened: &Opened, remains: &Remains<'_>) -> Result<PathBuf> {
        let path = self.layout.gone_name(remains.known.kept.id);
        let written = durable::create_to_write(&path)
            .during(|| format!("create `{}`", path.display()))
            .and_then(|file| self.fill(&file, &path, opened, remains));
        if written.is_err() {
            let _ = durable::remove(&path);
        }
        written.map(|()| path)
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
        let staying = || kept.messages.iter().filter(|held| !remains.going.contains(&held.seq));
        let (mut first, mut last) = (None, String::new());
        self.visit_held(opened, staying(), &mut |seen| {
            let (shown, answered) = previews(seen.body);
            first.get_or_insert(shown);
            last = answered.unwrap_or_else(|| std::mem::take(&mut last));
            Ok(())
        })?;
        let mut bytes = Vec::new();
        let mut written = 0;
        self.begin(remains, first.unwrap_or_default(), last, &mut bytes);
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
            let message = window.bytes(held.offset, held.length as usize).during(attempt)?;
            let line = Line {
                message_type: Kind::Conversation,
                message_index: held.seq,
                id: Some(held.id),
                parent: held.named,
                turn: Some(held.turn),
                digest: Some(held.link),
                forked: held.forked,
                label: held.label.as_deref().map(str::to_owned),
                pinned: held.is_pinned,
                ..Line::meta(kept.id, held.timestamp)
            };
            line.write_around(message, &mut bytes);
            flush(&mut bytes, PIECE)?;
        }
        self.each_riddle(opened, remains, &mut |line| {
            if !is_of(line, remains.named) {
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
                has |= is_of(line, remains.named);
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

    /// The first line, which says where everything stands.
    fn begin(&self, remains: &Remains<'_>, first: String, last: String, bytes: &mut Vec<u8>) {
        let kept = &remains.known.kept;
        let branches = kept.branches.iter().filter_map(|branch| {
            let head = remaining(kept, kept.seq_of(branch.head), remains.going)?;
            Some(Branch { head: kept.held(head)?.id, ..branch.clone() })
        });
        let mut start = Start::new(&kept.facets, &kept.header, kept.created);
        start.standing = Some(Standing {
            version: kept.version,
            active: kept.active,
            next: kept.next,
            branches: branches.collect(),
            first,
            last,
        });
        Line::meta(kept.id, kept.created).write(&Meta::SessionStart(Box::new(start)).to_json(), bytes);
    }
}

/// True when a line says that it is one of these messages.
fn is_of(line: &[u8], ids: &BTreeSet<MessageId>) -> bool {
    ["\"id\":\"", "\"id\": \""].iter().any(|name| {
        memmem::find_iter(line, name).any(|at| {
            let said = line[at + name.len()..].split(|byte| *byte == b'"').next();
            let said = said.and_then(|said| std::str::from_utf8(said).ok()?.parse().ok());
            said.is_some_and(|id| ids.contains(&id))
        })
    })
}

/// The last lines: what happened, and the head.
fn end(remains: &Remains<'_>, bytes: &mut Vec<u8>) {
    let kept = &remains.known.kept;
    let head = remaining(kept, kept.head, remains.going).and_then(|seq| kept.held(seq)).map(|held| held.id);
    let meta = Line::meta(kept.id, remains.at);
    let trimmed = Line { change: Some(remains.stamp), ..meta.clone() };
    trimmed.write(&Meta::Trimmed { reason: remains.reason.to_owned() }.to_json(), bytes);
    meta.write(&Meta::Head { version: kept.version, head }.to_json(), bytes);
}

/// The nearest ancestor that stays.
fn remaining(kept: &Kept, mut seq: Option<u32>, going: &BTreeSet<u32>) -> Option<u32> {
    while let Some(now) = seq.filter(|now| going.contains(now)) {
        seq = kept.held(now).and_then(|held| held.parent);
    }
    seq
}
