//! Runs of sub-agents: they go with the conversation that started them, and stay as long as it does.

use std::collections::HashMap;

use crate::archive::{Archive, Subagents};
use crate::error::Result;
use crate::model::{ConversationId, Hold, StoredConversation};

/// The runs of a store that go along with others, by what started them.
#[derive(Debug, Default)]
pub(super) struct Runs {
    started: HashMap<ConversationId, Vec<StoredConversation>>,
}

impl Runs {
    pub(super) fn of(archive: &Archive) -> Result<Self> {
        let mut runs = Self::default();
        for run in archive.subagents(&Subagents::default())? {
            if let Some(parent) = run.parent().filter(|_| goes_along(&run)) {
                runs.started.entry(parent.conversation).or_default().push(run);
            }
        }
        Ok(runs)
    }

    /// Those that a conversation started, and those that they started, each behind what started it.
    pub(super) fn along(&self, id: ConversationId) -> Vec<StoredConversation> {
        let mut found: Vec<StoredConversation> = self.started_by(id).to_vec();
        let mut next = 0;
        // A run has one parent, so nothing is met twice, unless damage made one its own ancestor.
        while let Some(run) = found.get(next).map(|run| run.id).filter(|run| *run != id) {
            found.extend_from_slice(self.started_by(run));
            next += 1;
        }
        found
    }

    fn started_by(&self, id: ConversationId) -> &[StoredConversation] {
        self.started.get(&id).map_or(&[], Vec::as_slice)
    }
}

/// True for a run about which nobody decided by itself. An import holds everything it brings, so its hold decides nothing.
pub(super) fn goes_along(run: &StoredConversation) -> bool {
    let header = &run.conversation;
    run.parent().is_some() && header.hold != Hold::User && header.expires_at.is_none()
}
