//! With the files of a store alone nobody finds out what a marker stands for by trying.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use aws_lc_rs::hmac;
use rejoin::store::{BlobNames, Space};
use rejoin::{Archive, Conversation, Message, Personal, Redaction};

use crate::held::Held;
use crate::vault_spaces::KEYS;

const PHONE: &str = "+351 912 345 678";

type Kept = Arc<Mutex<Option<[u8; 32]>>>;

fn open(directory: &Path) -> Held {
    let url = format!("sqlite:{}", directory.join("history.db").display());
    Held::open(&url).with_redaction(Redaction::new().with_personal([Personal::Phone]))
}

/// The same, with the key in another place.
fn open_keeping(directory: &Path, kept: &Kept) -> Held {
    let kept = Arc::clone(kept);
    let keep = move |given| Ok(*kept.lock().unwrap().get_or_insert(given));
    open(directory).map(|archive| archive.keeping_redaction_key(keep))
}

/// The hash in the marker of the number, once it is said.
fn say_phone(archive: &Archive) -> String {
    let mut talk = archive.start(Conversation::new()).unwrap();
    talk.append(Message::user(format!("Call {PHONE} today."))).unwrap();
    let said = talk.path().unwrap()[0].message.text();
    let hash = said.split("[redacted:phone:").nth(1).unwrap();
    hash.split(']').next().unwrap().to_owned()
}

/// The keys of 32 bytes that a store holds.
fn keys_in(archive: &Held) -> Vec<[u8; 32]> {
    let mut keys = Vec::new();
    for space in [Space::State, KEYS] {
        let take = &mut |_: &[u8], bytes: &[u8]| {
            keys.extend(<[u8; 32]>::try_from(bytes));
            Ok(())
        };
        archive.store().get(space, None, BlobNames::ALL, take).unwrap();
    }
    keys
}

/// The numbers out of 10,000 that have a hash, by one of some keys.
fn guess(hash: &str, keys: &[[u8; 32]]) -> Vec<String> {
    // The first four bytes whose digits have a letter among them.
    let hashed = |key: &hmac::Key, number: &str| -> String {
        let tag = hmac::sign(key, number.as_bytes());
        let told = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        tag.as_ref().chunks(4).map(told).find(|told| told.parse::<u64>().is_err()).unwrap()
    };
    let keys: Vec<hmac::Key> = keys.iter().map(|key| hmac::Key::new(hmac::HMAC_SHA256, key)).collect();
    let candidates = (0..10_000).map(|number| format!("35191234{number:04}"));
    candidates.filter(|number| keys.iter().any(|key| hashed(key, number) == hash)).collect()
}

fn holds(directory: &Path, key: [u8; 32]) -> bool {
    let files = fs::read_dir(directory).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap());
    files.into_iter().any(|bytes| memchr::memmem::find(&bytes, &key).is_some())
}

#[test]
fn a_number_cannot_be_guessed_with_the_store_alone_and_can_with_its_key() {
    let (directory, kept) = (tempfile::tempdir().unwrap(), Kept::default());
    let archive = open_keeping(directory.path(), &kept);

    let hash = say_phone(&archive);

    let key = kept.lock().unwrap().unwrap();
    assert_eq!(guess(&hash, &[key]), ["351912345678"]);
    let mut tried = keys_in(&archive);
    tried.push([0; 32]);
    assert_eq!((guess(&hash, &tried), holds(directory.path(), key)), (vec![], false));
}

#[test]
fn the_key_of_an_older_store_moves_out_and_hashes_stay_the_same() {
    let (directory, kept) = (tempfile::tempdir().unwrap(), Kept::default());
    let before = say_phone(&open(directory.path()));
    let own = keys_in(&open(directory.path()));

    let archive = open_keeping(directory.path(), &kept);
    let after = say_phone(&archive);

    let key = kept.lock().unwrap().unwrap();
    assert_eq!((before, own), (after, vec![key]));
    assert_eq!((keys_in(&archive), holds(directory.path(), key)), (vec![], false));
}

#[test]
fn a_key_in_the_store_can_be_moved_out_before_it_is_needed() {
    let (directory, kept) = (tempfile::tempdir().unwrap(), Kept::default());
    let plain = open(directory.path());
    say_phone(&plain);
    let own = keys_in(&plain);
    let before = plain.redaction().holds_key().unwrap();
    drop(plain);

    let archive = open_keeping(directory.path(), &kept);
    archive.redaction().move_key().unwrap();

    assert_eq!((before, archive.redaction().holds_key().unwrap()), (true, false));
    assert_eq!(own, [kept.lock().unwrap().unwrap()]);
    assert!(!holds(directory.path(), own[0]));
}

#[test]
fn a_key_in_the_store_goes_when_another_is_kept_outside() {
    let (directory, kept) = (tempfile::tempdir().unwrap(), Arc::new(Mutex::new(Some([7; 32]))));
    let before = say_phone(&open(directory.path()));

    let archive = open_keeping(directory.path(), &kept);
    let after = say_phone(&archive);

    assert_ne!(before, after);
    assert_eq!((keys_in(&archive), guess(&after, &[[7; 32]])), (vec![], vec!["351912345678".to_owned()]));
}
