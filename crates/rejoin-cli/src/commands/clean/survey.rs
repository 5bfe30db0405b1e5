//! What there is to clean, and what is passed by.

use rejoin::{Archive, ConversationId, Hold, List, StoredConversation};

use super::Age;
use crate::context::Context;
use crate::error::Failure;
use crate::removal::RemovalPlan;

/// The conversations of this project by what is to become of them.
#[derive(Debug)]
pub(super) struct CleanSurvey {
    /// Those to delete, oldest last.
    pub(super) old: RemovalPlan<StoredConversation>,
    /// How many are old and held.
    pub(super) held: u64,
    /// The active conversation, whatever its age.
    pub(super) active: Option<ConversationId>,
    /// Whether the active one is among the old.
    pub(super) active_is_old: bool,
}

impl CleanSurvey {
    pub(super) fn make(archive: &Archive, age: Age, context: &Context) -> Result<Self, Failure> {
        let active = context.active_conversation(archive)?;
        let mut survey = Self { old: RemovalPlan::of(Vec::new()), held: 0, active, active_is_old: false };
        let list =
            List { project: Some(context.project_key(archive)?), includes_expired: true, ..List::default() };
        archive.reader().each_conversation(&list, &mut |stored| {
            if !age.covers(&stored) {
                return Ok(());
            }
            if is_held(&stored) {
                survey.held += 1;
            } else if active == Some(stored.id) {
                survey.active_is_old = true;
            } else {
                survey.old.items.push(stored);
            }
            Ok(())
        })?;
        Ok(survey)
    }
}

pub(super) fn is_held(stored: &StoredConversation) -> bool {
    match stored.conversation.hold {
        Hold::None => false,
        Hold::Import | Hold::User => true,
    }
}
