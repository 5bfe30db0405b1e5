//! Listing, searching, counting, projects and what is remembered.

use std::collections::{BTreeMap, HashSet};

use rejoin::store::SearchOrder;
use rejoin::{
    Archive, Block, Conversation, ErrorKind, Json, List, Message, Origin, Project, Role, Search, SearchHit,
    Settings, Status, Tally, Time, Usage,
};

use super::{Lab, archive, archive_in};

fn search(archive: &Archive, text: &str) -> Vec<SearchHit> {
    archive.search(&Search { text: text.to_owned(), ..Search::default() }).unwrap().items
}

/// The snippet with its matches in brackets.
fn marked(hit: &SearchHit) -> String {
    let snippet = hit.snippet().unwrap();
    let mut text = snippet.text;
    for (from, to) in snippet.matches.iter().rev() {
        text.insert(*to, ']');
        text.insert(*from, '[');
    }
    text
}

fn in_project(key: &str, title: &str) -> Conversation {
    Conversation { project: Some(key.to_owned()), ..Conversation::titled(title) }
}

#[test]
fn conversations_are_listed_newest_activity_first_page_by_page() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    for number in 0..5 {
        lab.turn_clock(1);
        archive.start(Conversation::titled(number.to_string())).unwrap();
    }
    let titles = |list: &List| {
        let page = archive.list(list).unwrap();
        let titles: Vec<_> = page.items.into_iter().filter_map(|stored| stored.conversation.title).collect();
        (titles.join(" "), page.next_cursor)
    };

    let (first, next) = titles(&List { limit: 3, ..List::default() });
    let (second, end) = titles(&List { limit: 3, cursor: next, ..List::default() });

    let total = archive.reader().count(&List { limit: 3, ..List::default() }).unwrap();
    assert_eq!((first.as_str(), second.as_str(), total, end), ("4 3 2", "1 0", 5, None));
    let bad = archive.list(&List { cursor: Some("nonsense".to_owned()), ..List::default() });
    assert_eq!(bad.unwrap_err().kind(), ErrorKind::Invalid);
}

/// Adds 450 conversations, of which every third was imported from Codex.
fn add_two_sources(archive: &Archive) {
    for number in 0..450 {
        let mut header = Conversation::titled(number.to_string());
        header.origin = (number % 3 == 0).then(|| Origin {
            format: "codex".to_owned(),
            read_as: None,
            source_id: number.to_string(),
            source_path: None,
            imported_at: Time::from_micros(0),
        });
        archive.start(header).unwrap().append(Message::user("tasca")).unwrap();
    }
}

#[test]
fn a_list_of_one_source_is_filled_page_by_page() {
    let archive = archive();
    add_two_sources(&archive);
    let mut list = List { source: Some("codex".to_owned()), limit: 70, ..List::default() };
    let mut pages = Vec::new();

    loop {
        let page = archive.list(&list).unwrap();
        pages.push(page.items.iter().map(|stored| stored.title().to_owned()).collect::<Vec<_>>());
        list.cursor = page.next_cursor;
        if list.cursor.is_none() {
            break;
        }
    }

    let all = archive.list(&List { limit: 1_000, ..List::default() }).unwrap().items;
    let expected: Vec<_> =
        all.iter().filter(|stored| stored.is_imported()).map(|stored| stored.title().to_owned()).collect();
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [70, 70, 10]);
    assert_eq!(pages.concat(), expected);
    let own = List { source: Some(String::new()), ..List::default() };
    assert_eq!([&list, &own].map(|list| archive.reader().count(list).unwrap()), [150, 300]);
}

#[test]
fn a_search_of_one_source_is_filled_page_by_page() {
    let archive = archive();
    add_two_sources(&archive);
    let mut search =
        Search { text: "tasca".to_owned(), source: Some("codex".to_owned()), limit: 70, ..Search::default() };
    let best = archive.search(&Search { order: SearchOrder::Best, ..search.clone() }).unwrap();
    let mut pages = Vec::new();

    loop {
        let page = archive.search(&search).unwrap();
        pages.push(page.items.iter().map(|hit| hit.message).collect::<Vec<_>>());
        search.cursor = page.next_cursor;
        if search.cursor.is_none() {
            break;
        }
    }

    let distinct: HashSet<_> = pages.concat().into_iter().collect();
    assert_eq!((pages.iter().map(Vec::len).collect::<Vec<_>>(), distinct.len()), (vec![70, 70, 10], 150));
    assert_eq!(best.items.len(), 70);
}

#[test]
fn a_list_holds_what_all_filters_admit() {
    let archive = archive();
    let keep = archive.start(Conversation { status: Status::Paused, ..in_project("/a", "one") }).unwrap();
    archive.start(in_project("/a", "two")).unwrap();
    archive.start(Conversation { status: Status::Paused, ..in_project("/ab", "three") }).unwrap();
    let expired = Conversation { expires_at: Some(archive.now()), ..in_project("/a", "four") };
    archive.start(expired).unwrap();

    let list = List { project: Some("/a".to_owned()), status: Some(Status::Paused), ..List::default() };

    assert_eq!(archive.list(&list).unwrap().items, [archive.conversation(keep.id()).unwrap()]);
    let count = |list: List| archive.reader().count(&list).unwrap();
    assert_eq!(count(List { project: Some("/unknown".to_owned()), ..List::default() }), 0);
    assert_eq!([count(List::default()), count(List { includes_expired: true, ..List::default() })], [3, 4]);
}

#[test]
fn a_snippet_shows_the_match_on_one_line() {
    let archive = archive();
    let mut handle = archive.start(Conversation::titled("Lisbon")).unwrap();
    let long = format!("{} the Café\n\n is  green {}", "before ".repeat(50), "after ".repeat(50));
    handle.append(Message::user(long)).unwrap();

    let hit = search(&archive, "cafe gre").remove(0);

    let marked = marked(&hit);
    assert!(marked.starts_with("...") && marked.ends_with("..."), "{marked}");
    assert!(marked.contains("before the [Café] is [green] after"), "{marked}");
    assert!(hit.snippet().unwrap().text.len() < 200);
}

#[test]
fn tool_calls_and_their_results_are_found() {
    let archive = archive();
    let mut handle = archive.start(Conversation::default()).unwrap();
    let call = Block::tool_call("c1", "read_file", Json::parse(r#"{"path":"src/main.rs"}"#).unwrap());
    let result = Block::tool_result("c1", Json::of(&"fn tasca() {}").unwrap());
    handle.append(Message::new(Role::Assistant, vec![Block::text("looking"), call])).unwrap();
    handle.append(Message::new(Role::Tool, vec![result])).unwrap();

    let found = ["main.rs", "tasca", "looking"].map(|text| {
        search(&archive, text).iter().map(|hit| (hit.read().unwrap().role, marked(hit))).collect::<Vec<_>>()
    });

    assert_eq!(
        found,
        [
            vec![(Role::Assistant, r#"read_file {"path":"src/[main].[rs]"}"#.to_owned())],
            vec![(Role::Tool, "fn [tasca]() {}".to_owned())],
            vec![(Role::Assistant, "[looking]".to_owned())],
        ]
    );
}

#[test]
fn pages_of_one_role_skip_and_repeat_nothing() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let mut handle = archive.start(Conversation::default()).unwrap();
    for number in 0..250 {
        lab.turn_clock(1);
        let text = format!("word {number}");
        handle.append(if number % 5 == 0 { Message::user(text) } else { Message::assistant(text) }).unwrap();
    }

    let mut query = Search { text: "word".to_owned(), role: Some(Role::User), limit: 7, ..Search::default() };
    let (mut pages, mut snippets) = (0, Vec::new());
    loop {
        let page = archive.search(&query).unwrap();
        pages += 1;
        snippets.extend(page.items.into_iter().map(|hit| hit.snippet().unwrap().text));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() || pages > 20 {
            break;
        }
    }

    let expected: Vec<_> = (0..250).step_by(5).rev().map(|number| format!("word {number}")).collect();
    assert_eq!(snippets, expected);
    assert!(pages <= 9, "the last page is not empty: {pages} pages");
}

#[test]
fn a_search_can_be_narrowed() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let mut one = archive.start(in_project("/a", "one")).unwrap();
    one.append(Message::user("word early")).unwrap();
    lab.turn_clock(10);
    let middle = archive.now();
    one.append(Message::assistant("word late")).unwrap();
    archive.start(in_project("/b", "two")).unwrap().append(Message::user("word there")).unwrap();
    let all = Search { text: "word".to_owned(), ..Search::default() };
    let cases = [
        (Search { conversation: Some(one.id()), ..all.clone() }, 2),
        (Search { project: Some("/b".to_owned()), ..all.clone() }, 1),
        (Search { role: Some(Role::Assistant), ..all.clone() }, 1),
        (Search { since: Some(middle), ..all.clone() }, 2),
        (Search { order: SearchOrder::Best, ..all.clone() }, 3),
        (Search { order: SearchOrder::Best, role: Some(Role::User), limit: 1, ..all.clone() }, 1),
        (Search { text: String::new(), ..all }, 0),
    ];

    let counts = cases.each_ref().map(|(search, _)| archive.search(search).unwrap().items.len());

    assert_eq!(counts, cases.map(|(_, expected)| expected));
}

#[test]
fn stats_add_up() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let settings =
        Settings { provider: Some("p".to_owned()), model: Some("m".to_owned()), ..Settings::default() };
    let mut one = archive.start(Conversation { settings, ..in_project("/a", "one") }).unwrap();
    let mut answer = Message::assistant("answer");
    answer.usage = Some(Usage { input_tokens: 10, output_tokens: 5, detail: None });
    one.append_turn(vec![Message::user("question"), answer]).unwrap();
    lab.turn_clock(86_400);
    let mut two = archive.start(Conversation::titled("two")).unwrap();
    two.append(Message::user("alone")).unwrap();
    let bytes = |id| archive.conversation(id).unwrap().bytes;

    let mut reported = Vec::new();
    let stats = archive.reader().stats(None, &mut |done| reported.push(done)).unwrap();

    let first =
        Tally { conversations: 1, messages: 2, bytes: bytes(one.id()), input_tokens: 10, output_tokens: 5 };
    let second = Tally { conversations: 1, messages: 1, bytes: bytes(two.id()), ..Tally::default() };
    let both = Tally { conversations: 2, messages: 3, bytes: first.bytes + second.bytes, ..first };
    let of = |names: [&str; 2]| BTreeMap::from([(names[0].to_owned(), second), (names[1].to_owned(), first)]);
    assert_eq!(stats.all, both);
    assert_eq!(stats.by_project, of(["", "/a"]));
    assert_eq!(stats.by_model, of(["unknown", "p (m)"]));
    assert_eq!(stats.by_day, of(["2027-01-16", "2027-01-15"]));
    assert_eq!((reported, archive.reader().stats(Some("/a"), &mut |_| ()).unwrap().all), (vec![1, 2], first));
}

#[test]
fn a_project_moves_with_all_its_conversations() {
    let archive = archive();
    let project = |key: &str| Project { key: key.to_owned(), path: key.to_owned(), first_commit: None };
    archive.projects().remember(&project("/old")).unwrap();
    let expired = Conversation { expires_at: Some(archive.now()), ..in_project("/old", "expired") };
    let moved = [in_project("/old", "one"), expired].map(|new| archive.start(new).unwrap().id());
    let stays = archive.start(in_project("/other", "two")).unwrap().id();

    let count = archive.projects().move_to("/old", &project("/new")).unwrap();

    let key = |id| archive.conversation(id).unwrap().conversation.project;
    assert_eq!((count, moved.map(key)), (2, [Some("/new".to_owned()), Some("/new".to_owned())]));
    assert_eq!(key(stays), Some("/other".to_owned()));
    assert_eq!(archive.projects().list().unwrap(), [project("/new")]);
    // To where it already is: nothing is lost.
    assert_eq!(archive.projects().move_to("/new", &project("/new")).unwrap(), 2);
    assert_eq!(archive.projects().get("/new").unwrap(), Some(project("/new")));
}

#[test]
fn what_is_remembered_can_be_recalled_and_forgotten() {
    let archive = archive();
    archive.state().remember("active", Some("lisbon")).unwrap();
    archive.state().remember("active/other", Some("porto")).unwrap();

    let recalled = ["active", "active/other", "act"].map(|name| archive.state().recall(name).unwrap());

    assert_eq!(recalled, [Some("lisbon".to_owned()), Some("porto".to_owned()), None]);
    archive.state().remember("active", None).unwrap();
    assert_eq!(archive.state().recall("active").unwrap(), None);
}

#[test]
fn what_is_remembered_for_a_conversation_is_its_own_and_goes_with_it() {
    let archive = archive();
    let [lisbon, porto] =
        ["Lisbon", "Porto"].map(|title| archive.start(Conversation::titled(title)).unwrap().id());
    archive.state().remember("rules", Some("all")).unwrap();
    archive.state().remember_for(lisbon, "rules", Some("one")).unwrap();

    let recalled = [lisbon, porto].map(|id| archive.state().recall_for(id, "rules").unwrap());
    archive.removal().delete(&[lisbon], "test");

    assert_eq!(recalled, [Some("one".to_owned()), None]);
    assert_eq!(archive.state().recall_for(lisbon, "rules").unwrap(), None);
    assert_eq!(archive.state().recall("rules").unwrap(), Some("all".to_owned()));
}
