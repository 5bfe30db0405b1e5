//! Where a conversation stands, and how that changes.

use std::time::Duration;

use rejoin::{Archive, Conversation, ConversationId, EndReason, ErrorKind, Json, Status, StoredConversation};

use super::{Lab, archive, archive_in};

fn start(archive: &Archive, status: Status) -> ConversationId {
    archive.start(Conversation { status, ..Conversation::default() }).unwrap().id()
}

/// What became of an attempt: the status, or the kind and text of the error.
fn told(attempt: rejoin::Result<StoredConversation>, id: ConversationId) -> String {
    match attempt {
        Ok(stored) => stored.conversation.status.as_str().to_owned(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Invalid);
            error.to_string().replace(&id.to_string(), "c")
        }
    }
}

#[test]
fn a_conversation_changes_its_status_only_in_the_allowed_ways() {
    let archive = archive();
    let change = |status, change: fn(&Archive, ConversationId) -> rejoin::Result<StoredConversation>| {
        let id = start(&archive, status);
        told(change(&archive, id), id)
    };
    let all = |status| {
        [
            change(status, |archive, id| archive.status().pause(id, EndReason::Ended)),
            change(status, |archive, id| archive.status().complete(id)),
            change(status, |archive, id| archive.status().activate(id)),
            change(status, |archive, id| archive.status().reopen(id)),
        ]
    };

    let [active, paused, completed] = Status::ALL.map(all);

    assert_eq!(
        active,
        [
            "paused",
            "completed",
            "conversation `c` is active, so it cannot become active",
            "conversation `c` is active, so it cannot be reopened",
        ]
    );
    assert_eq!(
        paused,
        [
            "conversation `c` is paused, so it cannot become paused",
            "completed",
            "active",
            "conversation `c` is paused, so it cannot be reopened",
        ]
    );
    assert_eq!(
        completed,
        [
            "conversation `c` is completed, so it cannot become paused",
            "conversation `c` is completed, so it cannot become completed",
            "conversation `c` is completed, so it cannot become active",
            "active",
        ]
    );
}

#[test]
fn the_reason_is_kept_until_the_conversation_is_active_again() {
    let archive = archive();
    let id = start(&archive, Status::Active);

    let failed = archive.status().pause(id, EndReason::Failed).unwrap().conversation;
    let active = archive.status().activate(id).unwrap().conversation;
    let completed = archive.status().complete(id).unwrap().conversation;
    let reopened = archive.status().reopen(id).unwrap().conversation;

    let reasons = [failed, active, completed, reopened].map(|header| header.end_reason());
    assert_eq!(reasons, [Some(EndReason::Failed), None, Some(EndReason::Ended), None]);
}

#[test]
fn a_change_of_status_keeps_the_rest_of_the_header() {
    let archive = archive();
    let mut header = Conversation::titled("Lisbon").in_project("/home/ada");
    header.extra.set("mine", Json::parse("1.50").unwrap());
    let id = archive.start(header.clone()).unwrap().id();

    archive.status().pause(id, EndReason::Ended).unwrap();
    archive.status().activate(id).unwrap();

    assert_eq!(archive.conversation(id).unwrap().conversation, header);
}

#[test]
fn no_other_change_of_the_header_goes_around_the_rules() {
    let archive = archive();
    let [active, completed] = [Status::Active, Status::Completed].map(|status| start(&archive, status));

    let paused = archive.update(active, |header| header.status = Status::Paused).unwrap();
    let refused = archive.update(completed, |header| header.status = Status::Active).unwrap_err();
    let renamed = archive.rename(completed, "Lisbon").unwrap();

    assert_eq!((paused.conversation.status, refused.kind()), (Status::Paused, ErrorKind::Invalid));
    assert_eq!((renamed.conversation.status, renamed.title()), (Status::Completed, "Lisbon"));
}

#[test]
fn a_missing_conversation_has_no_status_to_change() {
    let archive = archive();
    let id = start(&archive, Status::Active);
    archive.removal().delete(&[id], "asked");

    assert_eq!(archive.status().complete(id).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn an_active_conversation_counts_as_paused_when_nothing_was_said_for_long() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let stored = Status::ALL.map(|status| archive.conversation(start(&archive, status)).unwrap());
    let (began, five) = (archive.now(), Duration::from_secs(300));
    let after = |seconds: i64| {
        let now = began.plus_micros(seconds * 1_000_000);
        stored.each_ref().map(|stored| stored.status_at(now, five))
    };

    let found = [after(-60), after(0), after(299), after(300), after(1_000_000)];

    let fresh = [Status::Active, Status::Paused, Status::Completed];
    let idle = [Status::Paused, Status::Paused, Status::Completed];
    assert_eq!(found, [fresh, fresh, fresh, idle, idle]);
}

#[test]
fn a_reason_reads_back_as_it_was_written() {
    let read = EndReason::ALL.map(|reason| reason.to_string().parse::<EndReason>().unwrap());

    assert_eq!(read, EndReason::ALL);
    assert_eq!("bored".parse::<EndReason>().unwrap_err().kind(), ErrorKind::Invalid);
}
