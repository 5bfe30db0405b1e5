//! The keyboard while a reply arrives: what is typed is not shown, and is kept for the prompt.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
};

/// How long nothing may be typed before a key counts as an answer: somebody who types a text or holds a key
/// is not answering a question that has just appeared.
const QUIET: Duration = Duration::from_millis(500);

/// The longest line that is read as an answer.
const LONGEST_LINE: usize = 4096;

/// Ctrl+C, as the terminal sends it.
const INTERRUPT: u8 = 3;

/// Esc. Alone it is the key; keys such as the arrows begin with it.
const ESCAPE: u8 = 0x1b;

/// What is typed is neither shown nor waited for until this is dropped. Ctrl+C works as ever.
#[derive(Debug)]
pub(crate) struct Hushed {
    before: Option<Termios>,
}

impl Hushed {
    /// Does nothing where the input is no terminal.
    pub(crate) fn begin() -> Self {
        Self::with(|modes| modes.remove(LocalModes::ECHO | LocalModes::ICANON))
    }

    fn with(change: impl FnOnce(&mut LocalModes)) -> Self {
        Self::changed(|settings| {
            change(&mut settings.local_modes);
            // A read returns after a tenth of a second even when nothing was typed.
            settings.special_codes[SpecialCodeIndex::VMIN] = 0;
            settings.special_codes[SpecialCodeIndex::VTIME] = 1;
        })
    }

    fn changed(change: impl FnOnce(&mut Termios)) -> Self {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return Self { before: None };
        }
        let Ok(before) = tcgetattr(stdin.as_fd()) else { return Self { before: None } };
        let mut changed = before.clone();
        change(&mut changed);
        let _ = tcsetattr(stdin.as_fd(), OptionalActions::Now, &changed);
        Self { before: Some(before) }
    }
}

impl Drop for Hushed {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, before);
        }
    }
}

/// A key that was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPress {
    Letter(char),
    Enter,
    Space,
    Escape,
    /// Ctrl+C.
    Interrupt,
    /// Ctrl+D, or nobody is there any more.
    End,
    /// Any other.
    Other,
}

/// Waits for a key that answers what is on the screen now.
///
/// What was typed before is thrown away, and so is what is typed until the keyboard was quiet for a while: it
/// was not meant as the answer. Ctrl+C and Ctrl+D count at once.
pub(crate) fn key() -> KeyPress {
    let _hushed =
        Hushed::with(|modes| modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG));
    forget_typed();
    let stdin = io::stdin();
    let mut quiet = QuietKeys { since: Instant::now() };
    let mut bytes = [0; 64];
    loop {
        match rustix::io::read(stdin.as_fd(), &mut bytes) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(read) => {
                if let Some(key) = quiet.answer(&bytes[..read], Instant::now()) {
                    return key;
                }
            }
            Err(_) => return KeyPress::End,
        }
    }
}

/// What was typed and not yet read, without waiting. The keyboard has to be hushed.
pub(crate) fn typed() -> Vec<u8> {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let is_there = stdin.is_terminal()
        && matches!(poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1..));
    if !is_there {
        return Vec::new();
    }
    let mut bytes = [0; 1024];
    let read = rustix::io::read(stdin.as_fd(), &mut bytes).unwrap_or(0);
    bytes[..read].to_vec()
}

/// A line that was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TypedLine {
    Text(String),
    /// Ctrl+C.
    Interrupt,
}

/// Reads a line that is shown while it is typed, also where the keyboard is hushed.
pub(crate) fn line() -> io::Result<TypedLine> {
    let stdin = io::stdin();
    let _shown = Hushed::changed(|settings| {
        settings.local_modes.insert(LocalModes::ECHO | LocalModes::ICANON);
        // Ctrl+C ends the line here, so that it is noticed before the line is used.
        settings.local_modes.remove(LocalModes::ISIG);
        settings.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
    });
    let mut typed = Vec::new();
    let mut bytes = [0; LONGEST_LINE];
    while !typed.ends_with(b"\n") && typed.len() < LONGEST_LINE {
        match rustix::io::read(stdin.as_fd(), &mut bytes) {
            Ok(0) => break,
            Ok(read) => typed.extend_from_slice(&bytes[..read]),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if typed.contains(&INTERRUPT) {
            return Ok(TypedLine::Interrupt);
        }
    }
    Ok(TypedLine::Text(String::from_utf8_lossy(&typed).trim().to_owned()))
}

/// Throws away what was typed and not yet read, where the input is a terminal.
pub(crate) fn forget_typed() {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let _ = tcflush(stdin.as_fd(), QueueSelector::IFlush);
    }
}

/// Tells keys that answer a question from those that happen to be typed when it appears.
#[derive(Debug)]
struct QuietKeys {
    /// When the question appeared, or the last key that did not count.
    since: Instant,
}

impl QuietKeys {
    fn answer(&mut self, bytes: &[u8], now: Instant) -> Option<KeyPress> {
        let key = if bytes.contains(&INTERRUPT) { KeyPress::Interrupt } else { meaning(bytes) };
        let is_quiet = now.duration_since(self.since) >= QUIET;
        self.since = now;
        (is_quiet || matches!(key, KeyPress::Interrupt | KeyPress::End)).then_some(key)
    }
}

/// Keys such as the arrows arrive as several bytes, among which there may be letters that mean nothing.
fn meaning(bytes: &[u8]) -> KeyPress {
    match bytes {
        [b'\r' | b'\n'] => KeyPress::Enter,
        [b' '] => KeyPress::Space,
        [ESCAPE] => KeyPress::Escape,
        [INTERRUPT] => KeyPress::Interrupt,
        [4] => KeyPress::End,
        [letter @ (b'a'..=b'z' | b'A'..=b'Z')] => KeyPress::Letter(char::from(*letter).to_ascii_lowercase()),
        _ => KeyPress::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_letter_is_an_answer() {
        let keys = [&b"y"[..], b"A", b" ", b"\r", b"\x1b[A", b"yes", b"\x03", b"\x04", b"\x1b"].map(meaning);

        let expected = [
            KeyPress::Letter('y'),
            KeyPress::Letter('a'),
            KeyPress::Space,
            KeyPress::Enter,
            KeyPress::Other,
            KeyPress::Other,
            KeyPress::Interrupt,
            KeyPress::End,
            KeyPress::Escape,
        ];
        assert_eq!(keys, expected);
    }

    /// Types keys, each so many milliseconds after the one before, and returns the first that counts.
    fn answered(typed: &[(u64, &[u8])]) -> Option<KeyPress> {
        let mut now = Instant::now();
        let mut quiet = QuietKeys { since: now };
        typed.iter().find_map(|(pause, bytes)| {
            now += Duration::from_millis(*pause);
            quiet.answer(bytes, now)
        })
    }

    #[test]
    fn a_key_counts_after_the_keyboard_was_quiet() {
        let yes = Some(KeyPress::Letter('y'));
        let held = vec![(30, &b"y"[..]); 100];

        assert_eq!(answered(&[(500, b"y")]), yes);
        assert_eq!(answered(&[(499, b"y")]), None);
        assert_eq!(answered(&[(400, b"a"), (400, b"v"), (400, b"\r"), (400, b" ")]), None);
        assert_eq!(answered(&[(400, b"a"), (500, b"y")]), yes);
        assert_eq!(answered(&held), None);
    }

    #[test]
    fn who_wants_to_stop_does_not_wait() {
        assert_eq!(answered(&[(0, b"\x03")]), Some(KeyPress::Interrupt));
        assert_eq!(answered(&[(0, b"abc\x03")]), Some(KeyPress::Interrupt));
        assert_eq!(answered(&[(0, b"\x04")]), Some(KeyPress::End));
    }
}
