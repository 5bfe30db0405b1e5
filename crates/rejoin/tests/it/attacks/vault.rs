//! A substituted vault: another vault, a plain store or an older copy in the place of the one that is used.
//!
//! Whoever tries can write to the place of the store and knows secrets that open vaults here. They cannot
//! write to the directory of anchors and pins. The control opens the same place without that directory.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rejoin::vault::{Keyholder, NewSlot, Secret, SecretStores, UnlockResponse};
use rejoin::{Access, Archive, Existing, StoreUrl, Time};

use crate::attacks::attempt::{Attempt, Target, assert_all_fail};
use crate::vault_keys::{CHEAP, Machine, copy_directory, say, titles};

/// What the machine has to open stores; the control keeps nothing about places.
fn access(machine: &Machine, target: Target) -> Access {
    let access = machine.access();
    match target {
        Target::Guarded => access,
        Target::Control => Access { anchors: None, ..access },
    }
}

/// A machine whose vault was used.
fn used(scheme: &str) -> (Machine, StoreUrl) {
    let machine = Machine::new();
    let url = machine.vault(scheme);
    say(&machine.open(&url), "mine");
    (machine, url)
}

/// A vault elsewhere that the key files of this machine open, with something of somebody else in it.
fn planted(machine: &Machine, scheme: &str, name: &str) -> StoreUrl {
    let url = empty(machine, scheme, name);
    let access = Access { anchors: None, ..machine.access() };
    say(&Archive::open_with(&url.to_string(), &access).unwrap(), "theirs");
    url
}

/// The same with nothing in it.
fn empty(machine: &Machine, scheme: &str, name: &str) -> StoreUrl {
    let url = machine.url(scheme, name);
    let keys = url.keys(&Access { anchors: None, ..machine.access() }, Existing::Optional).unwrap();
    keys.create(&[NewSlot::File], Time::now()).unwrap();
    url
}

fn clear(place: &Path) {
    let _ = std::fs::remove_dir_all(place);
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", place.display()));
    }
}

/// Puts one store in the place of another.
fn substitute(from: &Path, to: &Path) {
    clear(to);
    if from.is_dir() {
        return copy_directory(from, to);
    }
    for suffix in ["", "-wal"] {
        let [from, to] = [from, to].map(|path| format!("{}{suffix}", path.display()));
        let _ = std::fs::copy(from, to);
    }
}

/// Whether a store opens and shows what somebody else put there.
fn shows(url: &StoreUrl, access: &Access, title: &str) -> bool {
    Archive::open_with(&url.to_string(), access).is_ok_and(|archive| titles(&archive) == [title])
}

fn another_vault(scheme: &'static str) -> impl Fn(Target) -> bool {
    move |target| {
        let (machine, url) = used(scheme);
        planted(&machine, scheme, "planted");
        substitute(&machine.path("planted"), &machine.path("vault"));
        shows(&url, &access(&machine, target), "theirs")
    }
}

/// Keys that are found by asking, and whether anybody was asked.
fn asking(access: Access) -> (Access, Arc<AtomicBool>) {
    let is_asked = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_asked);
    let keys = Keyholder::new(SecretStores::default()).asking(move |_| {
        seen.store(true, Ordering::Relaxed);
        Ok(Some(UnlockResponse::Passphrase(Secret::from("correct horse".to_owned()))))
    });
    (Access { keys: Some(keys), ..access }, is_asked)
}

/// A vault elsewhere that the passphrase of this machine opens.
fn planted_with_passphrase(machine: &Machine) {
    let access = asking(Access { anchors: None, ..machine.access() }).0;
    let url = machine.url("vault+sqlite", "planted");
    let passphrase = NewSlot::Passphrase(Secret::from("correct horse".to_owned()), CHEAP);
    let keys = url.keys(&access, Existing::Optional).unwrap();
    keys.create(&[passphrase], Time::now()).unwrap();
    drop(keys);
    say(&Archive::open_with(&url.to_string(), &access).unwrap(), "theirs");
}

#[test]
fn another_vault_is_not_opened_in_the_place_of_the_one_that_is_used() {
    assert_all_fail(&[
        Attempt::new(
            "a vault in SQLite that a key file of this machine opens",
            another_vault("vault+sqlite"),
        ),
        Attempt::new("a vault in files that a key file of this machine opens", another_vault("vault+jsonl")),
        Attempt::new("a vault made with the passphrase of the owner", |target| {
            let (machine, url) = used("vault+sqlite");
            planted_with_passphrase(&machine);
            substitute(&machine.path("planted"), &machine.path("vault"));
            shows(&url, &asking(access(&machine, target)).0, "theirs")
        }),
        Attempt::new("a vault that asks for the passphrase of the owner", |target| {
            let (machine, url) = used("vault+sqlite");
            planted_with_passphrase(&machine);
            substitute(&machine.path("planted"), &machine.path("vault"));
            let (access, is_asked) = asking(access(&machine, target));
            let _ = Archive::open_with(&url.to_string(), &access);
            is_asked.load(Ordering::Relaxed)
        }),
        Attempt::new("another vault of the same owner, pinned to its own place", |target| {
            let (machine, url) = used("vault+sqlite");
            let other = planted(&machine, "vault+sqlite", "other");
            say(&machine.open(&other), "theirs too");
            substitute(&machine.path("other"), &machine.path("vault"));
            Archive::open_with(&url.to_string(), &access(&machine, target)).is_ok()
        }),
        Attempt::new("a link on the way to the vault that leads elsewhere", |target| {
            let machine = Machine::new();
            ["real", "fake"].iter().for_each(|name| std::fs::create_dir(machine.path(name)).unwrap());
            symlink("real", machine.path("link")).unwrap();
            let url = planted(&machine, "vault+sqlite", "link/vault");
            say(&machine.open(&url), "mine");
            planted(&machine, "vault+sqlite", "fake/vault");
            std::fs::remove_file(machine.path("link")).unwrap();
            symlink("fake", machine.path("link")).unwrap();
            shows(&url, &access(&machine, target), "theirs")
        }),
        Attempt::new("another way to write the same place", |target| {
            let (machine, _) = used("vault+sqlite");
            planted(&machine, "vault+sqlite", "planted");
            substitute(&machine.path("planted"), &machine.path("vault"));
            std::fs::create_dir(machine.path("folder")).unwrap();
            let alias = machine.url("vault+sqlite", "folder/../vault");
            shows(&alias, &access(&machine, target), "theirs")
        }),
        Attempt::new("a vault of files in the place of one in SQLite", |target| {
            let (machine, _) = used("vault+sqlite");
            planted(&machine, "vault+jsonl", "planted");
            substitute(&machine.path("planted"), &machine.path("vault"));
            shows(&machine.url("vault+jsonl", "vault"), &access(&machine, target), "theirs")
        }),
    ]);
}

#[test]
fn a_substituted_vault_is_neither_changed_nor_copied() {
    /// A machine whose vault was replaced by another that its key files open.
    fn substituted() -> (Machine, StoreUrl) {
        let (machine, url) = used("vault+sqlite");
        planted(&machine, "vault+sqlite", "planted");
        substitute(&machine.path("planted"), &machine.path("vault"));
        (machine, url)
    }

    assert_all_fail(&[
        Attempt::new("a slot is added to it", |target| {
            let (machine, url) = substituted();
            let keys = url.keys(&access(&machine, target), Existing::Needed).unwrap();
            keys.add_slot(&NewSlot::Recovery, Time::now()).is_ok()
        }),
        Attempt::new("its keys are rotated as if they were those of the owner", |target| {
            let (machine, url) = substituted();
            let keys = url.keys(&access(&machine, target), Existing::Needed).unwrap();
            keys.rotate(Time::now()).is_ok()
        }),
        Attempt::new("it is taken for the backup", |target| {
            let (machine, url) = substituted();
            url.backup_with(&machine.path("copy"), &access(&machine, target), &mut |_, _, _| ()).is_ok()
        }),
        Attempt::new("conversations are sealed into it", |target| {
            let (machine, url) = used("vault+sqlite");
            empty(&machine, "vault+sqlite", "planted");
            substitute(&machine.path("planted"), &machine.path("vault"));
            let plain = machine.url("sqlite", "plain.db");
            say(&machine.open(&plain), "secret");
            plain.convert(&url, &access(&machine, target), &mut |_, _, _| ()).is_ok()
        }),
        Attempt::new("it is copied into a plain store as if it were that of the owner", |target| {
            let (machine, url) = substituted();
            let plain = machine.url("sqlite", "plain.db");
            url.convert(&plain, &access(&machine, target), &mut |_, _, _| ()).is_ok()
        }),
    ]);
}

#[test]
fn nothing_else_takes_the_place_of_a_vault() {
    assert_all_fail(&[
        Attempt::new("a plain store", |target| {
            let (machine, _) = used("vault+sqlite");
            say(&machine.open(&machine.url("sqlite", "plain.db")), "theirs");
            substitute(&machine.path("plain.db"), &machine.path("vault"));
            shows(&machine.url("sqlite", "vault"), &access(&machine, target), "theirs")
        }),
        Attempt::new("plain files", |target| {
            let (machine, _) = used("vault+jsonl");
            say(&machine.open(&machine.url("jsonl", "plain")), "theirs");
            substitute(&machine.path("plain"), &machine.path("vault"));
            shows(&machine.url("jsonl", "vault"), &access(&machine, target), "theirs")
        }),
        Attempt::new("an empty plain store that is made anew", |target| {
            let (machine, _) = used("vault+sqlite");
            clear(&machine.path("vault"));
            let opened = machine.url("sqlite", "vault").open_with(&access(&machine, target));
            opened.is_ok() && machine.path("vault").exists()
        }),
        Attempt::new("the backup of a plain store", |target| {
            let (machine, _) = used("vault+sqlite");
            let plain = machine.url("sqlite", "plain.db");
            say(&machine.open(&plain), "theirs");
            plain.backup(&machine.path("copy"), &mut |_, _, _| ()).unwrap();
            clear(&machine.path("vault"));
            let access = access(&machine, target);
            let url = machine.url("sqlite", "vault");
            url.restore_with(&machine.path("copy"), &access, &mut |_, _, _| ()).is_ok()
        }),
        Attempt::new("an older copy, after its anchor was removed", |target| {
            let (machine, url) = used("vault+jsonl");
            copy_directory(&machine.path("vault"), &machine.path("copy"));
            say(&machine.open(&url), "newer");
            substitute(&machine.path("copy"), &machine.path("vault"));
            remove_files_ending_with(&machine.path("anchors"), ".anchor");
            shows(&url, &access(&machine, target), "mine")
        }),
        Attempt::new("another vault in SQLite, after the pin was removed", unpinned("vault+sqlite")),
        Attempt::new("another vault in files, after the pin was removed", unpinned("vault+jsonl")),
        Attempt::new("another vault that asks for a passphrase, after the pin was removed", |target| {
            let (machine, url) = used("vault+sqlite");
            planted_with_passphrase(&machine);
            substitute(&machine.path("planted"), &machine.path("vault"));
            remove_files_ending_with(&machine.path("anchors"), ".pin");
            let (access, is_asked) = asking(access(&machine, target));
            let _ = Archive::open_with(&url.to_string(), &access);
            is_asked.load(Ordering::Relaxed)
        }),
        Attempt::new("a plain store, after the pin was removed", |target| {
            let (machine, _) = used("vault+sqlite");
            say(&machine.open(&machine.url("sqlite", "plain.db")), "theirs");
            substitute(&machine.path("plain.db"), &machine.path("vault"));
            remove_files_ending_with(&machine.path("anchors"), ".pin");
            shows(&machine.url("sqlite", "vault"), &access(&machine, target), "theirs")
        }),
        Attempt::new("another vault, after the pin was overwritten with nonsense", |target| {
            let (machine, url) = used("vault+sqlite");
            planted(&machine, "vault+sqlite", "planted");
            substitute(&machine.path("planted"), &machine.path("vault"));
            for entry in std::fs::read_dir(machine.path("anchors")).unwrap() {
                let path = entry.unwrap().path();
                let is_pin = path.extension().is_some_and(|ending| ending == "pin");
                is_pin.then(|| std::fs::write(path, "{}").unwrap());
            }
            shows(&url, &access(&machine, target), "theirs")
        }),
    ]);
}

/// Another vault in the place of the one that is used, where only the pin was removed.
fn unpinned(scheme: &'static str) -> impl Fn(Target) -> bool {
    move |target| {
        let (machine, url) = used(scheme);
        planted(&machine, scheme, "planted");
        substitute(&machine.path("planted"), &machine.path("vault"));
        remove_files_ending_with(&machine.path("anchors"), ".pin");
        shows(&url, &access(&machine, target), "theirs")
    }
}

fn remove_files_ending_with(directory: &Path, ending: &str) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.to_str().is_some_and(|path| path.ends_with(ending)) {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_vault_that_was_moved_opens_at_its_new_place_and_an_older_copy_of_it_does_not() {
    let (machine, url) = used("vault+sqlite");
    substitute(&machine.path("vault"), &machine.path("older"));
    say(&machine.open(&url), "newer");

    substitute(&machine.path("vault"), &machine.path("moved"));
    let moved = machine.try_open(&machine.url("vault+sqlite", "moved")).map(|archive| titles(&archive));
    let older = machine.try_open(&machine.url("vault+sqlite", "older")).map(|archive| titles(&archive));

    assert_eq!(moved.unwrap(), ["mine", "newer"]);
    assert_eq!(older.unwrap_err().kind(), rejoin::ErrorKind::Conflict);
}

#[test]
fn a_vault_is_used_once_it_is_accepted_or_made_by_its_owner() {
    let (machine, url) = used("vault+sqlite");
    let before = url.pinned(&machine.access()).unwrap();
    planted(&machine, "vault+sqlite", "planted");
    substitute(&machine.path("planted"), &machine.path("vault"));

    let refused = machine.try_open(&url).unwrap_err().kind();
    url.accept(&machine.access()).unwrap();
    let accepted = titles(&machine.open(&url));
    let after = url.pinned(&machine.access()).unwrap();
    clear(&machine.path("vault"));
    let missing = machine.try_open(&url).unwrap_err().kind();
    machine.vault("vault+sqlite");

    assert_eq!((refused, missing), (rejoin::ErrorKind::Conflict, rejoin::ErrorKind::NotFound));
    assert_eq!((accepted, titles(&machine.open(&url))), (vec!["theirs".to_owned()], vec![]));
    let made = url.pinned(&machine.access()).unwrap();
    assert!(before.is_some() && before != after && after != made && made.is_some());
}

#[test]
fn a_restored_vault_is_accepted_in_one_step() {
    let (machine, url) = used("vault+sqlite");
    let copy = machine.path("copy");
    url.backup_with(&copy, &machine.access(), &mut |_, _, _| ()).unwrap();
    say(&machine.open(&url), "newer");

    url.restore_with(&copy, &machine.access(), &mut |_, _, _| ()).unwrap();
    let restored = titles(&machine.open(&url));
    say(&machine.open(&url), "later");
    // What is put back from now on is noticed again.
    substitute(&copy, &machine.path("vault"));

    assert_eq!(restored, ["mine"]);
    assert_eq!(machine.try_open(&url).unwrap_err().kind(), rejoin::ErrorKind::Conflict);
}

#[test]
fn a_vault_whose_pin_is_gone_opens_and_another_one_opens_once_it_is_accepted() {
    let (machine, url) = used("vault+sqlite");
    let before = url.pinned(&machine.access()).unwrap();
    planted(&machine, "vault+sqlite", "planted");
    let unpin = || remove_files_ending_with(&machine.path("anchors"), ".pin");

    unpin();
    let without_pin = (url.pinned(&machine.access()).unwrap(), titles(&machine.open(&url)));
    substitute(&machine.path("planted"), &machine.path("vault"));
    unpin();
    let refused = machine.try_open(&url).unwrap_err();
    url.accept(&machine.access()).unwrap();
    // What was accepted counts, and the vault before it does not any more.
    unpin();
    let accepted = titles(&machine.open(&url));

    assert_eq!(without_pin, (before, vec!["mine".to_owned()]));
    assert_eq!(refused.kind(), rejoin::ErrorKind::Conflict);
    let cause = std::error::Error::source(&refused).unwrap().to_string();
    assert!(cause.contains(&before.unwrap().to_string()) && cause.contains("is gone"), "{cause}");
    assert_eq!(accepted, ["theirs"]);
}

#[test]
fn a_plain_store_that_is_accepted_stays_accepted() {
    let (machine, _) = used("vault+sqlite");
    say(&machine.open(&machine.url("sqlite", "plain.db")), "plain");
    substitute(&machine.path("plain.db"), &machine.path("vault"));
    let plain = machine.url("sqlite", "vault");

    let refused = machine.try_open(&plain).map(drop).unwrap_err().kind();
    plain.accept(&machine.access()).unwrap();

    assert_eq!(refused, rejoin::ErrorKind::Conflict);
    assert_eq!(titles(&machine.open(&plain)), ["plain"]);
}

#[test]
fn an_anchor_from_before_locations_were_noted_notes_them_when_the_vault_is_opened() {
    let (machine, url) = used("vault+sqlite");
    let anchors = || std::fs::read_dir(machine.path("anchors")).unwrap().map(|entry| entry.unwrap().path());
    let anchor = anchors().find(|path| path.extension().is_some_and(|ending| ending == "anchor")).unwrap();
    let whole = std::fs::read_to_string(&anchor).unwrap();
    std::fs::write(&anchor, format!("{}\n", whole.lines().next().unwrap())).unwrap();

    let opened = titles(&machine.open(&url));

    assert_eq!((opened, std::fs::read_to_string(&anchor).unwrap()), (vec!["mine".to_owned()], whole));
}

#[test]
fn an_older_copy_is_told_without_opening_it() {
    let (machine, url) = used("vault+sqlite");
    substitute(&machine.path("vault"), &machine.path("older"));
    say(&machine.open(&url), "newer");
    let told = || url.refuse_older_copy(&machine.access()).map_err(|error| error.kind());

    let newest = told();
    substitute(&machine.path("older"), &machine.path("vault"));
    let older = told();
    remove_files_ending_with(&machine.path("anchors"), ".anchor");

    assert_eq!((newest, older), (Ok(()), Err(rejoin::ErrorKind::Conflict)));
    assert_eq!(told(), Ok(()));
    let plain = machine.url("sqlite", "plain.db");
    assert!(plain.refuse_older_copy(&machine.access()).is_ok());
}
