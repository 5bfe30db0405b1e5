//! Blobs: stored together or not at all, whatever becomes of the process that stores them.

use std::fs;

use rejoin::store::{
    Anchor, BlobNames, Change, Entry, ListQuery, Note, PreviewUpdate, Put, Read, Safety, Space, Stale, Store,
    Task, Turn,
};
use rejoin::{ConversationId, Digest, Message, Time};

use crate::jsonl::{Place, replace_line};
use crate::vault_spaces::KEYS;

fn blob(owner: ConversationId, bytes: &'static [u8]) -> Put<'static> {
    Put { space: Space::State, owner: Some(owner), name: b"name", bytes: Some(bytes) }
}

fn read(place: &Place, owner: ConversationId) -> Vec<String> {
    let mut found = Vec::new();
    place
        .store()
        .get(Space::State, Some(owner), BlobNames::ALL, &mut |_, bytes| {
            found.push(String::from_utf8_lossy(bytes).into_owned());
            Ok(())
        })
        .unwrap();
    found
}

#[test]
fn blobs_of_several_owners_that_were_cut_off_are_all_there() {
    let place = Place::new();
    let owners = [place.talk(&[&["one"]]), place.talk(&[&["two"]])];
    let store = place.store();
    store.put(&owners.map(|owner| blob(owner, b"before")), Safety::Synced).unwrap();
    // As if the process had been killed when the first of them was in place.
    let pending = owners
        .map(|owner| format!("{{\"space\":1,\"owner\":\"{owner}\",\"name\":\"name\",\"bytes\":\"after\"}}"))
        .join(",");
    fs::write(place.root.join(".store/blobs/pending"), format!("[{pending}]")).unwrap();

    let while_pending = owners.map(|owner| read(&place, owner));
    store.put(&[blob(owners[0], b"later")], Safety::Synced).unwrap();

    let (after, later) = (vec!["after".to_owned()], vec!["later".to_owned()]);
    assert_eq!(while_pending, [after.clone(), after.clone()]);
    assert_eq!(owners.map(|owner| read(&place, owner)), [later, after]);
    assert!(!place.root.join(".store/blobs/pending").exists());
}

#[test]
fn a_blob_that_goes_with_a_turn_counts_when_the_log_was_lost() {
    let place = Place::new();
    let id = place.talk(&[&["one"], &["two"]]);
    place.store().put(&[blob(id, b"before")], Safety::Synced).unwrap();
    fs::write(place.root.join(".store/changes.jsonl"), "").unwrap();
    fs::remove_file(place.file(id)).unwrap();
    let other = place.talk(&[&["three"]]);
    let stamp = fs::read_to_string(place.root.join(format!(".store/blobs/1-{id}.jsonl"))).unwrap();

    // A file of blobs may be ahead of the log and of every conversation.
    fs::write(place.root.join(format!(".store/blobs/1-{other}.jsonl")), stamp).unwrap();
    place.archive().resume(other).unwrap().append(Message::user("four")).unwrap();
    place.store().put(&[Put { bytes: None, ..blob(other, b"") }], Safety::Synced).unwrap();

    assert_eq!(
        (read(&place, other), place.texts(other)),
        (vec![], vec!["three".to_owned(), "four".to_owned()])
    );
}

#[test]
fn a_line_of_blobs_that_cannot_be_used_is_told() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    place.store().put(&[blob(id, b"before")], Safety::Synced).unwrap();
    let sound = place.faults();

    replace_line(&place.root.join(format!(".store/blobs/1-{id}.jsonl")), 2, "{\"name\":\"na");

    let told = format!("line 2 of `.store/blobs/1-{id}.jsonl` cannot be used, and the blob in it is lost");
    assert_eq!((sound, place.faults()), (vec![], vec![told]));
}

/// What belongs to nobody.
fn nobodys<'a>(name: &'a str, bytes: Option<&'a [u8]>) -> Put<'a> {
    Put { space: Space::State, owner: None, name: name.as_bytes(), bytes }
}

fn told(store: &dyn Store) -> String {
    let mut told = String::new();
    store
        .get(Space::State, None, BlobNames::ALL, &mut |name, bytes| {
            let [name, bytes] = [name, bytes].map(String::from_utf8_lossy);
            told += &format!("{name}={bytes} ");
            Ok(())
        })
        .unwrap();
    told
}

fn nobodys_file(place: &Place) -> std::path::PathBuf {
    place.root.join(".store/blobs/1-none.jsonl")
}

#[test]
fn a_blob_that_need_not_be_safe_is_added_to_its_file_and_the_last_line_of_a_name_counts() {
    let place = Place::new();
    let (store, reader) = (place.store(), place.store());
    store.put(&[nobodys("a", Some(b"1"))], Safety::Synced).unwrap();
    store.put(&[nobodys("b", Some(b"1"))], Safety::Synced).unwrap();
    let before = fs::read_to_string(nobodys_file(&place)).unwrap();

    store.put(&[nobodys("a", Some(b"2"))], Safety::Unsynced).unwrap();
    let added = fs::read_to_string(nobodys_file(&place)).unwrap();
    let after = told(reader.as_ref());
    store.put(&[nobodys("b", Some(b"2"))], Safety::Synced).unwrap();
    let whole = fs::read_to_string(nobodys_file(&place)).unwrap();

    assert_eq!(added, before + "{\"name\":\"a\",\"bytes\":\"2\"}\n");
    assert_eq!((after.as_str(), told(reader.as_ref()).as_str()), ("a=2 b=1 ", "a=2 b=2 "));
    assert_eq!(whole.lines().count(), 3);
}

#[test]
fn what_a_power_cut_left_of_an_added_blob_is_no_line_and_nothing_is_added_behind_it() {
    let place = Place::new();
    let store = place.store();
    store.put(&[nobodys("a", Some(b"1"))], Safety::Synced).unwrap();
    let before = fs::read_to_string(nobodys_file(&place)).unwrap();
    let left = |rest: &str| {
        fs::write(nobodys_file(&place), before.clone() + rest).unwrap();
        let found = (told(store.as_ref()), place.faults());
        store.put(&[nobodys("a", Some(b"3"))], Safety::Unsynced).unwrap();
        (found, told(store.as_ref()), place.faults())
    };

    let all = ["{\"name\":\"a\",\"by", "\0\0\0\0", "\0\0\0\0{\"name\":\"a\",\"bytes\":\"2\"}\n"].map(left);

    let told = |then: &str| ((then.to_owned(), vec![]), "a=3 ".to_owned(), vec![]);
    assert_eq!(all, [told("a=1 "), told("a=1 "), told("a=2 ")]);
}

#[test]
fn a_file_that_blobs_are_added_to_stays_short() {
    let place = Place::new();
    let store = place.store();

    for number in 0..500 {
        let bytes = format!("{number:0100}");
        store.put(&[nobodys("a", Some(bytes.as_bytes()))], Safety::Unsynced).unwrap();
    }

    assert_eq!(told(store.as_ref()), format!("a={:0100} ", 499));
    assert!(nobodys_file(&place).metadata().unwrap().len() <= 4096);
}

#[test]
fn what_a_blob_was_before_goes_with_what_is_removed() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    let store = place.store();
    store.put(&[nobodys("active", Some(id.to_string().as_bytes()))], Safety::Unsynced).unwrap();
    store.put(&[nobodys("active", Some(b"another"))], Safety::Unsynced).unwrap();
    let before = fs::read_to_string(nobodys_file(&place)).unwrap();

    place.archive().removal().delete(&[id], "user-requested");

    let after = fs::read_to_string(nobodys_file(&place)).unwrap();
    assert_eq!([before, after].map(|text| text.contains(&id.to_string())), [true, false]);
    assert_eq!(told(store.as_ref()), "active=another ");
}

fn key(owner: ConversationId, bytes: &[u8]) -> Put<'_> {
    Put { space: KEYS, owner: Some(owner), name: b"data", bytes: Some(bytes) }
}

fn keys(store: &dyn Store, owners: &[ConversationId]) -> Vec<String> {
    let mut found = Vec::new();
    for owner in owners {
        let mut told = String::new();
        store
            .get(KEYS, Some(*owner), BlobNames::ALL, &mut |name, bytes| {
                let [name, bytes] = [name, bytes].map(String::from_utf8_lossy);
                told += &format!("{name}={bytes} ");
                Ok(())
            })
            .unwrap();
        found.push(told);
    }
    found
}

fn sheet(place: &Place) -> std::path::PathBuf {
    place.root.join(".store/blobs/sheet")
}

#[test]
fn keys_of_many_owners_stand_in_one_file_until_each_is_stored_again() {
    let place = Place::new();
    let owners: Vec<ConversationId> = (0..9).map(|_| place.talk(&[&["one"], &["two"]])).collect();
    let store = place.store();
    let (reader, first) = (place.store(), owners[0]);
    let together = |bytes: &'static [u8]| owners.iter().map(|owner| key(*owner, bytes)).collect::<Vec<_>>();
    store.put(&[key(first, b"alone")], Safety::Synced).unwrap();

    store.put(&together(b"together"), Safety::Synced).unwrap();
    let all = keys(reader.as_ref(), &owners);
    let before = fs::read(sheet(&place)).unwrap();
    store.put(&[key(first, b"alone again")], Safety::Synced).unwrap();
    let blanked = fs::read(sheet(&place)).unwrap();
    // As if the process had been killed before it took the line off.
    fs::write(sheet(&place), &before).unwrap();
    let one = keys(place.store().as_ref(), &owners[..2]);
    store.put(&[Put { bytes: None, ..key(owners[1], b"") }], Safety::Synced).unwrap();
    let gone = keys(place.store().as_ref(), &owners[..2]);
    store.put(&together(b"once more"), Safety::Synced).unwrap();

    assert_eq!(all, vec!["data=together "; 9]);
    assert_eq!((before.len(), before == blanked), (blanked.len(), false));
    assert!(!String::from_utf8_lossy(&blanked).contains(&first.to_string()));
    assert_eq!([one, gone], [["data=alone again ", "data=together "], ["data=alone again ", ""]]);
    assert_eq!(keys(reader.as_ref(), &owners), vec!["data=once more "; 9]);
}

#[test]
fn a_conversation_that_is_removed_leaves_no_line_on_the_sheet() {
    let place = Place::new();
    let owners: Vec<ConversationId> = (0..9).map(|_| place.talk(&[&["one"]])).collect();
    let all: Vec<Put<'_>> = owners.iter().map(|owner| key(*owner, b"together")).collect();
    let store = place.store();
    store.put(&all, Safety::Synced).unwrap();

    place.archive().removal().delete(&owners[..1], "user-requested");
    let left = fs::read_to_string(sheet(&place)).unwrap();
    let unknown = store.put(&all, Safety::Synced).unwrap_err().kind();

    assert!(!left.contains(&owners[0].to_string()), "{left}");
    assert_eq!(unknown, rejoin::ErrorKind::NotFound);
    assert_eq!(keys(store.as_ref(), &owners[1..]), vec!["data=together "; 8]);
}

/// Stores a turn of one message with a blob.
fn append_with(store: &dyn Store, id: ConversationId, blob: Put<'_>) {
    let query = ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() };
    let row = store.list(&query).unwrap().items.remove(0);
    let parent = row.head.map(|head| Anchor { id: head.id, link: head.digest });
    let message = format!("x{}", row.messages).parse().unwrap();
    let body = "{\"role\":\"user\"}";
    let link = Digest::chain(None, &row.messages.to_be_bytes());
    store
        .append(&Turn {
            conversation: id,
            opening: None,
            stale: Stale::Branch,
            entries: &[Entry { id: message, parent, link, note: Note::default(), body }],
            previews: PreviewUpdate { first: "", last: "x" },
            branch: None,
            active: Time::now(),
            now: Time::now(),
            blobs: &[blob],
        })
        .unwrap();
}

#[test]
fn a_key_that_comes_with_a_turn_counts_before_an_older_one_on_the_sheet() {
    let place = Place::new();
    let owners: Vec<ConversationId> = (0..9).map(|_| place.talk(&[&["one"]])).collect();
    let (store, other) = (place.store(), place.store());
    let all: Vec<Put<'_>> = owners.iter().map(|owner| key(*owner, b"together")).collect();
    store.put(&all, Safety::Synced).unwrap();
    // Whoever has listed them remembers keys, and sees all the same what another handle does.
    let listed = || drop(store.list(&ListQuery { limit: 100, ..ListQuery::default() }).unwrap());
    let seen = || keys(store.as_ref(), &owners[..2]);

    append_with(other.as_ref(), owners[0], key(owners[0], b"later"));
    listed();
    let later = seen();
    append_with(other.as_ref(), owners[0], key(owners[0], b"latest"));
    let unlisted = seen();
    append_with(other.as_ref(), owners[0], Put { bytes: None, ..key(owners[0], b"") });
    let gone = seen();
    listed();
    let gone_and_listed = seen();
    store.put(&all, Safety::Synced).unwrap();

    let told = |first: &str| vec![first.to_owned(), "data=together ".to_owned()];
    assert_eq!([later, unlisted], [told("data=later "), told("data=latest ")]);
    assert_eq!([gone, gone_and_listed], [told(""), told("")]);
    assert_eq!(seen(), told("data=together "));
}

#[test]
fn blobs_of_several_owners_are_newer_than_a_turn_that_erased_one_of_them() {
    let place = Place::new();
    let [one, other] = [place.talk(&[&["one"]]), place.talk(&[&["two"]])];
    let store = place.store();
    // Nothing is left of it but the lines of the turn, which whoever opens the store next does again.
    append_with(store.as_ref(), one, Put { bytes: None, ..blob(other, b"") });
    let nobodys = Put { owner: None, ..blob(one, b"later") };

    store.put(&[blob(other, b"later"), nobodys], Safety::Synced).unwrap();
    drop(store);
    place.store().put(&[blob(one, b"any")], Safety::Synced).unwrap();

    assert_eq!(read(&place, other), ["later"]);
}

#[test]
fn a_line_that_was_taken_off_the_sheet_does_not_come_back() {
    let place = Place::new();
    let owners: Vec<ConversationId> = (0..10).map(|_| place.talk(&[&["one"]])).collect();
    let store = place.store();
    let together = |bytes: &'static [u8]| owners.iter().map(|owner| key(*owner, bytes)).collect::<Vec<_>>();
    store.put(&together(b"together"), Safety::Synced).unwrap();
    let all = keys(store.as_ref(), &owners);

    // Another handle takes two off, so soon after that the file looks as it did.
    let looked = fs::metadata(sheet(&place)).unwrap().modified().unwrap();
    place.archive().removal().delete(&owners[..2], "user-requested");
    place.talk(&[&["something else"]]);
    fs::File::options().write(true).open(sheet(&place)).unwrap().set_modified(looked).unwrap();
    store.put(&together(b"once more")[2..], Safety::Synced).unwrap();

    let left = fs::read_to_string(sheet(&place)).unwrap();
    assert!(!owners[..2].iter().any(|owner| left.contains(&owner.to_string())), "{left}");
    assert_eq!(all, vec!["data=together "; 10]);
    assert_eq!(keys(store.as_ref(), &owners[2..]), vec!["data=once more "; 8]);
}

#[test]
fn a_sheet_whose_number_was_lost_counts_before_the_files_it_is_newer_than() {
    let place = Place::new();
    let owners: Vec<ConversationId> = (0..8).map(|_| place.talk(&[&["one"]])).collect();
    let store = place.store();
    let together = |bytes: &'static [u8]| owners.iter().map(|owner| key(*owner, bytes)).collect::<Vec<_>>();
    store.put(&together(b"together"), Safety::Synced).unwrap();
    for owner in &owners {
        store.put(&[key(*owner, b"alone")], Safety::Synced).unwrap();
    }
    let damaged = fs::read_to_string(sheet(&place)).unwrap().replacen("{\"format\"", "{\"forma?\"", 1);
    fs::write(sheet(&place), damaged).unwrap();

    place.store().put(&together(b"once more"), Safety::Synced).unwrap();

    assert_eq!(keys(place.store().as_ref(), &owners), vec!["data=once more "; 8]);
}

#[test]
fn a_key_is_there_while_its_conversation_is_written_anew() {
    let place = Place::new();
    let id = place.talk(&[&["one"]]);
    let (store, reader) = (place.store(), place.store());
    append_with(store.as_ref(), id, key(id, b"any"));
    let is_over = std::sync::atomic::AtomicBool::new(false);

    let missed = std::thread::scope(|scope| {
        let missed = scope.spawn(|| {
            let mut missed = 0;
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                missed += u32::from(keys(reader.as_ref(), &[id]) != ["data=any "]);
            }
            missed
        });
        for _ in 0..60 {
            // Its file of blobs goes, so that only the lines have the key, and then the lines go.
            append_with(store.as_ref(), id, key(id, b"any"));
            let path = place.root.join(format!(".store/blobs/{}-{id}.jsonl", KEYS.number()));
            let _ = fs::remove_file(path);
            store.amend(id, None, &Change::Head(None), Time::now()).unwrap();
            store.maintain(Task::Repack, std::time::Duration::MAX).unwrap();
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        missed.join().unwrap()
    });

    assert_eq!(missed, 0);
}

#[test]
fn a_handle_that_knows_which_files_of_keys_there_are_sees_what_comes() {
    let place = Place::new();
    let owners: Vec<ConversationId> = (0..9).map(|_| place.talk(&[&["one"]])).collect();
    let (store, reader) = (place.store(), place.store());
    let folder = place.root.join(".store/blobs");
    let seen = || keys(reader.as_ref(), &owners[..2]);
    // Nobody added or removed a file for a while, and the reader has looked for many.
    let settle = || {
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(10);
        fs::File::open(&folder).unwrap().set_modified(long_ago).unwrap();
        (0..10).for_each(|_| drop(seen()));
        seen()
    };
    store.put(&[key(owners[0], b"first")], Safety::Synced).unwrap();

    let first = settle();
    store.put(&[key(owners[1], b"second")], Safety::Synced).unwrap();
    let both = [seen(), settle()];
    let blob = format!("[{{\"space\":6,\"owner\":\"{}\",\"name\":\"data\",\"bytes\":\"third\"}}]", owners[1]);
    fs::write(folder.join("pending"), blob).unwrap();
    let pending = [seen(), settle()];
    let all: Vec<Put<'_>> = owners.iter().map(|owner| key(*owner, b"together")).collect();
    store.put(&all, Safety::Synced).unwrap();
    let together = [seen(), settle()];
    store.put(&[Put { bytes: None, ..key(owners[1], b"") }], Safety::Synced).unwrap();

    let told = |second: &str| vec!["data=first ".to_owned(), second.to_owned()];
    assert_eq!(first, told(""));
    assert_eq!([both, pending], [["data=second "; 2].map(told), ["data=third "; 2].map(told)]);
    assert_eq!(together, [const { ["data=together "; 2] }; 2].map(|own| own.map(str::to_owned).to_vec()));
    assert_eq!(
        [seen(), settle()],
        [const { ["data=together ", ""] }; 2].map(|own| own.map(str::to_owned).to_vec())
    );
}
