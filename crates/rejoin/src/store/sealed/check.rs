//! Background work: the inner store's, and a look at everything that reading messages does not open.

use std::cell::RefCell;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::error::{ErrorKind, Result};
use crate::model::{ConversationId, Time};
use crate::store::sealed::keys::key_cache::{DATA, RECORD};
use crate::store::sealed::keys::key_cache::{MARK, RUN};
use crate::store::sealed::keys::names::BLOB_NAME;
use crate::store::sealed::records::blob::{BlobSource, to_hex};
use crate::store::sealed::records::named::NAME_NAME;
use crate::store::sealed::records::numbers::{ConversationNumbers, Recount};
use crate::store::sealed::records::row::DecryptedRow;
use crate::store::sealed::rows::SealedRows;
use crate::store::sealed::search::fill::REACHED;
use crate::store::sealed::search::segments::{IDS, WORDS};
use crate::store::sealed::{KEYS, SEGMENTS, Sealed};
use crate::store::{BlobNames, Fault, Progress, Space, Task};

impl Sealed {
    pub(crate) fn maintain_opened(&self, task: Task, budget: Duration) -> Result<Progress> {
        match task {
            Task::Check => self.check(budget),
            // The inner store could index sealed bytes only.
            Task::Index => self.fill_index(budget),
            Task::RepackOne(id) => {
                let inner = self.key_cache.workspace().names().conversation(id);
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
            progress.faults.extend(self.check_unowned()?);
            match self.raw_rows(None) {
                Ok(raws) => *checking = Some(raws.iter().map(|raw| raw.id).collect()),
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
        let mut looked = None;
        let snapshot = self.backend.snapshot(&mut |rows| {
            looked = self.look_at(&SealedRows::new(self, rows), inner)?;
            Ok(())
        });
        match snapshot {
            // So damaged that the inner store has said it.
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(Vec::new()),
            other => other?,
        }
        // Removed meanwhile.
        let Some(known) = looked else { return Ok(Vec::new()) };
        let conversation = Some(known.row.id);
        let mut faults: Vec<Fault> =
            known.faults.into_iter().map(|what| Fault { conversation, what }).collect();
        if known.is_named {
            faults.extend(self.check_name(inner)?.map(|what| Fault { conversation, what }));
            faults.extend(self.check_blobs(conversation)?);
        }
        Ok(faults)
    }

    /// Opens what is known of a conversation, with numbers in plaintext that are not
    /// what they should be among its faults.
    fn look_at(&self, snapshot: &SealedRows<'_>, inner: ConversationId) -> Result<Option<DecryptedRow>> {
        // From the beginning: what is remembered may have been damaged since.
        let Some(mut known) = snapshot.known(inner)? else { return Ok(None) };
        let state = snapshot.stored(inner)?;
        if let Some(numbers) = &known.numbers {
            known.faults.extend(numbers.differences(&ConversationNumbers::of(&state, &known.raw.branches)));
        }
        let times = [known.raw.created, known.raw.active];
        if times.iter().any(|time| *time != Time::default()) {
            known.faults.push("it has times that are not encrypted".to_owned());
        }
        let mut recount = Recount::default();
        snapshot.rows.nodes(inner, &mut |node| {
            recount.add(node);
            Ok(())
        })?;
        known.faults.extend(recount.differences(&state));
        known.faults.extend(self.check_marks(snapshot, Some(inner))?);
        Ok(Some(known))
    }

    /// The marks of what belongs to no conversation.
    fn check_unowned(&self) -> Result<Vec<Fault>> {
        let mut told = Vec::new();
        self.backend.snapshot(&mut |rows| {
            told = self.check_marks(&SealedRows::new(self, rows), None)?;
            Ok(())
        })?;
        Ok(told.into_iter().map(|what| Fault { conversation: None, what }).collect())
    }

    fn check_blobs(&self, owner: Option<ConversationId>) -> Result<Vec<Fault>> {
        let mut faults = Vec::new();
        let mut tell = |what| faults.push(Fault { conversation: owner, what });
        let inner = owner.map(|owner| self.inner_name(owner));
        for space in Space::ALL {
            // All that stand there, whatever their names begin with: one may
            // have been moved from another space.
            let strays = RefCell::new(Vec::new());
            let source: &BlobSource<'_> = &|space, inner, named, visit| {
                self.inner.get(space, inner, named, &mut |name, bytes| {
                    if name.len() != BLOB_NAME && !is_own(space, inner, name) {
                        strays.borrow_mut().push(to_hex(name));
                    }
                    visit(name, bytes)
                })
            };
            match self.visit_opened(source, space, inner, BlobNames::ALL, &mut |_, _| Ok(())) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => tell(error.to_string()),
                Err(error) => return Err(error),
            }
            for name in strays.into_inner() {
                tell(format!("the blob `{name}` of space {} does not belong there", space.number()));
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

/// True when a blob of the vault itself has this name in this space, and such an owner.
fn is_own(space: Space, owner: Option<ConversationId>, name: &[u8]) -> bool {
    match (space, owner) {
        (KEYS, None) => [RECORD, DATA, MARK, RUN].contains(&name),
        (KEYS, Some(_)) => [DATA, NAME_NAME, MARK].contains(&name),
        (SEGMENTS, None) => name == REACHED,
        (SEGMENTS, Some(_)) => name.starts_with(IDS) || name.starts_with(WORDS),
        _ => false,
    }
}
