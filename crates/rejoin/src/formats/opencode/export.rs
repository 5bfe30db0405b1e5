//! Reads a session in the form of `opencode export`: one JSON object.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::formats::opencode::session::OpenCodeSession;
use crate::formats::opencode::thread::{OpenCodeThread, RunCallers};
use crate::formats::{Reading, Source, SourcePiece, whole_file};

/// Fields of a session that change with every message.
const CHANGING: [&str; 4] = ["summary", "cost", "tokens", "time"];

#[derive(Deserialize)]
struct Export<'a> {
    info: Map<String, Value>,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct ExportedMessage {
    info: Map<String, Value>,
    #[serde(default)]
    parts: Vec<Map<String, Value>>,
}

/// True when a file begins with the description of a session.
pub(super) fn is_export(source: &Source) -> bool {
    if source.is_directory() || !source.head().trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let first = Cell::new(None);
    // The file continues after its head, so the object never parses to its end.
    let _ = First(&first).deserialize(&mut serde_json::Deserializer::from_slice(source.head()));
    first.into_inner().is_some_and(|session| session.id.starts_with("ses") && session.directory.is_some())
}

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let bytes = whole_file::bytes(source.path(), reading)?;
    let export: Export<'_> = serde_json::from_slice(&bytes)
        .map_err(|cause| Error::corrupt("it is not an export of opencode").because(cause))?;
    let mut runs = RunCallers::new();
    let session: OpenCodeSession = serde_json::from_value(Value::Object(export.info.clone()))
        .map_err(|cause| Error::corrupt("it is not an export of opencode").because(cause))?;
    let mut thread = OpenCodeThread::begin(&session, &runs, reading)?;
    for (place, said) in export.messages.iter().enumerate() {
        match serde_json::from_str::<ExportedMessage>(said.get()) {
            Ok(said) => thread.read_message(said.info, said.parts, &mut runs, reading).map(drop)?,
            Err(why) => reading.skip(source.path(), 0, format!("message {}: {why}", place + 1))?,
        }
    }
    let mut info = export.info;
    CHANGING.iter().for_each(|name| drop(info.shift_remove(*name)));
    let source = Value::Object(info).to_string();
    thread.thread.aside(0, source, reading)?;
    reading.give(SourcePiece::Passed(bytes.len() as u64))?;
    thread.finish(reading).map(drop)
}

/// The first field of an object, if it describes a session.
struct First<'a>(&'a Cell<Option<OpenCodeSession>>);

impl<'de> DeserializeSeed<'de> for First<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for First<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        if map.next_key::<String>()?.as_deref() == Some("info") {
            self.0.set(Some(map.next_value()?));
        }
        Ok(())
    }
}
