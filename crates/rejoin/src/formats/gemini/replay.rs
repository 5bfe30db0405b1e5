//! The list of messages while operations on it are read.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::error::Result;
use crate::formats::byte_budget::check_message;
use crate::formats::gemini::record::Record;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Reading, SourceConversation, SourceMessage, in_progress};
use crate::model::{Message, Role, Time};

/// So many of the newest records are held, because one before them may change.
const HELD: usize = 32;

/// So many of the newest versions of a record are looked at: the program goes back to a recent one, if at all.
const LOOKED_AT: usize = 64;

/// A record of the file: what it says, and its text.
#[derive(Clone)]
struct RecordLine {
    record: Record,
    number: u64,
    source: String,
}

/// A message that was told for a record.
struct RecordVersion {
    /// What the next message follows.
    last: String,
    /// What it follows itself.
    parent: Option<String>,
    pieces: BTreeSet<u64>,
}

/// A message on the list: a record, and which of its versions.
#[derive(Clone)]
struct ListEntry {
    id: String,
    version: usize,
}

/// One session while its operations are read.
pub(super) struct Replay {
    pub(super) thread: ThreadBuilder,
    versions: HashMap<String, Vec<RecordVersion>>,
    list: Vec<ListEntry>,
    /// Where each record stands on the list first.
    places: HashMap<String, usize>,
    /// The newest record, which may come again with more.
    open: Option<RecordLine>,
    /// What the program printed since.
    printed: Vec<RecordLine>,
    held: VecDeque<RecordLine>,
    /// When messages with calls were told, and their names.
    calls: Vec<(Time, String)>,
}

impl Replay {
    pub(super) fn new(conversation: SourceConversation) -> Self {
        Self {
            thread: ThreadBuilder::new(conversation),
            versions: HashMap::new(),
            list: Vec::new(),
            places: HashMap::new(),
            open: None,
            printed: Vec::new(),
            held: VecDeque::new(),
            calls: Vec::new(),
        }
    }

    /// The newest message with a call that was there at a time.
    pub(super) fn caller(&self, time: Time) -> Option<String> {
        self.calls.iter().rev().find(|(called, _)| *called <= time).map(|(_, name)| name.clone())
    }

    /// A record comes, or comes again.
    pub(super) fn record(
        &mut self,
        record: Record,
        number: u64,
        source: &str,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        if let Some(open) = self.open.as_mut().filter(|open| open.record.id == record.id) {
            if record.says_all_of(&open.record) {
                open.record = record;
                open.source.push('\n');
                open.source.push_str(source);
                return check_message(open.source.len() as u64, reading.limits().line_bytes);
            }
            if record.pieces.is_subset(&open.record.pieces) {
                return self.thread.aside(number, source, reading);
            }
        }
        let line = RecordLine { record, number, source: source.to_owned() };
        if self.is_printed_meanwhile(&line, reading.limits().line_bytes) {
            self.printed.push(line);
            return Ok(());
        }
        self.close(reading)?;
        if let Some(place) = self.places.get(&line.record.id).copied() {
            return self.replace(place, line, reading);
        }
        if self.is_told_above(&line.record) {
            return self.thread.aside(number, source, reading);
        }
        self.open = Some(line);
        Ok(())
    }

    /// True for a line that the program printed while the newest reply may go on. It stands after that reply.
    ///
    /// It is held like others, within the bytes that one line may have.
    fn is_printed_meanwhile(&self, line: &RecordLine, most: u64) -> bool {
        let bytes: u64 = self.printed.iter().chain([line]).map(|line| line.source.len() as u64).sum();
        line.record.is_printed()
            && self.open.as_ref().is_some_and(|open| open.record.is_reply())
            && (self.printed.len() < HELD && bytes <= most)
            && !self.places.contains_key(&line.record.id)
            && !self.printed.iter().any(|printed| printed.record.id == line.record.id)
    }

    /// The list is another one from now on.
    pub(super) fn checkpoint(
        &mut self,
        records: Vec<(Record, String)>,
        number: u64,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        self.close(reading)?;
        self.list.clear();
        self.places.clear();
        for (record, source) in records {
            if !self.is_told_above(&record) {
                self.place(RecordLine { record, number, source }, reading)?;
            }
        }
        Ok(())
    }

    /// A message and everything after it is taken from the list.
    pub(super) fn rewind(&mut self, id: &str, reading: &mut Reading<'_>) -> Result<()> {
        self.close(reading)?;
        if let Some(place) = self.places.get(id).copied() {
            self.cut(place);
        }
        Ok(())
    }

    /// Takes everything from a place on from the list.
    fn cut(&mut self, place: usize) -> Vec<ListEntry> {
        let after = self.list.split_off(place);
        for step in &after {
            if self.places.get(&step.id).is_some_and(|first| *first >= place) {
                self.places.remove(&step.id);
            }
        }
        after
    }

    /// A record on the list changes. What came after it follows the changed one, as far as it is held.
    fn replace(&mut self, place: usize, line: RecordLine, reading: &mut Reading<'_>) -> Result<()> {
        let step = &self.list[place];
        if line.record.pieces.is_subset(&self.versions[&step.id][step.version].pieces) {
            return self.thread.aside(line.number, line.source, reading);
        }
        let after = self.cut(place);
        self.place(line, reading)?;
        for step in after.into_iter().skip(1) {
            let Some(held) = self.held.iter().find(|held| held.record.id == step.id).cloned() else { break };
            self.place(held, reading)?;
        }
        Ok(())
    }

    /// Puts a record at the end of the list. One that was told there before is not told again.
    fn place(&mut self, line: RecordLine, reading: &mut Reading<'_>) -> Result<()> {
        let parent = self.tip().map(|tip| tip.last.clone());
        let id = line.record.id.clone();
        let known = self.versions.get(&id).and_then(|versions| {
            let is_it = |version: &RecordVersion| {
                version.parent == parent && line.record.pieces.is_subset(&version.pieces)
            };
            let older = versions.len().saturating_sub(LOOKED_AT);
            versions[older..].iter().position(is_it).map(|place| older + place)
        });
        let version = match known {
            Some(version) => version,
            None => self.tell(line, parent, reading)?,
        };
        self.places.entry(id.clone()).or_insert(self.list.len());
        self.list.push(ListEntry { id, version });
        Ok(())
    }

    fn tell(&mut self, line: RecordLine, parent: Option<String>, reading: &mut Reading<'_>) -> Result<usize> {
        let id = &line.record.id;
        let count = self.versions.get(id).map_or(0, Vec::len);
        let name = if count == 0 { id.clone() } else { format!("{id}#{}", count + 1) };
        if let Some(model) = line.record.model() {
            self.thread.conversation.header.settings.model = Some(model);
        }
        if let (true, Some(time)) = (line.record.has_calls(), line.record.time) {
            self.calls.push((time, name.clone()));
        }
        let message = self.thread.message(name.as_str(), parent.clone(), line.record.said.clone());
        let mut message = SourceMessage { line: line.number, source: line.source.clone(), ..message };
        let mark = |message: &mut Message| {
            if line.record.is_open {
                in_progress::mark(message);
            }
        };
        mark(&mut message.message);
        self.thread.add(message.clone(), reading)?;
        let mut last = name.clone();
        if !line.record.results.is_empty() {
            last = format!("{name}/results");
            message.id.clone_from(&last);
            message.parent = Some(name);
            message.message = Message::new(Role::Tool, line.record.results.clone());
            message.message.created_at = line.record.time;
            mark(&mut message.message);
            self.thread.add(message, reading)?;
        }
        let pieces = line.record.pieces.clone();
        let versions = self.versions.entry(line.record.id.clone()).or_default();
        versions.push(RecordVersion { last, parent, pieces });
        let version = versions.len() - 1;
        self.hold(line, reading.limits().line_bytes);
        Ok(version)
    }

    /// Holds a record, within the bytes that one line may have.
    fn hold(&mut self, line: RecordLine, most: u64) {
        self.held.retain(|held| held.record.id != line.record.id);
        self.held.push_back(line);
        let bytes =
            |held: &VecDeque<RecordLine>| held.iter().map(|line| line.source.len() as u64).sum::<u64>();
        while self.held.len() > HELD || (self.held.len() > 1 && bytes(&self.held) > most) {
            self.held.pop_front();
        }
    }

    fn tip(&self) -> Option<&RecordVersion> {
        self.list.last().map(|step| &self.versions[&step.id][step.version])
    }

    /// True for results that the message before has: a resumed session writes them twice.
    fn is_told_above(&self, record: &Record) -> bool {
        record.is_only_results()
            && !record.pieces.is_empty()
            && self.tip().is_some_and(|tip| record.pieces.is_subset(&tip.pieces))
    }

    /// Tells the newest record, and what was printed since.
    fn close(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        let newest = self.open.take().into_iter().chain(std::mem::take(&mut self.printed));
        newest.into_iter().try_for_each(|line| self.place(line, reading))
    }

    /// Tells what is left, and where the program would go on.
    pub(super) fn finish(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.close(reading)?;
        let head = self.tip().map(|tip| tip.last.clone());
        self.thread.finish(head, reading)
    }
}
