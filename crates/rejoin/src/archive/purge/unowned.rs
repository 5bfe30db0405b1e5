//! What is remembered beside the conversations, and goes with all of them.

use crate::archive::Archive;
use crate::archive::purge::{UNERASED, keys};
use crate::error::Result;
use crate::store::{BlobNames, Put, Safety, Space};

/// What holds content without belonging to a conversation. The keys of a vault, the audit log and the notes
/// of imports, which are hashes and ids, stay.
const UNOWNED: [Space; 4] = [Space::State, Space::Project, Space::Attachment, Space::Notice];

/// What became of it in a purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unowned {
    Untouched,
    Erased,
    /// Something of it is still there.
    Left,
}

impl Archive {
    /// Erases everything that belongs to no conversation, except the marks of what a purge has still to do.
    ///
    /// What cannot be erased does not keep the rest.
    pub(super) fn erase_unowned(&self) -> Unowned {
        let mut is_gone = true;
        let spaces = UNOWNED.into_iter().map(|space| self.erase_space(space));
        // What does not decrypt goes with its copy in quarantine, after the rest.
        for erased in spaces.chain(std::iter::once_with(|| self.erase_quarantine())) {
            if let Err(error) = erased {
                tracing::warn!(%error, "what belongs to no conversation was not erased");
                is_gone = false;
            }
        }
        if is_gone || self.opens_unowned() { Unowned::Erased } else { Unowned::Left }
    }

    fn erase_space(&self, space: Space) -> Result<()> {
        // They are taken away by whoever has done what they ask for.
        let marks = match space {
            Space::State if self.key_replacer().is_some() => vec![UNERASED, keys::UNRENEWED],
            Space::State => vec![UNERASED],
            _ => Vec::new(),
        };
        let marks: Vec<_> = marks.into_iter().map(|mark| self.redacted_name(mark)).collect();
        let mut names: Vec<Vec<u8>> = Vec::new();
        let read = self.store().get(space, None, BlobNames::ALL, &mut |name, _| {
            if marks.iter().all(|mark| mark.as_bytes() != name) {
                names.push(name.to_vec());
            }
            Ok(())
        });
        let erased: Vec<Put<'_>> =
            names.iter().map(|name| Put { space, owner: None, name, bytes: None }).collect();
        if !erased.is_empty() {
            self.store().put(&erased, Safety::Synced)?;
        }
        read
    }

    fn erase_quarantine(&self) -> Result<()> {
        let Some(vault) = &self.vault else { return Ok(()) };
        vault.discard(&vault.quarantined()?)
    }

    /// True when nothing is left that does not open.
    fn opens_unowned(&self) -> bool {
        UNOWNED.iter().all(|space| self.store().get(*space, None, BlobNames::ALL, &mut |_, _| Ok(())).is_ok())
    }
}
