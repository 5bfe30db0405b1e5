//! What an examination tells of a store of plain files.

use rejoin::{Archive, Conversation, Message, StoreUrl, Time, Viewpoint};

#[test]
fn an_examination_tells_what_there_is_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("notes");
    let url = StoreUrl::parse(&format!("jsonl:{}", root.display())).unwrap();
    let user = std::os::unix::fs::MetadataExt::uid(&directory.path().metadata().unwrap());
    let from = Viewpoint { user, now: Time::now(), own_directory: None };

    let before = url.diagnose(&from, &mut |_, _| ());
    let was_made = root.exists();
    let archive = Archive::open(&url.to_string()).unwrap();
    archive.start(Conversation::titled("Lisbon")).unwrap().append(Message::user("Where to eat?")).unwrap();
    drop(archive);
    let after = url.diagnose(&from, &mut |_, _| ());

    assert_eq!((before.is_present, was_made, before.contents), (false, false, None));
    let contents = after.contents.unwrap();
    assert_eq!((contents.conversations, contents.messages), (1, 1));
    assert_eq!(
        (after.is_present, after.schema, after.engine.as_str(), after.ailments.len()),
        (true, Some(1), "plain files of JSON lines", 0)
    );
    assert!(after.bytes > 0 && after.free_bytes.is_some());
}
