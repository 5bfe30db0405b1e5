//! Reads a session and its sub-agent runs.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Result;
use crate::formats::gemini::paths;
use crate::formats::gemini::record::{GeminiRecord, RawRecord};
use crate::formats::gemini::replay::Replay;
use crate::formats::lines::{SourceLines, UTF8_MARK, deepest, unreadable};
use crate::formats::{Reading, Source, SourceConversation, SourceParent, SourcePiece, whole_file};
use crate::model::Time;

/// A line that is not a record: the metadata of the session, or an operation.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SessionLine<'a> {
    session_id: Option<String>,
    #[serde(borrow)]
    start_time: Option<&'a RawValue>,
    summary: Option<String>,
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
    #[serde(borrow, rename = "$set")]
    set: Option<SetOperation<'a>>,
    #[serde(rename = "$rewindTo")]
    rewind_to: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SetOperation<'a> {
    summary: Option<String>,
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
}

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let path = source.path();
    let above = paths::session_of(path)?.map(|(session, _)| (session, None));
    let Some(main) = read_file(path, above, reading)? else { return Ok(()) };
    for run in paths::runs(path, main.thread.id())? {
        read_file(&run, Some((main.thread.id().to_owned(), Some(&main))), reading)?;
    }
    Ok(())
}

/// The parent of a run: the id of a session, and the session itself if it was read.
type ParentSession<'a> = Option<(String, Option<&'a Replay>)>;

fn read_file(path: &Path, above: ParentSession<'_>, reading: &mut Reading<'_>) -> Result<Option<Replay>> {
    let mut session = SessionReader { path, above, replay: None };
    if is_one_object(path)? {
        session.whole(reading)?;
    } else {
        let mut lines = SourceLines::open(path, reading)?;
        while lines.advance(reading)? {
            session.line(lines.text(), lines.number(), reading, |why| lines.why_not(why))?;
        }
    }
    let Some(mut replay) = session.replay else {
        reading.skip(path, 0, "it does not say which session it is")?;
        return Ok(None);
    };
    replay.finish(reading)?;
    Ok(Some(replay))
}

/// True when the first line alone is not JSON.
fn is_one_object(path: &Path) -> Result<bool> {
    const FIRST: u64 = 64 * 1024;
    let mut head = Vec::new();
    let file = File::open(path).map_err(|cause| unreadable(path, cause))?;
    file.take(FIRST).read_to_end(&mut head).map_err(|cause| unreadable(path, cause))?;
    let head = head.strip_prefix(&UTF8_MARK[..]).unwrap_or(&head).trim_ascii_start();
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(head.starts_with(b"{") && serde_json::from_slice::<&RawValue>(first).is_err() && first.len() < 3)
}

struct SessionReader<'a> {
    path: &'a Path,
    above: ParentSession<'a>,
    replay: Option<Replay>,
}

impl SessionReader<'_> {
    /// Reads a file that is one object.
    fn whole(&mut self, reading: &mut Reading<'_>) -> Result<()> {
        let (limits, bytes) = (reading.limits(), whole_file::bytes(self.path, reading)?);
        reading.give(SourcePiece::Passed(bytes.len() as u64))?;
        let text = str::from_utf8(bytes.strip_prefix(&UTF8_MARK[..]).unwrap_or(&bytes));
        match text {
            Err(_) => reading.skip(self.path, 1, "it is not UTF-8"),
            Ok(text) if deepest(text.as_bytes()) > limits.depth => {
                reading.skip(self.path, 1, "it nests too deep")
            }
            Ok(text) => self.line(text.trim(), 1, reading, |_| "it is not JSON".to_owned()),
        }
    }

    fn line(
        &mut self,
        text: &str,
        number: u64,
        reading: &mut Reading<'_>,
        why: impl Fn(&serde_json::Error) -> String,
    ) -> Result<()> {
        let line: SessionLine<'_> = match serde_json::from_str(text) {
            Ok(line) => line,
            Err(cause) => return reading.skip(self.path, number, why(&cause)),
        };
        if self.replay.is_none() {
            self.begin(&line)?;
        }
        let Some(replay) = &mut self.replay else {
            return reading.skip(self.path, number, "it comes before the session is known");
        };
        let SessionLine { session_id, summary, messages, set, rewind_to, .. } = line;
        let is_whole = set.is_none();
        let (summary, messages) = match set {
            Some(set) => (set.summary, set.messages),
            None => (summary, messages),
        };
        let is_about = session_id.is_some() || summary.is_some() || messages.is_some() || rewind_to.is_some();
        if let Some(title) = summary.filter(|title| !title.trim().is_empty()) {
            replay.thread.conversation.header.title = Some(title);
        }
        if let Some(messages) = messages {
            let mut records = Vec::new();
            for raw in messages {
                let source = dense(raw.get());
                match record(&source)? {
                    Ok(Some(record)) => records.push((record, source)),
                    Ok(None) => reading.skip(self.path, number, "a message in it has no id")?,
                    Err(why) => reading.skip(self.path, number, format!("a message in it: {why}"))?,
                }
            }
            // A file that is one object is rewritten each time its last reply continues.
            let last = records.iter_mut().rev().map(|(record, _)| record).find(|record| record.is_reply());
            if let Some(reply) = last.filter(|_| is_whole) {
                reply.is_open = true;
            }
            replay.checkpoint(records, number, reading)?;
        }
        if let Some(id) = rewind_to {
            replay.rewind(&id, reading)?;
        }
        match if is_about { Ok(None) } else { record(text)? } {
            Ok(Some(record)) => replay.record(record, number, text, reading),
            Ok(None) => replay.thread.aside(number, text, reading),
            Err(why) => reading.skip(self.path, number, why),
        }
    }

    /// Starts the conversation of the file.
    fn begin(&mut self, line: &SessionLine<'_>) -> Result<()> {
        let Some(id) = line.session_id.clone() else { return Ok(()) };
        let created: Time =
            line.start_time.and_then(|time| serde_json::from_str(time.get()).ok()).unwrap_or_default();
        let mut conversation = SourceConversation::new(id.clone(), created);
        conversation.header.project = paths::project(self.path)?;
        conversation.header.settings.provider = Some("google".to_owned());
        conversation.parent = self.above.take().map(|(session, main)| SourceParent {
            message: main.and_then(|main| main.caller(created)),
            conversation: session,
            name: "agent".to_owned(),
            run: id,
        });
        self.replay = Some(Replay::new(conversation));
        Ok(())
    }
}

/// Removes the white space between fields, so that a session has the same text in both kinds of files.
fn dense(text: &str) -> String {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_said = |letter: &char| {
        let is_kept = is_quoted || !letter.is_ascii_whitespace();
        is_quoted ^= *letter == '"' && !is_escaped;
        is_escaped = is_quoted && *letter == '\\' && !is_escaped;
        is_kept
    };
    text.chars().filter(is_said).collect()
}

/// Parses a record; none if it has no id. The inner error says why it is invalid.
fn record(text: &str) -> Result<std::result::Result<Option<GeminiRecord>, String>> {
    match serde_json::from_str::<RawRecord<'_>>(text) {
        Ok(raw) => GeminiRecord::read(raw).map(Ok),
        Err(cause) => Ok(Err(format!("a field is not what it should be: {cause}"))),
    }
}
