//! Reading a conversation's file into what is known of it, turn by turn.
//!
//! Lines that were written together count together. What is left at the end of a file without being whole was never
//! acknowledged: it is passed over, and the next writer cuts it off. A bad line anywhere else is damage: it is passed
//! over too, and told.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::jsonl::fault::During;
use crate::store::jsonl::kept::{Kept, Spot};
use crate::store::jsonl::line::{Kind, Line, body, body_length};
use crate::store::jsonl::lines::{Content, Lines, Piece, read_at};
use crate::store::jsonl::meta::Meta;

/// More bad lines of one file than this say nothing new.
const TOLD: usize = 1_000;

/// How much of the end of what was read is remembered, to recognise the file by.
const TAIL: u64 = 64;

/// What is known of a file, and how far it was read.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) kept: Kept,
    /// After the last whole turn.
    pub(super) end: u64,
    /// False when the last line of that turn lacks its end.
    pub(super) is_terminated: bool,
    /// How many bytes come after it that are no whole turn.
    pub(super) torn: u64,
    lines: u64,
    pub(super) faults: Vec<BadLine>,
    /// The first line before which messages are missing, and of which number they are.
    gap: Option<Gap>,
    /// How many groups of lines were read, as far as it matters whether there is more than one.
    groups: u64,
    /// The last bytes before `end`.
    tail: Vec<u8>,
}

/// How much of a message's line is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// What stands before its body.
    Fields,
    /// All of it.
    Bodies,
}

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadLine {
    number: u64,
    why: &'static str,
}

/// Messages that no line of the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    before_line: u64,
    messages: u32,
}

/// Lines that were written together, as far as they were met.
#[derive(Default)]
struct Group {
    lines: Vec<Part>,
    bad: Vec<BadLine>,
    /// True when a write that did not end could look like this.
    could_be_torn: bool,
    /// True when the last line of it was met.
    is_whole: bool,
}

struct Part {
    line: Line,
    number: u64,
    spot: Spot,
    /// Read, when the line is no message.
    meta: Option<Meta>,
}

enum Judged {
    Good(Box<Part>),
    Blank,
    Bad { why: &'static str, could_be_torn: bool },
}

impl Known {
    pub(super) fn nothing_of(id: ConversationId) -> Self {
        Self {
            kept: Kept::new(id),
            end: 0,
            is_terminated: true,
            torn: 0,
            lines: 0,
            faults: Vec::new(),
            gap: None,
            groups: 0,
            tail: Vec::new(),
        }
    }

    /// True when the file holds no conversation: its first write did not end, or it is not Rejoin's.
    pub(super) fn is_nothing(&self) -> bool {
        !self.kept.has_start && self.kept.messages.is_empty()
    }

    /// Names the lines that cannot be used. A file without any line was emptied: a write that did not end leaves some.
    pub(super) fn damage(&self, path: &Path) -> Vec<String> {
        let is_emptied = self.is_nothing() && self.torn == 0 && self.faults.is_empty();
        if is_emptied {
            return vec![format!("Conversation {} has no turns", self.kept.id)];
        }
        let path = path.display();
        if let (Some(gap), []) = (self.gap, self.faults.as_slice()) {
            let Gap { before_line, messages } = gap;
            return vec![format!("{messages} messages are missing before line {before_line} of `{path}`")];
        }
        let lines = self.faults.iter();
        lines.map(|bad| format!("line {} of `{path}` cannot be used: {}", bad.number, bad.why)).collect()
    }

    /// True when nothing was added to what the file began with.
    pub(super) const fn is_young(&self) -> bool {
        self.groups <= 1
    }

    /// True when a file still ends, where the known part ends, as it did.
    pub(super) fn is_beginning_of(&self, file: &File) -> io::Result<bool> {
        Ok(self.tail_of(file)? == self.tail)
    }

    fn tail_of(&self, file: &File) -> io::Result<Vec<u8>> {
        let length = self.end.min(TAIL);
        let mut tail = vec![0; usize::try_from(length).unwrap_or_default()];
        let read = read_at(file, &mut tail, self.end - length)?;
        tail.truncate(read);
        Ok(tail)
    }

    /// Reads on to `until`.
    pub(super) fn go_on(&mut self, file: &File, until: u64, longest: usize, depth: Depth) -> Result<()> {
        let id = self.kept.id;
        let mut lines = Lines::new(file, self.end, until, longest);
        let mut group = Group::default();
        // What looks cut short, until something whole after it shows that it is damage.
        let mut suspects: Vec<Group> = Vec::new();
        let mut number = self.lines;
        while let Some(piece) = lines.next().during(|| format!("read conversation `{id}`"))? {
            number += 1;
            let (after, is_terminated) = (piece.offset + piece.length, piece.is_terminated);
            match judge(&piece, number, id, depth) {
                Judged::Blank => {}
                Judged::Bad { why, could_be_torn } => {
                    group.count_bad(BadLine { number, why });
                    group.could_be_torn |= could_be_torn;
                }
                Judged::Good(part) => {
                    if part.line.n == 1 && !group.is_empty() {
                        suspects.push(std::mem::take(&mut group));
                    }
                    group.is_whole = part.line.n >= part.line.of;
                    group.lines.push(*part);
                }
            }
            // A bad line by itself that no write leaves behind is settled too: it stays, and what follows comes after.
            let is_settled = !group.could_be_torn && (group.is_whole || group.lines.is_empty());
            if is_settled {
                suspects.push(std::mem::take(&mut group));
                suspects.drain(..).try_for_each(|group| self.settle(group))?;
                (self.end, self.is_terminated, self.lines) = (after, is_terminated, number);
            } else if group.is_whole {
                suspects.push(std::mem::take(&mut group));
            }
        }
        if suspects.is_empty() && group.is_damaged() {
            self.settle(group)?;
            (self.end, self.is_terminated, self.lines) = (until, true, number);
        }
        self.torn = until - self.end;
        self.tail = self.tail_of(file).during(|| format!("read conversation `{id}`"))?;
        Ok(())
    }

    /// Takes in lines that were written together.
    fn settle(&mut self, group: Group) -> Result<()> {
        self.groups += u64::from(!group.lines.is_empty());
        let room = TOLD.saturating_sub(self.faults.len());
        self.faults.extend(group.bad.into_iter().take(room));
        for part in group.lines {
            let (expected, found) = (self.kept.next, part.line.message_index);
            if part.meta.is_none() && !self.kept.has_gaps && found > expected && self.gap.is_none() {
                self.gap = Some(Gap { before_line: part.number, messages: found - expected });
            }
            let taken = match part.meta {
                Some(meta) => {
                    if meta.is_folded() {
                        self.kept.spent.add(part.spot.length.into());
                    }
                    Some(self.kept.take_meta(&part.line, meta)?)
                }
                None => self.kept.take_message(&part.line, part.spot),
            };
            if taken.is_none() && self.faults.len() < TOLD {
                let why = "it repeats a message or comes out of order";
                self.faults.push(BadLine { number: part.number, why });
            }
        }
        Ok(())
    }
}

impl Group {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.bad.is_empty()
    }

    fn count_bad(&mut self, bad: BadLine) {
        if self.bad.len() < TOLD {
            self.bad.push(bad);
        }
    }

    /// True when all lines are there and some are bad: that is no write that was cut short.
    fn is_damaged(&self) -> bool {
        let all = self.lines.len() + self.bad.len();
        !self.could_be_torn && self.lines.first().is_some_and(|first| all >= first.line.of as usize)
    }
}

/// What a line is.
pub(super) fn meaning(piece: &Piece<'_>, id: ConversationId) -> Meaning {
    match judge(piece, 0, id, Depth::Fields) {
        Judged::Good(part) => match part.meta {
            None => Meaning::Message(part.spot.offset),
            Some(Meta::Unknown) => Meaning::NotUnderstood,
            Some(_) => Meaning::About,
        },
        Judged::Blank => Meaning::About,
        Judged::Bad { .. } => Meaning::NotUnderstood,
    }
}

/// What a line is to one who writes a file anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A message, which stands there in the file.
    Message(u64),
    /// It says something about the conversation, which is known.
    About,
    /// It is damaged, or a newer Rejoin or another program wrote it.
    NotUnderstood,
}

fn judge(piece: &Piece<'_>, number: u64, id: ConversationId, depth: Depth) -> Judged {
    let Content::Bytes(bytes) = piece.content else {
        return Judged::Bad { why: "it is too long", could_be_torn: !piece.is_terminated };
    };
    if bytes.trim_ascii().is_empty() {
        return Judged::Blank;
    }
    // JSON has no zero bytes; a write that was cut short by a power cut may leave them.
    let could_be_torn = !piece.is_terminated || memchr::memchr(0, bytes).is_some();
    let bad = |why| Judged::Bad { why, could_be_torn };
    if could_be_torn && piece.is_terminated {
        return bad("it has zero bytes");
    }
    let Some((line, within)) = Line::read(bytes) else { return bad("it is no line of Rejoin's") };
    if line.session_id != id {
        return bad("it belongs to another conversation");
    }
    let (offset, message) = (piece.offset + within.start as u64, &bytes[within]);
    let meta = match line.message_type {
        Kind::SessionMeta => match body(message).and_then(|json| Meta::from_json(&json)) {
            Some(meta) => Some(meta),
            None => return bad("it cannot be read"),
        },
        // What looks whole at the end of a file may still be the beginning of more.
        Kind::Conversation if depth == Depth::Bodies || !piece.is_terminated => {
            if body(message).is_none() {
                return bad("it cannot be read");
            }
            None
        }
        Kind::Conversation => None,
    };
    let (Ok(length), Ok(body)) = (u32::try_from(message.len()), u32::try_from(body_length(message))) else {
        return bad("it is too long");
    };
    let spot = Spot { offset, length, body };
    Judged::Good(Box::new(Part { line, number, spot, meta }))
}
