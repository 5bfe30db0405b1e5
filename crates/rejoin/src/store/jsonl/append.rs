//! Appending a turn: its lines, one write, one sync.

use std::rc::Rc;

use crate::error::{Error, Result};
use crate::store::backend::{Append, LogEntry, taken, unknown};
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::change_log::Noted;
use crate::store::jsonl::files::OpenScan;
use crate::store::jsonl::line::meta::{ConversationStart, Meta};
use crate::store::jsonl::line::{Blob, Line, LineType, owned_text, text};
use crate::store::jsonl::loaded::LoadedConversation;
use crate::store::jsonl::writing::{Onto, Turnstile};
use crate::store::{Put, Stamp};

impl Jsonl {
    pub(super) fn append(
        &self,
        turnstile: &mut Turnstile<'_>,
        file: Option<Rc<OpenScan>>,
        append: &Append<'_>,
        blobs: &[Put<'_>],
        change: &LogEntry,
    ) -> Result<()> {
        let id = append.conversation;
        let known = file.as_ref().map(|look| &look.1).filter(|known| !known.is_nothing());
        let kept = known.map(|known| &known.kept);
        refuse_taken_ids(kept, append)?;
        if !blobs.is_empty() {
            self.finish_pending()?;
        }
        let newest = kept.map_or(0, |kept| kept.stamp);
        let stamp = turnstile.next_stamp(newest.max(self.stamp_of_blobs(blobs)?));
        let lines = lines(append, blobs, kept, stamp)?;
        let reaches_others = blobs.iter().any(|blob| blob.owner != Some(id));
        let noted = Noted { blobs: reaches_others, ..Noted::of(stamp, change) };
        match (file.as_deref(), &append.opening) {
            (Some(look), _) => {
                refuse_foreign(look)?;
                turnstile.write(&Onto::End(&look.0, &look.1), &lines, &noted)?;
            }
            (None, Some(opening)) => {
                let folder = self.layout.folder_of(&opening.facets.project)?;
                turnstile.write(&Onto::New(&self.layout.file(&folder, id)), &lines, &noted)?;
            }
            (None, None) => return Err(unknown(id)),
        }
        // What is known is read on from where it ends, which is short work for its only owner.
        drop(file);
        self.settle_blobs(blobs, id, stamp)?;
        turnstile.log().finish();
        Ok(())
    }
}

fn refuse_taken_ids(kept: Option<&LoadedConversation>, append: &Append<'_>) -> Result<()> {
    let Some(kept) = kept else { return Ok(()) };
    match append.messages.iter().find(|message| kept.tree.seq_of(message.id).is_some()) {
        Some(message) => Err(taken(message.id)),
        None => Ok(()),
    }
}

/// A file that has the name of a conversation and the content of something else is left alone.
fn refuse_foreign((opened, known): &OpenScan) -> Result<()> {
    if known.is_nothing() && known.end > 0 {
        return Err(Error::conflict(format!(
            "`{}` exists and is not a file of Rejoin's",
            opened.path.display()
        )));
    }
    Ok(())
}

/// The lines of a turn. What is said about the whole of it stands in the last.
fn lines(
    append: &Append<'_>,
    blobs: &[Put<'_>],
    kept: Option<&LoadedConversation>,
    stamp: Stamp,
) -> Result<Vec<u8>> {
    let blank = Line::meta(append.conversation, append.said);
    let of = append.messages.len() + usize::from(append.opening.is_some());
    let of = u32::try_from(of).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(append.messages.iter().map(|message| message.body.len() + 512).sum());
    let mut n = 0;
    let mut write = |mut line: Line, message: &str| -> Result<()> {
        n += 1;
        (line.n, line.of) = (n, of);
        if n == of {
            line.resets_activity = kept.is_some_and(|kept| append.active < kept.tree.active);
            line = line.ending(stamp, kept.map_or(0, |kept| kept.stamp));
            line.first = append.first.map(owned_text).transpose()?;
            line.last = append.last.map(owned_text).transpose()?;
            line.branch = append.branch;
            line.blobs = blobs.iter().map(Blob::of).collect();
        }
        line.write(message, &mut bytes);
        Ok(())
    };
    if let Some(opening) = &append.opening {
        let start = ConversationStart::new(opening.facets, text(opening.header)?, opening.created);
        write(blank.clone(), &Meta::SessionStart(Box::new(start)).to_json())?;
    }
    for message in &append.messages {
        let line = Line {
            message_type: LineType::Conversation,
            message_index: message.seq,
            id: Some(message.id),
            parent: message.parent.map(|(parent, _)| parent.id),
            turn: Some(message.turn),
            digest: Some(message.link),
            forked: message.forked,
            label: message.label.map(owned_text).transpose()?,
            pinned: message.is_pinned,
            ..blank.clone()
        };
        write(line, text(message.body)?)?;
    }
    Ok(bytes)
}
