//! Importing: a source of another program becomes conversations, and importing it again adds only what is new.
//!
//! A source is read twice. The first time nothing is stored: whatever is wrong with the source ends it there, so that
//! nothing is half imported, and what is known of a conversation only at its end is known before it is created. The
//! second time its messages are appended in batches. An import that is cut off is finished by the next one.

mod batch;
mod bookmark;
mod growing;
mod header;
mod identity;
mod regrow;
mod report;

use std::collections::{HashMap, HashSet};
use std::fmt;

use growing::Growing;
use identity::Names;
pub use report::{Imported, ImportedConversation};

use crate::error::{Error, ErrorKind, Result};
use crate::formats::{Format, Piece, ReadLimits, Reading, Source, SourceConversation};
use crate::model::{ConversationId, Time};
use crate::store::Store;

/// How an import is done.
pub struct Import<'a> {
    /// How large the source may be.
    pub limits: ReadLimits,
    /// Whether anything is stored.
    pub mode: ImportMode,
    /// The key of the project that a directory belongs to.
    pub project: &'a dyn Fn(&str) -> String,
    /// Told how many more bytes were read; a source is read twice, unless nothing is stored.
    pub progress: &'a mut dyn FnMut(u64),
}

/// Whether an import stores anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// What is new is stored.
    Store,
    /// Only told what would be stored.
    Try,
}

impl fmt::Debug for Import<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Import")
            .field("limits", &self.limits)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// What an import needs to know about the place it goes to.
#[derive(Clone, Copy)]
pub(crate) struct Into<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) now: Time,
    /// The most bytes of one conversation.
    pub(crate) conversation_bytes: u64,
    /// Conversations that are passed over.
    pub(crate) except: &'a HashSet<ConversationId>,
}

/// Imports one source.
pub(crate) fn import(
    into: Into<'_>,
    source: &Source,
    format: &'static Format,
    how: &mut Import<'_>,
) -> Result<Imported> {
    let mut trial = Pass::new(into, source, format, ImportMode::Try, HashMap::new());
    trial.run(how)?;
    let report = trial.finish()?;
    if how.mode == ImportMode::Try {
        return Ok(report.0);
    }
    let mut pass = Pass::new(into, source, format, ImportMode::Store, report.1);
    pass.run(how)?;
    Ok(pass.finish()?.0)
}

/// One reading of the source.
struct Pass<'a> {
    into: Into<'a>,
    source: &'a Source,
    format: &'static Format,
    mode: ImportMode,
    /// What the reading before has found out about each conversation.
    learnt: HashMap<String, SourceConversation>,
    growing: Vec<Growing<'a>>,
    /// Conversations that are not imported.
    passed_over: HashSet<String>,
    report: Imported,
}

impl<'a> Pass<'a> {
    fn new(
        into: Into<'a>,
        source: &'a Source,
        format: &'static Format,
        mode: ImportMode,
        learnt: HashMap<String, SourceConversation>,
    ) -> Self {
        let report = Imported::new(format.name, source.path().to_owned());
        Self { into, source, format, mode, learnt, growing: Vec::new(), passed_over: HashSet::new(), report }
    }

    fn run(&mut self, how: &mut Import<'_>) -> Result<()> {
        let (source, format, limits) = (self.source, self.format, how.limits);
        let (project, progress) = (how.project, &mut *how.progress);
        let mut refused: Option<Error> = None;
        let mut take = |piece: Piece| match piece {
            _ if refused.is_some() => Err(Error::invalid("it was refused before")),
            Piece::Passed(bytes) => {
                progress(bytes);
                Ok(())
            }
            piece => self.take(piece, project).or_else(|error| {
                refused = Some(error);
                Err(Error::invalid("it is refused"))
            }),
        };
        let outcome = format.read(source, &mut Reading::new(limits, &mut take));
        // A reader passes over what it cannot use; what was refused here ends the import all the same.
        if let Some(refused) = refused {
            return Err(refused);
        }
        outcome.map_err(|error| match error.kind() {
            // A file that cannot be read is at fault itself; the store is not, and may take the next one.
            ErrorKind::Unavailable => {
                Error::invalid(format!("`{}` cannot be read", source.path().display())).because(error)
            }
            _ => error,
        })
    }

    fn take(&mut self, piece: Piece, project: &dyn Fn(&str) -> String) -> Result<()> {
        match piece {
            Piece::Conversation(found) => self.meet(*found, project),
            Piece::Message(message) if self.is_passed_over(&message.conversation) => Ok(()),
            Piece::Message(message) => {
                let place = self.place(&message.conversation)?;
                if let Some(skipped) = self.growing[place].take(*message, self.source.path())? {
                    self.report.skip(skipped);
                }
                Ok(())
            }
            Piece::Branch(branch) => {
                if let Ok(place) = self.place(&branch.conversation) {
                    self.growing[place].name_branch(branch);
                }
                Ok(())
            }
            Piece::Pin(pin) => {
                if let Ok(place) = self.place(&pin.conversation) {
                    self.growing[place].pin(&pin.message);
                }
                Ok(())
            }
            Piece::Aside(aside) => {
                self.report.asides += 1;
                match self.place(&aside.conversation) {
                    Ok(place) => self.growing[place].put_aside(&aside),
                    // Nothing was said in that conversation, so it is not kept.
                    Err(_) => Ok(()),
                }
            }
            Piece::Skipped(skipped) => {
                self.report.skip(skipped);
                Ok(())
            }
            Piece::Complete(id) => self.complete(&id),
            Piece::Passed(_) => Ok(()),
        }
    }

    /// Meets a conversation, or learns more about one.
    fn meet(&mut self, found: SourceConversation, project: &dyn Fn(&str) -> String) -> Result<()> {
        let id = Names(self.format).conversation(&found.id, found.created_at);
        if self.into.except.contains(&id) {
            if self.passed_over.insert(found.id) {
                self.report.deleted.push(id);
            }
            return Ok(());
        }
        if let Ok(place) = self.place(&found.id) {
            self.learnt.insert(found.id.clone(), found.clone());
            self.growing[place].learn(found);
            return Ok(());
        }
        // Whatever waits to be stored waits in one conversation at a time, however many the source has.
        self.growing.iter_mut().try_for_each(Growing::flush)?;
        let mut known = self.learnt.entry(found.id.clone()).or_insert(found).clone();
        known.header.project = known.header.project.map(|directory| project(&directory));
        let parent = known.parent.as_ref().and_then(|parent| {
            let above = self.growing.iter().find(|growing| growing.source_id() == parent.conversation)?;
            Some(above.parent_of(parent))
        });
        let growing = Growing::begin(self.into, self.format, self.source, known, parent, self.mode)?;
        self.growing.push(growing);
        Ok(())
    }

    fn is_passed_over(&self, conversation: &str) -> bool {
        !self.passed_over.is_empty() && self.passed_over.contains(conversation)
    }

    /// Stores what is left of a conversation and lets go of what is known of it, so that a source may have any number.
    fn complete(&mut self, id: &str) -> Result<()> {
        let Ok(place) = self.place(id) else { return Ok(()) };
        if let Some(done) = self.growing.remove(place).finish()? {
            self.report.conversations.push(done);
        }
        Ok(())
    }

    /// The newest first, because messages of one conversation come together.
    fn place(&self, conversation: &str) -> Result<usize> {
        self.growing.iter().rposition(|growing| growing.source_id() == conversation).ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!("the reader did not announce conversation `{conversation}`"),
            )
        })
    }

    fn finish(mut self) -> Result<(Imported, HashMap<String, SourceConversation>)> {
        for growing in self.growing {
            if self.mode == ImportMode::Try
                && let Some(known) = self.learnt.get_mut(growing.source_id())
            {
                known.head = growing.learnt_head();
            }
            if let Some(done) = growing.finish()? {
                self.report.conversations.push(done);
            }
        }
        Ok((self.report, self.learnt))
    }
}
