//! Replays the operations on the list of messages.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::error::Result;
use crate::formats::byte_budget::check_message;
use crate::formats::gemini::record::GeminiRecord;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Reading, SourceConversation, SourceMessage, in_progress};
use crate::model::{Message, Role, Time};

/// How many of the newest records are held, because an earlier one may change.
const HELD: usize = 32;

/// How many of the newest versions of a record are compared: the program only returns to recent ones.
const LOOKED_AT: usize = 64;

/// A record of the file with its text.
#[derive(Clone)]
struct RecordLine {
    record: GeminiRecord,
    number: u64,
    source: String,
}

/// A message that was made of a record.
struct RecordVersion {
    /// The message that its children follow.
    last: String,
    /// The message it follows.
    parent: Option<String>,
    pieces: BTreeSet<u64>,
}

/// An entry of the list: a record and one of its versions.
#[derive(Clone)]
struct ListEntry {
    id: String,
    version: usize,
}

/// One session while its operations are replayed.
pub(super) struct Replay {
    pub(super) thread: ThreadBuilder,
    versions: HashMap<String, Vec<RecordVersion>>,
    list: Vec<ListEntry>,
    /// The first index of each record on the list.
    places: HashMap<String, usize>,
    /// The newest record, which may be repeated with more text.
    open: Option<RecordLine>,
    /// Program output since then.
    printed: Vec<RecordLine>,
    held: VecDeque<RecordLine>,
    /// The times and ids of messages with calls.
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

    /// Returns the newest message with a call at a time.
    pub(super) fn caller(&self, time: Time) -> Option<String> {
        self.calls.iter().rev().find(|(called, _)| *called <= time).map(|(_, name)| name.clone())
    }

    /// Adds or updates a record.
    pub(super) fn record(
        &mut self,
        record: GeminiRecord,
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

    /// True for output that the program printed while the newest reply may continue. It is placed after that
    /// reply.
    ///
    /// It is held like other lines, within the limit of one line.
    fn is_printed_meanwhile(&self, line: &RecordLine, most: u64) -> bool {
        let bytes: u64 = self.printed.iter().chain([line]).map(|line| line.source.len() as u64).sum();
        line.record.is_printed()
            && self.open.as_ref().is_some_and(|open| open.record.is_reply())
            && (self.printed.len() < HELD && bytes <= most)
            && !self.places.contains_key(&line.record.id)
            && !self.printed.iter().any(|printed| printed.record.id == line.record.id)
    }

    /// Replaces the list.
    pub(super) fn checkpoint(
        &mut self,
        records: Vec<(GeminiRecord, String)>,
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

    /// Removes a message and everything after it from the list.
    pub(super) fn rewind(&mut self, id: &str, reading: &mut Reading<'_>) -> Result<()> {
        self.close(reading)?;
        if let Some(place) = self.places.get(id).copied() {
            self.cut(place);
        }
        Ok(())
    }

    /// Removes everything from an index on.
    fn cut(&mut self, place: usize) -> Vec<ListEntry> {
        let after = self.list.split_off(place);
        for step in &after {
            if self.places.get(&step.id).is_some_and(|first| *first >= place) {
                self.places.remove(&step.id);
            }
        }
        after
    }

    /// Replaces a record on the list. Later records follow the new version, as far as they are held.
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

    /// Appends a record to the list. Reuses its message if there is one with the same parent and contents.
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
            None => self.add_version(line, parent, reading)?,
        };
        self.places.entry(id.clone()).or_insert(self.list.len());
        self.list.push(ListEntry { id, version });
        Ok(())
    }

    fn add_version(
        &mut self,
        line: RecordLine,
        parent: Option<String>,
        reading: &mut Reading<'_>,
    ) -> Result<usize> {
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

    /// Holds a record, within the limit of one line.
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

    /// True for results that the previous message has already: a resumed session writes them twice.
    fn is_told_above(&self, record: &GeminiRecord) -> bool {
        record.is_only_results()
            && !record.pieces.is_empty()
            && self.tip().is_some_and(|tip| record.pieces.is_subset(&tip.pieces))
    }

    /// Completes the newest record and the output after it.
    fn close(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        let newest = self.open.take().into_iter().chain(std::mem::take(&mut self.printed));
        newest.into_iter().try_for_each(|line| self.place(line, reading))
    }

    /// Completes the session, with the head from which the program would continue.
    pub(super) fn finish(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        self.close(reading)?;
        let head = self.tip().map(|tip| tip.last.clone());
        self.thread.finish(head, reading)
    }
}
