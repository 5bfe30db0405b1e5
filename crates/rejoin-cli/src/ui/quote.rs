//! Writes arguments so that a shell reads them back, for commands that are printed to be copied.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::consent;

/// Returns the argument as it must be typed; quoted only if it needs to be.
pub(crate) fn argument(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:,@%+=".contains(letter);
    if !consent::is_shown_as_it_is(text) {
        return escaped(text.as_bytes());
    }
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns a path as it must be typed, whatever bytes it is made of.
pub(crate) fn path(path: &Path) -> String {
    match path.to_str() {
        Some(text) => argument(text),
        None => escaped(path.as_os_str().as_bytes()),
    }
}

/// What would not be seen or would act on a screen is written as numbers, which
/// name the same bytes in every locale.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::from("$'");
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            byte => write!(text, "\\{byte:03o}").expect("memory does not fail"),
        }
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::process::Command;

    use super::*;

    #[test]
    fn only_what_a_shell_would_change_is_quoted() {
        let quoted = ["tasca", "two words", "it's", "", "$HOME", "~/trip", "/a/b-c.d"].map(argument);

        assert_eq!(quoted, ["tasca", "'two words'", r"'it'\''s'", "''", "'$HOME'", "'~/trip'", "/a/b-c.d"]);
    }

    #[test]
    fn what_would_not_be_seen_names_the_same_place() {
        let paths: [&[u8]; 6] = [
            b"/a\tb",
            b"/a\x1b[31m1",
            "/a\u{200b}2".as_bytes(),
            b"/it's\\\nhere",
            b"/s\xff7",
            "/où".as_bytes(),
        ];

        let quoted = paths.map(|bytes| path(Path::new(OsStr::from_bytes(bytes))));

        let lines = quoted.each_ref().map(|quoted| format!("printf %s {quoted}"));
        let read = lines.map(|line| Command::new("bash").args(["-c", &line]).output().unwrap().stdout);
        assert_eq!(read, paths.map(<[u8]>::to_vec));
        assert!(quoted.iter().all(|quoted| consent::is_shown_as_it_is(quoted)), "{quoted:?}");
    }
}
