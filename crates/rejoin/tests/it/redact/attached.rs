//! What is attached goes through redaction like what is said, when it is text.

use std::sync::Arc;

use rejoin::store::MemoryStore;
use rejoin::{Archive, AttachmentKind, Conversation, Redaction};

const TOKEN: &str = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");

/// What is read back of what was attached.
fn kept(kind: AttachmentKind, bytes: &[u8]) -> Vec<u8> {
    let archive = Archive::with_store(Arc::new(MemoryStore::new())).with_redaction(Redaction::new());
    let talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    let attached = archive.attach(talk.id(), kind, &mut &bytes[..]).unwrap();
    let mut read = Vec::new();
    let length = archive.read_attachment(talk.id(), attached.digest, &mut read).unwrap();
    assert_eq!((attached.byte_length, read.len() as u64), (length, length));
    read
}

fn kept_text(text: &str) -> String {
    String::from_utf8(kept(AttachmentKind::Document, text.as_bytes())).unwrap()
}

#[test]
fn text_is_attached_without_its_secrets() {
    let text = format!("Say {TOKEN} aloud.");

    let read = [AttachmentKind::Code, AttachmentKind::Document, AttachmentKind::Transcript]
        .map(|kind| String::from_utf8(kept(kind, text.as_bytes())).unwrap());

    assert!(
        read.iter().all(|read| read.starts_with("Say [redacted:github-token:") && read.ends_with("] aloud.")),
        "{read:?}"
    );
}

#[test]
fn a_document_of_json_stays_json() {
    let read = kept_text(&format!(r#"{{"note":"a \"quoted\" {TOKEN}","n":[1.50]}}"#));

    let value: serde_json::Value = serde_json::from_str(&read).unwrap();
    assert!(value["note"].as_str().unwrap().starts_with("a \"quoted\" [redacted:github-token:"), "{read}");
    assert!(read.ends_with(r#","n":[1.50]}"#), "{read}");
}

#[test]
fn what_is_no_text_is_attached_as_it_is() {
    let picture = [b"\x89PNG\xff".as_slice(), TOKEN.as_bytes()].concat();

    let read = [AttachmentKind::Document, AttachmentKind::Image].map(|kind| kept(kind, &picture));

    assert_eq!(read, [picture.clone(), picture]);
}

#[test]
fn a_secret_where_two_windows_of_a_long_text_meet_is_found_and_the_rest_is_as_it_was() {
    let line = "The café opens at nine, and the tram goes up the hill.\n";
    let before = line.repeat((1 << 20) / line.len());
    let key: String =
        (0..24).map(|n| format!("MIIEpAIBAAKCAQEA{n:02}x7Yt/Qw+Zk3vB9sLmN0pRtUiOaSdFgHjKl\n")).collect();
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{key}-----END RSA PRIVATE KEY-----\n");
    let filler = &"x ".repeat(40)[..(1 << 20) - before.len() - 20];
    let cases = [format!("{filler}{TOKEN}\n"), key];

    let read = cases.map(|secret| kept_text(&format!("{before}{secret}{before}")));

    let rules = ["[redacted:github-token:", "[redacted:private-key:"];
    for (read, rule) in read.iter().zip(rules) {
        let middle = read.strip_prefix(before.as_str()).and_then(|rest| rest.strip_suffix(before.as_str()));
        let middle = middle.unwrap_or_default();
        assert!(middle.contains(rule) && !middle.contains("MIIE") && middle.len() < 200, "{middle}");
    }
}

#[test]
fn a_line_without_an_end_is_attached_whole() {
    let text = "word ".repeat(1_100_000);

    assert!(kept_text(&text) == text);
}
