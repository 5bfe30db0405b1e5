//! Finding what a person typed.

use std::sync::Arc;

use rejoin::{Archive, Conversation, ErrorKind, Message, Named, Nature, Time};

use super::{archive, talk};

/// Makes every message id `go0000`.
#[derive(Debug)]
struct SameId;

impl Nature for SameId {
    fn now(&self) -> Time {
        Time::from_micros(1)
    }

    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
        bytes[..2].copy_from_slice(&3142u16.to_le_bytes());
    }
}

fn refused(archive: &Archive, text: &str) -> (ErrorKind, String) {
    let error = archive.names().resolve(text).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn a_conversation_answers_to_all_its_names() {
    let archive = archive();
    let handle = archive.start(Conversation::titled("Lisbon, on a budget")).unwrap();
    archive.start(Conversation::titled("Porto")).unwrap();
    let (id, bare) = (handle.id(), handle.id().to_string().replace('-', ""));
    let names = [
        id.to_string(),
        id.to_string().to_uppercase(),
        bare.clone(),
        format!("conv_{bare}"),
        id.short().to_string(),
        "lisbon-on-a-budget".to_owned(),
        format!("  {id}\n"),
    ];

    let named = names.map(|name| archive.names().resolve(&name).unwrap());

    assert_eq!(named, [Named::Conversation(id); 7]);
}

#[test]
fn a_slug_of_one_word_is_whole_even_where_ids_begin_alike() {
    let archive = archive().with_nature(Arc::new(SameId));
    let mut handle = archive.start(Conversation::titled("Go")).unwrap();
    let message = handle.append(Message::user("hi")).unwrap().head;

    let named = archive.names().resolve("go");

    assert_eq!((message.as_str(), named.unwrap()), ("go0000", Named::Conversation(handle.id())));
}

#[test]
fn a_message_answers_to_its_id_alone_or_after_its_conversation() {
    let archive = archive();
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    let receipt = handle.append_turn(talk(&["a", "b"])).unwrap();
    let (id, message) = (handle.id(), receipt.messages[1]);
    let names = [
        message.to_string(),
        format!("{id}/{message}"),
        format!("{}/{message}", id.short()),
        format!("lisbon/{message}"),
        format!("lisbon/{}", &message.as_str()[..5]),
    ];

    let named = names.map(|name| archive.names().resolve(&name).unwrap());

    assert_eq!(named, [Named::Message(id, message); 5]);
    assert_eq!(archive.names().message(message.as_str()).unwrap(), (id, message));
    assert_eq!(archive.names().conversation(message.as_str()).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(archive.names().message("lisbon").unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_unique_beginning_is_enough() {
    let archive = archive();
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    let message = handle.append(Message::user("hi")).unwrap().head;
    let short = handle.id().short().to_string();

    let by_short = archive.names().resolve(&short[..5]).unwrap();
    let by_id = archive.names().resolve(&handle.id().to_string()[..9]).unwrap();
    let by_message = archive.names().resolve(&message.as_str()[..5]).unwrap();

    assert_eq!([by_short, by_id], [Named::Conversation(handle.id()); 2]);
    assert_eq!(by_message, Named::Message(handle.id(), message));
}

#[test]
fn several_candidates_are_listed() {
    let archive = archive();
    let mut ids: Vec<_> = (0..7).map(|_| archive.start(Conversation::titled("Same")).unwrap().id()).collect();
    ids.sort();
    let shorts: Vec<String> = ids.iter().map(|id| id.short().to_string()).collect();

    let (kind, said) = refused(&archive, "same");

    assert_eq!(kind, ErrorKind::Invalid);
    assert_eq!(said, format!("`same` could be any of 7: {}, ...", shorts[..5].join(", ")));
}

#[test]
fn what_cannot_be_a_name_is_refused() {
    let archive = archive();
    archive.start(Conversation::titled("Lisbon")).unwrap();
    let long = "x".repeat(201);
    let names =
        ["", " ", "a b", "a\0b", "\u{1b}[31m", &long, "lisbon/", "lisbon/../x", "lisbon/a b", "lisbon/é"];

    let kinds = names.map(|name| refused(&archive, name).0);

    assert_eq!(kinds, [ErrorKind::Invalid; 10]);
}

#[test]
fn a_name_is_never_a_path() {
    let archive = archive();
    archive.start(Conversation::titled("etc")).unwrap();
    let names =
        ["../../etc/passwd", "/etc/passwd", "..", "./x", "%2e%2e", "etc/../etc", "C:\\x", "'", "%", "_", "*"];

    let kinds = names.map(|name| refused(&archive, name).0);

    assert!(kinds.iter().all(|kind| matches!(kind, ErrorKind::Invalid | ErrorKind::NotFound)), "{kinds:?}");
}

#[test]
fn what_is_shown_of_a_bad_name_is_harmless() {
    let archive = archive();

    let (_, said) = refused(&archive, &format!("\u{1b}]0;owned\u{7}{}", "x".repeat(300)));

    assert!(said.len() < 120 && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_whole_name_wins_over_the_beginnings_of_others() {
    let archive = archive();
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    let other = archive.start(Conversation::titled("Lisbon trip")).unwrap();
    let message = handle.append(Message::user("hi")).unwrap().head;

    let named =
        ["lisbon", "lisbon-trip", message.as_str()].map(|name| archive.names().resolve(name).unwrap());

    let expected = [
        Named::Conversation(handle.id()),
        Named::Conversation(other.id()),
        Named::Message(handle.id(), message),
    ];
    assert_eq!(named, expected);
}
