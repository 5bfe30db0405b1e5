//! What is typed while a reply arrives: kept for the next line. Esc stops the reply.
//!
//! Nothing typed here ever answers a question: a question reads the keyboard itself, after it has appeared.

use std::time::{Duration, Instant};

use super::hangup::Hangup;
use crate::ui::keyboard;

/// A lone escape character may be the beginning of the sequence of a key, which arrives as a whole.
const SEQUENCE: Duration = Duration::from_millis(50);

/// The most that is kept of what is typed.
const LONGEST: usize = 64 << 10;

const ESCAPE: u8 = 0x1b;

/// What is typed while a reply arrives.
#[derive(Debug)]
pub(crate) struct TypedAhead {
    is_listening: bool,
    text: String,
    /// Bytes of a key or a character that has not arrived as a whole.
    pending: Vec<u8>,
    /// When the last byte arrived.
    since: Instant,
    hangup: Hangup,
}

impl TypedAhead {
    /// Leaves what is typed to whoever reads the terminal next.
    pub(crate) fn ignored() -> Self {
        let hangup = Hangup::default();
        Self { is_listening: false, text: String::new(), pending: Vec::new(), since: Instant::now(), hangup }
    }

    /// Keeps what is typed.
    pub(super) fn kept(hangup: Hangup) -> Self {
        Self { is_listening: true, hangup, ..Self::ignored() }
    }

    /// Takes what was typed by now. True when Esc was pressed, or the program is told to end.
    pub(super) fn poll(&mut self) -> bool {
        self.hangup.was_told() || self.is_listening && self.take_in(&keyboard::typed(), Instant::now())
    }

    /// The text, without the line breaks around it.
    pub(super) fn into_text(self) -> Option<String> {
        let text = self.text.trim_matches('\n');
        (!text.trim().is_empty()).then(|| text.to_owned())
    }

    fn take_in(&mut self, bytes: &[u8], now: Instant) -> bool {
        if bytes.is_empty() {
            let is_escape = self.pending == [ESCAPE] && now.duration_since(self.since) >= SEQUENCE;
            if is_escape {
                self.pending.clear();
            }
            return is_escape;
        }
        self.since = now;
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_slice();
        let mut is_escape = false;
        while let Some(length) = key_length(rest) {
            let (key, after) = rest.split_at(length);
            is_escape |= key == [ESCAPE];
            self.press(key);
            rest = after;
        }
        self.pending = rest.to_vec();
        is_escape
    }

    fn press(&mut self, key: &[u8]) {
        match key {
            [b'\r' | b'\n'] | [ESCAPE, b'\r' | b'\n'] => self.text.push('\n'),
            [b'\t'] => self.text.push(' '),
            [0x7f | 0x08] => drop(self.text.pop()),
            // Ctrl+U
            [0x15] => self.text.clear(),
            // Ctrl+W
            [0x17] => {
                let word = self.text.trim_end().rfind(char::is_whitespace).map_or(0, |space| space + 1);
                self.text.truncate(word);
            }
            [0..0x20, ..] => {}
            letter if self.text.len() + letter.len() <= LONGEST => {
                self.text.push_str(&String::from_utf8_lossy(letter));
            }
            _ => {}
        }
    }
}

/// How many bytes the first key takes; none when it has not arrived as a whole.
fn key_length(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [] | [ESCAPE] => None,
        // The second one begins a key of its own.
        [ESCAPE, ESCAPE, ..] => Some(1),
        [ESCAPE, b'[', rest @ ..] => {
            let end = rest.iter().position(|byte| (0x40..=0x7e).contains(byte))?;
            Some(end + 3)
        }
        [ESCAPE, b'O', ..] => (bytes.len() > 2).then_some(3),
        [ESCAPE, rest @ ..] => Some(1 + character_length(rest)?),
        _ => character_length(bytes),
    }
}

fn character_length(bytes: &[u8]) -> Option<usize> {
    let length = match bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    (bytes.len() >= length).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types keys, each so many milliseconds after the one before. Returns what is kept and after how many
    /// keys the reply was stopped.
    fn typed(keys: &[(u64, &[u8])]) -> (Option<String>, Option<usize>) {
        let mut ahead = TypedAhead::kept(Hangup::default());
        let mut now = Instant::now();
        let mut stopped = None;
        for (place, (pause, bytes)) in keys.iter().enumerate() {
            now += Duration::from_millis(*pause);
            if ahead.take_in(bytes, now) {
                stopped.get_or_insert(place);
            }
        }
        (ahead.into_text(), stopped)
    }

    fn kept(bytes: &[u8]) -> Option<String> {
        typed(&[(0, bytes)]).0
    }

    #[test]
    fn text_is_kept_and_edited() {
        let lines: [&[u8]; 7] = [
            b"and in Porto?\r",
            b"one\ntwo",
            b"mistakr\x7fe",
            b"thrown away\x15kept",
            b"not this\x17that",
            "gr\u{fc}n \u{1f600}".as_bytes(),
            b"\r\n\r",
        ];

        let expected = [
            Some("and in Porto?"),
            Some("one\ntwo"),
            Some("mistake"),
            Some("kept"),
            Some("not that"),
            Some("gr\u{fc}n \u{1f600}"),
            None,
        ];
        assert_eq!(lines.map(kept), expected.map(|text| text.map(str::to_owned)));
    }

    #[test]
    fn keys_that_move_the_cursor_leave_no_letters() {
        assert_eq!(kept(b"a\x1b[Ab\x1bOPc\x1b[1;5Cd\x1bxe"), Some("abcde".to_owned()));
    }

    #[test]
    fn a_character_may_arrive_in_pieces() {
        let (text, stopped) = typed(&[(0, b"\xc3"), (1, b"\xbc"), (1, b"\x1b"), (1, b"[A!")]);

        assert_eq!((text.as_deref(), stopped), (Some("\u{fc}!"), None));
    }

    #[test]
    fn escape_stops_the_reply_and_keeps_the_text() {
        let alone = typed(&[(0, b"so\x1b"), (10, b""), (50, b""), (100, b"")]);
        let twice = typed(&[(0, b"\x1b\x1b")]);

        assert_eq!(alone, (Some("so".to_owned()), Some(2)));
        assert_eq!(twice, (None, Some(0)));
    }
}
