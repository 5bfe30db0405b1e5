//! What can be resumed: the conversations of this project, or of all.

use rejoin::{Archive, List, StoredConversation};

use crate::context::Context;
use crate::error::Failure;
use crate::session::choose::is_of_people;

/// Which conversations are looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Project,
    Everything,
}

impl Reach {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Project => Self::Everything,
            Self::Everything => Self::Project,
        }
    }
}

/// Every conversation that can be resumed, the most recently active first.
pub(crate) fn all(
    context: &Context,
    archive: &Archive,
    reach: Reach,
) -> Result<Vec<StoredConversation>, Failure> {
    let project = match reach {
        Reach::Project => Some(context.project_key(archive)?),
        Reach::Everything => None,
    };
    let now = archive.now();
    let mut found = Vec::new();
    archive.reader().each_conversation(&List { project, ..List::default() }, &mut |stored| {
        if is_of_people(&stored) {
            found.push(context.as_of(now, stored));
        }
        Ok(())
    })?;
    Ok(found)
}
