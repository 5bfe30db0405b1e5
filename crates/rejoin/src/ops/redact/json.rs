//! Written JSON without its secrets: only strings are changed, and all else stays to the letter.

use std::ops::Range;

use crate::ops::marker::MARKER;
use crate::ops::redact::find::{Personal, SecretFinder, SecretRule, within};
use crate::ops::redact::string::StringText;
use crate::ops::redact::{RedactionTally, Redactor, seam, text};

/// So many letters of base64 and nothing else are data, not text.
pub(super) const DATA_BYTES: usize = 512;

/// A name or a value this long is none that an assignment has.
const NAMED_BYTES: usize = 8 << 10;

/// The shortest line of a private key that can be told from a word.
const KEY_LINE: usize = 16;

/// A key that is spread over strings has no more of them.
const KEY_LINES: usize = 500;

/// What members are called that name the value beside them, and that value.
const NAMES: [&str; 9] =
    ["name", "key", "Name", "Key", "variable", "ParameterKey", "parameter", "field", "header"];
const VALUES: [&str; 7] = ["value", "Value", "ParameterValue", "default", "val", "plaintext", "text_value"];

/// What an object has whose result is a password that a program made.
const MADE: [&str; 3] = ["min_special", "override_special", "bcrypt_hash"];

/// What an object is called whose members are all secret, in a manifest that says so.
const SECRET_OBJECTS: [&str; 2] = ["data", "stringData"];

/// What a manifest calls what it is.
const KIND: &str = "\"kind\"";

/// So far members of an object are looked for that say what the others are.
const OBJECT_BYTES: usize = 4 << 10;

/// JSON without its secrets; none when it has none.
pub(super) fn redact(redactor: &Redactor<'_>, json: &str, tally: &mut RedactionTally) -> Option<String> {
    // First, because half of a secret may be one, whose other half would be left.
    let joined = seam::redact_json(redactor, json, tally);
    let json = joined.as_deref().unwrap_or(json);
    let suspicions = redactor.rules.finder().suspicions(json);
    if suspicions.is_empty() && !redactor.rules.are_thorough() {
        return joined;
    }
    let mut walk = StringWalk {
        redactor,
        json,
        suspicions: &suspicions,
        out: String::new(),
        copied: 0,
        name: None,
        objects: Vec::new(),
        is_manifest: memchr::memmem::find_iter(json.as_bytes(), KIND)
            .any(|at| json[at + KIND.len()..].trim_start_matches([' ', ':']).starts_with("\"Secret\"")),
        key_lines: 0,
    };
    walk.run(tally);
    let clean = (walk.copied > 0).then(|| walk.out + &json[walk.copied..]);
    clean.or(joined)
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
struct StringWalk<'a> {
    redactor: &'a Redactor<'a>,
    json: &'a str,
    /// The places that are left to look at.
    suspicions: &'a [usize],
    out: String,
    /// How much of the JSON is in `out`.
    copied: usize,
    /// The name that the next value has.
    name: Option<String>,
    /// The objects that the next string is in.
    objects: Vec<Object>,
    /// True for what Kubernetes keeps secrets in.
    is_manifest: bool,
    /// How many strings may still be lines of a private key that has begun.
    key_lines: usize,
}

/// What is known about an object that strings are in.
#[derive(Debug)]
struct Object {
    /// What it is called.
    name: Option<String>,
    /// Where its members begin, until they were looked at.
    start: Option<usize>,
    /// What it calls the value that it has.
    pair: Option<String>,
    /// True when it says that its value is secret.
    is_sensitive: bool,
}

impl Object {
    /// Looks at the members up to the next object, once there is a value: its name may stand behind it.
    fn look(&mut self, json: &str) {
        let Some(start) = self.start.take() else { return };
        let near = within(json, start, OBJECT_BYTES);
        let near = &near[..near.find(['{', '}']).unwrap_or(near.len())];
        let text =
            |value: &str| value.strip_prefix('"').and_then(|text| Some(text.split_once('"')?.0.to_owned()));
        let is_true = |name: &str| member(near, name).is_some_and(|value| value.starts_with("true"));
        let pair = || NAMES.iter().find_map(|name| member(near, name).and_then(text));
        self.pair = self.pair.take().or_else(pair);
        self.is_sensitive = ["sensitive", "secret", "isSecret"].into_iter().any(is_true)
            || MADE.iter().any(|name| member(near, name).is_some());
    }
}

/// What stands behind a name in written JSON.
fn member<'j>(json: &'j str, name: &str) -> Option<&'j str> {
    json.match_indices(name).find_map(|(at, _)| {
        let rest = json[at + name.len()..].strip_prefix('"').filter(|_| json[..at].ends_with('"'))?;
        rest.trim_start().strip_prefix(':').map(str::trim_start)
    })
}

impl StringWalk<'_> {
    fn run(&mut self, tally: &mut RedactionTally) {
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
    fn pass(&mut self, from: usize, to: usize, tally: &mut RedactionTally) {
        let between = &self.json[from..to];
        for (place, sign) in between.match_indices(['{', '}']) {
            if sign == "{" {
                let name = self.name.take();
                let start = Some(from + place + 1);
                self.objects.push(Object { name, start, pair: None, is_sensitive: false });
            } else {
                self.objects.pop();
            }
        }
        if between.contains(['{', '[', ',']) {
            self.name = None;
        }
        if self.redactor.rules.personal.contains(&Personal::Card) {
            for found in Personal::Card.find(between) {
                let marker = self.redactor.mark(found.rule, &between[found.range.clone()], tally);
                let number = whole_number(between, found.range);
                self.replace(from + number.start..from + number.end, &format!("\"{marker}\""));
            }
        }
    }

    fn string(&mut self, literal: Literal, tally: &mut RedactionTally) {
        let Literal { start, end, is_name, is_suspicious } = literal;
        let raw = &self.json[start + 1..end];
        let name = self.name.take();
        let is_short = raw.len() <= NAMED_BYTES;
        let looks = is_suspicious || self.redactor.rules.are_thorough() || self.key_lines > 0;
        let has_name = name.as_deref().is_some_and(|name| !name.is_empty());
        if !looks && !is_name && !has_name || !is_short && is_data(raw) {
            return;
        }
        let said = StringText::read(&self.json[start..=end]);
        let text = said.text.as_str();
        let whole = if is_name || !is_short { None } else { self.rule_of(name.as_deref(), text) };
        let changed = match whole {
            Some(rule) => {
                let found = self.redactor.rules.finder().secrets(text);
                let whole = found.into_iter().filter(|one| one.range == (0..text.len()));
                // Who gave a token out says more than what it is called.
                let rule = whole.max_by_key(|one| one.weight).map_or(rule, |one| one.rule);
                Some(self.redactor.mark(rule, text, tally))
            }
            None if looks => text::redact(self.redactor, text, tally),
            None => None,
        };
        if begins_key(text) || changed.as_deref().is_some_and(begins_key) {
            self.key_lines = KEY_LINES;
        } else if text.contains("-----END") {
            self.key_lines = 0;
        }
        if let Some(changed) = changed {
            self.replace(start..end + 1, &said.write(&changed));
        }
        // A marker has the name of its rule in it, which says nothing of what stands beside it.
        let can_name = is_short && !text.contains(MARKER);
        match name.as_deref() {
            _ if is_name => self.name = can_name.then_some(said.text),
            Some(name) if NAMES.contains(&name) => {
                if let Some(object) = self.objects.last_mut() {
                    object.pair = Some(if can_name { said.text } else { String::new() });
                }
            }
            _ => {}
        }
    }

    /// The rule for a whole string, by what stands around it.
    fn rule_of(&mut self, name: Option<&str>, text: &str) -> Option<SecretRule> {
        if self.key_lines > 0 {
            self.key_lines -= 1;
            let line = text.trim_end_matches(['\n', '\r', ',', ' ']);
            if is_key_line(line) {
                return Some(SecretRule::Named("private-key"));
            }
            // Its last line is short, and names with a colon may stand before its first.
            if line.len() >= KEY_LINE && !line.contains(": ") {
                self.key_lines = 0;
            }
        }
        let name = name?;
        let Some(object) = self.objects.last_mut() else { return SecretFinder::named(name, text) };
        let is_value = VALUES.contains(&name);
        if is_value || name == "result" {
            object.look(self.json);
        }
        let is_secret_object =
            self.is_manifest && object.name.as_deref().is_some_and(|name| SECRET_OBJECTS.contains(&name));
        if is_secret_object || object.is_sensitive && (is_value || name == "result") {
            return SecretFinder::sensitive(text);
        }
        let pair = object.pair.as_deref().filter(|pair| !pair.is_empty());
        match pair.or(object.name.as_deref()) {
            Some(pair) if is_value => SecretFinder::named(pair, text),
            _ => SecretFinder::named(name, text),
        }
    }

    fn replace(&mut self, range: Range<usize>, with: &str) {
        self.out.push_str(&self.json[self.copied..range.start]);
        self.out.push_str(with);
        self.copied = range.end;
    }
}

/// True for the first line of a private key without its last.
fn begins_key(text: &str) -> bool {
    text.contains("-----BEGIN") && text.contains("PRIVATE KEY") && !text.contains("-----END")
}

/// True for base64 that is no number: a line of a private key.
fn is_key_line(line: &str) -> bool {
    line.len() >= KEY_LINE
        && is_data(line)
        && line.bytes().any(|byte| byte.is_ascii_lowercase())
        && line.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// Where a string ends that begins with the quote at `start`.
pub(super) fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        let sign = at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[sign] == b'"' {
            return Some(sign);
        }
        at = sign + 2;
    }
}

/// The number that a part of it is found in: half of one is no JSON.
fn whole_number(text: &str, part: Range<usize>) -> Range<usize> {
    let is_of_number =
        |letter: char| letter.is_ascii_digit() || matches!(letter, '+' | '-' | '.' | 'e' | 'E');
    let start = text[..part.start].trim_end_matches(is_of_number).len();
    let end = text.len() - text[part.end..].trim_start_matches(is_of_number).len();
    start..end
}

/// True for base64 and nothing else, long enough to be data.
pub(super) fn is_data(text: &str) -> bool {
    let is_long = text.len() >= DATA_BYTES || text.len() >= 16 && text.len() <= 100;
    is_long && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::model::{Block, Json, Message, Role, ToolResult};
    use crate::ops::redact::Redaction;
    use crate::ops::redact::tests::{GITHUB, plain, with};

    const MAIL: &str = "ada@example.com";

    /// What can stand in a string beside a word and is no part of it.
    const EDGES: [&str; 14] = [
        " ",
        "\\n",
        "\\r",
        "\\t",
        "\\b",
        "\\f",
        "\\\"",
        "\\u0020",
        "\\u0000",
        "\\ud83d",
        "\\uDE00",
        "\\ud83d\\ude00",
        "\\ud83d\\ud83d",
        "\u{f0000}",
    ];

    fn thorough() -> Redaction {
        Redaction::new().with_personal(Personal::ALL).with_pattern("[a-z]{2}\\d{2,}").unwrap()
    }

    /// What is written between the quotes of a string.
    fn written() -> impl Strategy<Value = String> {
        let secret = (select(&EDGES[..]), select(vec![GITHUB, MAIL, "Bearer"]), select(&EDGES[..]))
            .prop_map(|(before, secret, after)| format!("{before}{secret}{after}"));
        let other = select(vec![
            "\\\\",
            "\\/",
            "\\u0041",
            "\\\\n",
            "é",
            "=",
            "key",
            "rk_live_",
            "pm_",
            "4111111111111111",
        ]);
        let piece = prop_oneof![
            secret,
            select(&EDGES[..]).prop_map(str::to_owned),
            other.prop_map(str::to_owned),
            "[a-z0-9._-]{0,20}",
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    prop_compose! {
        fn value()(
            name in written(),
            texts in (written(), written()),
            number in select(vec!["12", "4111111111111111", "-4111111111111111.0", "1e+4111111111111111"]),
        ) -> String {
            format!("{{\"{name}\":[\"{}\",{number}],\"value\":\"{}\"}}", texts.0, texts.1)
        }
    }

    fn is_json(text: &str) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn json_with_any_escapes_stays_json_and_keeps_no_secret(value in value()) {
            let clean = with(&thorough(), |redactor| redact(redactor, &value, &mut RedactionTally::default()));
            let clean = clean.unwrap_or_else(|| value.clone());

            prop_assert!(is_json(&value) && is_json(&clean), "{value} became {clean}");
            prop_assert!(!clean.contains(GITHUB) && !clean.contains(MAIL), "{value} became {clean}");
        }

        #[test]
        fn a_message_with_any_escapes_is_redacted(value in value()) {
            let output = Json::parse(value.as_str()).unwrap();
            let extra = serde_json::from_str(&value).unwrap_or_default();
            let result = ToolResult { call_id: "c".to_owned(), output, is_error: false, extra };
            let message = Message::new(Role::Tool, vec![Block::ToolResult(result)]);
            let body = message.to_body();

            let clean = with(&thorough(), |redactor| redactor.message(&message, &body));
            let body = clean.map_or(body, |clean| clean.message.to_body());

            prop_assert!(is_json(&body), "{body}");
            prop_assert!(!body.contains(GITHUB) && !body.contains(MAIL), "{body}");
        }
    }

    #[test]
    fn half_of_a_pair_is_a_letter_and_stays() {
        let cases = [
            (r#"["see \ud83d\nada@example.com"]"#, r#"["see \ud83d\n<email>"]"#),
            (r#"["see \uDE00ada@example.com\ud83d"]"#, r#"["see \ude00<email>\ud83d"]"#),
            (r#"["\ud83d\ude00 \ud83dud83"]"#, r#"["😀 \ud83d<pattern-1>"]"#),
            (r#"{"password":"\ud83dhunter2!x"}"#, r#"{"password":"<password-assignment>"}"#),
        ];

        let clean = cases.map(|(json, _)| {
            with(&thorough(), |redactor| redact(redactor, json, &mut RedactionTally::default()))
                .map(|clean| plain(&clean))
        });

        assert_eq!(clean, cases.map(|(_, expected)| Some(expected.to_owned())));
    }

    #[test]
    fn a_number_that_holds_one_of_a_card_goes_whole() {
        let json = "[1e+4111111111111111, -4111111111111111.5,4111111111111111]";

        let clean = with(&thorough(), |redactor| redact(redactor, json, &mut RedactionTally::default()));

        assert_eq!(
            clean.map(|clean| plain(&clean)).as_deref(),
            Some(r#"["<card>", -4111111111111111.5,"<card>"]"#)
        );
    }

    #[test]
    fn only_the_lines_of_a_key_go_that_is_spread_over_strings() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let [begin, sha] = ["-----BEGIN RSA PRIVATE KEY-----", "9fceb02d0ae598e95dc970b74767f19372d61af8"];
        let head = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0A1B2C3D4E5F60718293A4B5C6D7E8F9", ""];
        let cases = [
            serde_json::json!([begin, head, line, line, "AbC9", sha, "AbstractSingletonProxyFactoryBean"]),
            serde_json::json!({ "Match": begin, "File": "a.pem", "Commit": sha, "Author": "AdaLovelaceOfLisbon" }),
            serde_json::json!(["-----BEGIN[A-Z ]*PRIVATE KEY", "rules/of/the/scanner.toml", "AbstractSingletonProxy"]),
        ]
        .map(|json| json.to_string());

        let clean = cases.clone().map(|json| {
            let clean =
                with(&Redaction::new(), |redactor| redact(redactor, &json, &mut RedactionTally::default()));
            plain(&clean.unwrap_or(json))
        });

        assert_eq!(clean, cases.map(|json| json.replace(line, "<private-key>")));
    }

    #[test]
    fn json_in_a_string_stays_json() {
        let cases = [
            r#"{"a":"see\nada@example.com"}"#,
            r#"{"a":"\ud83d\ude00 \u0041b12"}"#,
            r#"{"a":"x\\\\nada@example.com"}"#,
        ];

        let clean = cases.map(|inner| {
            let json = serde_json::to_string(&[inner]).unwrap();
            let clean = with(&thorough(), |redactor| redact(redactor, &json, &mut RedactionTally::default()))
                .unwrap();
            serde_json::from_str::<[String; 1]>(&clean).unwrap()[0].clone()
        });

        assert!(clean.iter().all(|inner| is_json(inner)), "{clean:?}");
    }
}
