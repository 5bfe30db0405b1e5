//! Reads a record, decrypting it first if necessary.

use serde_json::value::RawValue;

use crate::error::{Error, Result};
use crate::formats::agent_voice::{envelope, frame, record};
use crate::formats::lines::deepest;
use crate::formats::raw_object::RawObject;
use crate::formats::thread_builder::ThreadBuilder;
use crate::formats::{Reading, Source, SourceMessage, SourcePiece, whole_file};

pub(super) fn read(source: &Source, reading: &mut Reading<'_>) -> Result<()> {
    let path = source.path();
    let Some(text) = whole_file::json(path, reading)? else {
        return Err(Error::invalid("it is not UTF-8"));
    };
    let text = if envelope::is_sealed(&text) { open(&text, source, reading)? } else { text };
    let mut found: RawObject<'_> = serde_json::from_str(&text)
        .map_err(|cause| Error::invalid("it is not a record of a conversation").because(cause))?;
    let conversation = record::read(&mut found, source.stem())?;
    let frames = found.raw("messages");
    let list: Vec<&RawValue> =
        frames.and_then(|frames| serde_json::from_str(frames.get()).ok()).unwrap_or_default();
    let mut head = conversation.head.clone();
    let mut thread = ThreadBuilder::announced(conversation, reading)?;
    thread.aside(0, without(&text, frames), reading)?;
    for (place, raw) in list.into_iter().enumerate() {
        let spoken = serde_json::from_str(raw.get()).ok().and_then(|fields| frame::read(fields, place + 1));
        let Some(spoken) = spoken else {
            reading.skip(path, 0, format!("frame {} says nothing that is known", place + 1))?;
            thread.aside(0, raw.get(), reading)?;
            continue;
        };
        let is_own = spoken.tag.is_some();
        let message = thread.next_tagged(spoken.tag, spoken.id, &spoken.content, spoken.message);
        if !is_own {
            head = Some(message.id.clone());
        }
        thread.add(SourceMessage { source: raw.get().to_owned(), ..message }, reading)?;
    }
    reading.give(SourcePiece::Passed(source.bytes()))?;
    thread.finish(head, reading)
}

fn open(text: &str, source: &Source, reading: &Reading<'_>) -> Result<String> {
    let key = source.key().ok_or_else(|| {
        Error::invalid(
            "it is sealed; opening it takes the key that Agent Voice keeps in the editor's secret storage as \
             `agentvoice.conversation.key`",
        )
    })?;
    let record = envelope::open(text, key)?;
    if deepest(record.as_bytes()) > reading.limits().depth {
        return Err(Error::invalid("the sealed record nests too deep"));
    }
    Ok(record)
}

/// Returns the text of a record without its frames, which are kept one by one.
fn without(text: &str, frames: Option<&RawValue>) -> String {
    frames.map_or_else(|| text.to_owned(), |frames| text.replacen(frames.get(), "[]", 1))
}
