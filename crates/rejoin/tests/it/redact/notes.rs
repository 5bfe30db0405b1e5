//! What a caller says about the privacy of a message: personal data in it is stored as hashes only.

use std::sync::Arc;

use rejoin::store::MemoryStore;
use rejoin::{
    Archive, AuditAction, AuditQuery, Conversation, ConversationId, Message, PrivacyNotes, Redacted,
    Redaction, ScrubMode,
};

const TOKEN: &str = concat!("ghp", "_16C7e42F292c6912E7710c838347Ae178B4a");

fn archive() -> Archive {
    Archive::with_store(Arc::new(MemoryStore::new()))
}

fn noted(tokens: &[&str]) -> Message {
    let notes = PrivacyNotes {
        contains_secrets: false,
        redaction_rules: vec!["names".to_owned()],
        tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
    };
    with_notes("Call me.", notes)
}

fn with_notes(text: &str, notes: PrivacyNotes) -> Message {
    let mut message = Message::user(text);
    message.privacy = Some(notes);
    message
}

fn notes_of(archive: &Archive, id: ConversationId) -> Vec<PrivacyNotes> {
    archive.path(id, None).unwrap().into_iter().filter_map(|stored| stored.message.privacy).collect()
}

fn is_hash(token: &str) -> bool {
    token.len() == 8 && token.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn personal_data_that_a_caller_names_is_hashed_before_it_is_stored() {
    let archive = archive().with_redaction(Redaction::new());
    let mut talk = archive.start(Conversation::new()).unwrap();

    let receipt = talk.append(noted(&["3f9a2c71", "ada@example.org", "91234567"])).unwrap();
    talk.append(noted(&["ada@example.org"])).unwrap();

    let notes = notes_of(&archive, talk.id());
    let (first, second) = (&notes[0].tokens, &notes[1].tokens);
    assert!(first.len() == 3 && first.iter().all(|token| is_hash(token)), "{first:?}");
    assert!(first.contains(&"3f9a2c71".to_owned()) && !first.contains(&"91234567".to_owned()), "{first:?}");
    assert!(second.len() == 1 && first.contains(&second[0]), "{first:?} {second:?}");
    assert_eq!(notes[0].redaction_rules, ["names", "pii-token"]);
    assert!(!notes[0].contains_secrets);
    assert_eq!(receipt.redacted, [Redacted { rule: "pii-token".into(), count: 2 }]);
}

#[test]
fn hashes_of_markers_are_not_hashed_again() {
    let archive = archive().with_redaction(Redaction::new());
    let mut talk = archive.start(Conversation::new()).unwrap();
    let digits = "Call [redacted:phone:12345678].";

    let notes = noted(&["12345678"]).privacy.unwrap();
    talk.append(with_notes(digits, notes)).unwrap();

    assert_eq!(notes_of(&archive, talk.id())[0].tokens, ["12345678"]);
}

#[test]
fn a_name_of_a_rule_that_is_a_secret_is_not_stored() {
    let archive = archive().with_redaction(Redaction::new());
    let mut talk = archive.start(Conversation::new()).unwrap();
    let notes = PrivacyNotes { redaction_rules: vec![TOKEN.to_owned()], ..PrivacyNotes::default() };

    talk.append(with_notes("Call me.", notes)).unwrap();

    let rules = notes_of(&archive, talk.id()).remove(0).redaction_rules.join(" ");
    assert!(rules.contains("[redacted:github-token:") && !rules.contains(TOKEN), "{rules}");
}

#[test]
fn a_scrub_hashes_what_was_stored_raw_and_the_audit_log_tells_rules_and_counts() {
    let archive = archive();
    let mut talk = archive.start(Conversation::new()).unwrap();
    talk.append(noted(&["ada@example.org"])).unwrap();

    archive.removal().scrub(talk.id(), ScrubMode::Replace).unwrap();
    archive.removal().scrub(talk.id(), ScrubMode::Replace).unwrap();

    let tokens = notes_of(&archive, talk.id()).remove(0).tokens;
    assert!(tokens.len() == 1 && is_hash(&tokens[0]), "{tokens:?}");
    let entries = archive.audit().query(&AuditQuery::default()).unwrap();
    let told: Vec<_> = entries
        .iter()
        .filter(|entry| entry.action == AuditAction::Redacted)
        .map(|entry| (entry.conversation, entry.messages, serde_json::to_string(&entry.extra).unwrap()))
        .collect();
    assert_eq!(told, [(Some(talk.id()), 1, r#"{"rules":[{"rule":"pii-token","count":1}]}"#.to_owned())]);
}
