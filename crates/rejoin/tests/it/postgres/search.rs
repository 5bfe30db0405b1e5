//! A search finds the same in PostgreSQL as in SQLite, on every page.

use std::sync::Arc;

use rejoin::store::{
    Anchor, Change, Children, Entry, Facets, Note, Opening, PreviewUpdate, Rewritten, SearchOrder,
    SearchQuery, SqliteStore, Stale, Store, Target, Turn, WordQuery,
};
use rejoin::{Block, ConversationId, Digest, Message, MessageId, Role, Time};

use crate::postgres::server::{open, shared};
use crate::vault::write::conversation;

const WORDS: [&str; 24] = [
    "green",
    "greenish",
    "bicycle",
    "Café",
    "naïve",
    "東京タワー",
    "東",
    "京都",
    "snake_case_name",
    "src/main.rs",
    "HashMap<String, u32>",
    "fn",
    "x86_64",
    "don't",
    "ภาษาไทย",
    "Straße",
    "ÉCOLE",
    "42",
    "3.14",
    "a",
    "the",
    "Привет",
    "zürich",
    "e\u{301}clair",
];

const PROJECTS: [&str; 3] = ["red", "blue", ""];

fn id(number: usize) -> MessageId {
    format!("m{number}").parse().unwrap()
}

fn link(number: usize) -> Digest {
    Digest::chain(None, &number.to_be_bytes())
}

fn time(number: usize) -> Time {
    // Some share a time.
    Time::from_micros(1_800_000_000_000_000 + (number as i64 / 3) * 1_000_000)
}

fn body(number: usize) -> String {
    let words = (0..1 + number % 6).map(|place| WORDS[(number * 7 + place * (number % 5 + 1)) % WORDS.len()]);
    let text = words.collect::<Vec<_>>().join(" ");
    Message::new(Role::ALL[number % Role::ALL.len()], vec![Block::text(text)]).at(time(number)).to_body()
}

fn append(store: &dyn Store, own: ConversationId, (first, last): (usize, usize), project: Option<&str>) {
    let bodies: Vec<String> = (first..last).map(body).collect();
    let entries: Vec<Entry<'_>> = bodies
        .iter()
        .zip(first..)
        .map(|(body, number)| Entry {
            id: id(number),
            parent: (number > 0).then(|| Anchor { id: id(number - 1), link: link(number - 1) }),
            link: link(number),
            note: Note::default(),
            body,
        })
        .collect();
    let facets = Facets { project: project.unwrap_or_default().to_owned(), ..Facets::default() };
    let opening = project.map(|_| Opening { facets: &facets, header: "{}", created: time(first) });
    let turn = Turn {
        conversation: own,
        opening,
        stale: Stale::Branch,
        entries: &entries,
        previews: PreviewUpdate::default(),
        branch: None,
        active: time(last),
        now: time(last),
        blobs: &[],
    };
    store.append(&turn).unwrap();
}

/// Conversations in projects, with messages that are removed, rewritten, or too long for an index.
fn fill(store: &dyn Store) {
    for (number, project) in PROJECTS.iter().enumerate() {
        let own = conversation(number as u8 + 1);
        append(store, own, (0, 30), Some(project));
        append(store, own, (30, 60), None);
        let ids = [id(58), id(59)];
        let gone = Target::Messages { conversation: own, ids: &ids, children: Children::Remove };
        store.remove(&[gone], "tidying", time(60)).unwrap();
        let anew = Message::user("green turned to blue 東").at(time(57)).to_body();
        let messages = [Rewritten { id: id(57), link: link(99), body: &anew }];
        let change = Change::Rewrite { messages: &messages, previews: PreviewUpdate::default() };
        store.amend(own, None, &change, time(60)).unwrap();
    }
    let long: String = (0..220_000).map(|word| format!("w{word} ")).collect();
    let text = format!("{long} green unending");
    let body = Message::user(text).at(time(200)).to_body();
    let entry = Entry { id: id(200), parent: None, link: link(200), note: Note::default(), body: &body };
    let turn = Turn {
        conversation: conversation(1),
        opening: None,
        stale: Stale::Branch,
        entries: &[entry],
        previews: PreviewUpdate::default(),
        branch: None,
        active: time(200),
        now: time(200),
        blobs: &[],
    };
    store.append(&turn).unwrap();
}

/// Every page of hits: conversation, message and time.
fn found(store: &dyn Store, query: &SearchQuery<'_>) -> Vec<(ConversationId, String, Time)> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = store.search(&SearchQuery { after, ..*query }).unwrap();
        all.extend(page.items.iter().map(|hit| (hit.conversation, hit.message.to_string(), hit.time)));
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

#[test]
fn a_search_finds_the_same_as_in_sqlite() {
    let Some(server) = shared() else { return };
    let directory = tempfile::tempdir().unwrap();
    let sqlite: Arc<dyn Store> = Arc::new(SqliteStore::open(directory.path().join("history.db")).unwrap());
    let postgres = open(&server.fresh_url());
    fill(sqlite.as_ref());
    fill(postgres.as_ref());
    let mut texts: Vec<String> =
        WORDS.iter().flat_map(|word| [(*word).to_owned(), format!("{word} ")]).collect();
    texts.extend(WORDS.windows(2).map(|pair| pair.join(" ")));
    texts.extend(
        ["gre", "bicy", "snake_", "東京", "京 東", "unending", "w219999", "zür", "", "nowhere"]
            .map(str::to_owned),
    );
    let (mut asked, mut hits) = (0, 0);

    for (number, text) in texts.iter().enumerate() {
        let words = WordQuery::parse(text);
        let plain = SearchQuery {
            words: &words,
            conversation: None,
            project: None,
            role: None,
            since: None,
            order: SearchOrder::Newest,
            after: None,
            limit: 7,
        };
        let role = Some(Role::ALL[number % Role::ALL.len()]);
        let narrow = SearchQuery { project: Some(PROJECTS[number % 3]), since: Some(time(20)), ..plain };
        let one = SearchQuery { conversation: Some(conversation(2)), limit: 3, ..plain };
        for query in [plain, SearchQuery { role, ..plain }, narrow, one] {
            let [own, other] = [&postgres, &sqlite].map(|store| found(store.as_ref(), &query));
            assert_eq!(own, other, "{query:?}");
            (asked, hits) = (asked + 1, hits + own.len());
        }
    }

    assert!(asked >= 200 && hits > 1_000, "{asked} queries with {hits} hits");
}
