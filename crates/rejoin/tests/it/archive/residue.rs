//! What is purged is in no file of the store.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rejoin::store::{Children, Order, Selection, Task};
use rejoin::{
    Archive, Conversation, ConversationId, Message, PurgeReason, Retention, Search, StoreUrl, Sweep, Swept,
    Synopsis,
};

const SENTINEL: &str = "quetzalcoatlus";

/// The files below a directory that hold a text, whatever its case.
fn holding(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else {
            let bytes = fs::read(&path).unwrap().to_ascii_lowercase();
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found
}

/// A talk in which every place says the same word: title, messages, labels,
/// synopsis, open turn, what is remembered.
fn talk(archive: &Archive) -> ConversationId {
    let mut header = Conversation::titled(format!("About {SENTINEL}"));
    header.follows_retention = true;
    let mut handle = archive.start(header).unwrap();
    let mut last = None;
    for place in 0..40 {
        let said = format!("{SENTINEL} {place} {}", SENTINEL.repeat(100));
        last = Some(handle.append_turn(vec![Message::user(&said), Message::assistant(&said)]).unwrap().head);
    }
    let (id, last) = (handle.id(), last.unwrap());
    archive.fork(id, last, &format!("branch of {SENTINEL}")).unwrap();
    archive.marks().label(id, last, Some(SENTINEL)).unwrap();
    archive.rename(id, &format!("Again {SENTINEL}")).unwrap();
    archive.rename(id, "Something else").unwrap();
    let synopsis = Synopsis { text: SENTINEL.to_owned(), updated_at: archive.now(), ..Synopsis::default() };
    archive.marks().describe(id, None, Some(&synopsis)).unwrap();
    archive.state().remember_for(id, "note", Some(SENTINEL)).unwrap();
    archive.removal().delete_messages(id, &[last], Children::Remove, "user-requested").unwrap();
    archive.maintenance().run(Task::Index, Duration::MAX).unwrap();
    let search = Search { text: SENTINEL.to_owned(), ..Search::default() };
    assert_eq!(archive.search(&search).unwrap().items.len(), 20);
    id
}

/// Purges one of two conversations; answers where its words are before and
/// after, and that the other is whole.
fn residue(
    url: &str,
    directory: &Path,
    purge: impl Fn(&Archive, ConversationId),
) -> (bool, Vec<String>, bool) {
    let archive = Archive::open(&format!("{url}:{}", directory.join("store").display())).unwrap();
    let mut other = archive.start(Conversation::titled("Lisbon")).unwrap();
    other.append(Message::user("Where to eat?")).unwrap();
    let id = talk(&archive);
    let is_there = !holding(directory, SENTINEL).is_empty();

    purge(&archive, id);

    let is_sound = archive.maintenance().verify(other.id()).unwrap().is_sound()
        && archive.maintenance().check().unwrap().faults.is_empty();
    (is_there, holding(directory, SENTINEL), is_sound)
}

fn purge(archive: &Archive, id: ConversationId) {
    let report = archive.removal().purge(&[id], PurgeReason::UserRequested, &mut |_| ());
    assert!(report.is_erased && report.failures.is_empty(), "{report:?}");
}

#[test]
fn a_purge_leaves_nothing_in_any_file_of_a_database() {
    let directory = tempfile::tempdir().unwrap();

    let residue = residue("sqlite", directory.path(), purge);

    assert_eq!(residue, (true, Vec::new(), true));
}

#[test]
fn a_purge_leaves_nothing_in_any_plain_file() {
    let directory = tempfile::tempdir().unwrap();

    let residue = residue("jsonl", directory.path(), purge);

    assert_eq!(residue, (true, Vec::new(), true));
}

fn sweep(archive: &Archive, id: ConversationId) {
    let past = archive.now().plus_micros(-1);
    archive.update(id, |header| header.expires_at = Some(past)).unwrap();
    let retention = Retention::of_days(7).unwrap();
    let sweep = Sweep { project: None, retention, active: &[], is_alive: &|_| false };
    let swept = archive.retention().sweep(&sweep).unwrap();
    assert!(matches!(&swept, Swept::Done(report) if report.purged == [id]), "{swept:?}");
}

#[test]
fn a_sweep_leaves_nothing_in_any_file_of_a_database() {
    let directory = tempfile::tempdir().unwrap();

    let residue = residue("sqlite", directory.path(), sweep);

    assert_eq!(residue, (true, Vec::new(), true));
}

#[test]
fn a_sweep_leaves_nothing_in_any_plain_file() {
    let directory = tempfile::tempdir().unwrap();

    let residue = residue("jsonl", directory.path(), sweep);

    assert_eq!(residue, (true, Vec::new(), true));
}

#[test]
fn purging_everything_leaves_nothing_in_any_file() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let everything = |archive: &Archive, _: ConversationId| {
        archive.state().remember("prompt.history:/home/ada", Some(SENTINEL)).unwrap();
        archive.removal().purge_everything(PurgeReason::WorkspaceReset, &mut |_| ()).unwrap();
    };

    let left = [("sqlite", &directories[0]), ("jsonl", &directories[1])].map(|(url, directory)| {
        let archive = Archive::open(&format!("{url}:{}", directory.path().join("store").display())).unwrap();
        let id = talk(&archive);
        everything(&archive, id);
        holding(directory.path(), SENTINEL)
    });

    assert_eq!(left, [Vec::<String>::new(), Vec::new()]);
}

#[test]
fn purging_everything_where_there_are_no_conversations_leaves_nothing_in_any_file() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];

    let left = [("sqlite", &directories[0]), ("jsonl", &directories[1])].map(|(url, directory)| {
        let archive = Archive::open(&format!("{url}:{}", directory.path().join("store").display())).unwrap();
        archive.state().remember("prompt.history:/home/ada", Some(SENTINEL)).unwrap();
        let report = archive.removal().purge_everything(PurgeReason::WorkspaceReset, &mut |_| ()).unwrap();
        let entries = archive.audit().query(&rejoin::AuditQuery::default()).unwrap().len();
        (report.is_erased, entries, holding(directory.path(), SENTINEL))
    });

    assert_eq!(left, [(true, 1, Vec::<String>::new()), (true, 1, Vec::new())]);
}

#[test]
fn what_a_reader_holds_is_erased_when_it_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    let url = StoreUrl::parse(&format!("sqlite:{}", directory.path().join("store").display())).unwrap();
    let archive = Archive::with_store(url.open_waiting(Duration::from_millis(50)).unwrap());
    let id = talk(&archive);
    let mut report = None;

    let first = Selection::All { order: Order::OldestFirst, offset: 0, limit: 1 };
    let reader = url.open().unwrap();
    reader
        .read(id, first, &mut |_| {
            report = Some(archive.removal().purge(&[id], PurgeReason::UserRequested, &mut |_| ()));
            Ok(())
        })
        .unwrap();

    let is_erased = report.unwrap().is_erased;
    let is_finished = archive.removal().finish_erasing().unwrap();
    assert_eq!((is_erased, is_finished, holding(directory.path(), SENTINEL)), (false, true, Vec::new()));
}
