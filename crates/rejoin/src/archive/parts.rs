//! The parts of an archive: one small type for each subject, so that the archive itself stays short.
//!
//! A part borrows the archive and adds nothing to it. Its methods are in the file of its subject.

use crate::archive::Archive;

/// Reads long conversations and whole stores, piece by piece.
///
/// [`Archive::reader`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveReader<'a> {
    pub(super) archive: &'a Archive,
}

/// What is marked and noted on a conversation: labels, pins, ignored summaries and its synopsis.
///
/// [`Archive::marks`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveMarks<'a> {
    pub(super) archive: &'a Archive,
}

/// The attachments of conversations.
///
/// [`Archive::attachments`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveAttachments<'a> {
    pub(super) archive: &'a Archive,
}

/// Snapshots of a project's files.
///
/// [`Archive::files`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveFiles<'a> {
    pub(super) archive: &'a Archive,
}

/// The audit log: what was removed, redacted and taken out of the store, by whom and why.
///
/// [`Archive::audit`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveAudit<'a> {
    pub(super) archive: &'a Archive,
}

/// Conversations as trees that a format can write.
///
/// [`Archive::exports`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveExports<'a> {
    pub(super) archive: &'a Archive,
}

/// Imports files of other programs, and knows what was imported before.
///
/// [`Archive::imports`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveImports<'a> {
    pub(super) archive: &'a Archive,
}

/// Changes the status of conversations.
///
/// [`Archive::status`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveStatus<'a> {
    pub(super) archive: &'a Archive,
}

/// Runs of sub-agents: conversations that another one started.
///
/// [`Archive::subagents`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveSubagents<'a> {
    pub(super) archive: &'a Archive,
}

/// Replies that were still arriving when their recorder stopped.
///
/// [`Archive::open_turns`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveOpenTurns<'a> {
    pub(super) archive: &'a Archive,
}

/// The redaction of secrets, and the key that it uses.
///
/// [`Archive::redaction`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveRedaction<'a> {
    pub(super) archive: &'a Archive,
}

/// Deletes, purges and scrubs what is stored.
///
/// [`Archive::removal`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveRemoval<'a> {
    pub(super) archive: &'a Archive,
}

/// Computes what expires by a policy, and purges it.
///
/// [`Archive::retention`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveRetention<'a> {
    pub(super) archive: &'a Archive,
}

/// What an archive has besides where its store is a vault; elsewhere it is empty.
///
/// [`Archive::vault`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveVault<'a> {
    pub(super) archive: &'a Archive,
}

/// The projects that conversations belong to.
///
/// [`Archive::projects`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveProjects<'a> {
    pub(super) archive: &'a Archive,
}

/// What programs remember in a store besides conversations.
///
/// [`Archive::state`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveState<'a> {
    pub(super) archive: &'a Archive,
}

/// Looks after the store: background work, and the search for damage.
///
/// [`Archive::maintenance`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveMaintenance<'a> {
    pub(super) archive: &'a Archive,
}

/// Finds conversations and messages by what a person types.
///
/// [`Archive::names`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveNames<'a> {
    pub(super) archive: &'a Archive,
}

impl Archive {
    /// What reads long conversations and whole stores.
    pub const fn reader(&self) -> ArchiveReader<'_> {
        ArchiveReader { archive: self }
    }

    /// What is marked and noted on a conversation.
    pub const fn marks(&self) -> ArchiveMarks<'_> {
        ArchiveMarks { archive: self }
    }

    /// The attachments of conversations.
    pub const fn attachments(&self) -> ArchiveAttachments<'_> {
        ArchiveAttachments { archive: self }
    }

    /// Snapshots of a project's files.
    pub const fn files(&self) -> ArchiveFiles<'_> {
        ArchiveFiles { archive: self }
    }

    /// The audit log.
    pub const fn audit(&self) -> ArchiveAudit<'_> {
        ArchiveAudit { archive: self }
    }

    /// What leaves the store.
    pub const fn exports(&self) -> ArchiveExports<'_> {
        ArchiveExports { archive: self }
    }

    /// What is read from files of other programs.
    pub const fn imports(&self) -> ArchiveImports<'_> {
        ArchiveImports { archive: self }
    }

    /// The status of conversations.
    pub const fn status(&self) -> ArchiveStatus<'_> {
        ArchiveStatus { archive: self }
    }

    /// Runs of sub-agents.
    pub const fn subagents(&self) -> ArchiveSubagents<'_> {
        ArchiveSubagents { archive: self }
    }

    /// Replies that were still arriving.
    pub const fn open_turns(&self) -> ArchiveOpenTurns<'_> {
        ArchiveOpenTurns { archive: self }
    }

    /// The redaction of secrets.
    pub const fn redaction(&self) -> ArchiveRedaction<'_> {
        ArchiveRedaction { archive: self }
    }

    /// What deletes, purges and scrubs.
    pub const fn removal(&self) -> ArchiveRemoval<'_> {
        ArchiveRemoval { archive: self }
    }

    /// What expires, and is purged.
    pub const fn retention(&self) -> ArchiveRetention<'_> {
        ArchiveRetention { archive: self }
    }

    /// What there is besides where the store is a vault.
    pub const fn vault(&self) -> ArchiveVault<'_> {
        ArchiveVault { archive: self }
    }

    /// The projects that conversations belong to.
    pub const fn projects(&self) -> ArchiveProjects<'_> {
        ArchiveProjects { archive: self }
    }

    /// What programs remember besides conversations.
    pub const fn state(&self) -> ArchiveState<'_> {
        ArchiveState { archive: self }
    }

    /// What looks after the store.
    pub const fn maintenance(&self) -> ArchiveMaintenance<'_> {
        ArchiveMaintenance { archive: self }
    }

    /// What finds conversations and messages by what a person types.
    pub const fn names(&self) -> ArchiveNames<'_> {
        ArchiveNames { archive: self }
    }
}
