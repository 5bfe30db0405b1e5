//! What is attached goes through redaction like what is said, when it is text.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rejoin::store::MemoryStore;
use rejoin::{
    Archive, AttachmentKind, Block, Conversation, Fields, Media, MediaKind, Message, Redaction, Role,
};

const TOKEN: &str = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");

/// What is read back of what was attached.
fn kept(kind: AttachmentKind, bytes: &[u8]) -> Vec<u8> {
    let archive = Archive::with_store(Arc::new(MemoryStore::new())).with_redaction(Redaction::new());
    let talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    let attached = archive.attachments().add(talk.id(), kind, &mut &bytes[..]).unwrap();
    let mut read = Vec::new();
    let length = archive.attachments().read(talk.id(), attached.digest, &mut read).unwrap();
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

#[test]
fn a_secret_where_a_line_without_an_end_is_cut_is_found() {
    const CUT: usize = (4 << 20) - (8 << 10);
    let secret = format!("\"password\":\"hunter2!x9Qz\",\"t\":\"{TOKEN}\"");
    let filler = "{\"n\":12},".repeat(600_000);
    let text = format!("{}{secret},{}", &filler[..CUT - 14], &filler[..(1 << 20)]);

    let read = kept_text(&text);

    let around = &read[CUT - 60..CUT + 120];
    assert!(
        !read.contains("hunter2") && !read.contains("16C7e42F") && !read.contains("Ae178B4a"),
        "{around}"
    );
    assert!(read.starts_with(&filler[..CUT - 14]) && read.ends_with(&filler[..(1 << 20)]), "{around}");
}

#[test]
fn a_long_text_that_ceases_to_be_text_goes_without_its_secrets_up_to_there() {
    let line = "The café opens at nine, and the tram goes up the hill.\n";
    let before = line.repeat((3 << 20) / line.len());
    let after = [b"\xff\xfe".as_slice(), TOKEN.as_bytes(), &vec![0xfe; 2 << 20]].concat();
    let text = [before.as_bytes(), TOKEN.as_bytes(), b" and ", &after].concat();

    let read = kept(AttachmentKind::Document, &text);

    let middle = read.strip_prefix(before.as_bytes()).and_then(|rest| rest.strip_suffix(after.as_slice()));
    let middle = String::from_utf8_lossy(middle.unwrap_or_default());
    assert!(middle.starts_with("[redacted:github-token:") && middle.ends_with("] and "), "{middle}");
}

/// The data of a block as it is read back.
fn kept_data(mime_type: &str, data: &str) -> String {
    let archive = Archive::with_store(Arc::new(MemoryStore::new())).with_redaction(Redaction::new());
    let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
    let media = Media {
        kind: MediaKind::File,
        mime_type: mime_type.to_owned(),
        data: Some(data.to_owned()),
        uri: None,
        extra: Fields::new(),
    };
    talk.append(Message::new(Role::User, vec![Block::Media(media)])).unwrap();
    let Block::Media(media) = talk.path().unwrap().remove(0).message.blocks.remove(0) else {
        panic!("it is media")
    };
    media.data.unwrap()
}

#[test]
fn text_where_base64_is_due_goes_without_its_secrets() {
    let (large, line) = ("word, ".repeat(60_000), format!("AWS_TOKEN={TOKEN}"));
    let packed = STANDARD.encode(format!("{line}\nand much more of it"));
    let cases = [
        ("text/plain", line.clone()),
        ("application/octet-stream", line.clone()),
        ("text/plain", format!("{large}{line}")),
        ("text/plain", "AKIAZ7QX4M2N9P3R5T6V".to_owned()),
        ("text/plain", format!("{}\r\n{}", &packed[..40], &packed[40..])),
        ("text/plain", URL_SAFE_NO_PAD.encode(format!("??>>{line}?"))),
    ];

    let kept = cases.map(|(mime_type, data)| kept_data(mime_type, &data));

    let shown = kept.map(|data| match STANDARD.decode(&data) {
        Ok(bytes) => String::from_utf8(bytes).unwrap(),
        Err(_) => data,
    });
    let is_clean =
        |text: &String| text.contains("[redacted:") && !text.contains("16C7e") && !text.contains("Z7QX4");
    assert!(shown.iter().all(is_clean), "{shown:?}");
}

#[test]
fn data_that_is_packed_and_no_text_stays_to_the_letter() {
    let noise: Vec<u8> = (0..3_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let lines = STANDARD
        .encode(&noise)
        .as_bytes()
        .chunks(76)
        .map(|line| String::from_utf8_lossy(line).into_owned() + "\r\n")
        .collect::<String>();
    let cases = [STANDARD.encode(&noise), lines, STANDARD.encode(b"\xff")];

    let kept = cases.clone().map(|data| [kept_data("text/plain", &data), kept_data("image/png", &data)]);

    assert_eq!(kept, cases.map(|data| [data.clone(), data]));
}
