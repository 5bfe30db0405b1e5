//! Importing: a source of another program becomes conversations, and importing
//! it again adds only what is new.
//!
//! A source is read twice. The first time nothing is stored: whatever is wrong with the source ends it there,
//! so that nothing is half imported, and what is known of a conversation only at its end is known before it
//! is created. This reading is an outline: what is new is parsed and named, and only the second reading
//! redacts, encodes and hashes it and appends it in batches; small conversations wait for each other and are
//! one commit (`queue.rs`). A source says nothing about a conversation that began here, unless whoever
//! imports it asks for that. A first reading that turns out to have misjudged a beginning is repeated. An
//! import that is cut off is finished by the next one.

mod activity;
mod aside;
mod attached;
mod batch;
mod bookmark;
mod contents;
mod counterpart;
mod finish;
mod growing;
mod head;
mod header;
mod identity;
mod lineage;
mod location;
mod names;
mod queue;
mod ready;
mod regrow;
mod report;
mod route;
mod same;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

pub(crate) use activity::is_used_here;
use contents::SourceContents;
use growing::{Above, Growing};
use identity::ImportNames;
use location::Location;
pub(crate) use queue::ImportQueue;
use regrow::Regrowth;
pub use report::{Imported, ImportedAs, ImportedConversation};
use route::{ImportRoute, Router};

use crate::error::{Error, ErrorKind, Result};
use crate::formats::{Format, ReadLimits, Reading, Source, SourceConversation, SourcePiece};
use crate::model::{ConversationId, Time};
use crate::ops::redact::{RedactionTally, Redactor};
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
pub(crate) struct ImportDestination<'a> {
    pub(crate) store: &'a dyn Store,
    /// Where what is small waits to be stored with others.
    pub(crate) queue: &'a ImportQueue,
    pub(crate) now: Time,
    /// The most bytes of one conversation.
    pub(crate) conversation_bytes: u64,
    /// The size of the pieces an attachment is stored in.
    pub(crate) attachment_chunk_bytes: u64,
    /// Conversations that are passed over unless they are there: someone has deleted them.
    pub(crate) except: &'a HashSet<ConversationId>,
    /// What is taken out before anything is stored.
    pub(crate) redactor: Option<Redactor<'a>>,
    /// The conversation that was asked for: what a source has becomes a branch of it.
    pub(crate) target: Option<ConversationId>,
}

/// Imports one source. What is new and small may wait in the queue when this returns.
pub(crate) fn import(
    into: ImportDestination<'_>,
    source: &Source,
    format: &'static Format,
    how: &mut Import<'_>,
) -> Result<Imported> {
    let location = Location::of(source, format, into.redactor);
    let pass =
        |mode, depth, learnt| ReadingPass::new(into, (source, format), &location, (mode, depth), learnt);
    let mut learnt = Learnt::new();
    // Whoever asks what would be stored is told what would be taken out of it.
    let mut depth = if how.mode == ImportMode::Store { ReadingDepth::Outline } else { ReadingDepth::Full };
    for trial in 0..TRIALS {
        let mut silent = |_| {};
        let (limits, mode, project) = (how.limits, how.mode, how.project);
        let mut again = Import { limits, mode, project, progress: &mut silent };
        let mut pass = pass(ImportMode::Try, depth, learnt);
        // Who waits was told of one trial.
        if trial == 0 { pass.run(how) } else { pass.run(&mut again) }?;
        let done = pass.finish()?;
        check_target(into.target, &done.report)?;
        if done.verdict == ReadingVerdict::Reliable && how.mode == ImportMode::Try {
            return Ok(done.report);
        }
        learnt = done.learnt;
        match done.verdict {
            ReadingVerdict::Reliable => break,
            ReadingVerdict::Misjudged => {}
            ReadingVerdict::TooShallow => depth = ReadingDepth::Full,
        }
    }
    let mut pass = pass(how.mode, ReadingDepth::Full, learnt);
    pass.run(how)?;
    Ok(pass.finish()?.report)
}

/// Refuses a source that has nothing for the conversation that was asked for.
fn check_target(target: Option<ConversationId>, report: &Imported) -> Result<()> {
    let is_branch = |one: &ImportedConversation| matches!(one.imported_as, ImportedAs::Branch { .. });
    if target.is_none() || report.conversations.iter().any(is_branch) {
        return Ok(());
    }
    Err(Error::invalid("it has no conversation that could become a branch"))
}

/// So often a source is read at most before anything is stored. Once is enough, except where the
/// end of a source tells that its beginning was misjudged, or that it has more than the
/// conversation that it is compared with.
const TRIALS: usize = 4;

/// Of so many conversations something may wait to be stored, where a source
/// goes from one to the other and back.
const WAITING: usize = 4;

/// What a reading has found out about each conversation, by its id at the source.
type Learnt = HashMap<String, KnownConversation>;

/// What is known of a conversation before it is read.
#[derive(Clone)]
struct KnownConversation {
    found: SourceConversation,
    regrowth: Regrowth,
    /// Which conversation takes it; none when that is not known yet.
    route: Option<ImportRoute>,
}

/// Whether a reading judged everything as the next one will. The worst one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ReadingVerdict {
    Reliable,
    Misjudged,
    /// An outline is not enough: only what is stored tells whether it is too large.
    TooShallow,
}

/// How closely a reading looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadingDepth {
    /// What is new is parsed and named.
    Outline,
    /// Everything is made ready to be stored.
    Full,
}

/// What a reading came to.
struct ReadingResult {
    report: Imported,
    learnt: Learnt,
    verdict: ReadingVerdict,
}

/// One reading of the source.
struct ReadingPass<'a> {
    into: ImportDestination<'a>,
    source: &'a Source,
    format: &'static Format,
    mode: ImportMode,
    depth: ReadingDepth,
    /// What the reading before has found out about each conversation.
    learnt: Learnt,
    router: Router<'a>,
    /// The conversation that becomes a branch of the one that was asked for.
    branch: Option<String>,
    /// The conversations that are not complete, in order.
    growing: BTreeMap<u64, Growing<'a>>,
    /// Where each of them is, by its id at the source.
    places: HashMap<String, u64>,
    /// How many there were.
    met: u64,
    /// Those of which something may wait to be stored.
    touched: BTreeSet<u64>,
    /// Conversations that are not imported.
    passed_over: HashSet<String>,
    contents: SourceContents,
    report: Imported,
    tally: RedactionTally,
    verdict: ReadingVerdict,
}

impl<'a> ReadingPass<'a> {
    fn new(
        into: ImportDestination<'a>,
        (source, format): (&'a Source, &'static Format),
        location: &'a Location,
        (mode, depth): (ImportMode, ReadingDepth),
        learnt: Learnt,
    ) -> Self {
        Self {
            into,
            source,
            format,
            mode,
            depth,
            learnt,
            router: Router { into, names: ImportNames(format), location },
            branch: None,
            growing: BTreeMap::new(),
            places: HashMap::new(),
            met: 0,
            touched: BTreeSet::new(),
            passed_over: HashSet::new(),
            contents: SourceContents::default(),
            report: Imported::new(format.name, source.path().to_owned()),
            tally: RedactionTally::default(),
            verdict: ReadingVerdict::Reliable,
        }
    }

    fn run(&mut self, how: &mut Import<'_>) -> Result<()> {
        let (source, format, limits) = (self.source, self.format, how.limits);
        let (project, progress) = (how.project, &mut *how.progress);
        let mut refused: Option<Error> = None;
        let mut take = |piece: SourcePiece| match piece {
            _ if refused.is_some() => Err(Error::invalid("it was refused before")),
            SourcePiece::Passed(bytes) => {
                progress(bytes);
                Ok(())
            }
            piece => self.take(piece, project).map_err(|error| {
                refused = Some(error);
                Error::invalid("it is refused")
            }),
        };
        let outcome = format.read(source, &mut Reading::new(limits, &mut take));
        // A reader passes over what it cannot use; what was refused here ends the import all the same.
        if let Some(refused) = refused {
            return Err(refused);
        }
        outcome.map_err(|error| match error.kind() {
            ErrorKind::NotFound => error,
            // A source that is damaged, held by its program or cannot be read is at fault itself; the
            // store is not, and may take the next one.
            _ => error.of_kind(ErrorKind::Invalid),
        })?;
        self.contents.check(format)
    }

    fn take(&mut self, piece: SourcePiece, project: &dyn Fn(&str) -> String) -> Result<()> {
        if self.touched.len() > WAITING {
            self.flush()?;
        }
        if let SourcePiece::Message(found) = &piece {
            self.contents.add(&found.message);
        }
        match piece {
            SourcePiece::Conversation(found) => self.meet(*found, project),
            SourcePiece::Message(message) if self.is_passed_over(&message.conversation) => Ok(()),
            SourcePiece::Message(message) => {
                let path = self.source.path();
                let Some(growing) = self.touch(&message.conversation) else {
                    return Err(Error::new(
                        ErrorKind::Unsupported,
                        format!("the reader did not announce conversation `{}`", message.conversation),
                    ));
                };
                if let Some(skipped) = growing.take(*message, path)? {
                    self.report.skip(skipped);
                }
                Ok(())
            }
            SourcePiece::Branch(branch) => {
                if let Some(growing) = self.touch(&branch.conversation) {
                    growing.name_branch(branch);
                }
                Ok(())
            }
            SourcePiece::Pin(pin) => {
                if let Some(growing) = self.touch(&pin.conversation) {
                    growing.pin(&pin.message);
                }
                Ok(())
            }
            SourcePiece::Aside(aside) => {
                self.report.asides += 1;
                match self.touch(&aside.conversation) {
                    Some(growing) => growing.put_aside(&aside),
                    // Nothing was said in that conversation, so it is not kept.
                    None => Ok(()),
                }
            }
            SourcePiece::Skipped(skipped) => {
                self.report.skip(skipped);
                Ok(())
            }
            SourcePiece::Complete(id) => self.complete(&id),
            SourcePiece::Passed(_) => Ok(()),
        }
    }

    /// Meets a conversation, or learns more about one.
    fn meet(&mut self, mut found: SourceConversation, project: &dyn Fn(&str) -> String) -> Result<()> {
        names::cut_header(&mut found.header);
        if self.is_passed_over(&found.id) {
            return Ok(());
        }
        if let Some(growing) = self.touch(&found.id) {
            growing.learn(found.clone());
            if let Some(known) = self.learnt.get_mut(&found.id) {
                known.found = found;
            }
            return Ok(());
        }
        // Little waits to be stored, however many conversations the source has.
        self.flush()?;
        // When it was started may be known only at its end, and its id is made of that.
        let source_id = found.id.clone();
        let first = || KnownConversation { found, regrowth: Regrowth::default(), route: None };
        let mut known = self.learnt.entry(source_id.clone()).or_insert_with(first).clone();
        let route = match known.route {
            Some(route) => route,
            None => self.router.route(&known.found)?,
        };
        self.check_alone(&source_id, route)?;
        if self.router.is_deleted(route)? {
            self.passed_over.insert(source_id);
            self.report.deleted.push(route.id());
            return Ok(());
        }
        let header = &mut known.found.header;
        header.project = header.project.take().map(|directory| project(&directory));
        let above = self.above(&known.found)?;
        let growing = Growing::begin(
            self.into,
            self.format,
            self.source,
            known,
            route,
            above,
            (self.mode, self.depth),
        )?;
        self.growing.insert(self.met, growing);
        self.places.insert(source_id, self.met);
        self.touched.insert(self.met);
        self.met += 1;
        Ok(())
    }

    /// Where a run of a sub-agent hangs, if what started it is in the source.
    fn above(&self, found: &SourceConversation) -> Result<Option<Above>> {
        let place =
            found.parent.as_ref().and_then(|parent| Some((parent, self.places.get(&parent.conversation)?)));
        let growing = place.and_then(|(parent, place)| Some((parent, self.growing.get(place)?)));
        growing.map_or(Ok(None), |(parent, growing)| growing.parent_of(parent))
    }

    /// Refuses a second conversation for the one that was asked for.
    fn check_alone(&mut self, source_id: &str, route: ImportRoute) -> Result<()> {
        if !matches!(route, ImportRoute::Into(_)) {
            return Ok(());
        }
        match self.branch.replace(source_id.to_owned()) {
            Some(other) if other != source_id => Err(Error::invalid(
                "it has several conversations, and only one can become a branch of another",
            )),
            _ => Ok(()),
        }
    }

    /// Stores what waits.
    fn flush(&mut self) -> Result<()> {
        let mut touched = std::mem::take(&mut self.touched).into_iter();
        touched.try_for_each(|place| self.growing.get_mut(&place).map_or(Ok(()), Growing::flush))
    }

    fn is_passed_over(&self, conversation: &str) -> bool {
        !self.passed_over.is_empty() && self.passed_over.contains(conversation)
    }

    /// A conversation that something comes of, if it was announced and is imported.
    fn touch(&mut self, conversation: &str) -> Option<&mut Growing<'a>> {
        let place = self.places.get(conversation)?;
        self.touched.insert(*place);
        self.growing.get_mut(place)
    }

    /// Stores what is left of a conversation and lets go of what is known of it,
    /// so that a source may have any number.
    fn complete(&mut self, id: &str) -> Result<()> {
        let growing = self.places.remove(id).and_then(|place| {
            self.touched.remove(&place);
            self.growing.remove(&place)
        });
        growing.map_or(Ok(()), |growing| self.conclude(growing))
    }

    fn conclude(&mut self, growing: Growing<'a>) -> Result<()> {
        if self.mode == ImportMode::Try {
            self.learn_from(&growing)?;
        }
        self.tally.extend(&growing.tally);
        if let Some(done) = growing.finish(self.depth)? {
            self.report.conversations.push(done);
        }
        Ok(())
    }

    /// Keeps for the next reading what is known at the end of a conversation.
    fn learn_from(&mut self, growing: &Growing<'a>) -> Result<()> {
        let Some(known) = self.learnt.get_mut(growing.source_id()) else { return Ok(()) };
        let regrowth = growing.learnt_regrowth();
        let is_stricter = regrowth.is_stricter_than(&known.regrowth);
        (known.found.head, known.regrowth) = (growing.learnt_head(), regrowth);
        let route = match growing.route {
            ImportRoute::Compared(beside) if growing.has_news() => {
                self.router.separate(beside, &known.found)?
            }
            route => route,
        };
        known.route = Some(route);
        // When it began may be known only now.
        let named = self.router.id_of(&known.found)?;
        let is_another = matches!(route, ImportRoute::Own(id) if id != named);
        if is_another {
            known.route = None;
        }
        // A new conversation is as new under any id.
        let was_misjudged =
            is_another && (self.into.except.contains(&named) || self.into.row_of(named)?.is_some());
        if is_stricter || was_misjudged || route != growing.route {
            self.verdict = self.verdict.max(ReadingVerdict::Misjudged);
        }
        if self.depth == ReadingDepth::Outline && growing.may_be_too_large() {
            self.verdict = ReadingVerdict::TooShallow;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<ReadingResult> {
        while let Some((_, growing)) = self.growing.pop_first() {
            self.conclude(growing)?;
        }
        self.report.redacted = self.tally.to_redacted();
        Ok(ReadingResult { report: self.report, learnt: self.learnt, verdict: self.verdict })
    }
}
