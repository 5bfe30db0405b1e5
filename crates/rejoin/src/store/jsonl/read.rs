//! Reading messages of one conversation: what is known says where they stand, and the file is read there.

use std::fs::File;
use std::io;

use crate::error::{Error, Result};
use crate::store::backend::{MessageRow, VisitMessage};
use crate::store::body::is_json;
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::LockedFile;
use crate::store::jsonl::line::body;
use crate::store::jsonl::lines::{FileLines, read_at};
use crate::store::jsonl::loaded::LocatedMessage;

/// How much is read at a time where messages stand one after the other.
const WINDOW: usize = 1 << 18;

impl Jsonl {
    /// Visits messages where they stand. The answer names each whose line is
    /// damaged; the others were visited.
    pub(super) fn visit_held<'k>(
        &self,
        opened: &LockedFile,
        all: impl Iterator<Item = &'k LocatedMessage>,
        visit: &mut VisitMessage<'_>,
    ) -> Result<Vec<String>> {
        let mut window = ReadWindow::new(&opened.file);
        let mut damage = Vec::new();
        for held in all {
            let bytes = window.bytes(held.content.offset, held.content.length as usize);
            let bytes = bytes.during(|| format!("read `{}`", opened.path.display()))?;
            // Most bodies are sound, and whoever visits one reads all of it:
            // looking first would read it twice.
            if let Some(body) = presumed(held, bytes) {
                match visit(&row(held, body)) {
                    Ok(()) => continue,
                    Err(error) if is_json(body) => return Err(error),
                    Err(_) => {}
                }
            }
            match body(bytes) {
                Some(body) => visit(&row(held, &body))?,
                None => damage.push(self.damaged(held, opened)?),
            }
        }
        Ok(damage)
    }

    /// Names the line of a message that cannot be read.
    fn damaged(&self, held: &LocatedMessage, opened: &LockedFile) -> Result<String> {
        let path = opened.path.display();
        let mut lines = FileLines::new(&opened.file, 0, held.content.offset, self.options.longest_line);
        let mut number = 0_u64;
        while lines.next().during(|| format!("read `{path}`"))?.is_some() {
            number += 1;
        }
        Ok(format!("line {number} of `{path}` cannot be used: message `{}` cannot be read", held.node.id))
    }
}

/// A body that is most likely sound, as it stands in its line.
fn presumed<'b>(held: &LocatedMessage, bytes: &'b [u8]) -> Option<&'b str> {
    let stands_alone = held.node.size == u64::from(held.content.length) && bytes.starts_with(b"{");
    stands_alone.then(|| std::str::from_utf8(bytes).ok()).flatten()
}

/// The end of a read that has visited all that can be read.
pub(super) fn told(damage: Vec<String>) -> Result<()> {
    let mut damage = damage.into_iter();
    match damage.next() {
        Some(first) => Err(Error::corrupt(first).with_others(damage)),
        None => Ok(()),
    }
}

/// A part of a file that was read, so that lines which stand together are read together.
pub(super) struct ReadWindow<'f> {
    file: &'f File,
    offset: u64,
    buffer: Vec<u8>,
}

impl<'f> ReadWindow<'f> {
    pub(super) const fn new(file: &'f File) -> Self {
        Self { file, offset: 0, buffer: Vec::new() }
    }

    pub(super) fn bytes(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
        let inside = |window: &Self| {
            let start = usize::try_from(offset.checked_sub(window.offset)?).ok()?;
            (start + length <= window.buffer.len()).then_some(start)
        };
        if inside(self).is_none() {
            self.buffer.resize(length.max(WINDOW), 0);
            let read = read_at(self.file, &mut self.buffer, offset)?;
            self.buffer.truncate(read);
            self.offset = offset;
        }
        let start = inside(self).ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(&self.buffer[start..start + length])
    }
}

/// A message as whoever visits it gets it.
fn row<'a>(held: &'a LocatedMessage, body: &'a str) -> MessageRow<'a> {
    let node = &held.node;
    MessageRow {
        id: node.id,
        parent: held.content.named,
        seq: node.seq,
        turn: held.turn,
        forked: node.forked,
        link: node.link,
        label: held.label.as_deref(),
        is_pinned: held.is_pinned,
        body: body.as_bytes(),
        size: node.size,
    }
}
