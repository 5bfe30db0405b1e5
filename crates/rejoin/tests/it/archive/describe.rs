//! Titles and synopses that are kept with a conversation.

use rejoin::{Archive, Conversation, Message, Synopsis, Time};

use super::archive;

fn synopsis(text: &str, at: Time) -> Synopsis {
    Synopsis { text: text.to_owned(), updated_at: at, ..Synopsis::default() }
}

fn kept(
    archive: &Archive,
    conversation: Conversation,
    writes: &[(Option<&str>, Option<&Synopsis>)],
) -> (u64, Conversation) {
    let id = archive.start(conversation).unwrap().id();
    let before = archive.conversation(id).unwrap().version;
    for (title, synopsis) in writes {
        archive.marks().describe(id, *title, *synopsis).unwrap();
    }
    let after = archive.conversation(id).unwrap();
    (after.version - before, after.conversation)
}

#[test]
fn a_title_that_is_there_stays() {
    let archive = archive();

    let given = kept(&archive, Conversation::titled("mine"), &[(Some("computed"), None)]);
    let missing = kept(&archive, Conversation::new(), &[(Some("computed"), None), (Some("later"), None)]);

    assert_eq!((given, missing), ((0, Conversation::titled("mine")), (1, Conversation::titled("computed"))));
}

#[test]
fn an_older_synopsis_does_not_replace_a_newer_one() {
    let archive = archive();
    let now = archive.now();
    let (old, new) = (synopsis("old", now), synopsis("new", now.plus_micros(1)));

    let writes = [(None, Some(&old)), (None, Some(&new)), (None, Some(&old)), (None, Some(&new))];
    let (changes, conversation) = kept(&archive, Conversation::new(), &writes);

    assert_eq!((changes, conversation.synopsis), (2, Some(new)));
}

#[test]
fn a_synopsis_is_computed_once_the_conversation_has_grown() {
    let archive = archive();
    let mut handle = archive.start(Conversation::new()).unwrap();
    handle.append(Message::user("my bicycle is green")).unwrap();
    let written = synopsis("A green bicycle.", archive.now());
    archive.marks().describe(handle.id(), None, Some(&written)).unwrap();

    let fresh = archive.marks().synopsis(handle.id()).unwrap();
    handle.append(Message::assistant("Nice.").at(archive.now())).unwrap();
    archive
        .update(handle.id(), |header| header.synopsis = Some(synopsis("old", Time::from_micros(1))))
        .unwrap();
    let stale = archive.marks().synopsis(handle.id()).unwrap();

    assert_eq!(fresh, written);
    assert_eq!(stale.text, "You said \"my bicycle is green\". The reply was \"Nice\".");
}
