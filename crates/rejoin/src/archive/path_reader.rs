//! Reading a path that may not fit in memory.

use std::ops::ControlFlow;

use crate::archive::{Archive, ArchiveReader, decode_message};
use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId, StoredMessage};
use crate::ops::fill;
use crate::store::Selection;

/// Bodies that are held at a time: enough for most conversations to be read in one pass.
const HELD_BYTES: usize = 4 << 20;

/// The messages from the root to a target, of which only some are in memory.
///
/// A path of up to 4 MiB is read once. Of a longer one, the rest is read again piece by piece.
#[derive(Debug)]
pub struct PathReader {
    archive: Archive,
    conversation: ConversationId,
    first: Vec<StoredMessage>,
    /// The messages after those, and the length of each body.
    rest: Vec<(MessageId, usize)>,
}

impl ArchiveReader<'_> {
    /// Reads the messages from the root to `target`, or to the conversation's head, a few at a time.
    ///
    /// Where reads [pass over damage](Archive::passing_over_damage), what is
    /// missing is known when this returns.
    pub fn path(&self, id: ConversationId, target: Option<MessageId>) -> Result<PathReader> {
        let (mut first, mut rest, mut held) = (Vec::new(), Vec::new(), 0);
        self.visit(id, Selection::Path(target), &mut |seen| {
            held += seen.body.len();
            match rest.is_empty() && (held <= HELD_BYTES || first.is_empty()) {
                true => first.push(decode_message(&seen)?),
                false => rest.push((seen.id, seen.body.len())),
            }
            Ok(())
        })?;
        Ok(PathReader { archive: self.archive.clone(), conversation: id, first, rest })
    }
}

impl PathReader {
    /// How many messages the path has.
    pub fn len(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    /// Whether the path has no message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Visits each message in order, with its attachments. An error of the visitor ends the read.
    pub fn visit<E: From<Error>>(
        self,
        mut visit: impl FnMut(&StoredMessage) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { archive, conversation, first, rest } = self;
        let mut each = |messages: Vec<StoredMessage>| {
            messages.into_iter().try_for_each(|mut stored| {
                let filled = fill(archive.store(), conversation, std::iter::once(&mut stored.message));
                archive.or_passed_over(filled)?;
                visit(&stored)
            })
        };
        each(first)?;
        let mut rest = rest.as_slice();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(piece_length(rest));
            let ids: Vec<MessageId> = piece.iter().map(|(id, _)| *id).collect();
            each(archive.collect_bare(conversation, Selection::Ids(&ids))?)?;
            rest = after;
        }
        Ok(())
    }
}

/// How many of these messages may be held at a time; at least one.
fn piece_length(rest: &[(MessageId, usize)]) -> usize {
    let counted = rest.iter().enumerate().try_fold(0, |held, (index, (_, length))| match held + length {
        held if held <= HELD_BYTES || index == 0 => ControlFlow::Continue(held),
        _ => ControlFlow::Break(index),
    });
    counted.break_value().unwrap_or(rest.len())
}
