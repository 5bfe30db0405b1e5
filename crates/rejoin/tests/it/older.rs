//! Stores that an older Rejoin wrote: they open, and answer as they did.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rejoin::store::{JsonlStore, Read as _, SqliteStore, Store as _, Task};
use rejoin::vault::{Keyholder, Secret, SecretStores, UnlockResponse};
use rejoin::{Access, Archive, List, Message, Role, Search, Status, StoredConversation, Time};
use tempfile::TempDir;

/// The store of `fixtures/sqlite/schema-2.db.zst`, in a file of its own.
fn second_schema(directory: &Path) -> PathBuf {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sqlite/schema-2.db.zst");
    let path = directory.join("old.db");
    fs::write(&path, zstd::decode_all(fs::File::open(fixture).unwrap()).unwrap()).unwrap();
    path
}

fn open(path: &Path) -> Archive {
    Archive::open(&format!("sqlite:{}", path.display())).unwrap()
}

/// The titles of a list, and how many it counts.
fn listed(archive: &Archive, list: &List) -> (Vec<String>, u64) {
    let items = archive.list(list).unwrap().items;
    (items.iter().map(|stored| stored.title().to_owned()).collect(), archive.reader().count(list).unwrap())
}

/// The ids of the messages that a text finds, with a space after each.
fn found(archive: &Archive, text: &str, role: Option<Role>) -> String {
    let search = Search { text: text.to_owned(), role, ..Search::default() };
    archive.search(&search).unwrap().items.iter().map(|hit| format!("{} ", hit.message)).collect()
}

#[test]
fn a_store_of_the_second_schema_is_listed_and_counted_as_before() {
    let directory = TempDir::new().unwrap();
    let archive = open(&second_schema(directory.path()));
    let red = List { project: Some("/tmp/trip/red".to_owned()), ..List::default() };
    let idle_since = Some("2026-11-18T06:27:31Z".parse::<Time>().unwrap());
    let of = |status| List { status: Some(status), idle_since, ..List::default() };

    let lists = [
        List::default(),
        red.clone(),
        List { status: Some(Status::Completed), ..red },
        List { kind: Some("review".to_owned()), ..List::default() },
        of(Status::Active),
        of(Status::Paused),
    ]
    .map(|list| listed(&archive, &List { includes_expired: true, ..list }));

    let expected: [&[&str]; 6] = [
        &["Braga", "Faro", "Porto", "Lisbon"],
        &["Faro", "Porto", "Lisbon"],
        &["Porto"],
        &["Braga"],
        &["Faro"],
        &["Braga", "Lisbon"],
    ];
    let titles = |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect::<Vec<_>>();
    assert_eq!(lists, expected.map(|all| (titles(all), all.len() as u64)));
}

#[test]
fn what_expired_in_a_store_of_the_second_schema_is_not_counted() {
    let directory = TempDir::new().unwrap();
    let store = SqliteStore::open(second_schema(directory.path())).unwrap();
    let total = |day: &str| {
        let unexpired_at = Some(day.parse().unwrap());
        let query = rejoin::store::ListQuery { unexpired_at, counts_total: true, ..Default::default() };
        store.list(&query).unwrap().total
    };

    let totals = ["2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"].map(total);

    assert_eq!(totals, [Some(4), Some(3)]);
}

#[test]
fn a_store_of_the_second_schema_is_searched_as_before() {
    let directory = TempDir::new().unwrap();
    let path = second_schema(directory.path());
    let searches: [(&str, Option<Role>); 8] = [
        ("harbour", None),
        ("harbour ", None),
        ("depl", None),
        ("deploy ", None),
        ("d", Some(Role::Tool)),
        ("deployment ", Some(Role::System)),
        ("deploy", Some(Role::User)),
        ("harbour", Some(Role::System)),
    ];
    let expected = [
        "6jRfCd V3Rpeo DPk4fo 4DXpdI ",
        "6jRfCd V3Rpeo 4DXpdI ",
        "6MVdCG DPk4fo 4DXpdI lWtyF7 AjLLBP ",
        "4DXpdI lWtyF7 ",
        "DPk4fo ",
        "AjLLBP ",
        "6MVdCG lWtyF7 ",
        "",
    ];

    let before = searches.map(|(text, role)| found(&open(&path), text, role));
    // Messages that are indexed from now on have their role in the index, and
    // stand beside those that have not.
    let archive = open(&path);
    let newest = archive.list(&List { limit: 1, ..List::default() }).unwrap().items.remove(0);
    archive.resume(newest.id).unwrap().append(Message::user("Nothing else")).unwrap();
    while archive.maintenance().run(Task::Index, Duration::from_secs(60)).unwrap() > 0 {}
    let after = searches.map(|(text, role)| found(&archive, text, role));

    assert_eq!(before, expected);
    assert_eq!(after, expected);
    assert_eq!(found(&archive, "nothing", Some(Role::User)).split(' ').count(), 2);
}

#[test]
fn what_is_removed_from_a_store_of_the_second_schema_is_gone_from_its_index() {
    let directory = TempDir::new().unwrap();
    let path = second_schema(directory.path());
    let archive = open(&path);
    let lisbon = archive.list(&List::default()).unwrap().items.pop().unwrap();
    archive.resume(lisbon.id).unwrap().append(Message::user("Deploy again")).unwrap();
    while archive.maintenance().run(Task::Index, Duration::from_secs(60)).unwrap() > 0 {}

    let deleted = archive.removal().delete(&[lisbon.id], "tidying");
    assert!(deleted.bytes() > 0);

    assert_eq!(["depl", "harbour"].map(|text| found(&archive, text, None)), ["6MVdCG ", "6jRfCd V3Rpeo "]);
    drop(archive);
    let checked = SqliteStore::open(path).unwrap().maintain(Task::Check, Duration::MAX).unwrap();
    assert_eq!(checked.faults, []);
}

/// A copy of the store `fixtures/jsonl/first`, with the permissions that a store has.
fn first_plain_files(directory: &Path) -> PathBuf {
    let copy = directory.join("old");
    copy_private(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/jsonl/first"), &copy);
    copy
}

fn copy_private(from: &Path, to: &Path) {
    fs::DirBuilder::new().mode(0o700).create(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_private(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// What is known of a conversation: its title, its status, its branches, and
/// the texts, labels and pins of its path.
fn told(archive: &Archive, stored: &StoredConversation) -> String {
    let branches: Vec<&str> = stored.branches.iter().map(|branch| branch.title.as_str()).collect();
    let path: Vec<String> = archive
        .path(stored.id, None)
        .unwrap()
        .iter()
        .map(|stored| {
            let label =
                stored.message.label.as_deref().map(|label| format!(" ({label})")).unwrap_or_default();
            format!("{}{label}{}", stored.message.text(), if stored.is_pinned { " *" } else { "" })
        })
        .collect();
    format!("{}, {}, {branches:?}: {}", stored.title(), stored.conversation.status.as_str(), path.join(" / "))
}

#[test]
fn a_store_of_plain_files_of_the_first_version_is_read_and_goes_on() {
    let directory = TempDir::new().unwrap();
    let path = first_plain_files(directory.path());
    let archive = Archive::open(&format!("jsonl:{}", path.display())).unwrap();
    let all = List { includes_expired: true, ..List::default() };

    let before = archive.list(&all).unwrap().items;
    let told_before: Vec<String> = before.iter().map(|stored| told(&archive, stored)).collect();
    let hits =
        [found(&archive, "bridge", None), found(&archive, "noon", None), found(&archive, "never", None)];
    archive.resume(before[1].id).unwrap().append(Message::assistant("Soup.")).unwrap();

    assert_eq!(
        told_before,
        [
            "Porto in spring, paused, []: a slip of the tongue / The bridge at dusk",
            "Lisbon, active, [\"On a budget\"]: Where do we eat in Lisbon? * / Try the market hall. (good advice) \
             / And the day after? / Something cheaper",
        ]
    );
    assert_eq!(hits, ["HszBxC ", "", ""]);
    assert_eq!(archive.path(before[1].id, None).unwrap().len(), 5);
    assert!(before.iter().all(|stored| archive.maintenance().verify(stored.id).unwrap().is_sound()));
    drop(archive);
    let checked = JsonlStore::open(path).unwrap().maintain(Task::Check, Duration::MAX).unwrap();
    assert_eq!(checked.faults, []);
}

/// Every file below a directory, by its path from there.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let name = PathBuf::from(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            found.extend(contents(&entry.path()).into_iter().map(|(path, bytes)| (name.join(path), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

/// Opens a vault of the first version of the format, and says how it is refused
/// and what of its files has changed.
fn refused(url: &str, directory: &Path) -> (String, Vec<PathBuf>) {
    let passphrase = Secret::from("correct horse".to_owned());
    let keys = Keyholder::new(SecretStores::default())
        .asking(move |_| Ok(Some(UnlockResponse::Passphrase(passphrase.clone()))));
    let access = Access { keys: Some(keys), ..Access::default() };
    let before = contents(directory);

    let opened = Archive::open_with(url, &access).map(drop);

    let after = contents(directory);
    let is_changed = |(path, bytes): &(&PathBuf, &Vec<u8>)| after.get(*path) != Some(bytes);
    let changed = before.iter().filter(is_changed).map(|(path, _)| path.clone()).collect();
    (format!("{:?}", opened.unwrap_err()), changed)
}

/// Opens both vaults of a version of the format.
fn is_refused_and_not_changed(version: u32) {
    let directory = TempDir::new().unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/vault");
    let [database, files] = ["database", "files"].map(|name| directory.path().join(name));
    fs::DirBuilder::new().mode(0o700).create(&database).unwrap();
    let path = database.join("old.db");
    let packed = fs::File::open(fixtures.join(format!("version-{version}.db.zst"))).unwrap();
    fs::write(&path, zstd::decode_all(packed).unwrap()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    copy_private(&fixtures.join(format!("version-{version}")), &files);

    let urls = [format!("vault+sqlite:{}", path.display()), format!("vault+jsonl:{}", files.display())];
    let found = [refused(&urls[0], &database), refused(&urls[1], &files)];

    let told = format!(
        "the vault is in version {version} of its format, and this program reads version 3 only. \
         It can be exported with the version of Rejoin that wrote it, and imported into a new vault"
    );
    let expected = |url: String| (format!("[unsupported] open the vault `{url}`: {told}"), vec![]);
    assert_eq!(found, urls.map(expected));
}

#[test]
fn a_vault_of_the_first_version_is_refused_and_not_changed() {
    is_refused_and_not_changed(1);
}

#[test]
fn a_vault_of_the_second_version_is_refused_and_not_changed() {
    is_refused_and_not_changed(2);
}
