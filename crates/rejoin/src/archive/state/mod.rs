//! What a program remembers between runs, kept in the store so that there are no side files.

mod project;
pub(in crate::archive) mod prompt_history;

pub use project::Project;

use crate::archive::{Archive, ArchiveState};
use crate::error::{Error, ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::{BlobNames, Put, Safety, Space};

impl ArchiveState<'_> {
    /// What was remembered under a name.
    pub fn recall(&self, name: &str) -> Result<Option<String>> {
        self.archive.recalled(None, name)
    }

    /// What was remembered under names that begin like this, in order of name.
    /// What is no text is passed over.
    pub fn recall_all(&self, beginning: &str) -> Result<Vec<(String, String)>> {
        let (named, mut found) = (BlobNames::Prefix(beginning.as_bytes()), Vec::new());
        self.archive.store().get(Space::State, None, named, &mut |name, bytes| {
            if let [Ok(name), Ok(text)] = [name, bytes].map(str::from_utf8) {
                found.push((name.to_owned(), text.to_owned()));
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// What was remembered under a name for a conversation.
    pub fn recall_for(&self, conversation: ConversationId, name: &str) -> Result<Option<String>> {
        self.archive.recalled(Some(conversation), name)
    }

    /// Remembers a text under a name, or forgets it.
    pub fn remember(&self, name: &str, text: Option<&str>) -> Result<()> {
        self.archive.put_state(None, name, text, Safety::Synced)
    }

    /// Remembers a text under a name. A power cut soon afterwards may undo it.
    pub fn remember_unsynced(&self, name: &str, text: &str) -> Result<()> {
        self.archive.put_state(None, name, Some(text), Safety::Unsynced)
    }

    /// Remembers a text under a name for a conversation, or forgets it. It goes when the conversation goes.
    pub fn remember_for(&self, conversation: ConversationId, name: &str, text: Option<&str>) -> Result<()> {
        self.archive.put_state(Some(conversation), name, text, Safety::Synced)
    }
}

impl Archive {
    fn recalled(&self, owner: Option<ConversationId>, name: &str) -> Result<Option<String>> {
        let (name, mut found) = (self.redacted_name(name), None);
        self.store().get(Space::State, owner, BlobNames::One(name.as_bytes()), &mut |_, bytes| {
            let text = str::from_utf8(bytes);
            found = Some(
                text.map_err(|cause| Error::corrupt("read what was remembered").because(cause))?.to_owned(),
            );
            Ok(())
        })?;
        Ok(found)
    }

    fn put_state(
        &self,
        owner: Option<ConversationId>,
        name: &str,
        text: Option<&str>,
        safety: Safety,
    ) -> Result<()> {
        let text = text.map(|text| self.redacted_state(text));
        let text = text.as_deref();
        let is_same = match self.recalled(owner, name) {
            // What is damaged is written anew.
            Err(error) if error.kind() == ErrorKind::Corrupt => false,
            before => before?.as_deref() == text,
        };
        if is_same {
            return Ok(());
        }
        self.put_text(owner, name, text, safety)
    }

    /// True when something was remembered under a name, though it may be damaged.
    pub(super) fn is_remembered(&self, name: &str) -> Result<bool> {
        match self.state().recall(name) {
            Err(error) if error.kind() == ErrorKind::Corrupt => Ok(true),
            text => Ok(text?.is_some()),
        }
    }

    /// Remembers a text in place of what was remembered, which may be damaged, or forgets it.
    pub(crate) fn replace_for(
        &self,
        conversation: ConversationId,
        name: &str,
        text: Option<&str>,
    ) -> Result<()> {
        let text = text.map(|text| self.redacted_state(text));
        self.put_text(Some(conversation), name, text.as_deref(), Safety::Synced)
    }

    fn put_text(
        &self,
        owner: Option<ConversationId>,
        name: &str,
        text: Option<&str>,
        safety: Safety,
    ) -> Result<()> {
        // A name may have the path of a project in it.
        let name = self.redacted_name(name);
        let blob = Put { space: Space::State, owner, name: name.as_bytes(), bytes: text.map(str::as_bytes) };
        self.store().put(&[blob], safety)
    }
}
