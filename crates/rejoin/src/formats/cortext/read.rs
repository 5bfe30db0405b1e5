//! Reads the folder of a conversation.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::formats::cortext::session::{self, SessionState};
use crate::formats::cortext::{MESSAGES, SESSION, STATE};
use crate::formats::lines::SourceLines;
use crate::formats::raw_object::RawObject;
use crate::formats::tag::{self, MessageTag};
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Reading, Source, SourceConversation, content, folder, whole_file};
use crate::model::{Fields, Json, Message, Time};

/// Returns the session directory that a source is, contains or lies in.
pub(super) fn session_of(source: &Source) -> Option<PathBuf> {
    let path = source.path();
    let is_session = |path: &Path| path.file_name().is_some_and(|name| name == SESSION);
    if !source.is_directory() {
        let is_part = path.file_name().is_some_and(|name| name == STATE || name == MESSAGES);
        return path.parent().filter(|parent| is_part && is_session(parent)).map(Path::to_owned);
    }
    if is_session(path) {
        return Some(path.to_owned());
    }
    let session = path.join(SESSION);
    fs::symlink_metadata(&session).is_ok_and(|metadata| metadata.is_dir()).then_some(session)
}

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let session = session_of(source)
        .ok_or_else(|| Error::invalid(format!("`{}` holds no `{SESSION}`", source.path().display())))?;
    let folder = session.parent().unwrap_or(&session).to_owned();
    let mut thread = CortextThread::new(&folder);
    thread.read_state(&session.join(STATE), reading)?;
    thread.read_markdown(&folder, reading)?;
    let messages = session.join(MESSAGES);
    if !folder::is_file(&messages)? {
        return reading.skip(&messages, 0, "there are no messages");
    }
    let mut lines = SourceLines::open(&messages, reading)?;
    while lines.advance(reading)? {
        match lines.parse::<RawObject<'_>>() {
            Ok(found) => thread.line(found, &lines, reading)?,
            Err(why) => reading.skip(&messages, lines.number(), why)?,
        }
    }
    thread.finish(reading)
}

/// A session while it is read.
struct CortextThread {
    thread: ThreadBuilder,
    /// When it began. If unknown, the first message decides.
    created: Option<Time>,
    /// True when Rejoin wrote it.
    is_own: bool,
    /// True when the last message was not written by Rejoin.
    is_continued: bool,
}

impl CortextThread {
    fn new(folder: &Path) -> Self {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut conversation = SourceConversation::new(name, Time::default());
        conversation.header.project = project_of(folder);
        Self { thread: ThreadBuilder::new(conversation), created: None, is_own: false, is_continued: false }
    }

    fn read_state(&mut self, path: &Path, reading: &mut Reading<'_>) -> Result<()> {
        if !folder::is_file(path)? {
            return reading.skip(path, 0, "there is no state of the session");
        }
        let text = whole_file::json(path, reading)?;
        // This file says when the conversation began. A guess from the messages would give it another id once
        // the file is complete.
        let Some(SessionState { mut conversation, created, is_own, rest }) =
            text.as_deref().and_then(session::read)
        else {
            return Err(Error::corrupt(format!("`{}` is not a complete session state", path.display())));
        };
        conversation.header.project = self.thread.conversation.header.project.take();
        if conversation.id.is_empty() {
            conversation.id = std::mem::take(&mut self.thread.conversation.id);
        }
        self.thread.conversation = conversation;
        self.created = created;
        self.is_own = is_own;
        self.thread.keep(0, rest);
        Ok(())
    }

    /// Keeps the Markdown text, whose heading is the title if there is no other. Rejoin's own has nothing
    /// that is not in the messages.
    fn read_markdown(&mut self, directory: &Path, reading: &Reading<'_>) -> Result<()> {
        if self.is_own {
            return Ok(());
        }
        let mut paths = folder::files(directory)?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        for path in paths {
            let Some(text) = whole_file::text(&path, reading)? else { continue };
            let heading = text.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim);
            let title = &mut self.thread.conversation.header.title;
            if let (None, Some(heading)) = (&title, heading) {
                *title = (!heading.is_empty()).then(|| heading.to_owned());
            }
            sections(&text).into_iter().for_each(|(line, section)| self.thread.keep(line, section));
        }
        Ok(())
    }

    fn line(
        &mut self,
        mut found: RawObject<'_>,
        lines: &SourceLines,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let time: Option<Time> = tag::read(found.raw("timestamp"));
        let role = found.text("role").as_deref().and_then(content::role);
        let Some(role) = role else {
            if !self.thread.is_announced() && self.created.is_none() {
                return reading.skip(lines.path(), lines.number(), "nobody is known to have said it");
            }
            self.announce(time, reading)?;
            return self.thread.aside(lines.number(), lines.text(), reading);
        };
        let said = found.raw("content");
        let tagged: Option<MessageTag> = tag::read(found.raw(tag::FIELD));
        let mut plain = Message::new(role, said.map(content::blocks).unwrap_or_default());
        plain.created_at = time;
        set_rest(&mut plain.extra, &found.rest());
        self.is_continued = tagged.is_none();
        self.announce(time, reading)?;
        let text: String = said.and_then(|said| serde_json::from_str(said.get()).ok()).unwrap_or_default();
        let own = format!("l{}", lines.number());
        let message = self.thread.next_tagged(tagged, own, &text, plain).at(lines.current());
        self.thread.add(message, reading)
    }

    /// Announces the conversation before its first line.
    fn announce(&mut self, time: Option<Time>, reading: &mut Reading<'_>) -> Result<()> {
        if !self.thread.is_announced() {
            self.thread.conversation.created_at = self.created.or(time).unwrap_or_default();
        }
        self.thread.announce(reading)
    }

    /// If the program continued a session that Rejoin wrote, the head is at the end.
    fn finish(mut self, reading: &mut Reading<'_>) -> Result<()> {
        let tagged = self.thread.conversation.head.take().filter(|_| !self.is_continued);
        self.thread.finish(tagged, reading)
    }
}

/// Splits a text into sections with their first lines. When the text grows, existing sections are unchanged
/// and not stored again.
fn sections(text: &str) -> Vec<(u64, &str)> {
    let (mut sections, mut begin, mut end, mut first) = (Vec::new(), 0, 0, 1);
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        if line.starts_with("## ") && end > begin {
            sections.push((first, text[begin..end].trim_end()));
            (begin, first) = (end, number);
        }
        end += line.len();
    }
    sections.push((first, text[begin..].trim_end()));
    sections.retain(|(_, section)| !section.is_empty());
    sections
}

/// Stores unknown fields of a line.
fn set_rest(extra: &mut Fields, rest: &Fields) {
    if !rest.is_empty() {
        extra.set(session::OWN, Json::of(rest).expect("fields are JSON"));
    }
}

/// Returns the workspace of a folder: the one with the program's marker, or the one that contains
/// `conversations`.
fn project_of(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let marked = folder.ancestors().skip(1).find(|above| above.join(".workspace").is_dir());
    let holds = || {
        let conversations = folder.parent()?.parent()?;
        conversations.file_name().filter(|name| *name == "conversations").and(conversations.parent())
    };
    let path = marked.or_else(holds)?;
    path.to_str().map(str::to_owned)
}
