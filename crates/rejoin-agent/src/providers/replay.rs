//! For tests: reads recorded streams as they come, cut, broken off, and with strange events in between.

use rejoin::Message;
use rejoin::view::{PathMessage, View, Viewed};

use crate::error::{ErrorKind, Result};
use crate::providers::sse::Sse;
use crate::providers::wire::Wire;
use crate::providers::{Piece, Reply, Request};

/// A request without content, for a reader that needs one.
pub(crate) const NOTHING: Request<'static> =
    Request { model: "model-1", system: "", messages: &[], tools: &[], max_tokens: None };

/// What came of a stream, and the pieces that were told.
pub(crate) type ReplayOutcome = (Result<Reply>, Vec<Piece>);

/// Reads a stream that arrives in these chunks.
pub(crate) fn replay<'a>(wire: &dyn Wire, chunks: impl IntoIterator<Item = &'a [u8]>) -> ReplayOutcome {
    let mut pieces = Vec::new();
    let reply = read(wire, chunks, &mut pieces);
    (reply, pieces)
}

fn read<'a>(
    wire: &dyn Wire,
    chunks: impl IntoIterator<Item = &'a [u8]>,
    pieces: &mut Vec<Piece>,
) -> Result<Reply> {
    let mut reader = wire.reader("mine", &NOTHING);
    let mut sse = Sse::default();
    for chunk in chunks {
        sse.feed(chunk);
        while let Some(event) = sse.next_event()? {
            reader.take(&event, &mut |piece| pieces.push(piece))?;
            if reader.is_complete() {
                return reader.finish();
            }
        }
    }
    reader.finish()
}

/// Checks that the stream gives the same, pieces included, wherever it is cut in two.
pub(crate) fn check_every_cut(wire: &dyn Wire, stream: &[u8]) {
    let whole = shown(&replay(wire, [stream]));
    for cut in 0..=stream.len() {
        let (first, second) = stream.split_at(cut);
        assert_eq!(shown(&replay(wire, [first, second])), whole, "cut at {cut}");
    }
}

/// Checks that the stream gives no reply wherever it breaks off before its last event is complete.
pub(crate) fn check_every_break(wire: &dyn Wire, stream: &[u8]) {
    for end in 0..stream.len() {
        let (reply, _) = replay(wire, [&stream[..end]]);
        assert_eq!(reply.map_err(|error| error.kind()), Err(ErrorKind::Malformed), "broken off at {end}");
    }
}

/// Checks that the stream gives the same with these events inserted between any two of its own.
pub(crate) fn check_strange_events(wire: &dyn Wire, stream: &str, strange: &[&str]) {
    let whole = shown(&replay(wire, [stream.as_bytes()]));
    let events: Vec<&str> = stream.split_inclusive("\n\n").collect();
    for place in 0..events.len() {
        for strange in strange {
            let mixed = [&events[..place], &[*strange], &events[place..]].concat().concat();
            assert_eq!(shown(&replay(wire, [mixed.as_bytes()])), whole, "`{strange}` before event {place}");
        }
    }
}

/// Everything about an outcome that can be compared.
pub(crate) fn shown(outcome: &ReplayOutcome) -> String {
    format!("{outcome:?}")
}

/// A view that shows these messages as they are.
pub(crate) fn all(messages: &[Message]) -> Vec<Viewed<'_>> {
    messages.iter().map(Viewed::from).collect()
}

/// The view of these messages for the one who is asked.
pub(crate) fn viewed<'a>(messages: &'a [Message], wire: &dyn Wire) -> Vec<Viewed<'a>> {
    let said = messages.iter().map(|message| PathMessage { id: None, is_pinned: false, message });
    View::of(&said.collect::<Vec<_>>(), &[], &wire.recipient()).messages
}

/// The message as it comes back from a store.
pub(crate) fn stored(message: &Message) -> Message {
    Message::from_body(&message.to_body()).unwrap()
}
