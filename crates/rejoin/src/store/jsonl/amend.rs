//! Changing what is known about a conversation: a line that says so, or a new
//! file where messages are rewritten.

use std::path::Path;
use std::rc::Rc;
use std::{fs, io};

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::backend::{Amend, Amendment, LogEntry};
use crate::store::durable;
use crate::store::jsonl::Jsonl;
use crate::store::jsonl::change_log::Noted;
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::{LockedFile, OpenScan};
use crate::store::jsonl::line::meta::Meta;
use crate::store::jsonl::line::{Line, owned_text};
use crate::store::jsonl::writing::{Onto, Turnstile};

impl Jsonl {
    pub(super) fn amend(
        &self,
        turnstile: &mut Turnstile<'_>,
        look: Rc<OpenScan>,
        amend: &Amend<'_>,
        change: &LogEntry,
    ) -> Result<()> {
        if let Amendment::Rewrite(bodies, ..) = &amend.change {
            return self.rewrite_messages(turnstile, &look, amend, bodies, change);
        }
        let (opened, known) = &*look;
        let (id, kept) = (amend.conversation, &known.kept);
        let stamp = turnstile.next_stamp(kept.stamp);
        let mut bytes = Vec::new();
        let last = amend.last.map(owned_text).transpose()?;
        let line = Line { last, ..Line::meta(id, change.at).ending(stamp, kept.stamp) };
        line.write(&Meta::of(&amend.change, amend.version)?.to_json(), &mut bytes);
        turnstile.write(&Onto::End(opened, known), &bytes, &Noted::of(stamp, change))?;
        if let Amendment::Header(facets, _) = &amend.change
            && facets.project != kept.tree.facets.project
        {
            // The change is stored. Where the file lies is only for people, so no answer depends on it.
            let _ = self.move_to_project(&facets.project, opened, id);
        }
        let mut spent = kept.spent;
        spent.add(bytes.len() as u64);
        if spent.are_many(self.options.repack_every, known.end + bytes.len() as u64) {
            drop(look);
            // The change is stored; lines that it made void can wait for the next one.
            let _ = self.fold(turnstile, id);
        }
        Ok(())
    }

    /// Moves a file to the folder of another project. Which project it belongs to stands in the
    /// file already, so a crash in between leaves nothing but a file in the wrong folder. A
    /// folder that has a copy of it keeps that.
    fn move_to_project(&self, project: &str, opened: &LockedFile, id: ConversationId) -> Result<()> {
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

impl Jsonl {
    /// Removes the folder of a project in which nothing is left. It says which project that was, and what is
    /// in a path may have been taken out everywhere else.
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
