//! Asks for something that must not be seen on the screen.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use rejoin::vault::Secret;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use zeroize::Zeroizing;

use crate::error::{Failure, Kind};

/// Longer than any secret that is typed or pasted.
const LONGEST: usize = 16 * 1024;

/// Asks at the terminal, and shows nothing of what is typed.
///
/// The terminal sends every key as it comes, so that also an interruption ends
/// here, with the screen as it was.
pub(crate) fn ask(prompt: &str) -> Result<Secret, Failure> {
    let attempt = |error: io::Error| Failure::io("ask at the terminal", error);
    write!(io::stderr(), "{prompt}").map_err(attempt)?;
    let typed = {
        let _hidden = HiddenTyping::start().map_err(attempt)?;
        read(&mut unbuffered().map_err(attempt)?).map_err(attempt)?
    };
    writeln!(io::stderr()).map_err(attempt)?;
    typed.ok_or_else(|| Failure::new(Kind::NotConfirmed, "nothing was entered; nothing was changed"))
}

/// The first line of standard input, where nobody types.
pub(crate) fn first_line() -> io::Result<Secret> {
    let mut input = unbuffered()?;
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
    let mut byte = Zeroizing::new([0]);
    while line.len() < LONGEST && input.read(&mut *byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    Ok(Secret::new(std::mem::take(&mut *line)))
}

/// Standard input without the buffer of the process, which nobody wipes.
fn unbuffered() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

/// Reads to the end of the line; none when it was interrupted.
fn read(input: &mut impl Read) -> io::Result<Option<Secret>> {
    // What is typed fits, so that growing leaves no copy of it behind. What was
    // taken back is overwritten at the end too.
    let mut typed = Zeroizing::new(Vec::with_capacity(LONGEST));
    let mut key = Zeroizing::new([0]);
    while typed.len() < LONGEST && input.read(&mut *key)? == 1 {
        match key[0] {
            b'\r' | b'\n' => break,
            // Ctrl+C.
            3 => return Ok(None),
            // Ctrl+D ends the input.
            4 => break,
            // Backspace, in both customs; a character may have several bytes.
            8 | 127 => while typed.pop().is_some_and(|byte| byte & 0xC0 == 0x80) {},
            // Ctrl+U.
            21 => typed.clear(),
            byte => typed.push(byte),
        }
    }
    Ok(Some(Secret::new(std::mem::take(&mut *typed))).filter(|typed| !typed.as_bytes().is_empty()))
}

/// While this lives, the terminal shows nothing of what is typed.
struct HiddenTyping {
    before: Termios,
}

impl HiddenTyping {
    fn start() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        hidden.special_codes[SpecialCodeIndex::VMIN] = 1;
        hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(Self { before })
    }
}

impl Drop for HiddenTyping {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_mean_something_are_understood() {
        let cases: [(&[u8], Option<&str>); 7] = [
            (b"sk-1\nrest", Some("sk-1")),
            (b"sk-2\r", Some("sk-2")),
            (b"sk-3", Some("sk-3")),
            ("sé\u{7f}\u{7f}k\u{8}x\n".as_bytes(), Some("x")),
            (b"old\x15new\x04", Some("new")),
            (b"sk\x03\n", None),
            (b"\n", None),
        ];

        let typed = cases.map(|(mut keys, _)| read(&mut keys).unwrap());

        let texts = typed.each_ref().map(|typed| typed.as_ref().and_then(Secret::as_text));
        assert_eq!(texts, cases.map(|(_, expected)| expected));
    }

    #[test]
    fn what_is_no_text_is_not_changed() {
        let typed = read(&mut &b"caf\xe9\n"[..]).unwrap().unwrap();

        assert_eq!((typed.as_bytes(), format!("{typed:?}")), (&b"caf\xe9"[..], "[redacted]".to_owned()));
    }

    #[test]
    fn no_more_is_taken_than_there_is_room_for() {
        let typed = read(&mut io::repeat(b'x')).unwrap().unwrap();

        assert_eq!(typed.as_bytes().len(), LONGEST);
    }
}
