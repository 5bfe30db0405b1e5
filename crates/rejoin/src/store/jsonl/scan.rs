//! Reading a conversation's file into what is known of it, turn by turn.
//!
//! Lines that were written together count together. A write that did not end leaves a part of them at the
//! end of a file: it is passed over, and the next writer moves it out of the way. A bad line anywhere else
//! is damage: it is passed over too, told, and stays where it is. So does an end that no cut-off write
//! leaves behind, or that was acknowledged.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::Stamp;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::line::meta::Meta;
use crate::store::jsonl::line::{Line, LineType, body, body_length};
use crate::store::jsonl::lines::{FileLines, LineBytes, RawLine, read_at};
use crate::store::jsonl::loaded::{LoadedConversation, MessageSpan};

/// More bad lines of one file than this say nothing new.
const TOLD: usize = 1_000;

/// How much of the end of what was read is remembered, to recognise the file by.
const TAIL: u64 = 64;

/// What is known of a file, and how far it was read.
#[derive(Clone, Debug)]
pub(super) struct ScannedFile {
    pub(super) kept: LoadedConversation,
    /// After the last whole turn.
    pub(super) end: u64,
    /// False when the last line of that turn lacks its end.
    pub(super) is_terminated: bool,
    /// How many bytes come after it that are no whole turn.
    pub(super) torn: u64,
    lines: u64,
    pub(super) faults: Vec<BadLine>,
    /// Lines that keep bytes which were cut off, and how many.
    set_aside: Vec<(u64, u64)>,
    /// The first line before which something is missing.
    gap: Option<Gap>,
    /// How many groups of lines were read, as far as it matters whether there is more than one.
    groups: u64,
    /// The last bytes before `end`.
    tail: Vec<u8>,
}

/// How much of a message's line is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanDepth {
    /// What stands before its body.
    Fields,
    /// All of it.
    Bodies,
}

/// A line with which something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadLine {
    number: u64,
    wrong: Wrong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// It cannot be used, and why.
    Unusable(&'static str),
    /// It can, but lines that were written together with it are not there.
    Incomplete,
}

/// What no line of the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gap {
    before_line: u64,
    missing: MissingLines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingLines {
    Messages(u64),
    /// One or more changes, of a title, say.
    Change,
}

/// Lines that were written together, as far as they were met.
#[derive(Default)]
struct LineGroup {
    lines: Vec<ScannedLine>,
    bad: Vec<BadLine>,
    /// True when a write that did not end could look like this.
    could_be_torn: bool,
    /// True when it has a bad line that no write leaves behind.
    is_foreign: bool,
    /// True when the last line of it was met.
    is_whole: bool,
}

struct ScannedLine {
    line: Line,
    number: u64,
    extent: MessageSpan,
    /// Read, when the line is no message.
    meta: Option<Meta>,
}

enum Judged {
    Good(Box<ScannedLine>),
    Blank,
    Bad { why: &'static str, could_be_torn: bool },
}

impl ScannedFile {
    pub(super) fn nothing_of(id: ConversationId) -> Self {
        Self {
            kept: LoadedConversation::new(id),
            end: 0,
            is_terminated: true,
            torn: 0,
            lines: 0,
            faults: Vec::new(),
            set_aside: Vec::new(),
            gap: None,
            groups: 0,
            tail: Vec::new(),
        }
    }

    /// True when the file holds no conversation: its first write did not end, or it is not Rejoin's.
    pub(super) fn is_nothing(&self) -> bool {
        !self.kept.has_start && self.kept.tree.messages().is_empty()
    }

    /// Names the lines that cannot be used. A file without any line was emptied:
    /// a write that did not end leaves some.
    pub(super) fn damage(&self, path: &Path) -> Vec<String> {
        let is_emptied = self.is_nothing() && self.torn == 0 && self.faults.is_empty();
        if is_emptied {
            return vec![format!("Conversation {} has no turns", self.kept.id)];
        }
        let path = path.display();
        if let (Some(gap), []) = (self.gap, self.faults.as_slice()) {
            let missing = match gap.missing {
                MissingLines::Messages(messages) => format!("{messages} messages are"),
                MissingLines::Change => "a change is".to_owned(),
            };
            return vec![format!("{missing} missing before line {} of `{path}`", gap.before_line)];
        }
        if self.kept.lacks_end() && self.faults.is_empty() {
            return vec![format!("`{path}` ends before a change that was acknowledged")];
        }
        let has_lost_start = !self.kept.has_start && !self.is_nothing();
        let start = has_lost_start.then(|| format!("`{path}` does not say how the conversation began"));
        let lines = self.faults.iter().map(|BadLine { number, wrong }| match wrong {
            Wrong::Unusable(why) => format!("line {number} of `{path}` cannot be used: {why}"),
            Wrong::Incomplete => {
                format!("lines that were written together with line {number} of `{path}` are missing")
            }
        });
        lines.chain(start).collect()
    }

    /// Names the lines that keep what a write left behind that did not end.
    pub(super) fn set_aside(&self, path: &Path) -> impl Iterator<Item = String> {
        self.set_aside.iter().map(|(number, bytes)| {
            let path = path.display();
            format!("line {number} of `{path}` keeps {bytes} bytes of a turn that was never acknowledged")
        })
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

    /// Reads on to `until`. An end that is not whole is damage if a change after a stamp `is_acknowledged`.
    pub(super) fn go_on(
        &mut self,
        file: &File,
        until: u64,
        longest: usize,
        depth: ScanDepth,
        is_acknowledged: &dyn Fn(Stamp) -> Result<bool>,
    ) -> Result<()> {
        let id = self.kept.id;
        let mut lines = FileLines::new(file, self.end, until, longest);
        let mut group = LineGroup::default();
        // What looks cut short, until something whole after it shows that it is damage.
        let mut suspects: Vec<LineGroup> = Vec::new();
        // The last line may have got its end since.
        let mut number = self.lines - u64::from(!self.is_terminated);
        let mut ends_line = true;
        while let Some(piece) = lines.next().during(|| format!("read conversation `{id}`"))? {
            number += 1;
            let (after, is_terminated) = (piece.offset + piece.length, piece.is_terminated);
            ends_line = is_terminated;
            match judge(&piece, number, id, depth) {
                Judged::Blank => {}
                Judged::Bad { why, could_be_torn } => {
                    group.count_bad(BadLine { number, wrong: Wrong::Unusable(why) });
                    group.could_be_torn |= could_be_torn;
                    group.is_foreign |= !could_be_torn;
                }
                Judged::Good(part) => {
                    if part.line.n == 1 && !group.is_empty() {
                        suspects.push(std::mem::take(&mut group));
                    }
                    group.is_whole = part.line.n >= part.line.of;
                    group.lines.push(*part);
                }
            }
            // A bad line by itself that no write leaves behind is settled too:
            // it stays, and what follows comes after.
            let is_settled = !group.could_be_torn && (group.is_whole || group.lines.is_empty());
            if is_settled {
                suspects.push(std::mem::take(&mut group));
                suspects.drain(..).try_for_each(|group| self.settle(group))?;
                (self.end, self.is_terminated, self.lines) = (after, is_terminated, number);
            } else if group.is_whole {
                suspects.push(std::mem::take(&mut group));
            }
        }
        suspects.extend((!group.is_empty()).then_some(group));
        let is_left = !suspects.is_empty();
        if is_left && (are_damaged(&suspects) || self.kept.lacks_end() || is_acknowledged(self.kept.stamp)?) {
            suspects.into_iter().try_for_each(|group| self.settle(group))?;
            (self.end, self.is_terminated, self.lines) = (until, ends_line, number);
        }
        self.torn = until - self.end;
        self.tail = self.tail_of(file).during(|| format!("read conversation `{id}`"))?;
        Ok(())
    }

    /// Takes in lines that were written together.
    fn settle(&mut self, group: LineGroup) -> Result<()> {
        self.groups += u64::from(!group.lines.is_empty());
        let room = TOLD.saturating_sub(self.faults.len());
        let incomplete = group.incomplete();
        self.faults.extend(group.bad.into_iter().chain(incomplete).take(room));
        for part in group.lines {
            if self.gap.is_none() {
                self.gap = self.gap_before(&part);
            }
            let taken = match part.meta {
                Some(meta) => {
                    if let Meta::Repaired { bytes, kept: Some(_) } = &meta {
                        self.set_aside.push((part.number, *bytes));
                    }
                    if meta.is_folded() {
                        self.kept.spent.add(part.extent.length.into());
                    }
                    Some(self.kept.take_meta(&part.line, meta)?)
                }
                None => self.kept.take_message(&part.line, part.extent),
            };
            if taken.is_none() && self.faults.len() < TOLD {
                let wrong = Wrong::Unusable("it repeats a message or comes out of order");
                self.faults.push(BadLine { number: part.number, wrong });
            }
        }
        Ok(())
    }
}

impl ScannedFile {
    /// What is missing before a line, as far as the line tells.
    fn gap_before(&self, part: &ScannedLine) -> Option<Gap> {
        let (expected, found) = (self.kept.tree.next, part.line.message_index);
        let gap = |missing| Some(Gap { before_line: part.number, missing });
        if part.meta.is_none() && !self.kept.has_gaps && found > expected {
            return gap(MissingLines::Messages(u64::from(found - expected)));
        }
        if part.line.after.is_some_and(|after| after > self.kept.stamp) {
            return gap(MissingLines::Change);
        }
        match self.kept.missing_when_settled() {
            messages if messages > 0 && part.line.change.is_some() => gap(MissingLines::Messages(messages)),
            _ => None,
        }
    }
}

impl LineGroup {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.bad.is_empty()
    }

    fn count_bad(&mut self, bad: BadLine) {
        if self.bad.len() < TOLD {
            self.bad.push(bad);
        }
    }

    /// True when this is no write that was cut short: it has lines that none leaves behind, all lines are
    /// there and some are bad, or one is not the last and says what only the last one says.
    fn is_damaged(&self) -> bool {
        let is_full = !self.could_be_torn && !self.lines.is_empty() && self.incomplete().is_none();
        let ends_early = |part: &ScannedLine| part.line.change.is_some() && part.line.n < part.line.of;
        self.is_foreign || is_full || self.lines.iter().any(ends_early)
    }

    /// The last line of it, if there should be more.
    fn incomplete(&self) -> Option<BadLine> {
        let (first, last) = (self.lines.first()?, self.lines.last()?);
        let has_all = self.lines.len() + self.bad.len() >= first.line.of as usize;
        (!has_all).then_some(BadLine { number: last.number, wrong: Wrong::Incomplete })
    }
}

/// True when what is left at the end of a file is not the beginning of one write.
fn are_damaged(left: &[LineGroup]) -> bool {
    let with_lines = left.iter().filter(|group| !group.lines.is_empty());
    with_lines.count() > 1 || left.iter().any(LineGroup::is_damaged)
}

/// What a line is.
pub(super) fn meaning(piece: &RawLine<'_>, id: ConversationId) -> LineMeaning {
    match judge(piece, 0, id, ScanDepth::Fields) {
        Judged::Good(part) => match part.meta {
            None => LineMeaning::Message(part.extent.offset),
            Some(Meta::Unknown) => LineMeaning::NotUnderstood,
            Some(_) => LineMeaning::About,
        },
        Judged::Blank => LineMeaning::About,
        Judged::Bad { .. } => LineMeaning::NotUnderstood,
    }
}

/// What a line is to one who writes a file anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineMeaning {
    /// A message, which stands there in the file.
    Message(u64),
    /// It says something about the conversation, which is known.
    About,
    /// It is damaged, or a newer Rejoin or another program wrote it.
    NotUnderstood,
}

fn judge(piece: &RawLine<'_>, number: u64, id: ConversationId, depth: ScanDepth) -> Judged {
    let LineBytes::Bytes(bytes) = piece.content else {
        return Judged::Bad { why: "it is too long", could_be_torn: !piece.is_terminated };
    };
    if bytes.trim_ascii().is_empty() {
        return Judged::Blank;
    }
    // JSON has no zero bytes; a write that was cut short by a power cut may leave them.
    let could_be_torn = !piece.is_terminated || memchr::memchr(0, bytes).is_some();
    let bad = |why| {
        let is_joined = Line::begins_in(bytes, id) > 1;
        match (is_joined, could_be_torn) {
            (true, _) => Judged::Bad { why: "several lines are joined in it", could_be_torn: false },
            (false, true) => Judged::Bad { why: "its end is missing", could_be_torn },
            (false, false) => Judged::Bad { why, could_be_torn },
        }
    };
    if memchr::memchr(0, bytes).is_some() {
        return Judged::Bad { why: "it has zero bytes", could_be_torn };
    }
    let Some((line, within)) = Line::read(bytes) else { return bad("it is no line of Rejoin's") };
    if line.session_id != id {
        return bad("it belongs to another conversation");
    }
    let (offset, message) = (piece.offset + within.start as u64, &bytes[within]);
    let meta = match line.message_type {
        LineType::SessionMeta => match body(message).and_then(|json| Meta::from_json(&json)) {
            Some(meta) => Some(meta),
            None => return bad("it cannot be read"),
        },
        // What looks whole at the end of a file may still be the beginning of more.
        LineType::Conversation if depth == ScanDepth::Bodies || !piece.is_terminated => {
            if body(message).is_none() {
                return bad("it cannot be read");
            }
            None
        }
        LineType::Conversation => None,
    };
    let Some(body) = body_length(message) else { return bad("it cannot be read") };
    let (Ok(length), Ok(body)) = (u32::try_from(message.len()), u32::try_from(body)) else {
        return bad("it is too long");
    };
    let extent = MessageSpan { offset, length, body };
    Judged::Good(Box::new(ScannedLine { line, number, extent, meta }))
}
