//! Every number that stands in plaintext: a check names each that was changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{
    Anchor, Change, Children, Entry, Facets, JsonlStore, ListQuery, Note, Order, PreviewUpdate, Put, Read,
    Safety, Selection, Space, SqliteStore, Stale, Store, Target, Task, Turn,
};
use rejoin::vault::VaultStore;
use rejoin::{Archive, Branch, Digest, Message, Result};
use serde_json::Value;

use crate::vault::write::{NOW, append, conversation, open, say};
use crate::vault::{Fixed, Inner, sealed};

/// Numbers of a database that nothing has to vouch for, and why. A star stands for every column.
const NOT_IN_THE_DATABASE: [(&str, &str, &str); 15] = [
    ("branch", "position", "the order of branches, which is checked: as long as it stays, nothing differs"),
    ("change", "*", "the log of changes: stamps and permuted times, which tell followers where to look"),
    ("conversation", "first", "an envelope"),
    ("conversation", "header", "an envelope"),
    ("conversation", "last", "an envelope"),
    ("message", "body", "an envelope"),
    ("message", "label", "an envelope"),
    ("conversation", "indexed", "the backend's own search index, which a vault does not fill"),
    ("document", "*", "the backend's own search index"),
    ("search", "*", "the backend's own search index"),
    ("words", "*", "the backend's own search index"),
    ("words_config", "*", "the backend's own search index"),
    ("words_data", "*", "the backend's own search index"),
    ("words_docsize", "*", "the backend's own search index"),
    ("words_idx", "*", "the backend's own search index"),
];

/// The same of files, as pointers into a line. Nothing that is read may differ when one of these is changed.
const NOT_IN_FILES: [(&str, &str); 8] = [
    ("/n", "the place of a line among those written together"),
    ("/of", "how many lines were written together"),
    ("/change", "a stamp of the log of changes"),
    ("/after", "a stamp of the log of changes"),
    ("/message/format", "an older format is read too"),
    ("/message/bytes", "how many bytes of a write that did not end were cut off"),
    ("/message/standing/messages", "how many lines a file began with: fewer are not missed"),
    ("/message/standing/change", "a stamp of the log of changes"),
];

/// Fills a vault with one of all that has numbers.
fn fill(vault: &dyn Store) {
    let id = conversation(1);
    open(vault, id);
    let a = say(vault, id, "a", None, "first").unwrap();
    let b = say(vault, id, "b", Some(a), "second").unwrap();
    let turn: Vec<_> = [("c", b), ("e", b)]
        .map(|(name, parent)| (name.parse().unwrap(), Some(parent), name.to_owned()))
        .into();
    append(vault, id, None, &turn, Some("kept")).unwrap();
    let gone = say(vault, id, "d", Some(a), "gone").unwrap();
    say(vault, id, "f", None, "another root").unwrap();
    let branch = |id: &str, head: &str| Branch {
        id: id.parse().unwrap(),
        title: id.to_owned(),
        head: head.parse().unwrap(),
    };
    for branch in [branch("q", "c"), branch("r", "e"), branch("s", "f")] {
        vault.amend(id, None, &Change::Branch(&branch), NOW).unwrap();
    }
    vault.amend(id, None, &Change::Unbranch("s".parse().unwrap()), NOW).unwrap();
    vault.amend(id, None, &Change::Head(Some(b.id)), NOW).unwrap();
    let target = Target::Messages { conversation: id, ids: &[gone.id], children: Children::Refuse };
    vault.remove(&[target], "tidying", NOW).unwrap();
    let label = Note { label: Some("label"), is_pinned: true };
    vault.amend(id, None, &Change::Note(b.id, label), NOW).unwrap();
    let put = |owner, name: &'static [u8]| Put { space: Space::Source, owner, name, bytes: Some(b"bytes") };
    vault.put(&[put(Some(id), b"own"), put(None, b"nobody's")], Safety::Synced).unwrap();
    while vault.maintain(Task::Index, Duration::MAX).unwrap().left > 0 {}
    say(vault, id, "g", Some(b), "after all that").unwrap();
    let on_branch = Message::assistant("on a branch").at(NOW).to_body();
    let e = Digest::chain(Some(b.digest), Message::assistant("e").at(NOW).to_body().as_bytes());
    let entry = Entry {
        id: "h".parse().unwrap(),
        parent: Some(Anchor { id: "e".parse().unwrap(), link: e }),
        link: Digest::chain(Some(e), on_branch.as_bytes()),
        note: Note::default(),
        body: &on_branch,
    };
    let turn = Turn {
        conversation: id,
        opening: None,
        stale: Stale::Branch,
        entries: &[entry],
        previews: PreviewUpdate::default(),
        branch: Some("r".parse().unwrap()),
        active: NOW,
        now: NOW,
        blobs: &[],
    };
    vault.append(&turn).unwrap();
    let renamed = Change::Header { facets: &Facets::default(), header: "{\"title\":\"renamed\"}" };
    vault.amend(id, None, &renamed, NOW).unwrap();
}

/// All that a check and a look at every message find wrong.
fn faults(inner: Result<Arc<dyn Inner>>) -> Vec<String> {
    let looked = inner.and_then(|inner| {
        let archive = Archive::with_store(Arc::new(VaultStore::open(inner, Arc::new(Fixed))?));
        let survey = archive.maintenance().survey()?;
        let mut found: Vec<String> =
            archive.maintenance().check()?.faults.into_iter().map(|fault| fault.what).collect();
        for id in survey.conversations {
            found.extend(archive.maintenance().verify(id)?.faults);
        }
        Ok(found.into_iter().chain(survey.faults).collect())
    });
    looked.unwrap_or_else(|error| vec![error.to_string()])
}

/// The columns of a database that hold numbers, but for those that nothing has to vouch for.
fn numbers_of(database: &rusqlite::Connection) -> Vec<(String, String)> {
    let mut tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
    let (mut columns, mut unused): (Vec<_>, BTreeSet<_>) = (Vec::new(), NOT_IN_THE_DATABASE.into());
    for table in tables {
        let mut info = database
            .prepare("SELECT name FROM pragma_table_info(?1) WHERE type NOT IN ('TEXT', 'BLOB')")
            .unwrap();
        let names = info.query_map([&table], |row| row.get::<_, String>(0)).unwrap();
        for column in names.map(rusqlite::Result::unwrap) {
            let is_exempt =
                |(own, name, _): &&(&str, &str, &str)| *own == table && (*name == "*" || *name == column);
            match NOT_IN_THE_DATABASE.iter().find(is_exempt) {
                Some(exempt) => drop(unused.remove(exempt)),
                None => columns.push((table.clone(), column)),
            }
        }
    }
    assert_eq!(unused, BTreeSet::new(), "there is no such column");
    columns
}

/// A way to change one number: the table, the column, the condition that finds
/// the row, and what is put there.
struct Forgery {
    table: String,
    column: String,
    row: String,
    value: String,
}

/// Every number of a database, changed in every way.
fn forgeries(database: &rusqlite::Connection) -> Vec<Forgery> {
    let mut forgeries = Vec::new();
    for (table, column) in numbers_of(database) {
        let mut keys = database.prepare("SELECT name FROM pragma_table_info(?1) WHERE pk > 0").unwrap();
        let keys: Vec<String> =
            keys.query_map([&table], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let condition: Vec<String> = keys.iter().map(|key| format!("'{key} = ' || quote({key})")).collect();
        let sql = format!("SELECT {}, \"{column}\" FROM {table}", condition.join(" || ' AND ' || "));
        let mut rows = database.prepare(&sql).unwrap();
        let rows =
            rows.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?))).unwrap();
        for (row, number) in rows.map(rusqlite::Result::unwrap) {
            let values = match number {
                Some(number) => vec![(number + 1).to_string(), (number - 1).to_string(), "NULL".to_owned()],
                None => vec!["1".to_owned(), "0".to_owned()],
            };
            let forge =
                |value| Forgery { table: table.clone(), column: column.clone(), row: row.clone(), value };
            forgeries.extend(values.into_iter().map(forge));
        }
    }
    forgeries
}

#[test]
fn every_number_of_a_database_that_was_changed_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let [path, copy] = ["store.db", "copy.db"].map(|name| directory.path().join(name));
    fill(&sealed(Arc::new(SqliteStore::open(&path).unwrap())));
    let original = rusqlite::Connection::open(&path).unwrap();
    let opened = |path: &Path| SqliteStore::open(path).map(|store| Arc::new(store) as Arc<dyn Inner>);
    assert_eq!(faults(opened(&path)), [""; 0]);

    let (mut unnamed, mut looked) = (Vec::new(), BTreeSet::new());
    for Forgery { table, column, row, value } in forgeries(&original) {
        ["", "-wal", "-shm"].iter().for_each(|end| drop(fs::remove_file(format!("{}{end}", copy.display()))));
        original.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        let forged = rusqlite::Connection::open(&copy).unwrap();
        forged.pragma_update(None, "foreign_keys", false).unwrap();
        let sql = format!("UPDATE {table} SET \"{column}\" = {value} WHERE {row}");
        // What the database does not take, such as the key of another row, cannot stand there.
        let is_taken = forged.execute(&sql, []).is_ok();
        drop(forged);
        if is_taken {
            looked.insert(format!("{table}.{column}"));
            if faults(opened(&copy)).is_empty() {
                unnamed.push(sql);
            }
        }
    }

    assert_eq!(unnamed, [""; 0]);
    let all: BTreeSet<String> =
        numbers_of(&original).into_iter().map(|(table, column)| format!("{table}.{column}")).collect();
    assert_eq!(looked, all);
}

#[test]
fn a_check_says_which_number_of_a_conversation_was_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    fill(&sealed(Arc::new(SqliteStore::open(&path).unwrap())));
    let check = |sql: &str, undo: &str| {
        let raw = rusqlite::Connection::open(&path).unwrap();
        raw.execute_batch(sql).unwrap();
        let vault = sealed(Arc::new(SqliteStore::open(&path).unwrap()));
        let found = vault.maintain(Task::Check, Duration::MAX).unwrap().faults;
        raw.execute_batch(undo).unwrap();
        found.into_iter().map(|fault| (fault.conversation, fault.what)).collect::<Vec<_>>()
    };

    let found: Vec<_> = ["version", "next", "roots", "bytes", "created"]
        .iter()
        .flat_map(|column| {
            let set = |sign| format!("UPDATE conversation SET {column} = {column} {sign} 1");
            check(&set("+"), &set("-"))
        })
        .chain(check("UPDATE conversation SET head = 1", "UPDATE conversation SET head = 8"))
        .chain(check(
            "UPDATE message SET depth = depth + 1 WHERE key & 0xffffffff = 7",
            "UPDATE message SET depth = depth - 1 WHERE key & 0xffffffff = 7",
        ))
        .chain(check(
            "UPDATE message SET children = children + 1 WHERE key & 0xffffffff = 7",
            "UPDATE message SET children = children - 1 WHERE key & 0xffffffff = 7",
        ))
        .chain(check(
            "UPDATE branch SET position = 99 - position",
            "UPDATE branch SET position = 99 - position",
        ))
        .collect();

    let bytes: i64 = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row("SELECT bytes FROM conversation", [], |row| row.get(0))
        .unwrap();
    let expected = [
        "its version is 11, and should be 10",
        "its next number is 10, and should be 9",
        "its count of roots is 3, and should be 2",
        &format!("its count of bytes is {}, and should be {bytes}", bytes + 1),
        "it has times that are not encrypted",
        "its head is 1, and should be 8",
        "the depth of message 7 is 3, and should be 2",
        "the count of children of message 7 is 1, and should be 0",
        "its branches, their order or their heads are not those it should have",
    ];
    assert_eq!(found, expected.map(|what| (Some(conversation(1)), what.to_owned())));
    assert_eq!(check("", ""), []);
}

#[test]
fn a_number_that_was_changed_does_not_become_right_by_what_is_written_next() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let vault = || sealed(Arc::new(SqliteStore::open(&path).unwrap()));
    fill(&vault());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("UPDATE conversation SET version = version + 5, next = next + 5").unwrap();

    say(&vault(), conversation(1), "later", None, "later").unwrap();
    vault().amend(conversation(1), None, &Change::Unbranch("q".parse().unwrap()), NOW).unwrap();

    let found = vault().maintain(Task::Check, Duration::MAX).unwrap().faults;
    let found: Vec<String> = found.into_iter().map(|fault| fault.what).collect();
    assert_eq!(found, ["its version is 16, and should be 11", "its next number is 15, and should be 10"]);
}

#[test]
fn a_head_that_was_changed_does_not_become_right_by_a_removal() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.db");
    let vault = || sealed(Arc::new(SqliteStore::open(&path).unwrap()));
    fill(&vault());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("UPDATE conversation SET head = 1").unwrap();

    let ids = &["f".parse().unwrap()];
    let target = Target::Messages { conversation: conversation(1), ids, children: Children::Refuse };
    vault().remove(&[target], "tidying", NOW).unwrap();

    let found = vault().maintain(Task::Check, Duration::MAX).unwrap().faults;
    let found: Vec<String> = found.into_iter().map(|fault| fault.what).collect();
    assert_eq!(found, ["its head is 1, and should be 8"]);
}

/// The files of a store that hold conversations and blobs.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files_below(&path));
        } else if path.extension().is_some_and(|end| end == "jsonl") && !path.ends_with("changes.jsonl") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Where numbers and truth values stand in JSON, as pointers.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) | Value::Bool(_) => found.push(at.to_owned()),
        Value::Array(all) => {
            all.iter()
                .enumerate()
                .for_each(|(place, value)| pointers(value, &format!("{at}/{place}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| pointers(value, &format!("{at}/{name}"), found));
        }
        Value::Null | Value::String(_) => {}
    }
}

fn changed(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(is_set) => vec![(!is_set).into()],
        Value::Number(number) => {
            let number = number.as_i64().unwrap();
            [number + 1, number - 1].into_iter().filter(|number| *number >= 0).map(Value::from).collect()
        }
        _ => Vec::new(),
    }
}

/// All that can be read of a vault in files.
fn content(root: &Path) -> String {
    let vault = sealed(Arc::new(JsonlStore::open(root).unwrap()));
    let mut all = format!("{:?}", vault.list(&ListQuery { limit: 9, ..Default::default() }).unwrap());
    let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    let read = vault.read(conversation(1), everything, &mut |seen| {
        all.push_str(&format!("{seen:?}"));
        Ok(())
    });
    read.unwrap();
    all
}

/// Changes every number of the files of a vault, and returns the names of those that a check named.
fn every_number_of_files(fill: impl FnOnce(&dyn Store)) -> BTreeSet<String> {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("files");
    let opened = || JsonlStore::open(&root).map(|store| Arc::new(store) as Arc<dyn Inner>);
    fill(&sealed(opened().unwrap()));
    assert_eq!(faults(opened()), [""; 0]);
    let before = content(&root);
    // In the place of the file there is: one that is changed twice within a tick of the clock looks the same.
    let write = |path: &Path, lines: &[String]| {
        let other = directory.path().join("other");
        fs::write(&other, lines.join("\n") + "\n").unwrap();
        fs::rename(other, path).unwrap();
    };

    let (mut unnamed, mut named) = (Vec::new(), BTreeSet::new());
    for path in files_below(&root) {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let last = |name: &str| lines.iter().rposition(|line| line.contains(name));
        let (newest, said) = (last("\"version\":"), last("\"messageType\":\"conversation\""));
        let is_followed = said > last("\"type\":\"head\"");
        for (place, line) in lines.iter().enumerate() {
            let value: Value = serde_json::from_str(line).unwrap();
            let mut found = Vec::new();
            pointers(&value, "", &mut found);
            for pointer in found {
                let name = pointer.rsplit('/').next().unwrap();
                for other in changed(value.pointer(&pointer).unwrap()) {
                    let mut forged = value.clone();
                    *forged.pointer_mut(&pointer).unwrap() = other.clone();
                    let mut lines = lines.clone();
                    lines[place] = forged.to_string();
                    write(&path, &lines);
                    let is_exempt = NOT_IN_FILES.iter().any(|(exempt, _)| *exempt == pointer)
                        // What a later line replaces decides nothing, and a
                        // line that is no message has no number.
                        || name == "version" && Some(place) != newest
                        || pointer == "/message/standing/next" && is_followed
                        || pointer == "/messageIndex" && value["messageType"] == "session-meta";
                    if !faults(opened()).is_empty() {
                        named.insert(name.to_owned());
                    } else if !is_exempt || content(&root) != before {
                        unnamed.push(format!(
                            "{}: {pointer} of line {} to {other}",
                            path.display(),
                            place + 1
                        ));
                    }
                }
            }
        }
        write(&path, &lines);
    }

    assert_eq!(unnamed, [""; 0]);
    assert_eq!(faults(opened()), [""; 0]);
    named
}

#[test]
fn every_number_of_files_that_was_changed_is_named() {
    let named = every_number_of_files(fill);

    let expected = ["forked", "messageIndex", "turn", "version"].map(str::to_owned);
    assert!(named.is_superset(&expected.into()), "{named:?}");
}

#[test]
fn every_number_of_a_young_file_that_was_changed_is_named() {
    let named = every_number_of_files(|vault| {
        open(vault, conversation(1));
        say(vault, conversation(1), "a", None, "first").unwrap();
    });

    let expected = ["messageIndex", "space", "turn"].map(str::to_owned);
    assert!(named.is_superset(&expected.into()), "{named:?}");
}

#[test]
fn every_number_of_a_file_that_was_written_anew_and_changed_is_named() {
    let named = every_number_of_files(|vault| {
        fill(vault);
        // The next number stands above all that are there.
        let ids = ["g", "h"].map(|id| id.parse().unwrap());
        let target =
            Target::Messages { conversation: conversation(1), ids: &ids, children: Children::Refuse };
        vault.remove(&[target], "tidying", NOW).unwrap();
    });

    let expected = ["forked", "messageIndex", "next", "turn", "version"].map(str::to_owned);
    assert!(named.is_superset(&expected.into()), "{named:?}");
}

#[test]
fn a_message_of_files_that_is_said_to_be_forked_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("files");
    let opened = || JsonlStore::open(&root).map(|store| Arc::new(store) as Arc<dyn Inner>);
    fill(&sealed(opened().unwrap()));
    let path = files_below(&root).into_iter().find(|path| !path.starts_with(root.join(".store"))).unwrap();
    let text = fs::read_to_string(&path).unwrap();

    // The first that does not say so.
    fs::write(&path, text.replacen(",\"message\":\"", ",\"forked\":true,\"message\":\"", 1)).unwrap();

    let told = faults(opened());
    let why = "number 1, does not open: it has another number or turn than it was sealed with";
    assert!(told.iter().any(|fault| fault.ends_with(why)), "{told:?}");
}
