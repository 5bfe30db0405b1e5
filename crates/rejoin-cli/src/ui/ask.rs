//! Asks the person at the keyboard. Where nobody sits, nothing is asked and nothing is assumed.

use std::io::{self, BufRead, Read, Write};

use super::consent::ConsentText;
use super::keyboard;

/// The longest answer read, so that a file on the keyboard's place cannot fill the memory.
const LONGEST_ANSWER: u64 = 4096;

/// Where answers come from.
#[derive(Debug)]
pub(crate) enum Keyboard<Input> {
    /// A person can answer.
    Present(Input),
    /// Input is a file, a pipe or nothing.
    Absent,
}

/// What came of asking for confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmation {
    /// The person agreed.
    Yes,
    /// The person refused, pressed return, or closed the input.
    No,
    /// There was nobody to ask; the caller says which flag answers instead.
    NotAsked,
}

/// The keyboard of a person who is about to be asked. What was typed before is thrown
/// away: it was not meant as the answer.
pub(crate) fn person() -> io::StdinLock<'static> {
    keyboard::forget_typed();
    io::stdin().lock()
}

/// Asks a question to be answered with yes or no, again until the answer is one of them.
///
/// What the question names, such as a path, is shown as it is.
pub(crate) fn confirm<Input: BufRead>(
    question: &ConsentText,
    keyboard: Keyboard<Input>,
    output: &mut impl Write,
) -> io::Result<Confirmation> {
    let Keyboard::Present(mut input) = keyboard else {
        return Ok(Confirmation::NotAsked);
    };
    for note in ConsentText::notes(&[question]) {
        writeln!(output, "{note}")?;
    }
    loop {
        let Some(answer) = ask(&format!("{} [y/N] ", question.text()), &mut input, output)? else {
            return Ok(Confirmation::No);
        };
        match answer.to_ascii_lowercase().as_str() {
            "y" | "yes" => return Ok(Confirmation::Yes),
            "" | "n" | "no" => return Ok(Confirmation::No),
            _ => writeln!(output, "Answer y or n.")?,
        }
    }
}

/// Prints the prompt and reads a line without the white space around it; `None` at the end of input.
pub(crate) fn ask(
    prompt: &str,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Option<String>> {
    write!(output, "{prompt}")?;
    output.flush()?;
    let mut typed = Vec::new();
    input.by_ref().take(LONGEST_ANSWER).read_until(b'\n', &mut typed)?;
    if typed.is_empty() {
        // The end of input leaves the cursor behind the question.
        writeln!(output)?;
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&typed).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confirmed(typed: &[u8]) -> (Confirmation, String) {
        let mut output = Vec::new();
        let confirmation =
            confirm(&ConsentText::line("Delete 2 messages?"), Keyboard::Present(typed), &mut output);
        (
            confirmation.expect("memory does not fail"),
            String::from_utf8(output).expect("only text is printed"),
        )
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        let cases: [(&[u8], Confirmation); 8] = [
            (b"y\n", Confirmation::Yes),
            (b" YES \r\n", Confirmation::Yes),
            (b"y", Confirmation::Yes),
            (b"n\n", Confirmation::No),
            (b"No\n", Confirmation::No),
            (b"\n", Confirmation::No),
            (b"yep\n", Confirmation::No),
            (b"\xff\n", Confirmation::No),
        ];

        let answers = cases.map(|(typed, _)| confirmed(typed).0);

        assert_eq!(answers, cases.map(|(_, expected)| expected));
    }

    #[test]
    fn what_a_question_names_is_shown_as_it_is() {
        let mut output = Vec::new();
        let question = ConsentText::line("Replace a\u{1b}[2J\u{202e}b?");

        confirm(&question, Keyboard::Present(&b"n\n"[..]), &mut output).unwrap();

        let expected =
            "2 hidden or misleading characters are shown as ⟨U+…⟩.\nReplace a⟨U+001B⟩[2J⟨U+202E⟩b? [y/N] ";
        assert_eq!(String::from_utf8(output).unwrap(), expected);
    }

    #[test]
    fn a_wrong_key_asks_again() {
        let prompt = "Delete 2 messages? [y/N] ";

        let expected = format!("{prompt}Answer y or n.\n{prompt}");
        assert_eq!(confirmed(b"maybe\ny\n"), (Confirmation::Yes, expected));
    }

    #[test]
    fn the_end_of_input_means_no() {
        assert_eq!(confirmed(b""), (Confirmation::No, "Delete 2 messages? [y/N] \n".to_owned()));
    }

    #[test]
    fn nobody_is_asked_without_a_keyboard() {
        let mut output = Vec::new();

        let confirmation =
            confirm(&ConsentText::line("Delete?"), Keyboard::<&[u8]>::Absent, &mut output).unwrap();

        assert_eq!((confirmation, output), (Confirmation::NotAsked, Vec::new()));
    }
}
