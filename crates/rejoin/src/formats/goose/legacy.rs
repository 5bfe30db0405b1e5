//! Reads a session from its own file, the form that goose used before it had a database.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::Result;
use crate::formats::goose::thread::{GooseMessage, GooseThread};
use crate::formats::lines::SourceLines;
use crate::formats::{Reading, Source, SourceConversation};
use crate::model::{Json, Time};

/// The first line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionHeader {
    working_dir: Option<String>,
    description: Option<String>,
    message_count: Option<Json>,
    created_at: Option<Json>,
    provider_name: Option<String>,
    role: Option<Json>,
    #[serde(rename = "type")]
    kind: Option<Json>,
}

impl SessionHeader {
    fn is_of_a_session(&self) -> bool {
        let is_named =
            self.working_dir.is_some() || self.description.is_some() && self.message_count.is_some();
        is_named && self.role.is_none() && self.kind.is_none()
    }
}

/// Every other line.
#[derive(Debug, Deserialize)]
struct LegacyMessage<'a> {
    id: Option<String>,
    role: String,
    created: i64,
    #[serde(borrow)]
    content: &'a RawValue,
    metadata: Option<Value>,
}

pub(super) fn is_session(source: &Source) -> bool {
    if source.is_directory() {
        return false;
    }
    let mut lines = source.first_lines().filter(|line| !line.trim().is_empty());
    let about = lines.next().and_then(|line| serde_json::from_str::<SessionHeader>(line).ok());
    let said = lines.next().and_then(|line| serde_json::from_str::<LegacyMessage<'_>>(line).ok());
    about.is_some_and(|about| about.is_of_a_session())
        && said.is_some_and(|said| said.content.get().starts_with('['))
}

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let path = source.path();
    let mut lines = SourceLines::open(path, reading)?;
    let mut about: Option<(SessionHeader, u64, String)> = None;
    let mut thread: Option<GooseThread> = None;
    while lines.advance(reading)? {
        let (number, text) = (lines.number(), lines.text());
        if about.is_none() {
            match lines.parse() {
                Ok(first) => about = Some((first, number, text.to_owned())),
                Err(why) => reading.skip(path, number, why)?,
            }
            continue;
        }
        let said: LegacyMessage<'_> = match lines.parse() {
            Ok(said) => said,
            Err(why) => {
                reading.skip(path, number, why)?;
                continue;
            }
        };
        let time = Time::from_number(said.created);
        let thread = match &mut thread {
            Some(thread) => thread,
            none => none.insert(begin(source, about.as_ref(), time, reading)?),
        };
        let kept = GooseMessage {
            id: said.id.unwrap_or_else(|| format!("l{number}")),
            role: &said.role,
            contents: said.content.get(),
            time: Some(time),
            metadata: said.metadata,
            line: number,
            source: text.to_owned(),
        };
        if let Some(why) = thread.read_message(kept, reading)? {
            reading.skip(path, number, why)?;
        }
    }
    thread.map_or(Ok(()), |mut thread| thread.finish(reading))
}

/// A session starts with its first message, because only that is sure to have a time.
fn begin(
    source: &Source,
    about: Option<&(SessionHeader, u64, String)>,
    first: Time,
    reading: &mut Reading<'_>,
) -> Result<GooseThread> {
    let created = about.and_then(|(about, ..)| about.created_at.as_ref()?.to().ok()).unwrap_or(first);
    let mut conversation = SourceConversation::new(source.stem(), created);
    if let Some((about, ..)) = about {
        conversation.header.title.clone_from(&about.description);
        conversation.header.project = about.working_dir.clone().filter(|place| !place.is_empty());
        conversation.header.settings.provider.clone_from(&about.provider_name);
    }
    let mut thread = GooseThread::begin(conversation, reading)?;
    if let Some((_, line, text)) = about {
        thread.thread.aside(*line, text.as_str(), reading)?;
    }
    Ok(thread)
}
