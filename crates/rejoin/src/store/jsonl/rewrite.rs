//! Writing a file anew: without messages that are removed, or with other bodies where they are rewritten.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::path::PathBuf;

use memchr::memmem;

use crate::error::Result;
use crate::model::{ConversationId, MessageId, Time};
use crate::store::backend::{Amend, LogEntry, NewBody, Removal};
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::change_log::{Happened, Noted};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::{LockedFile, OpenScan, Purpose};
use crate::store::jsonl::line::meta::{ConversationStart, Meta, RewriteState};
use crate::store::jsonl::line::{Line, LineType, owned_text, text};
use crate::store::jsonl::lines::{FileLines, LineBytes};
use crate::store::jsonl::loaded::Spot;
use crate::store::jsonl::read::ReadWindow;
use crate::store::jsonl::remove::READERS;
use crate::store::jsonl::scan::{LineMeaning, ScannedFile, meaning};
use crate::store::jsonl::writing::{Certainty, Turnstile};
use crate::store::tree::ConversationTree;
use crate::store::{Stamp, durable};

/// How much is gathered before it is written.
const PIECE: usize = 1 << 20;

/// What the new file of a conversation holds.
struct Remains<'a> {
    /// The old file.
    known: &'a ScannedFile,
    /// The conversation from now on.
    tree: &'a ConversationTree<Spot>,
    /// What messages say from now on, by sequence.
    bodies: HashMap<u32, &'a NewBody<'a>>,
    /// A line of one of these goes even if it cannot be read or repeats another.
    gone: BTreeSet<MessageId>,
    /// What is said about it at the end.
    happened: Option<Meta>,
    stamp: Stamp,
    at: Time,
}

impl Jsonl {
    /// Writes a file without messages that are removed, unless nothing in it is one of them.
    pub(super) fn remove_messages(
        &self,
        turnstile: &mut Turnstile<'_>,
        (opened, known): &OpenScan,
        removal: &Removal<'_>,
    ) -> Result<()> {
        let mut tree = known.kept.tree.clone();
        tree.remove(removal);
        let going = removal.going.iter().map(|node| node.id);
        let remains = Remains {
            known,
            tree: &tree,
            bodies: HashMap::new(),
            gone: going.chain(removal.named.iter().copied()).collect(),
            happened: Some(Meta::Trimmed { reason: removal.reason.to_owned() }),
            stamp: turnstile.next_stamp(known.kept.stamp),
            at: removal.at,
        };
        if removal.going.is_empty() && !self.has_lines_of(opened, &remains)? {
            return Ok(());
        }
        let trimmed = Happened::Trimmed { reason: removal.reason.to_owned() };
        let noted = Noted::that(remains.stamp, removal.at, removal.conversation, trimmed);
        self.rewrite_file(turnstile, opened, &remains, Some(&noted))
    }

    /// Writes a file with other bodies of some messages. Copies of their lines, and
    /// lines of theirs that cannot be read, go.
    pub(super) fn rewrite_messages(
        &self,
        turnstile: &mut Turnstile<'_>,
        (opened, known): &OpenScan,
        amend: &Amend<'_>,
        bodies: &[NewBody<'_>],
        change: &LogEntry,
    ) -> Result<()> {
        let mut tree = known.kept.tree.clone();
        for new in bodies {
            tree.replace(new, |spot| *spot);
        }
        tree.amend(amend.version, &amend.change);
        let remains = Remains {
            known,
            tree: &tree,
            bodies: bodies.iter().map(|new| (new.seq, new)).collect(),
            gone: bodies.iter().map(|new| new.id).collect(),
            happened: Some(Meta::of(&amend.change, amend.version)?),
            stamp: turnstile.next_stamp(known.kept.stamp),
            at: change.at,
        };
        let noted = Noted::of(remains.stamp, change);
        self.rewrite_file(turnstile, opened, &remains, Some(&noted))
    }

    /// Writes a file anew without lines that later ones made void. Nothing that can be seen changes.
    pub(super) fn fold(&self, turnstile: &mut Turnstile<'_>, id: ConversationId) -> Result<()> {
        let (opened, known) = self.must_open(Purpose::Write, id)?;
        let remains = Remains {
            known: &known,
            tree: &known.kept.tree,
            bodies: HashMap::new(),
            gone: BTreeSet::new(),
            happened: None,
            stamp: turnstile.log().newest().max(known.kept.stamp),
            at: known.kept.tree.active,
        };
        self.rewrite_file(turnstile, &opened, &remains, None)
    }

    /// Writes what is left to a new file, and syncs it. It lies among what is to be erased: until it takes
    /// the old one's place, that is what it is.
    fn write_remains(&self, opened: &LockedFile, remains: &Remains<'_>) -> Result<PathBuf> {
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
    fn rewrite_file(
        &self,
        turnstile: &mut Turnstile<'_>,
        opened: &LockedFile,
        remains: &Remains<'_>,
        noted: Option<&Noted>,
    ) -> Result<()> {
        self.unload_blobs(&remains.known.kept, remains.stamp)?;
        let fresh = self.write_remains(opened, remains)?;
        // Order: the new file is whole and synced; the note and its sync, because the lines of earlier
        // changes go; then the new file takes the name, and the old one is overwritten.
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
        if let Some(noted) = noted {
            turnstile.log().confirm(noted.stamp);
        }
        self.finish_removal(remains.known.kept.id, READERS)?;
        turnstile.log().finish();
        Ok(())
    }

    fn fill(
        &self,
        file: &File,
        path: &std::path::Path,
        opened: &LockedFile,
        remains: &Remains<'_>,
    ) -> Result<()> {
        let attempt = || format!("write `{}`", path.display());
        let mut bytes = Vec::new();
        let mut written = 0;
        begin(remains, &mut bytes)?;
        let mut flush = |bytes: &mut Vec<u8>, least: usize| {
            if bytes.len() >= least {
                durable::write_at(file, written, bytes).during(attempt)?;
                written += bytes.len() as u64;
                bytes.clear();
            }
            Ok(())
        };
        let mut window = ReadWindow::new(&opened.file);
        for held in remains.tree.messages() {
            let (node, spot) = (&held.node, &held.content);
            let line = Line {
                message_type: LineType::Conversation,
                message_index: node.seq,
                id: Some(node.id),
                parent: spot.named,
                turn: Some(held.turn),
                digest: Some(node.link),
                forked: node.forked,
                label: held.label.as_deref().map(owned_text).transpose()?,
                pinned: held.is_pinned,
                ..Line::meta(remains.known.kept.id, spot.timestamp)
            };
            match remains.bodies.get(&node.seq) {
                Some(new) => line.write(text(new.body)?, &mut bytes),
                None => {
                    let message = window.bytes(spot.offset, spot.length as usize).during(attempt)?;
                    line.write_around(message, &mut bytes);
                }
            }
            flush(&mut bytes, PIECE)?;
        }
        self.each_riddle(opened, remains, &mut |line| {
            if !is_of(line, &remains.gone) {
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
    fn has_lines_of(&self, opened: &LockedFile, remains: &Remains<'_>) -> Result<bool> {
        let mut has = false;
        if !remains.known.faults.is_empty() {
            self.each_riddle(opened, remains, &mut |line| {
                has |= is_of(line, &remains.gone);
                Ok(())
            })?;
        }
        Ok(has)
    }

    /// Visits the lines that this version makes nothing of. What is not understood is kept.
    fn each_riddle(
        &self,
        opened: &LockedFile,
        remains: &Remains<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (id, messages) = (remains.known.kept.id, remains.known.kept.tree.messages());
        let mut lines = FileLines::new(&opened.file, 0, remains.known.end, self.options.longest_line);
        while let Some(piece) = lines.next().during(|| format!("read `{}`", opened.path.display()))? {
            let is_known = match meaning(&piece, id) {
                LineMeaning::Message(offset) => {
                    messages.binary_search_by_key(&offset, |held| held.content.offset).is_ok()
                }
                LineMeaning::About => true,
                LineMeaning::NotUnderstood => false,
            };
            // One that is too long to be held is too long to be kept.
            if let LineBytes::Bytes(line) = piece.content
                && !is_known
            {
                visit(line)?;
            }
        }
        Ok(())
    }
}

/// The first line, which says where everything stands.
fn begin(remains: &Remains<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    let tree = remains.tree;
    let mut start = ConversationStart::new(&tree.facets, text(&tree.header)?, tree.created);
    start.standing = Some(RewriteState {
        version: tree.version,
        active: tree.active,
        next: tree.next,
        messages: Some(tree.messages().len() as u64),
        change: Some(remains.stamp),
        branches: tree.branches.clone(),
        first: owned_text(&tree.first)?,
        last: owned_text(&tree.last)?,
    });
    let line = Line::meta(remains.known.kept.id, tree.created);
    line.write(&Meta::SessionStart(Box::new(start)).to_json(), bytes);
    Ok(())
}

/// True when a line says that it is one of these messages.
fn is_of(line: &[u8], messages: &BTreeSet<MessageId>) -> bool {
    ["\"id\":\"", "\"id\": \""].iter().any(|name| {
        memmem::find_iter(line, name).any(|at| {
            let said = line[at + name.len()..].split(|byte| *byte == b'"').next();
            let said = said.and_then(|said| std::str::from_utf8(said).ok()?.parse().ok());
            said.is_some_and(|id| messages.contains(&id))
        })
    })
}

/// The last lines: what happened, and the head.
fn end(remains: &Remains<'_>, bytes: &mut Vec<u8>) {
    let tree = remains.tree;
    let of = 1 + u32::from(remains.happened.is_some());
    let meta = Line { of, ..Line::meta(remains.known.kept.id, remains.at) };
    if let Some(happened) = &remains.happened {
        meta.write(&happened.to_json(), bytes);
    }
    let last = Line { n: of, change: Some(remains.stamp), ..meta };
    let head = tree.head.and_then(|seq| tree.node(seq)).map(|node| node.id);
    last.write(&Meta::Head { version: tree.version, head }.to_json(), bytes);
}
