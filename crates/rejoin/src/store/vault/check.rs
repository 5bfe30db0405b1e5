//! Background work: the inner store's, and a look at everything that reading messages does not open.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Result};
use crate::model::ConversationId;
use crate::store::vault::Sealed;
use crate::store::{Fault, ListQuery, Named, Progress, Space, Task};

impl Sealed {
    pub(super) fn maintain_opened(&self, task: Task, budget: Duration) -> Result<Progress> {
        match task {
            Task::Check => self.check(budget),
            // The inner store could index sealed bytes only.
            Task::Index => self.fill_index(budget),
            Task::RepackOne(id) => {
                let inner = self.held.workspace().names().conversation(id);
                let progress = self.inner.maintain(Task::RepackOne(inner), budget);
                let progress =
                    progress.map_err(|error| error.renamed(&[(inner.to_string(), id.to_string())]))?;
                Ok(Progress { faults: self.named_faults(progress.faults), ..progress })
            }
            Task::Checkpoint | Task::Repack => {
                let progress = self.inner.maintain(task, budget)?;
                Ok(Progress { faults: self.named_faults(progress.faults), ..progress })
            }
        }
    }

    /// Checks the inner store, then one conversation after the other, each at least in part.
    fn check(&self, budget: Duration) -> Result<Progress> {
        let began = Instant::now();
        let mut checking = self.checking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut progress = Progress::default();
        if checking.is_none() {
            progress = self.inner.maintain(Task::Check, budget)?;
            progress.faults = self.named_faults(progress.faults);
            if progress.left > 0 {
                return Ok(progress);
            }
            progress.faults.extend(self.check_blobs(None)?);
            let all = self.inner.list(&ListQuery { limit: usize::MAX, ..ListQuery::default() });
            match all {
                Ok(page) => *checking = Some(page.items.iter().map(|raw| raw.id).collect()),
                // The inner store has said what is wrong.
                Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(progress),
                Err(error) => return Err(error),
            }
        }
        let left = checking.get_or_insert_default();
        while let Some(inner) = left.pop() {
            progress.faults.extend(self.check_conversation(inner)?);
            progress.done += 1;
            if began.elapsed() >= budget {
                break;
            }
        }
        progress.left = left.len() as u64;
        if left.is_empty() {
            *checking = None;
        }
        Ok(progress)
    }

    fn check_conversation(&self, inner: ConversationId) -> Result<Vec<Fault>> {
        let raw = self.inner.list(&ListQuery { only: Some(&[inner]), limit: 1, ..ListQuery::default() });
        let raw = match raw {
            Ok(mut page) => page.items.pop(),
            Err(error) if error.kind() == ErrorKind::Corrupt => None,
            Err(error) => return Err(error),
        };
        // Removed meanwhile, or so damaged that the inner store has said it.
        let Some(raw) = raw else { return Ok(Vec::new()) };
        // From the beginning: what is remembered may have been damaged since.
        let known = self.open_row(raw, None)?;
        let conversation = Some(known.row.id);
        let mut faults: Vec<Fault> =
            known.faults.into_iter().map(|what| Fault { conversation, what }).collect();
        if known.is_named {
            faults.extend(self.check_name(inner)?.map(|what| Fault { conversation, what }));
            faults.extend(self.check_blobs(conversation)?);
        }
        Ok(faults)
    }

    fn check_blobs(&self, owner: Option<ConversationId>) -> Result<Vec<Fault>> {
        let mut faults = Vec::new();
        for space in Space::ALL {
            match self.get(space, owner, Named::ALL, &mut |_, _| Ok(())) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    faults.push(Fault { conversation: owner, what: error.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(faults)
    }

    /// Faults of the inner store, with outer names.
    fn named_faults(&self, faults: Vec<Fault>) -> Vec<Fault> {
        let named = |inner: ConversationId| self.outer_name(inner).unwrap_or(inner);
        let rename = |fault: Fault| Fault { conversation: fault.conversation.map(named), ..fault };
        faults.into_iter().map(rename).collect()
    }
}
