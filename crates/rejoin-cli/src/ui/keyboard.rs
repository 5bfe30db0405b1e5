//! The keyboard while a reply arrives: what is typed is not shown, and waits for the prompt.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
};

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
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return Self { before: None };
        }
        let Ok(before) = tcgetattr(stdin.as_fd()) else { return Self { before: None } };
        let mut hushed = before.clone();
        change(&mut hushed.local_modes);
        // A read returns after a tenth of a second even when nothing was typed.
        hushed.special_codes[SpecialCodeIndex::VMIN] = 0;
        hushed.special_codes[SpecialCodeIndex::VTIME] = 1;
        let _ = tcsetattr(stdin.as_fd(), OptionalActions::Now, &hushed);
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
pub(crate) enum Key {
    Letter(char),
    Enter,
    Space,
    /// Ctrl+C.
    Interrupt,
    /// Ctrl+D, or nobody is there any more.
    End,
    /// Any other.
    Other,
}

/// Waits for a key. What was typed before the question is thrown away: it was not meant as its answer.
pub(crate) fn key() -> Key {
    let _hushed =
        Hushed::with(|modes| modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG));
    let stdin = io::stdin();
    let _ = tcflush(stdin.as_fd(), QueueSelector::IFlush);
    let mut bytes = [0; 64];
    loop {
        match rustix::io::read(stdin.as_fd(), &mut bytes) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(read) => return meaning(&bytes[..read]),
            Err(_) => return Key::End,
        }
    }
}

/// Keys such as the arrows arrive as several bytes, among which there may be letters that mean nothing.
fn meaning(bytes: &[u8]) -> Key {
    match bytes {
        [b'\r' | b'\n'] => Key::Enter,
        [b' '] => Key::Space,
        [3] => Key::Interrupt,
        [4] => Key::End,
        [letter @ (b'a'..=b'z' | b'A'..=b'Z')] => Key::Letter(char::from(*letter).to_ascii_lowercase()),
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_letter_is_an_answer() {
        let keys = [&b"y"[..], b"A", b" ", b"\r", b"\x1b[A", b"yes", b"\x03", b"\x04", b"\x1b"].map(meaning);

        let expected = [
            Key::Letter('y'),
            Key::Letter('a'),
            Key::Space,
            Key::Enter,
            Key::Other,
            Key::Other,
            Key::Interrupt,
            Key::End,
            Key::Other,
        ];
        assert_eq!(keys, expected);
    }
}
