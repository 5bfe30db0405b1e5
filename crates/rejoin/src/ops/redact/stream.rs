//! A stream of text without its secrets, of which a window is held at a time.

use std::io::{self, Read};
use std::str;

use crate::ops::redact::{RedactionTally, Redactor, text};

/// So many bytes are looked at at once. What is shorter is looked at whole.
const WINDOW: usize = 1 << 20;

/// So many bytes are held when something in them has no end yet.
const MOST: usize = 4 * WINDOW;

/// No secret of one line is longer.
const LONGEST: usize = 8 << 10;

/// So many places are tried where a line may be cut.
const PLACES: usize = 1_000;

/// Reads a stream without its secrets. One whose first bytes are no UTF-8 is handed on as it is; one
/// that ceases to be UTF-8 is from there.
pub(crate) struct Cleaning<'a> {
    redactor: Redactor<'a>,
    source: &'a mut dyn Read,
    /// What was read and not looked at.
    ahead: Vec<u8>,
    /// What can be handed out, and how much of it was.
    clean: Vec<u8>,
    given: usize,
    stage: StreamStage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamStage {
    First,
    Within,
    /// What follows is no text.
    Raw,
    Over,
}

impl<'a> Cleaning<'a> {
    pub(crate) const fn new(redactor: Redactor<'a>, source: &'a mut dyn Read) -> Self {
        Self { redactor, source, ahead: Vec::new(), clean: Vec::new(), given: 0, stage: StreamStage::First }
    }

    /// Makes the next piece ready to be handed out.
    fn advance(&mut self) -> io::Result<()> {
        let mut wanted = WINDOW;
        loop {
            let is_end = self.read_ahead(wanted)?;
            let is_first = self.stage == StreamStage::First;
            let (length, is_text) = match (self.stage, str::from_utf8(&self.ahead)) {
                (StreamStage::Raw, _) => (0, false),
                (_, Ok(text)) => (text.len(), true),
                // A letter that the window cuts in two.
                (_, Err(error)) if error.error_len().is_none() && !is_end => (error.valid_up_to(), true),
                (StreamStage::First, Err(_)) => (0, false),
                (_, Err(error)) => (error.valid_up_to(), false),
            };
            let mut tally = RedactionTally::default();
            let text = str::from_utf8(&self.ahead[..length]).expect("it was looked at above");
            if !is_text {
                let clean = text::redact(&self.redactor, text, &mut tally);
                self.clean = clean.unwrap_or_else(|| text.to_owned()).into_bytes();
                self.clean.extend_from_slice(&self.ahead[length..]);
                self.ahead.clear();
                self.stage = if is_end { StreamStage::Over } else { StreamStage::Raw };
                return Ok(());
            }
            if is_end {
                let clean = match self.stage {
                    StreamStage::First => self.redactor.line(text, &mut tally),
                    StreamStage::Within | StreamStage::Raw | StreamStage::Over => {
                        text::redact(&self.redactor, text, &mut tally)
                    }
                };
                self.clean = clean.map_or_else(|| text.as_bytes().to_vec(), String::into_bytes);
                self.ahead.clear();
                self.stage = StreamStage::Over;
                return Ok(());
            }
            let end = match whole_lines(&self.redactor, text) {
                0 if self.ahead.len() < MOST => {
                    wanted = self.ahead.len() + WINDOW;
                    continue;
                }
                0 => quiet_place(&self.redactor, text),
                end => end,
            };
            let clean = text::redact(&self.redactor, &text[..end], &mut tally);
            self.clean = clean.map_or_else(|| text.as_bytes()[..end].to_vec(), String::into_bytes);
            self.ahead.drain(..end);
            if is_first {
                self.stage = StreamStage::Within;
            }
            return Ok(());
        }
    }

    /// Reads until so many bytes are held. True at the end of the stream.
    fn read_ahead(&mut self, wanted: usize) -> io::Result<bool> {
        let lacking = wanted.saturating_sub(self.ahead.len()) as u64;
        let read = (&mut *self.source).take(lacking).read_to_end(&mut self.ahead)?;
        Ok((read as u64) < lacking)
    }
}

impl Read for Cleaning<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given == self.clean.len() {
            if self.stage == StreamStage::Over {
                return Ok(0);
            }
            self.given = 0;
            self.clean.clear();
            self.advance()?;
        }
        let count = into.len().min(self.clean.len() - self.given);
        into[..count].copy_from_slice(&self.clean[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

/// How many bytes are whole lines in which nothing has begun that goes on after them.
fn whole_lines(redactor: &Redactor<'_>, text: &str) -> usize {
    let settled = redactor.settled(text);
    text[..settled].rfind('\n').map_or(0, |line| line + 1)
}

/// Where a line without an end can be cut: where both sides alone say what they say together.
fn quiet_place(redactor: &Redactor<'_>, text: &str) -> usize {
    let last = text.floor_char_boundary(text.len() - LONGEST);
    let is_quiet = |place: &usize| {
        let begin = text.floor_char_boundary(place.saturating_sub(LONGEST));
        let end = text.floor_char_boundary(text.len().min(place + LONGEST));
        let [before, after, both] = [begin..*place, *place..end, begin..end].map(|part| {
            let part = &text[part];
            text::redact(redactor, part, &mut RedactionTally::default()).unwrap_or_else(|| part.to_owned())
        });
        before + &after == both
    };
    let between_words = text[..last].rmatch_indices(|letter: char| !letter.is_alphanumeric());
    let places = between_words.map(|(place, sign)| place + sign.len()).take(PLACES);
    std::iter::once(last).chain(places).find(is_quiet).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::redact::Redaction;
    use crate::ops::redact::tests::{GITHUB, with};

    #[test]
    fn lines_are_whole_before_a_wide_space() {
        let text = "one\ntwo «\u{a0}https://example.org/a";

        let length = with(&Redaction::new(), |redactor| whole_lines(redactor, text));

        assert_eq!(&text[..length], "one\n");
    }

    #[test]
    fn a_line_is_cut_beside_a_secret_and_what_names_it() {
        let secrets = [format!("\"{GITHUB}\","), "\"password\":\"hunter2!x9Qz\",".to_owned()];
        let filler = "{\"n\":12},".repeat(2_000);
        let places = secrets.iter().flat_map(|secret| (0..=secret.len()).map(move |inside| (secret, inside)));

        let torn: Vec<(usize, String)> = places
            .filter_map(|(secret, inside)| {
                let text = format!(
                    "{}{secret}{}",
                    &filler[..9_000 - inside],
                    &filler[..LONGEST + inside - secret.len()]
                );
                let place = with(&Redaction::new(), |redactor| quiet_place(redactor, &text));
                // Behind its first quote, all of it is on one side.
                let is_inside = place > 9_001 - inside && place < 9_000 - inside + secret.len() - 2;
                (is_inside || place < 8_900).then(|| (inside, text[place..place + 9].to_owned()))
            })
            .collect();

        assert_eq!(torn, []);
    }
}
