//! Reads server-sent events from bytes that arrive in chunks of any size.
//!
//! Follows the rules of the HTML standard: a byte order mark is passed over, a line ends with CR, LF or both,
//! comments and fields other than `event` and `data` are passed over, and an event that the stream ends in is
//! not an event. Bytes that are not UTF-8 become replacement characters, as the standard asks.

use crate::error::{Error, ErrorKind, Result};
use crate::providers::wire::ServerEvent;

/// The longest event. A reply that is repeated whole in its last event, with
/// pictures in it, stays well below.
const MAX_EVENT: usize = 64 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Bytes in, events out.
#[derive(Debug)]
pub(crate) struct Sse {
    bytes: Vec<u8>,
    /// Bytes before this are done with.
    done: usize,
    /// Bytes before this hold no end of a line.
    searched: usize,
    is_started: bool,
    /// The last line ended with a CR, so that an LF right after it belongs to the same end.
    is_after_return: bool,
    event: ServerEvent,
    has_data: bool,
    limit: usize,
}

impl Default for Sse {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT)
    }
}

impl Sse {
    fn with_limit(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            done: 0,
            searched: 0,
            is_started: false,
            is_after_return: false,
            event: ServerEvent::default(),
            has_data: false,
            limit,
        }
    }

    /// Adds what arrived.
    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        self.bytes.drain(..self.done);
        self.searched -= self.done;
        self.done = 0;
        self.bytes.extend_from_slice(chunk);
    }

    /// The next complete event of what arrived. An event beyond the limit is malformed.
    pub(crate) fn next_event(&mut self) -> Result<Option<ServerEvent>> {
        if !self.start() {
            return Ok(None);
        }
        while let Some(line) = self.next_line() {
            if line.is_empty() {
                let event = std::mem::take(&mut self.event);
                if std::mem::take(&mut self.has_data) {
                    return Ok(Some(event));
                }
                continue;
            }
            self.field(&line);
            self.check(0)?;
        }
        self.check(self.bytes.len() - self.done)?;
        Ok(None)
    }

    /// Passes over a byte order mark. False while what arrived may still become one.
    fn start(&mut self) -> bool {
        if self.is_started {
            return true;
        }
        if self.bytes.starts_with(BYTE_ORDER_MARK) {
            (self.done, self.searched) = (BYTE_ORDER_MARK.len(), BYTE_ORDER_MARK.len());
        } else if BYTE_ORDER_MARK.starts_with(&self.bytes) {
            return false;
        }
        self.is_started = true;
        true
    }

    fn next_line(&mut self) -> Option<String> {
        if self.is_after_return && self.bytes.get(self.done)? == &b'\n' {
            self.done += 1;
            self.searched = self.done;
        }
        self.is_after_return = false;
        let Some(length) = self.bytes[self.searched..].iter().position(|byte| matches!(byte, b'\n' | b'\r'))
        else {
            self.searched = self.bytes.len();
            return None;
        };
        let end = self.searched + length;
        let line = String::from_utf8_lossy(&self.bytes[self.done..end]).into_owned();
        self.is_after_return = self.bytes[end] == b'\r';
        self.done = end + 1;
        self.searched = self.done;
        Some(line)
    }

    fn field(&mut self, line: &str) {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            // A comment has an empty name. Ids and reconnection times serve streams that are taken up
            // again, which no provider offers this way.
            _ => {}
        }
    }

    fn check(&self, waiting: usize) -> Result<()> {
        if self.event.data.len() + self.event.name.len() + waiting <= self.limit {
            return Ok(());
        }
        let message = format!("an event of the stream is longer than {} bytes", self.limit);
        Err(Error::new(ErrorKind::Malformed, message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(name: &str, data: &str) -> ServerEvent {
        ServerEvent { name: name.to_owned(), data: data.to_owned() }
    }

    fn read(chunks: &[&[u8]]) -> Vec<ServerEvent> {
        let mut sse = Sse::default();
        let mut events = Vec::new();
        for chunk in chunks {
            sse.feed(chunk);
            while let Some(event) = sse.next_event().unwrap() {
                events.push(event);
            }
        }
        events
    }

    /// Everything the format allows, in one stream.
    const RICH: &[u8] = b"\xEF\xBB\xBF: hello\r\nevent: a\r\ndata: one\r\ndata:two\r\n\r\n\
        id: 7\nretry: 10\ndata\ndata:  three\n\n\
        event: only a name\n\n\
        event: b\rdata: caf\xC3\xA9 \xFF\r\r\
        data:x:y\r\n\nunknown: z\ndata: four\n\n\ndata: cut";

    fn rich() -> Vec<ServerEvent> {
        vec![
            event("a", "one\ntwo"),
            event("", "\n three"),
            event("b", "caf\u{e9} \u{FFFD}"),
            event("", "x:y"),
            event("", "four"),
        ]
    }

    #[test]
    fn every_form_that_the_standard_allows_is_read() {
        assert_eq!(read(&[RICH]), rich());
    }

    #[test]
    fn a_stream_cut_anywhere_gives_the_same_events() {
        for cut in 0..=RICH.len() {
            assert_eq!(read(&[&RICH[..cut], &RICH[cut..]]), rich(), "cut at {cut}");
        }
    }

    #[test]
    fn a_stream_fed_byte_by_byte_gives_the_same_events() {
        let bytes: Vec<&[u8]> = RICH.chunks(1).collect();

        assert_eq!(read(&bytes), rich());
    }

    #[test]
    fn an_event_is_told_as_soon_as_its_end_arrives() {
        let mut sse = Sse::default();

        sse.feed(b"data: a\r\n\r");

        assert_eq!(sse.next_event().unwrap(), Some(event("", "a")));
    }

    #[test]
    fn an_event_beyond_the_limit_is_malformed() {
        let long: [&[u8]; 4] =
            [b"data: 0123456789\n", b"data: 01234567", b"0123456789", b"data: 0123\ndata: 0123\n\n"];
        let kinds = long.map(|bytes| {
            let mut sse = Sse::with_limit(8);
            sse.feed(bytes);
            sse.next_event().unwrap_err().kind()
        });

        assert_eq!(kinds, [ErrorKind::Malformed; 4]);
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_chunks_give_the_same_events(
            bytes in prop::collection::vec(prop::sample::select(b"da:t evn\r\n\r\n\xEF\xBB\xBFx".to_vec()), 0..200),
            size in 1_usize..20,
        ) {
            let chunks: Vec<&[u8]> = bytes.chunks(size).collect();

            prop_assert_eq!(read(&chunks), read(&[&bytes]));
        }
    }
}
