//! Appending a turn: its lines, one write, one sync.

use crate::error::{Error, Result};
use crate::store::activity::last_activity;
use crate::store::jsonl::changes::{Happened, Noted};
use crate::store::jsonl::files::{Opened, Purpose};
use crate::store::jsonl::kept::Kept;
use crate::store::jsonl::line::{Blob, Kind, Line};
use crate::store::jsonl::meta::{Meta, Start};
use crate::store::jsonl::scan::Known;
use crate::store::jsonl::writing::{Onto, noted};
use crate::store::jsonl::{JsonlStore, unknown};
use crate::store::{Appended, Stamp, Turn};

impl JsonlStore {
    pub(super) fn append_turn(&self, turn: &Turn<'_>) -> Result<Appended> {
        turn.check()?;
        let id = turn.conversation;
        let mut turnstile = self.begin_writing()?;
        let existing = self.open_for(Purpose::Write, id)?;
        let known = existing.as_ref().map(|opened| self.known(id, opened)).transpose()?;
        let there = known.as_deref().filter(|known| !known.is_nothing());
        if let Some(replayed) = there.and_then(|known| known.kept.replay(turn.entries)) {
            let stamp = there.map_or(0, |known| known.kept.stamp);
            // Whoever wrote it may have been killed before its sync.
            existing.as_ref().map_or(Ok(()), |opened| turnstile.secure(opened, stamp))?;
            return Ok(replayed);
        }
        let fresh = Kept::new(id);
        let kept = match (there, &turn.opening) {
            (Some(known), None) => &known.kept,
            (None, Some(_)) => &fresh,
            (None, None) => return Err(unknown(id)),
            (Some(_), Some(_)) => return Err(Error::conflict(format!("conversation `{id}` exists already"))),
        };
        let forks = kept.forks(turn)?;
        if !turn.blobs.is_empty() {
            self.finish_pending()?;
            self.check_owners(turn.blobs, Some(id))?;
        }
        let stamp = turnstile.next_stamp(kept.stamp.max(self.stamp_of_blobs(turn.blobs)?));
        let lines = lines(turn, kept, &forks, stamp);
        let messages = (kept.messages.len() + turn.entries.len()) as u64;
        let reaches_others = turn.blobs.iter().any(|blob| blob.owner != Some(id));
        let noted =
            Noted { blobs: reaches_others, ..noted(stamp, turn.active, id, Happened::Stored { messages }) };
        match (&existing, known.as_deref(), &turn.opening) {
            (Some(opened), Some(known), _) => {
                refuse_foreign(known, opened)?;
                turnstile.write(&Onto::End(opened, known), &lines, &noted)?;
            }
            (_, _, Some(opening)) => {
                let folder = self.layout.folder_of(&opening.facets.project)?;
                turnstile.write(&Onto::New(&self.layout.file(&folder, id)), &lines, &noted)?;
            }
            (_, _, None) => return Err(unknown(id)),
        }
        self.settle_blobs(turn.blobs, id, stamp)?;
        turnstile.log().finish();
        let seq = kept.next + u32::try_from(turn.entries.len()).unwrap_or(u32::MAX) - 1;
        drop(turnstile);
        Ok(Appended { seq, forked: forks.contains(&true), replayed: false })
    }
}

/// A file that has the name of a conversation and the content of something else is left alone.
fn refuse_foreign(known: &Known, opened: &Opened) -> Result<()> {
    if known.is_nothing() && known.end > 0 {
        return Err(Error::conflict(format!(
            "`{}` exists and is not a file of Rejoin's",
            opened.path.display()
        )));
    }
    Ok(())
}

/// The lines of a turn. What is said about the whole of it stands in the last.
fn lines(turn: &Turn<'_>, kept: &Kept, forks: &[bool], stamp: Stamp) -> Vec<u8> {
    let blank = Line::meta(turn.conversation, turn.active);
    let of = turn.entries.len() + usize::from(turn.opening.is_some());
    let of = u32::try_from(of).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(turn.entries.iter().map(|entry| entry.body.len() + 512).sum());
    let resets_activity = last_activity(kept.active, turn) < kept.active;
    let mut n = 0;
    let mut write = |mut line: Line, message: &str| {
        n += 1;
        (line.n, line.of) = (n, of);
        if n == of {
            line.resets_activity = resets_activity;
            line = line.ending(stamp, kept.stamp);
            line.first = Some(turn.tip.first.to_owned()).filter(|_| kept.first.is_empty());
            line.first = line.first.filter(|first| !first.is_empty());
            line.last = Some(turn.tip.last.to_owned()).filter(|last| !last.is_empty());
            line.branch = turn.branch.filter(|_| line.id.is_some());
            line.blobs = turn.blobs.iter().map(Blob::of).collect();
        }
        line.write(message, &mut bytes);
    };
    if let Some(opening) = &turn.opening {
        let start = Start::new(opening.facets, opening.header, opening.created);
        write(blank.clone(), &Meta::SessionStart(Box::new(start)).to_json());
    }
    for ((entry, seq), forked) in turn.entries.iter().zip(kept.next..).zip(forks) {
        let line = Line {
            message_type: Kind::Conversation,
            message_index: seq,
            id: Some(entry.id),
            parent: entry.parent.map(|anchor| anchor.id),
            turn: Some(kept.next),
            digest: Some(entry.link),
            forked: *forked,
            label: entry.note.label.map(str::to_owned),
            pinned: entry.note.is_pinned,
            ..blank.clone()
        };
        write(line, entry.body);
    }
    bytes
}
