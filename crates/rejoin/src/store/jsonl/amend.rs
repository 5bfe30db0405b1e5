//! Changing what is known about a conversation: a line that says so, or a new file where messages are rewritten.

use std::collections::HashSet;
use std::path::Path;
use std::{fs, io};

use crate::error::{Error, Result};
use crate::model::{ConversationId, MessageId, Time};
use crate::store::durable;
use crate::store::jsonl::JsonlStore;
use crate::store::jsonl::changes::Happened;
use crate::store::jsonl::fault::During;
use crate::store::jsonl::files::{Opened, Purpose};
use crate::store::jsonl::kept::{Kept, no_message};
use crate::store::jsonl::line::Line;
use crate::store::jsonl::meta::Meta;
use crate::store::jsonl::rewrite::{Loss, Remains};
use crate::store::jsonl::writing::{Onto, noted};
use crate::store::turn::left_behind;
use crate::store::{Change, Rewritten, Version};

impl JsonlStore {
    pub(super) fn change(
        &self,
        id: ConversationId,
        expected: Option<Version>,
        change: &Change<'_>,
        at: Time,
    ) -> Result<Version> {
        change.check()?;
        let mut turnstile = self.begin_writing()?;
        let (opened, known) = self.must_open(Purpose::Write, id)?;
        if expected.is_some_and(|expected| known.kept.version != expected) {
            return Err(Error::conflict(format!("conversation `{id}` changed meanwhile")));
        }
        check(change, &known.kept)?;
        let version = known.kept.version + 1;
        let stamp = turnstile.next_stamp(known.kept.stamp);
        if let Change::Rewrite { messages, tip } = change {
            let messages = messages.iter().map(|message| (message.id, message)).collect();
            let loss = Loss::Rewritten { messages: &messages, tip };
            let remains = Remains { known: &known, loss, version, stamp, at };
            let rewritten = noted(stamp, at, id, Happened::Rewritten);
            return self.write_anew(&mut turnstile, opened, &remains, Some(&rewritten)).map(|()| version);
        }
        let mut bytes = Vec::new();
        let line = Line::meta(id, at).ending(stamp, known.kept.stamp);
        line.write(&Meta::of(change, version).to_json(), &mut bytes);
        let note = noted(stamp, at, id, Happened::Changed);
        turnstile.write(&Onto::End(&opened, &known), &bytes, &note)?;
        if let Change::Header { facets, .. } = change
            && facets.project != known.kept.facets.project
        {
            // The change is stored. Where the file lies is only for people, so no answer depends on it.
            let _ = self.move_to_project(&facets.project, &opened, id);
        }
        let mut spent = known.kept.spent;
        spent.add(bytes.len() as u64);
        if spent.are_many(self.options.repack_every, known.end + bytes.len() as u64) {
            drop(opened);
            // The change is stored; lines that it made void can wait for the next one.
            let _ = self.fold(&mut turnstile, id);
        }
        Ok(version)
    }

    /// Moves a file to the folder of another project. Which project it belongs to stands in the file already, so a
    /// crash in between leaves nothing but a file in the wrong folder. A folder that has a copy of it keeps that.
    fn move_to_project(&self, project: &str, opened: &Opened, id: ConversationId) -> Result<()> {
        let path = self.layout.file(&self.layout.folder_of(project)?, id);
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        self.forget(id);
        durable::rename(&opened.path, &path)
            .during(|| format!("move `{}` to `{}`", opened.path.display(), path.display()))?;
        let folder = durable::directory_of(&opened.path);
        self.leave(folder).during(|| format!("remove `{}`", folder.display()))
    }
}

impl JsonlStore {
    /// Removes the folder of a project in which nothing is left. It says which project that was, and what is in a path may
    /// have been taken out everywhere else.
    pub(super) fn leave(&self, folder: &Path) -> io::Result<()> {
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { return Ok(()) };
        let marker = self.layout.marker(name);
        for entry in fs::read_dir(folder)? {
            if entry?.path() != marker {
                return Ok(());
            }
        }
        if !marker.exists() {
            return Ok(());
        }
        durable::erase(&durable::open_to_write(&marker)?, &marker)?;
        durable::remove_if_empty(folder)?;
        durable::sync_parent(folder)
    }
}

/// Refuses a change that names a message which is not there.
fn check(change: &Change<'_>, kept: &Kept) -> Result<()> {
    let must_exist = |id: MessageId| kept.seq_of(id).map(drop).ok_or_else(|| no_message(id));
    match change {
        Change::Header { .. } | Change::Head(None) | Change::Unbranch(_) => Ok(()),
        Change::Head(Some(id)) | Change::Note(id, _) => must_exist(*id),
        Change::Branch(branch) => must_exist(branch.head),
        Change::Rewrite { messages, .. } => {
            messages.iter().try_for_each(|message| must_exist(message.id))?;
            refuse_to_leave_behind(messages, kept)
        }
    }
}

/// A child that was appended while its parent was being rewritten would vouch for what is gone.
fn refuse_to_leave_behind(messages: &[Rewritten<'_>], kept: &Kept) -> Result<()> {
    let other = |message: &Rewritten<'_>| {
        let seq = kept.seq_of(message.id)?;
        kept.held(seq).filter(|held| held.link != message.link).map(|_| seq)
    };
    let relinked: HashSet<u32> = messages.iter().filter_map(other).collect();
    let mut children = kept.messages.iter().filter(|held| {
        held.parent.is_some_and(|parent| relinked.contains(&parent)) && !relinked.contains(&held.seq)
    });
    children.next().map_or(Ok(()), |child| Err(left_behind(child.id)))
}
