//! The log of changes, with outer names, times and reasons.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::sealed::Sealed;
use crate::store::sealed::keys::encoding::{from_text, to_text};
use crate::store::sealed::keys::envelope::{Broken, Sealer};
use crate::store::{Changed, Stamp, What};

const REASON: &str = "rejoin/vault/reason/1\n";

/// Reasons belong to no conversation: they are told when it is gone.
const NOWHERE: [u8; 16] = [0; 16];

/// Why something was removed, as it is sealed.
#[derive(Serialize, Deserialize)]
pub(crate) struct SealedReason {
    pub(crate) reason: String,
    /// What the removal was about. Of a conversation that is gone nothing else says what it was called.
    pub(crate) conversations: Vec<ConversationId>,
}

impl SealedReason {
    pub(crate) fn seal(&self, sealer: &Sealer) -> String {
        let text = serde_json::to_string(self).expect("a reason is plain");
        to_text(&sealer.seal(REASON, &[&NOWHERE], &[text.as_bytes()]))
    }
}

impl Sealed {
    pub(crate) fn changes_opened(&self, after: Stamp, wait: Duration) -> Result<Vec<Changed>> {
        let changes = self.inner.changes(after, wait)?;
        self.learn_names(&changes)?;
        let workspace = self.key_cache.workspace();
        let opened = changes
            .into_iter()
            .map(|change| {
                let conversation = self.outer_name(change.conversation).unwrap_or(change.conversation);
                let at = workspace.names().time_of(change.at);
                let what = match change.what {
                    What::Stored { messages } => What::Stored { messages },
                    What::Changed => What::Changed,
                    What::Rewritten => What::Rewritten,
                    What::Trimmed { reason } => What::Trimmed { reason: self.reason(&reason).reason },
                    What::Deleted { reason } => What::Deleted { reason: self.reason(&reason).reason },
                };
                Changed { stamp: change.stamp, at, conversation, what }
            })
            .collect();
        Ok(opened)
    }

    /// Finds out what the conversations that changed are called: their headers say it,
    /// or the reason they were removed for.
    ///
    /// A change of one that was never made, or whose header does not open, is told under its inner name.
    fn learn_names(&self, changes: &[Changed]) -> Result<()> {
        let unknown = |changes: &[Changed]| -> Vec<ConversationId> {
            let ids = changes.iter().map(|change| change.conversation);
            ids.filter(|inner| self.outer_name(*inner).is_none()).collect()
        };
        let wanted = unknown(changes);
        if wanted.is_empty() {
            return Ok(());
        }
        for raw in self.raw_rows(Some(&wanted))? {
            self.open_row(raw, None)?;
        }
        let mut stamp = changes.last().map_or(0, |change| change.stamp);
        let mut further = changes.to_vec();
        while !unknown(changes).is_empty() && !further.is_empty() {
            for change in &further {
                if let What::Deleted { reason } = &change.what {
                    self.learn_from(reason);
                }
            }
            // It may have been removed after the changes that were asked for.
            further = self.inner.changes(stamp, Duration::ZERO)?;
            stamp = further.last().map_or(stamp, |change| change.stamp);
        }
        Ok(())
    }

    fn learn_from(&self, reason: &str) {
        let workspace = self.key_cache.workspace();
        for outer in self.reason(reason).conversations {
            self.learn_name(workspace.names().conversation(outer), outer);
        }
    }

    /// Opens a reason. One that does not open says so itself: a change must be told.
    fn reason(&self, sealed: &str) -> SealedReason {
        let workspace = self.key_cache.workspace();
        let opened =
            from_text(sealed).and_then(|envelope| workspace.reasons().open(REASON, &[&NOWHERE], &envelope));
        let read = opened.and_then(|inside| serde_json::from_slice(&inside).map_err(|_| Broken::Inside));
        read.unwrap_or_else(|why| SealedReason {
            reason: format!("the reason does not open: {why}"),
            conversations: Vec::new(),
        })
    }
}
