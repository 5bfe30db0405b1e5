//! The beginnings of words in a store with an index: whichever way they are looked for, the
//! answer is that of a store without one.

use std::time::Duration;

use rejoin::store::Task;
use rejoin::{Archive, Conversation, Message, Role, Search, Time};
use tempfile::TempDir;

/// More than are looked at one by one before the index is asked for everything that begins alike.
const MESSAGES: i64 = 700;

/// Messages in which `w` is common and begins many words, `zebra` is in the oldest only, and `often` in all.
fn talk() -> Vec<Message> {
    let message = |number: i64| {
        let rare = if number < 3 { "zebra zest" } else { "plain" };
        let text = format!("often {rare} word{} w{number}", number % 40);
        let said = if number % 7 == 0 { Message::assistant(text) } else { Message::user(text) };
        said.at(Time::from_micros(1_700_000_000_000_000 + number))
    };
    (0..MESSAGES).map(message).collect()
}

fn filled(url: &str) -> Archive {
    let archive = Archive::open(url).unwrap();
    archive.start(Conversation::default()).unwrap().append_turn(talk()).unwrap();
    while archive.maintenance().run(Task::Index, Duration::from_secs(60)).unwrap() > 0 {}
    archive
}

/// What is said on the first two pages.
fn found(archive: &Archive, text: &str, role: Option<Role>, limit: usize) -> Vec<String> {
    let search = Search { text: text.to_owned(), role, limit, ..Search::default() };
    let first = archive.search(&search).unwrap();
    let second = first.next_cursor.map(|cursor| Search { cursor: Some(cursor), ..search });
    let second = second.map(|search| archive.search(&search).unwrap().items).unwrap_or_default();
    first.items.iter().chain(&second).map(|hit| hit.read().unwrap().text()).collect()
}

#[test]
fn beginnings_find_the_same_in_a_store_with_an_index() {
    let directory = TempDir::new().unwrap();
    let indexed = filled(&format!("sqlite:{}", directory.path().join("store.db").display()));
    let plain = filled("memory:");
    let texts =
        ["w", "wo", "wor", "word1", "word17", "z", "ze", "zeb", "often z", "often w", "zebra w", "x", "xyz"];
    let asked: Vec<_> = texts
        .into_iter()
        .flat_map(|text| {
            [None, Some(Role::User), Some(Role::Assistant), Some(Role::Tool)].map(|role| (text, role))
        })
        .flat_map(|(text, role)| [5, 100].map(|limit| (text, role, limit)))
        .collect();

    let answers = |archive: &Archive| {
        asked.iter().map(|(text, role, limit)| found(archive, text, *role, *limit)).collect::<Vec<_>>()
    };

    let expected = answers(&plain);
    assert_eq!(answers(&indexed), expected);
    assert_eq!(expected.iter().filter(|answer| !answer.is_empty()).count(), 66);
}
