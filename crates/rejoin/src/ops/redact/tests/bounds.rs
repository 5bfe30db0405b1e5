//! No text makes the finder stumble, wherever it ends, and a long one takes no more than its length.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::select;

use super::with;
use crate::ops::marker::is_same;
use crate::ops::redact::{Personal, Redaction, RedactionTally, Redactor};

/// Names, values, and every sign that stands between them or beside them, of one byte and of more.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "password", "token", "api_key", "Authorization", "authorization", "Bearer", "Cookie: sid=", "secret", "pass", "sid", "auth", "contraseña", "密码",
    "пароль", "Kennwort", "login", "curl", "mysql", "vault login", "IDENTIFIED BY ", "| sudo -S", "echo ", "jwt.sign(", "kty", "\"kty\"", "ghp_16C7e42F292c",
    "eyJhbGciOiJIUzI1", "-----BEGIN ", "PRIVATE KEY", "-----END ", "-----", "Private-Lines: 8", "LS0tLS1CRUdJTi", "https://", "ada:", "@tcp(", ":thin:",
    "127.0.0.1:5432:", ":5432:", ":*:", "?code=", "sig=", " -u ", "hunter2!x", "Orchid99", "value", "name", "is", "to", "\\u00", "\\x", "\\n", "\\\"",
    ").", ")", "(", "[", "]", "{", "}", "<", ">", "=", "==", ":", "::", ":=", ",", ";", "|", "||", "&", "@", "!", "?", "%", "#", "*", "-", "--", ".", "..",
    "/", "\\", "\"", "'", "`", "$", "~", "^", "+", "_", "0", "7", "a", "Z", "n", " ", "  ", "\t", "\n", "\r\n", "\u{a0}", "\u{202f}", "\u{3000}", "\u{2028}",
    "«", "»", "“", "”", "„", "…", "–", "→", "é", "ä", "ß", "字", "漢字", "한", "🙂", "👩‍👩‍👧", "e\u{301}", "\u{301}", "\u{200b}", "\u{feff}", "\0", "\u{1b}[31m",
];

fn odd() -> impl Strategy<Value = String> {
    prop::collection::vec(select(PIECES), 0..9).prop_map(|pieces| pieces.concat())
}

fn thorough() -> Redaction {
    Redaction::new().with_personal(Personal::ALL).with_pattern("[a-z]{2}\\d{2,}").unwrap()
}

/// The texts that are not what they were, apart from markers: as they are, arriving, and in JSON.
fn spoilt(redactor: &Redactor<'_>, text: &str) -> Vec<String> {
    let settled = &text[..redactor.settled(text)];
    let json = serde_json::json!({ text: [text], "password": text }).to_string();
    let now =
        |text: &str| redactor.text(text, &mut RedactionTally::default()).unwrap_or_else(|| text.to_owned());
    let clean = redactor.line(&json, &mut RedactionTally::default()).unwrap_or_else(|| json.clone());
    let is_json = serde_json::from_str::<serde_json::Value>(&clean).is_ok();
    let mut spoilt: Vec<String> = [text, settled].map(now).to_vec();
    spoilt.retain(|clean| !is_same(clean, text) && !is_same(clean, settled));
    spoilt.extend((!is_json).then_some(clean));
    spoilt
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_makes_the_finder_stumble_wherever_it_ends(text in odd()) {
        let places = (0..=text.len()).filter(|place| text.is_char_boundary(*place));
        let spoilt: Vec<String> = with(&thorough(), |redactor| {
            places.flat_map(|end| spoilt(redactor, &text[..end])).collect()
        });

        prop_assert_eq!(spoilt, Vec::<String>::new());
    }
}

#[test]
fn a_text_may_end_or_begin_with_any_sign() {
    let cases = [
        "document.getElementById(\"password\").value",
        "return form.get(\"token\").",
        "(see \"password\").",
        "(\"password\").\u{e9}",
        "he said «\u{a0}https://example.org/a",
        "\u{3000}https://example.org/a",
        "\u{202f}LS0tLS1CRUdJTi",
        "at\u{a0}127.0.0.1:5432:5432:x:y",
        "at\u{3000}db:*:a:b:c",
        "{\"p\u{e4}ass\": \"x\", \"s\u{e0}id\": \"y\"}",
    ];

    let spoilt: Vec<String> =
        with(&thorough(), |redactor| cases.iter().flat_map(|text| spoilt(redactor, text)).collect());

    assert_eq!(spoilt, [""; 0]);
}

#[test]
fn a_secret_behind_a_wide_space_is_found() {
    let cases = [
        "a\u{a0}ada:marigold9@tcp(db:3306)/orders",
        "a\u{3000}db.local:5432:orders:ada:Orchid99",
        "ada:marigold9@tcp(db:3306)/orders",
    ];

    let left = cases.map(|text| super::secrets(text).replace("<connection-string>", "…"));

    assert_eq!(
        left,
        [
            "a\u{a0}ada:…@tcp(db:3306)/orders",
            "a\u{3000}db.local:5432:orders:ada:…",
            "ada:…@tcp(db:3306)/orders"
        ]
    );
}

/// How long this thread has worked. A busy machine adds nothing to it.
pub(in crate::ops::redact) fn worked(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let worked = text.split(' ').next().and_then(|figure| figure.parse().ok()).map(Duration::from_nanos);
    worked.unwrap_or_else(|| start.elapsed())
}

/// How long it takes to look at a text in every way.
fn work(redactor: &Redactor<'_>, text: &str) -> Duration {
    let start = Instant::now();
    let before = worked(start);
    redactor.settled(text);
    redactor.text(text, &mut RedactionTally::default());
    redactor.line(&serde_json::json!([text]).to_string(), &mut RedactionTally::default());
    worked(start).saturating_sub(before)
}

/// What one line is made of that has many places to look at, none of them a secret.
#[rustfmt::skip]
const REPEATED: [&str; 21] = [
    "{\"key\":1},", "{\"token\":\"a\"},", "token=a&", "password:x,", "token,", "token ", "password is ", "api_key ", "a|token|", "\"password\").x,",
    "https://a/b,", "ada@tcp(a),", ":thin:a/b", "a:5432:b,", "Bearer a,", "a -u b:", "Authorization:", "echo a|sudo -S b|", "-----BEGIN a",
    "-----END PRIVATE KEY-----", "?code=",
];

/// The same for what goes over lines, is disguised, or is given to a command.
#[rustfmt::skip]
const WRAPPED: [&str; 42] = [
    "password: |\n  x\n", "password: >- ", "ghp_16C7e4\\\n", "abc12345\nabc12345\n", "\"abc1\" + ", "LS0tLS1CRUdJTiB", "IBAAKCAQEA", "kind: Secret\n",
    "p\u{430}ssword=", "\u{200b}", "a\u{200b}password: ", "%5f%3d", "\u{1b}[1m", "put-parameter --value ", "--from-literal=a=b secret ", "vault kv put a=b ",
    "<input type=password ", "\"sensitive\": true {", "{\"value\":\"a\",\"name\":\"", "value: a\nname: password\n", "password ||= ", "password:=", "password=>",
    "password || \"", "ConvertTo-SecureString ", "echo a | gh secret set ", "net user a b ", "${password:-", "insert into a (b,", "backup code a-b",
    "totp ab23 ", "otpAB23", "https://a/hook/", "hook/", "client(a,", "\"AC'AC", "\u{2502} abc12345 \u{2502}\n", "'abc1' + ", "openssl rand\nabc12345\n", "\tTRUE\t/\tTRUE\t1",
    "<a type=password =>", "password</name><value>",
];

/// How long one line of these is.
const LONG: usize = 5 << 20;

#[test]
fn a_line_of_five_megabytes_is_looked_at_in_one_pass() {
    // In time that a debug build on a busy machine needs; the square would take days.
    let most = Duration::from_secs(60);
    let taken: Vec<(&str, Duration)> = with(&Redaction::new(), |redactor| {
        let took = |unit: &'static str| {
            let text = unit.repeat(LONG / unit.len());
            let start = Instant::now();
            let before = worked(start);
            redactor.settled(&text);
            redactor.rules.finder().suspicions(&text);
            redactor.rules.finder().secrets(&text[..text.floor_char_boundary(LONG / 20)]);
            (unit, worked(start).saturating_sub(before))
        };
        WRAPPED.into_iter().step_by(5).map(took).collect()
    });

    let slow: Vec<_> = taken.iter().filter(|(_, taken)| *taken > most).collect();
    assert!(slow.is_empty(), "{slow:?} of {taken:?}");
}

#[test]
fn five_megabytes_of_disguised_names_take_seconds() {
    let text = "p\u{430}ssword=".repeat(LONG / 10);

    let taken = with(&Redaction::new(), |redactor| {
        let start = Instant::now();
        let before = worked(start);
        redactor.text(&text, &mut RedactionTally::default());
        worked(start).saturating_sub(before)
    });

    // Optimised code takes half a second.
    assert!(taken < Duration::from_secs(40), "{taken:?}");
}

/// A row of a file of JSON in one line.
const ROW: &str =
    "{\"key\":12345,\"name\":\"an ordinary text, as such files have it, and more of it again\"},";

#[test]
fn the_work_for_one_line_grows_with_its_length_and_not_with_its_square() {
    const TIMES: usize = 4;
    let short = REPEATED.into_iter().chain(WRAPPED).map(|unit| (unit, 16 << 10));
    let units = short.chain([(ROW, 256 << 10)]);
    let taken: Vec<(&str, [Duration; 2])> = with(&Redaction::new(), |redactor| {
        let both = |(unit, bytes): (&'static str, usize)| {
            let text = unit.repeat(bytes / unit.len());
            let apart = (0..TIMES).map(|_| work(redactor, &text)).sum();
            (unit, [apart, work(redactor, &text.repeat(TIMES))])
        };
        units.map(both).collect()
    });

    // The square would be four times as much. A few ticks of the clock say nothing.
    let is_square = |[apart, whole]: &[Duration; 2]| *whole > *apart * 2 + Duration::from_millis(40);
    let square: Vec<_> = taken.iter().filter(|(_, both)| is_square(both)).collect();
    assert!(square.is_empty(), "{square:?} of {taken:?}");
}
