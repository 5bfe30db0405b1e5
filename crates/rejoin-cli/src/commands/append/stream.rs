//! Messages line by line: read one, store it, acknowledge it, and only then read the next.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};

use crate::commands::append::{AppendTarget, line, too_large};
use crate::config::size;
use crate::context::Context;
use crate::error::Failure;
use crate::redaction;

/// How many times larger than what is stored a line may be: escaped as `\u6771`, text takes up to three times
/// the room.
const ESCAPED: u64 = 3;

/// How long a line may be all the same, because what is attached to a message does not count in its turn: as
/// long as one of a file that is imported.
const ATTACHED: u64 = 64 << 20;

/// Opens a file, or the pipe for `-`.
pub(super) fn open(source: &str, context: &Context) -> Result<Box<dyn BufRead>, Failure> {
    if source == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let path = context.surroundings.working_directory.join(source);
    let file = File::open(&path).map_err(|error| Failure::io(format!("read `{source}`"), error))?;
    Ok(Box::new(BufReader::new(file)))
}

/// Appends every line of the input.
pub(super) fn append(
    input: Box<dyn BufRead>,
    mut target: AppendTarget,
    context: &Context,
) -> Result<(), Failure> {
    let mut lines = BoundedLines { input, number: 0, limit: context.config.turn_bytes(), least: ATTACHED };
    let mut answer = context.answer();
    while let Some(text) = lines.next()? {
        let receipt = line::read(&text).map_err(Failure::invalid).and_then(|turn| {
            let handle = match turn.parent {
                Some(parent) => target.handle_at(parent, context)?,
                None => target.handle(context)?,
            };
            let receipt = handle.append_turn(turn.messages)?;
            context.refuse_switched()?;
            Ok(receipt)
        });
        let receipt = receipt.map_err(|failure| lines.blame(failure))?;
        // The append has returned, so the messages are on disk: only now is this said, and said at once.
        serde_json::to_writer(&mut answer, &receipt).map_err(io::Error::from)?;
        writeln!(answer)?;
        answer.flush()?;
        if let Some(told) = redaction::told(&receipt.redacted) {
            context.note(&told);
        }
    }
    Ok(())
}

/// Lines of bounded length. What was read is handed on before more is waited for.
struct BoundedLines<Input> {
    input: Input,
    number: u64,
    limit: u64,
    /// A line may always be so long.
    least: u64,
}

impl<Input: BufRead> BoundedLines<Input> {
    /// The next line that is not blank, or none at the end.
    fn next(&mut self) -> Result<Option<String>, Failure> {
        let longest = self.limit.saturating_mul(ESCAPED).max(self.least);
        loop {
            self.number += 1;
            let mut bytes = Vec::new();
            (&mut self.input)
                .take(longest.saturating_add(1))
                .read_until(b'\n', &mut bytes)
                .map_err(|error| Failure::io("read the input", error))?;
            if bytes.is_empty() {
                return Ok(None);
            }
            if bytes.len() as u64 > longest && bytes.last() != Some(&b'\n') {
                return Err(self.blame(too_large(format!(
                    "it is longer than {}, which is enough for `limits.turn_bytes` = {}",
                    size::write(longest),
                    size::write(self.limit)
                ))));
            }
            let text = String::from_utf8(bytes).map_err(|error| {
                self.blame(Failure::invalid("it is not valid UTF-8").because(error.utf8_error()))
            })?;
            if !text.trim().is_empty() {
                return Ok(Some(text));
            }
        }
    }

    /// Says which line it was, and what became of those before.
    fn blame(&self, failure: Failure) -> Failure {
        let failure = failure.during(format!("append line {} of the input", self.number));
        if self.number == 1 {
            return failure;
        }
        let next = if failure.is_of_input() {
            "the lines before it are stored; correct this one and send the rest"
        } else {
            "the lines before it are stored; send this one and the rest again"
        };
        failure.or_hint(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &[u8], limit: u64) -> BoundedLines<&[u8]> {
        BoundedLines { input, number: 0, limit, least: 0 }
    }

    #[test]
    fn blank_lines_are_passed_over_and_counted() {
        let mut lines = lines(b"\r\n\n1\n \n2", 10);

        let read = [lines.next().unwrap(), lines.next().unwrap(), lines.next().unwrap()];

        assert_eq!(read, [Some("1\n".to_owned()), Some("2".to_owned()), None]);
        assert_eq!(lines.number, 6);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        let longest = lines(b"123\n", 1).next().unwrap();
        let failure = lines(b"1234\n", 1).next().unwrap_err();

        assert_eq!(longest, Some("123\n".to_owned()));
        assert_eq!(
            failure.summary(),
            "could not append line 1 of the input: it is longer than 3 B, which is enough for `limits.turn_bytes` = 1 B"
        );
    }
}
