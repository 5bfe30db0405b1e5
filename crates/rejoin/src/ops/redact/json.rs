//! Written JSON without its secrets: only strings are changed, and all else stays to the letter.

use std::borrow::Cow;

use crate::ops::redact::find::{Finder, MARKER, Personal, Rule};
use crate::ops::redact::{Redactor, Tally, text};

/// So many letters of base64 and nothing else are data, not text.
const DATA_BYTES: usize = 512;

/// A name or a value this long is none that an assignment has.
const NAMED_BYTES: usize = 8 << 10;

/// A key that is spread over strings has no more of them.
const KEY_LINES: usize = 500;

/// JSON without its secrets; none when it has none.
pub(super) fn redact(redactor: &Redactor<'_>, json: &str, tally: &mut Tally) -> Option<String> {
    let suspicions = redactor.rules.finder().suspicions(json);
    if suspicions.is_empty() && !redactor.rules.are_thorough() {
        return None;
    }
    let mut walk = Walk {
        redactor,
        json,
        suspicions: &suspicions,
        out: String::new(),
        copied: 0,
        name: None,
        pair: None,
        key_lines: 0,
    };
    walk.run(tally);
    (walk.copied > 0).then(|| walk.out + &json[walk.copied..])
}

/// A string, by the places of its quotes.
#[derive(Clone, Copy, Debug)]
struct Literal {
    start: usize,
    end: usize,
    /// True when it names a value.
    is_name: bool,
    is_suspicious: bool,
}

/// One pass over the strings of written JSON.
struct Walk<'a> {
    redactor: &'a Redactor<'a>,
    json: &'a str,
    /// The places that are left to look at.
    suspicions: &'a [usize],
    out: String,
    /// How much of the JSON is in `out`.
    copied: usize,
    /// The name that the next value has.
    name: Option<String>,
    /// What an object calls the value that it has under `value`.
    pair: Option<String>,
    /// How many strings may still be lines of a private key that has begun.
    key_lines: usize,
}

impl Walk<'_> {
    fn run(&mut self, tally: &mut Tally) {
        let bytes = self.json.as_bytes();
        let mut at = 0;
        while let Some(start) = memchr::memchr(b'"', &bytes[at..]).map(|quote| at + quote) {
            self.pass(at, start, tally);
            let Some(end) = end_of_string(bytes, start) else { return };
            let colon = bytes[end + 1..].iter().position(|byte| !byte.is_ascii_whitespace());
            let is_name = colon.is_some_and(|gap| bytes[end + 1 + gap] == b':');
            let first = self.suspicions.iter().take_while(|place| **place < start).count();
            self.suspicions = &self.suspicions[first..];
            let is_suspicious = self.suspicions.first().is_some_and(|place| *place <= end);
            self.string(Literal { start, end, is_name, is_suspicious }, tally);
            at = end + 1;
        }
        self.pass(at, bytes.len(), tally);
    }

    /// Passes over what stands between two strings: signs, numbers and the words of JSON.
    fn pass(&mut self, from: usize, to: usize, tally: &mut Tally) {
        let between = &self.json[from..to];
        if between.contains(['{', '}']) {
            self.pair = None;
        }
        if between.contains(['{', '[', ',']) {
            self.name = None;
        }
        if self.redactor.rules.personal.contains(&Personal::Card) {
            for found in Personal::Card.find(between) {
                let range = from + found.range.start..from + found.range.end;
                let marker = self.redactor.mark(found.rule, &self.json[range.clone()], tally);
                self.replace(range, &format!("\"{marker}\""));
            }
        }
    }

    fn string(&mut self, literal: Literal, tally: &mut Tally) {
        let Literal { start, end, is_name, is_suspicious } = literal;
        let raw = &self.json[start + 1..end];
        let name = self.name.take();
        let is_short = raw.len() <= NAMED_BYTES;
        let looks = is_suspicious || self.redactor.rules.are_thorough() || self.key_lines > 0;
        let has_name = name.as_deref().is_some_and(|name| !name.is_empty());
        if !looks && !is_name && !has_name || !is_short && is_data(raw) {
            return;
        }
        let Some(text) = self.read(start, end) else {
            // Half of a pair of surrogates: JSON, but no text.
            if let Some(clean) = text::redact(self.redactor, raw, tally) {
                self.replace(start + 1..end, &clean);
            }
            return;
        };
        let whole = if is_name || !is_short { None } else { self.rule_of(name.as_deref(), &text) };
        let changed = match whole {
            Some(rule) => {
                let found = self.redactor.rules.finder().secrets(&text);
                let whole = found.into_iter().filter(|one| one.range == (0..text.len()));
                // Who gave a token out says more than what it is called.
                let rule = whole.max_by_key(|one| one.weight).map_or(rule, |one| one.rule);
                Some(self.redactor.mark(rule, &text, tally))
            }
            None if looks => text::redact(self.redactor, &text, tally),
            None => None,
        };
        if begins_key(&text) || changed.as_deref().is_some_and(begins_key) {
            self.key_lines = KEY_LINES;
        } else if text.contains("-----END") {
            self.key_lines = 0;
        }
        if let Some(changed) = changed {
            let written = serde_json::to_string(&changed).expect("a text can be written as JSON");
            self.replace(start..end + 1, &written);
        }
        // A marker has the name of its rule in it, which says nothing of what stands beside it.
        let can_name = is_short && !text.contains(MARKER);
        match name.as_deref() {
            _ if is_name => self.name = can_name.then(|| text.into_owned()),
            Some("name" | "key" | "Name" | "Key") => self.pair = can_name.then(|| text.into_owned()),
            _ => {}
        }
    }

    /// The rule for a whole string, by what stands around it.
    fn rule_of(&mut self, name: Option<&str>, text: &str) -> Option<Rule> {
        if self.key_lines > 0 {
            self.key_lines -= 1;
            let line = text.trim_end_matches(['\n', '\r', ',', ' ']);
            if line.len() >= 16 && is_data(line) {
                return Some(Rule::Named("private-key"));
            }
        }
        match name? {
            "value" | "Value" => Finder::named(self.pair.as_deref()?, text),
            name => Finder::named(name, text),
        }
    }

    /// What a string says; none when it is no text.
    fn read(&self, start: usize, end: usize) -> Option<Cow<'static, str>> {
        serde_json::from_str::<String>(&self.json[start..=end]).ok().map(Cow::Owned)
    }

    fn replace(&mut self, range: std::ops::Range<usize>, with: &str) {
        self.out.push_str(&self.json[self.copied..range.start]);
        self.out.push_str(with);
        self.copied = range.end;
    }
}

/// True for the first line of a private key without its last.
fn begins_key(text: &str) -> bool {
    text.contains("-----BEGIN") && text.contains("PRIVATE KEY") && !text.contains("-----END")
}

/// Where a string ends that begins with the quote at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        let sign = at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[sign] == b'"' {
            return Some(sign);
        }
        at = sign + 2;
    }
}

/// True for base64 and nothing else, long enough to be data.
fn is_data(text: &str) -> bool {
    let is_long = text.len() >= DATA_BYTES || text.len() >= 16 && text.len() <= 100;
    is_long && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}
