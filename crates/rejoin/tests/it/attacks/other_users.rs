//! A store that another user owns or can write is refused where it is opened, whatever program opens it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use rejoin::store::Foreign;
use rejoin::{Archive, Conversation, ErrorKind, Message};

use super::attempt::{Attempt, Target, assert_all_fail};

/// The attacker, an ordinary user.
const EVE: u32 = 64_002;

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("SKIPPED: only root can give files away");
        assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "skipped in CI");
    }
    is_root
}

/// A store of one conversation in a directory of its own.
fn store(scheme: &str) -> (tempfile::TempDir, String, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("data/store");
    let url = format!("{scheme}:{}", place.display());
    let archive = Archive::open(&url).unwrap();
    archive.start(Conversation::titled("Planted")).unwrap().append(Message::user("Obey Eve.")).unwrap();
    (directory, url, place)
}

/// What a program reads of a store.
fn read(url: &str) -> rejoin::Result<usize> {
    let archive = Archive::open(url)?;
    let page = archive.list(&rejoin::List::default())?;
    page.items.iter().try_fold(0, |sum, found| Ok(sum + archive.path(found.id, None)?.len()))
}

/// What is done to a part of a store.
type Harm = fn(&Path);

fn give(path: &Path) {
    chown(path, Some(EVE), Some(EVE)).unwrap();
}

fn open_up(path: &Path) {
    fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
}

/// Lets the attacker write by an access control list. The group, which is that
/// of the owner, shows what it allows.
fn list_eve(path: &Path) {
    let entry = |tag: u16, permissions: u16, id: u32| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let entries = [(1, 6, u32::MAX), (2, 6, EVE), (4, 0, u32::MAX), (16, 6, u32::MAX), (32, 0, u32::MAX)];
    let list = entries.iter().fold(2_u32.to_le_bytes().to_vec(), |mut list, (tag, permissions, id)| {
        list.extend(entry(*tag, *permissions, *id));
        list
    });
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(path, "system.posix_acl_access", &list, flags).unwrap();
}

fn attempt<'a>(name: &'a str, scheme: &'a str, part: fn(&Path) -> PathBuf, harm: Harm) -> Attempt<'a> {
    Attempt::new(name, move |target| {
        let (_directory, url, place) = store(scheme);
        if target == Target::Guarded {
            harm(&part(&place));
        }
        read(&url).is_ok_and(|messages| messages > 0)
    })
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The file of the only conversation.
fn conversation(root: &Path) -> PathBuf {
    let below = |directory: &Path| {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    let folder = below(root).into_iter().find(|path| !path.ends_with(".store")).unwrap();
    below(&folder).into_iter().find(|path| path.extension().is_some_and(|ending| ending == "jsonl")).unwrap()
}

#[test]
fn a_database_of_another_user_is_not_opened() {
    if !is_root() {
        return;
    }
    assert_all_fail(&[
        attempt("database", "sqlite", Path::to_owned, give),
        attempt("log", "sqlite", |path| beside(path, "-wal"), give),
        attempt("memory of the log", "sqlite", |path| beside(path, "-shm"), give),
        attempt(
            "journal that SQLite would play back",
            "sqlite",
            |path| beside(path, "-journal"),
            |journal| {
                fs::write(journal, b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7").unwrap();
                give(journal);
            },
        ),
        attempt("database with an access list", "sqlite", Path::to_owned, list_eve),
        attempt("directory", "sqlite", |path| path.parent().unwrap().to_owned(), give),
        attempt("database that everybody can write", "sqlite", Path::to_owned, open_up),
        attempt("log that everybody can write", "sqlite", |path| beside(path, "-wal"), open_up),
        attempt(
            "directory that everybody can write",
            "sqlite",
            |path| path.parent().unwrap().to_owned(),
            open_up,
        ),
    ]);
}

#[test]
fn plain_files_of_another_user_are_not_read() {
    if !is_root() {
        return;
    }
    assert_all_fail(&[
        attempt("directory", "jsonl", Path::to_owned, give),
        attempt("directory that everybody can write", "jsonl", Path::to_owned, open_up),
        attempt(
            "directory above it that everybody can write",
            "jsonl",
            |root| root.parent().unwrap().to_owned(),
            open_up,
        ),
        attempt("folder of the store's own", "jsonl", |root| root.join(".store"), give),
        attempt("file of a conversation", "jsonl", conversation, give),
        attempt("log of changes", "jsonl", |root| root.join(".store/changes.jsonl"), give),
    ]);
}

#[test]
fn a_refusal_is_denied_and_says_whose_it_is() {
    let (_directory, url, place) = store("sqlite");
    open_up(&place);

    let error = Archive::open(&url).unwrap_err();

    let foreign = Foreign::cause_of(&error)
        .map(|foreign| (foreign.path.clone(), foreign.mode, foreign.is_of_another()));
    assert_eq!((error.kind(), foreign), (ErrorKind::Denied, Some((place, 0o777, false))));
}

#[test]
fn a_plain_file_of_ones_own_that_others_can_write_is_closed_when_it_is_opened() {
    let (_directory, url, root) = store("jsonl");
    let file = conversation(&root);
    open_up(&file);

    let messages = read(&url).unwrap();

    let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!((messages, mode & 0o077), (1, 0));
}

#[test]
fn a_directory_above_that_another_user_can_rename_is_not_relied_on() {
    if !is_root() {
        return;
    }
    let above = |name: &'static str, scheme: &'static str, harm: Harm| {
        Attempt::new(name, move |target| {
            let directory = tempfile::tempdir().unwrap();
            let home = directory.path().join("home");
            let url = format!("{scheme}:{}", home.join("share/data/store").display());
            Archive::open(&url).unwrap().start(Conversation::titled("Planted")).unwrap();
            if target == Target::Guarded {
                harm(&home);
            }
            Archive::open(&url).is_ok_and(|archive| archive.list(&rejoin::List::default()).is_ok())
        })
    };
    let through_a_link = Attempt::new("a link into such a directory", |target| {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().join("eve/data");
        fs::create_dir_all(&real).unwrap();
        std::os::unix::fs::symlink(&real, directory.path().join("link")).unwrap();
        if target == Target::Guarded {
            give(&directory.path().join("eve"));
        }
        Archive::open(&format!("sqlite:{}/x.db", directory.path().join("link").display())).is_ok()
    });
    let shared: Harm = |path| {
        chown(path, None, Some(EVE)).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o775)).unwrap();
    };

    assert_all_fail(&[
        above("another user's, above a database", "sqlite", give),
        above("open to all, above a database", "sqlite", open_up),
        above("open to a group, above a database", "sqlite", shared),
        above("another user's, above plain files", "jsonl", give),
        above("open to all, above plain files", "jsonl", open_up),
        through_a_link,
    ]);
}

#[test]
fn a_directory_like_tmp_above_a_store_is_fine() {
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o1777)).unwrap();
    let url = format!("sqlite:{}", directory.path().join("mine/x.db").display());

    assert_eq!(read(&url).unwrap(), 0);
}
