//! Runs of sub-agents and what started them: which of them go when a conversation goes.

use std::collections::{HashMap, HashSet};

use crate::archive::Archive;
use crate::error::Result;
use crate::model::{ConversationId, Hold, StoredConversation};

/// Runs of a store, by what started them.
#[derive(Debug, Default)]
pub(super) struct Runs {
    started: HashMap<ConversationId, Vec<StoredConversation>>,
}

impl Runs {
    /// The runs that `goes` admits, of the whole store.
    pub(super) fn of(archive: &Archive, goes: fn(&StoredConversation) -> bool) -> Result<Self> {
        let mut runs = Self::default();
        archive.each_run(None, &mut |run| {
            // What started a run whose header cannot be read is not known.
            let Ok(run) = run else { return Ok(()) };
            if let Some(parent) = run.parent().filter(|_| goes(&run)) {
                runs.started.entry(parent.conversation).or_default().push(run);
            }
            Ok(())
        })?;
        Ok(runs)
    }

    /// Those that a conversation started, and those that they started, each behind what started it.
    pub(super) fn along(&self, id: ConversationId) -> Vec<StoredConversation> {
        // Damage can make a run its own ancestor, so each is met once.
        let mut met = HashSet::from([id]);
        let (mut found, mut next) = (Vec::<StoredConversation>::new(), 0);
        let mut parent = Some(id);
        while let Some(id) = parent {
            let started = self.started.get(&id).into_iter().flatten();
            found.extend(started.filter(|run| met.insert(run.id)).cloned());
            parent = found.get(next).map(|run| run.id);
            next += 1;
        }
        found
    }
}

/// True for a run about which nobody decided by itself. An import holds everything it
/// brings, so its hold decides nothing.
pub(super) fn goes_along(run: &StoredConversation) -> bool {
    let header = &run.conversation;
    run.parent().is_some() && header.hold != Hold::User && header.expires_at.is_none()
}
