//! Reading messages of one conversation: what is known says where they stand, and the file is read there.

use std::fs::File;
use std::io;

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId};
use crate::store::jsonl::fault::During;
use crate::store::jsonl::files::Opened;
use crate::store::jsonl::kept::{Held, Kept, no_message};
use crate::store::jsonl::line::body;
use crate::store::jsonl::lines::read_at;
use crate::store::jsonl::{BadLines, JsonlStore};
use crate::store::{Note, Order, Seen, Selection, Visit};

/// How much is read at a time where messages stand one after the other.
const WINDOW: usize = 1 << 18;

impl JsonlStore {
    pub(super) fn visit_messages(
        &self,
        id: ConversationId,
        what: Selection<'_>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let (opened, known) = self.must_open(id)?;
        let seqs = select(&known.kept, what)?;
        let held = seqs.into_iter().filter_map(|seq| known.kept.held(seq));
        self.visit_held(&opened, held, visit)
    }

    /// Visits messages where they stand. One whose line is damaged is passed over, or an error.
    pub(super) fn visit_held<'k>(
        &self,
        opened: &Opened,
        all: impl Iterator<Item = &'k Held>,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let mut window = Window::new(&opened.file);
        for held in all {
            let bytes = window.bytes(held.offset, held.length as usize);
            let bytes = bytes.during(|| format!("read `{}`", opened.path.display()))?;
            let Some(body) = body(bytes) else {
                match self.options.bad_lines {
                    BadLines::PassOver => continue,
                    BadLines::Refuse => return Err(damaged(held, opened)),
                }
            };
            visit(Seen {
                id: held.id,
                parent: held.named,
                seq: held.seq,
                turn: held.turn,
                link: held.link,
                note: Note { label: held.label.as_deref(), is_pinned: held.is_pinned },
                body: &body,
            })?;
        }
        Ok(())
    }
}

fn damaged(held: &Held, opened: &Opened) -> Error {
    Error::corrupt(format!(
        "the line of message `{}`, at byte {} of `{}`, cannot be read",
        held.id,
        held.offset,
        opened.path.display()
    ))
}

fn select(kept: &Kept, what: Selection<'_>) -> Result<Vec<u32>> {
    let seq_of = |id: MessageId| kept.seq_of(id).ok_or_else(|| no_message(id));
    Ok(match what {
        Selection::Path(Some(target)) => kept.path_to(seq_of(target)?),
        Selection::Path(None) => kept.head.map(|head| kept.path_to(head)).unwrap_or_default(),
        Selection::Ids(ids) => ids.iter().map(|id| seq_of(*id)).collect::<Result<_>>()?,
        Selection::All { order, offset, limit } => {
            let (offset, limit) = (usize::try_from(offset), usize::try_from(limit));
            let (offset, limit) = (offset.unwrap_or(usize::MAX), limit.unwrap_or(usize::MAX));
            let seqs = kept.messages.iter().map(|held| held.seq);
            match order {
                Order::OldestFirst => seqs.skip(offset).take(limit).collect(),
                Order::NewestFirst => seqs.rev().skip(offset).take(limit).collect(),
            }
        }
    })
}

/// A part of a file that was read, so that lines which stand together are read together.
struct Window<'f> {
    file: &'f File,
    offset: u64,
    buffer: Vec<u8>,
}

impl<'f> Window<'f> {
    const fn new(file: &'f File) -> Self {
        Self { file, offset: 0, buffer: Vec::new() }
    }

    fn bytes(&mut self, offset: u64, length: usize) -> io::Result<&[u8]> {
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
