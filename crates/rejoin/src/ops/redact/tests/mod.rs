//! What is found and what is not.

pub(super) mod bounds;
mod families;
mod left;
mod seams;

use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;
use crate::model::{Block, Conversation, Json, Message, Origin, PrivacyNotes, Role, Thinking, Time};
use crate::store::{MemoryStore, Put, Read, Safety, Space};

/// The same bytes each time.
#[derive(Debug)]
struct Fixed;

impl Nature for Fixed {
    fn now(&self) -> Time {
        Time::from_micros(0)
    }

    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}

pub(super) fn with<T>(redaction: &Redaction, work: impl FnOnce(&Redactor<'_>) -> T) -> T {
    let (store, key) = (MemoryStore::new(), OnceLock::new());
    work(&Redactor::new(redaction, &key, &store, &Fixed))
}

/// A text without its secrets, with the hashes left out.
fn redacted(redaction: &Redaction, text: &str) -> String {
    let clean = with(redaction, |redactor| redactor.line(text, &mut RedactionTally::default()));
    plain(&clean.unwrap_or_else(|| text.to_owned()))
}

pub(super) fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[redacted:") {
        let (rule, after) = after.split_once(':').unwrap();
        out.push_str(&format!("{before}<{rule}>"));
        rest = after.split_once(']').unwrap().1;
    }
    out + rest
}

pub(super) const GITHUB: &str = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");

fn secrets(text: &str) -> String {
    redacted(&Redaction::new(), text)
}

#[test]
fn a_marker_tells_the_rule_and_a_hash_that_needs_the_key() {
    let redaction = Redaction::new();
    let (store, key) = (MemoryStore::new(), OnceLock::new());
    let redactor = Redactor::new(&redaction, &key, &store, &Fixed);

    let clean =
        redactor.text(&format!("use {GITHUB} twice: {GITHUB}"), &mut RedactionTally::default()).unwrap();

    let (first, second) = clean.split_once(" twice: ").unwrap();
    assert_eq!(first, format!("use {second}"));
    assert!(second.starts_with("[redacted:github-token:") && second.len() == 32, "{second}");
    let mut kept = Vec::new();
    store
        .get(Space::State, None, crate::store::BlobNames::ALL, &mut |name, bytes| {
            kept.push((name.to_vec(), bytes.to_vec()));
            Ok(())
        })
        .unwrap();
    assert_eq!(kept, [(b"redact.key".to_vec(), vec![7; 32])]);
}

#[test]
fn no_hash_looks_like_a_number() {
    let key = HashKey::new([7; 32]);

    let numbers = (0..2_000).map(|secret| key.hash(find::SecretRule::Named("phone"), &secret.to_string()));

    assert_eq!(numbers.filter(|hash| hash.parse::<u64>().is_ok()).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn two_who_make_a_key_at_once_agree_on_the_one_that_is_stored() {
    let (redaction, store) = (Redaction::new(), MemoryStore::new());
    let [one, other] = [OnceLock::new(), OnceLock::new()];
    let mark = |key: &OnceLock<HashKey>| {
        let redactor = Redactor::new(&redaction, key, &store, &Fixed);
        redactor.text(GITHUB, &mut RedactionTally::default()).unwrap()
    };
    mark(&one);
    // The other looked before there was a key.
    let late = Put { space: Space::State, owner: None, name: KEY_NAME, bytes: Some(&[8; 32]) };
    store.put(&[late], Safety::Synced).unwrap();

    let marks = [mark(&one), mark(&other), mark(&one)];

    assert_eq!(marks, [0; 3].map(|_| marks[1].clone()));
}

#[test]
fn secrets_are_found_in_every_dress() {
    let cases = [
        (format!("{{\"api_key\": \"{GITHUB}\"}}"), "{\"api_key\": \"<github-token>\"}"),
        (format!("a\\n{GITHUB}\\nb"), "a\\n<github-token>\\nb"),
        (
            format!("{{\"o\":\"{{\\\"t\\\":\\\"\\\\u0067hp_{}\\\"}}\"}}", &GITHUB[4..]),
            "{\"o\":\"{\\\"t\\\":\\\"<github-token>\\\"}\"}",
        ),
        ("export DB_PASSWORD=hunter2!".into(), "export DB_PASSWORD=<env-line>"),
        (
            "DATABASE_URL=postgres://ada:s3cr3t-Pa55@db.local:5432/app".into(),
            "DATABASE_URL=postgres://ada:<connection-string>@db.local:5432/app",
        ),
        (
            "curl -H 'Authorization: Bearer abcdef1234567890abcdef'".into(),
            "curl -H 'Authorization: Bearer <authorization-header>'",
        ),
        (
            "curl -u ada:hunter2x https://api.local".into(),
            "curl -u ada:<basic-credentials> https://api.local",
        ),
        ("mysql --password hunter2-x9".into(), "mysql --password <password-assignment>"),
        (
            "{\"name\": \"DB_PASSWORD\", \"value\": \"hunter2!x\"}".into(),
            "{\"name\": \"DB_PASSWORD\", \"value\": \"<password-assignment>\"}",
        ),
        (
            "- name: DB_PASSWORD\n  value: hunter2!x\n".into(),
            "- name: DB_PASSWORD\n  value: <password-assignment>\n",
        ),
        ("<password>hunter2!x</password>".into(), "<password><password-assignment></password>"),
        (
            "let api_key: &str = \"a8f5f167f44f4964e6c998de\";".into(),
            "let api_key: &str = \"<secret-assignment>\";",
        ),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzq1LmK8KEY".into(),
            "aws_secret_access_key = <aws-secret-key>",
        ),
    ];

    let found: Vec<String> = cases.iter().map(|(text, _)| secrets(text)).collect();

    let expected: Vec<&str> = cases.iter().map(|(_, expected)| *expected).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_no_secret_stays() {
    let cases = [
        "export OPENAI_API_KEY=sk-...",
        "OPENAI_API_KEY=YOUR_API_KEY",
        "password = os.environ[\"DB_PASSWORD\"]",
        "const password = req.body.password;",
        "{\"type\":\"object\",\"properties\":{\"password\":{\"type\":\"string\"},\"max_tokens\":4096}}",
        "{\"password\": \"string\", \"token_count\": 12345}",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "id: 550e8400-e29b-41d4-a716-446655440000",
        "\"integrity\": \"sha512-oRvmZ8Zz3fO2l1HwE0b4r6sWYq0nWQ1b2c3d4e5f6g7h8i9j0k==\"",
        "docker run -u 1000:1000 image",
        "The key to success is a token of trust: keep the password secret.",
        "https://user:password@example.com/",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "npm_config_registry=https://registry.npmjs.org",
        "risk-management-and-something-else-that-is-long",
        "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
        "AKIAIOSFODNN7EXAMPLE",
    ];

    assert_eq!(cases.map(secrets), cases);
}

#[test]
fn a_private_key_goes_from_its_first_line_to_its_last() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n-----END RSA PRIVATE KEY-----");
    let json =
        serde_json::to_string(&serde_json::json!({ "k": key, "lines": key.lines().collect::<Vec<_>>() }))
            .unwrap();

    let found = [secrets(&format!("a\n{key}\nb")), secrets(&key.replace('\n', "\\n")), secrets(&json)];

    let lines = "[\"-----BEGIN RSA PRIVATE KEY-----\",\"<private-key>\",\"<private-key>\",\"-----END RSA PRIVATE KEY-----\"]";
    assert_eq!(
        found,
        ["a\n<private-key>\nb", "<private-key>", &format!("{{\"k\":\"<private-key>\",\"lines\":{lines}}}")]
    );
}

#[test]
fn personal_data_goes_only_when_it_is_asked_for() {
    let text = "Mail ada@lovelace.org or call +49 170 1234567; pay with 4111 1111 1111 1111.";
    let all = Redaction::new().with_personal(Personal::ALL);

    assert_eq!(secrets(text), text);
    assert_eq!(redacted(&all, text), "Mail <email> or call <phone>; pay with <card>.");
    assert_eq!(
        redacted(&all, r#"{"card":4111111111111111,"n":4111111111111112}"#),
        r#"{"card":"<card>","n":4111111111111112}"#
    );
}

#[test]
fn own_patterns_are_rules_of_their_own() {
    let redaction =
        Redaction::new().with_pattern(r"ACME-\d{4}").unwrap().with_pattern(r"badge (\w+)").unwrap();

    assert_eq!(redacted(&redaction, "ACME-1234 and badge x7"), "<pattern-1> and badge <pattern-2>");
}

#[test]
fn a_pattern_that_is_none_is_refused() {
    let long = "x".repeat(1_001);
    let shown = ["(", "x*", &long, r"\w{1000}{1000}"].map(|pattern| {
        format!("{:?}", Redaction::new().with_pattern(pattern).unwrap_err())
            .lines()
            .next()
            .unwrap()
            .to_owned()
    });

    assert!(shown[0].starts_with("[invalid] `(` is not a pattern: regex parse error"), "{shown:?}");
    assert_eq!(shown[1], "[invalid] the pattern `x*` fits the empty text");
    assert!(shown[2].ends_with("is longer than 1000 bytes"), "{shown:?}");
    assert!(shown[3].contains("is not a pattern"), "{shown:?}");
}

#[test]
fn a_message_says_what_was_done_to_it_and_not_to_what() {
    let redaction = Redaction::new();
    let thinking = Thinking {
        text: format!("they use {GITHUB}"),
        signature: Some("c2ln".into()),
        ..Thinking::default()
    };
    let mut message = Message::new(
        Role::Assistant,
        vec![
            Block::Thinking(thinking),
            Block::tool_call(
                "c1",
                "run",
                Json::parse(format!(r#"{{"command":"git push https://x:{GITHUB}@github.com"}}"#)).unwrap(),
            ),
        ],
    );
    message.label = Some(format!("with {}", &GITHUB[..14]));

    let clean = with(&redaction, |redactor| redactor.message(&message, &message.to_body())).unwrap();

    let hash = clean.message.privacy.as_ref().unwrap().tokens.clone();
    assert_eq!(
        clean.message.privacy,
        Some(PrivacyNotes {
            contains_secrets: true,
            redaction_rules: vec!["cut-secret".into(), "github-token".into()],
            tokens: hash
        })
    );
    assert_eq!(
        plain(&clean.message.to_body()).split_once(",\"privacy\"").unwrap().0,
        r#"{"role":"assistant","blocks":[{"type":"thinking","text":"they use <github-token>","signature":"c2ln","redacted":true},{"type":"tool_call","id":"c1","name":"run","input":{"command":"git push https://x:<github-token>@github.com"}}]"#
    );
    assert_eq!(clean.message.label.as_deref().map(plain).as_deref(), Some("with <cut-secret>"));
}

fn read_from(path: &str) -> Origin {
    Origin {
        format: "claude".to_owned(),
        source_id: "1".to_owned(),
        read_as: None,
        source_path: Some(path.to_owned()),
        imported_at: Time::from_micros(0),
    }
}

#[test]
fn a_header_keeps_a_plain_path_to_the_letter_and_no_secret() {
    let path = "/home/ada/password key/Lisbon 2026-11-16";
    let mut header = Conversation::titled(format!("Rotate {}…", &GITHUB[..20])).in_project(path);
    header.origin = Some(read_from(path));
    header.extra.set("note", Json::of(&GITHUB).unwrap());

    let clean =
        with(&Redaction::new(), |redactor| redactor.header(&header, &mut RedactionTally::default())).unwrap();

    assert_eq!(plain(&clean.title.unwrap()), "Rotate <github-token>…");
    assert_eq!((clean.project, clean.origin), (header.project, header.origin));
    assert_eq!(plain(clean.extra.field("note").unwrap().as_str()), "\"<github-token>\"");
}

#[test]
fn a_secret_in_a_path_of_a_header_goes() {
    let path = format!("/home/ada/{GITHUB}");
    let mut header = Conversation::titled("Lisbon").in_project(path.as_str());
    header.origin = Some(read_from(&path));

    let clean =
        with(&Redaction::new(), |redactor| redactor.header(&header, &mut RedactionTally::default())).unwrap();

    let paths = [clean.project, clean.origin.unwrap().source_path].map(|path| plain(&path.unwrap()));
    assert_eq!(paths, ["/home/ada/<github-token>", "/home/ada/<github-token>"]);
}

#[test]
fn the_end_of_what_is_arriving_is_held_back() {
    let cases = [
        ("In Alfama ", "In Alfama "),
        ("In Alfama", "In Alfama"),
        ("In Alfama7", "In "),
        ("use ghp_16C7", "use "),
        ("set password = \"correct horse", "set "),
        ("the key to it is", "the key to it is"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE vQIB", ""),
        ("Authorization: Bearer ", ""),
        ("line\npassword: x\nnext ", "line\npassword: x\nnext "),
    ];

    let kept = cases.map(|(text, _)| with(&Redaction::new(), |redactor| &text[..redactor.settled(text)]));

    assert_eq!(kept, cases.map(|(_, kept)| kept));
}

/// Pieces of which texts are made that look like secrets and like what stands around them.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(GITHUB.to_owned()),
        Just("password".to_owned()),
        Just("api_key".to_owned()),
        Just("AKIA2E0A8F3B244C9986".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----".to_owned()),
        Just("-----END PRIVATE KEY-----".to_owned()),
        Just("postgres://u:p4ssw0rd@h".to_owned()),
        Just("hunter2!".to_owned()),
        Just("Bearer ".to_owned()),
        Just("[redacted:env-line:0123abcd]".to_owned()),
        "[ =:\"'\\\\,\n{}<>@-]{1,3}",
        "[A-Za-z0-9]{1,40}",
        "\\\\u00[0-7][0-9a-f]",
        ".{0,4}",
    ]
}

fn texts() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..12).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_key_that_has_ended_is_not_cut_off_by_what_follows() {
    let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
    let text = [begin, end, begin, begin].concat();

    let once =
        with(&Redaction::new(), |redactor| redactor.text(&text, &mut RedactionTally::default())).unwrap();
    let twice = with(&Redaction::new(), |redactor| redactor.text(&once, &mut RedactionTally::default()));

    assert_eq!((plain(&once), twice), (format!("{begin}{end}<cut-secret>"), None));
}

proptest! {
    #[test]
    fn redacting_twice_is_redacting_once(text in texts()) {
        let redaction = Redaction::new().with_personal(Personal::ALL);
        let once = with(&redaction, |redactor| redactor.text(&text, &mut RedactionTally::default())).unwrap_or(text);

        let twice = with(&redaction, |redactor| redactor.text(&once, &mut RedactionTally::default()));

        prop_assert_eq!(twice, None, "{}", once);
    }

    #[test]
    fn a_redacted_message_is_a_message_and_stays_so(text in texts(), name in texts()) {
        let redaction = Redaction::new().with_personal(Personal::ALL);
        let input = Json::of(&serde_json::json!({ &name: &text, "password": &text, "nested": serde_json::json!({ &name: [&text] }).to_string() })).unwrap();
        let message = Message::new(Role::Assistant, vec![Block::text(&text), Block::tool_call("c", "t", input)]);
        let body = message.to_body();
        let clean = with(&redaction, |redactor| redactor.message(&message, &body));
        let message = clean.map_or(message, |clean| clean.message);
        let body = message.to_body();

        prop_assert_eq!(&Message::from_body(&body).unwrap(), &message);
        let again = with(&redaction, |redactor| redactor.message(&message, &body));
        prop_assert!(again.is_none(), "{} {}", body, again.unwrap().message.to_body());
        prop_assert!(!body.contains(GITHUB));
    }

    #[test]
    fn a_text_is_known_again_by_its_redaction(text in texts()) {
        let clean = with(&Redaction::new(), |redactor| redactor.line(&text, &mut RedactionTally::default()));

        prop_assert!(crate::ops::marker::is_same(&clean.unwrap_or_else(|| text.clone()), &text));
    }
}

/// Text as it is said about programs: this library's own, with words such as key and token in it.
fn ordinary() -> Message {
    let text = [
        include_str!("../../../archive/handle.rs"),
        include_str!("../../../store/turn.rs"),
        include_str!("../../view/repair.rs"),
        include_str!("../../../../../../docs/decisions.md"),
        include_str!("../../../../../../docs/cli.md"),
    ]
    .concat();
    let output = Json::of(&text).unwrap();
    Message::new(Role::Tool, vec![Block::text(&text), Block::tool_result("c", output)])
}

#[test]
fn ordinary_text_is_looked_at_soon() {
    let message = ordinary();
    let body = message.to_body();
    let least = |work: &mut dyn FnMut()| {
        let once = |_| {
            let start = std::time::Instant::now();
            work();
            start.elapsed()
        };
        (0..7).map(once).min().unwrap()
    };

    let looked = with(&Redaction::new(), |redactor| {
        assert!(redactor.message(&message, &body).is_none());
        least(&mut || assert!(redactor.message(&message, &body).is_none()))
    });

    assert!(looked.as_secs() < 1, "{looked:?}");
}
