//! Random operations on a store and on the model: every answer and all that can be seen must be equal.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestCaseResult};
use rejoin::store::{
    Anchor, BlobNames, Change, Children, Cursor, Entry, Facets, JsonlStore, ListQuery, MemoryStore, Note,
    Opening, Order, PreviewUpdate, Put, Read, Rewritten, Safety, SearchOrder, SearchQuery, Selection, Space,
    SqliteStore, Stale, Store, Target, Task, Turn, WordQuery,
};
use rejoin::{
    Block, Branch, ConversationId, Digest, ErrorKind, Message, MessageId, Result, Role, Status, Time,
};

use crate::look::{ReadMessage, Visible, visible};
use crate::oracle::Model;
use crate::postgres::server::shared;
use crate::vault::{TwoHands, sealed};

/// Few conversations and few ids, so that operations meet.
const CONVERSATIONS: u8 = 3;
const IDS: u8 = 12;

/// When changes and removals happen.
const AT: Time = Time::from_micros(1_900_000_000_000_000);

const WORDS: [&str; 5] = ["green", "greenish", "Café", "東京", "bicycle"];

/// Times that collide, and times that are hardly possible.
const TIMES: [i64; 6] = [i64::MIN, -5, 0, 1_800_000_000_000_000, 1_800_000_000_000_001, i64::MAX];

/// One thing that happens to both stores.
#[derive(Clone, Debug)]
enum Operation {
    Append(Append),
    /// The turn that was appended so many turns ago, again.
    Again(usize),
    Amend {
        conversation: u8,
        is_stale: bool,
        amendment: Amendment,
    },
    Remove(Vec<Removal>),
    Put(Vec<Blob>, Safety),
    Get {
        space: bool,
        owner: Option<u8>,
        prefix: Vec<u8>,
    },
    Read {
        conversation: u8,
        selection: Select,
    },
    List {
        filter: Filter,
        limit: usize,
    },
    Search {
        text: String,
        filter: Filter,
        since: Option<usize>,
        limit: usize,
    },
    Find {
        text: String,
    },
    Maintain(usize, bool),
    Reopen,
}

#[derive(Clone, Debug)]
struct Append {
    conversation: u8,
    opens: bool,
    is_linear: bool,
    lines: Vec<Line>,
    active: usize,
    previews: (String, String),
    blobs: Vec<Blob>,
}

#[derive(Clone, Debug)]
struct Line {
    id: u8,
    parent: Parent,
    is_twin: bool,
    role: usize,
    words: Vec<usize>,
    time: usize,
    label: Option<String>,
}

#[derive(Clone, Debug)]
enum Parent {
    Root,
    Head,
    /// The entry before.
    Previous,
    Message(u8),
    /// A message under a link that is not its own.
    Wrong(u8),
}

#[derive(Clone, Debug)]
enum Amendment {
    Header(Filter, String),
    Head(Option<u8>),
    Note(u8, Option<String>, bool),
    Branch(u8, String, u8),
    Unbranch(u8),
    Rewrite {
        lines: Vec<Line>,
        previews: (String, String),
        /// True when it names only messages that are there, and all that follow them.
        is_apt: bool,
    },
}

#[derive(Clone, Debug)]
enum Removal {
    Conversation(u8),
    Messages(u8, Vec<u8>, bool),
}

#[derive(Clone, Debug)]
struct Blob {
    space: bool,
    owner: Option<u8>,
    name: Vec<u8>,
    bytes: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Select {
    Path(Option<u8>),
    All(bool, u64, u64),
    Ids(Vec<u8>),
}

/// Facets to set, or to filter by.
#[derive(Clone, Debug)]
struct Filter {
    conversation: Option<u8>,
    project: Option<bool>,
    status: Option<usize>,
    idle_since: Option<usize>,
    kind: Option<bool>,
    /// The kind is left out instead.
    excepts: bool,
    expires: Option<usize>,
}

fn conversation(number: u8) -> ConversationId {
    ConversationId::new(Time::from_micros(i64::from(number) << 44), [number; 10])
}

fn message(number: u8) -> MessageId {
    format!("m{number}").parse().unwrap()
}

fn time(choice: usize) -> Time {
    Time::from_micros(TIMES[choice])
}

fn space(choice: bool) -> Space {
    Space::ALL[usize::from(choice)]
}

const fn color(choice: bool) -> &'static str {
    if choice { "red" } else { "blue" }
}

/// The link that an id has, wherever it stands; twins share one.
fn link(id: MessageId) -> Digest {
    Digest::chain(None, id.as_str().as_bytes())
}

fn twin() -> Digest {
    Digest::chain(None, b"twin")
}

fn line() -> impl Strategy<Value = Line> {
    let parent = prop_oneof![
        2 => Just(Parent::Root),
        6 => Just(Parent::Head),
        6 => Just(Parent::Previous),
        4 => (0..IDS).prop_map(Parent::Message),
        1 => (0..IDS).prop_map(Parent::Wrong),
    ];
    let words = prop::collection::vec(0..WORDS.len(), 0..4);
    let label = prop::option::weighted(0.2, "[a-c]{1,2}");
    (0..IDS, parent, prop::bool::weighted(0.2), 0..4usize, words, 0..TIMES.len(), label).prop_map(
        |(id, parent, is_twin, role, words, time, label)| Line {
            id,
            parent,
            is_twin,
            role,
            words,
            time,
            label,
        },
    )
}

fn blob() -> impl Strategy<Value = Blob> {
    let bytes = prop::option::weighted(0.8, prop::collection::vec(any::<u8>(), 0..4));
    let owner = prop::option::of(0..CONVERSATIONS);
    (any::<bool>(), owner, prop::collection::vec(prop_oneof![Just(b'a'), Just(255)], 0..3), bytes)
        .prop_map(|(space, owner, name, bytes)| Blob { space, owner, name, bytes })
}

fn filter() -> impl Strategy<Value = Filter> {
    (
        prop::option::weighted(0.2, 0..CONVERSATIONS),
        prop::option::weighted(0.3, any::<bool>()),
        prop::option::weighted(0.3, 0..3usize),
        prop::option::weighted(0.3, 0..TIMES.len()),
        prop::option::weighted(0.3, any::<bool>()),
        any::<bool>(),
        prop::option::weighted(0.3, 0..TIMES.len()),
    )
        .prop_map(|(conversation, project, status, idle_since, kind, excepts, expires)| Filter {
            conversation,
            project,
            status,
            idle_since,
            kind,
            excepts,
            expires,
        })
}

fn amendment() -> impl Strategy<Value = Amendment> {
    prop_oneof![
        (filter(), "[a-z\\x00é]{0,3}").prop_map(|(filter, header)| Amendment::Header(filter, header)),
        prop::option::weighted(0.8, 0..IDS).prop_map(Amendment::Head),
        (0..IDS, prop::option::of("[a-c]{1,2}"), any::<bool>())
            .prop_map(|(id, label, is_pinned)| Amendment::Note(id, label, is_pinned)),
        (0..4u8, "[a-c]{1,2}", 0..IDS).prop_map(|(id, title, head)| Amendment::Branch(id, title, head)),
        (0..4u8).prop_map(Amendment::Unbranch),
        (prop::collection::vec(line(), 0..4), ("[a-c]{0,2}", "[a-c]{0,2}"), prop::bool::weighted(0.8))
            .prop_map(|(lines, previews, is_apt)| Amendment::Rewrite { lines, previews, is_apt }),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    let append = (
        0..CONVERSATIONS,
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.2),
        prop::collection::vec(line(), 0..5),
        0..TIMES.len(),
        ("[a-b]{0,2}", "[a-b]{0,2}"),
        prop::collection::vec(blob(), 0..2),
    )
        .prop_map(|(conversation, opens, is_linear, lines, active, previews, blobs)| {
            Operation::Append(Append { conversation, opens, is_linear, lines, active, previews, blobs })
        });
    let removal = prop_oneof![
        1 => (0..CONVERSATIONS).prop_map(Removal::Conversation),
        4 => (0..CONVERSATIONS, prop::collection::vec(0..IDS, 0..4), any::<bool>())
            .prop_map(|(conversation, ids, children)| Removal::Messages(conversation, ids, children)),
    ];
    let select = prop_oneof![
        prop::option::of(0..IDS).prop_map(Select::Path),
        (any::<bool>(), 0..5u64, prop_oneof![0..5u64, Just(u64::MAX)])
            .prop_map(|(order, offset, limit)| Select::All(order, offset, limit)),
        prop::collection::vec(0..IDS, 0..3).prop_map(Select::Ids),
    ];
    let text = prop::collection::vec(prop::sample::select(&WORDS[..]), 0..3)
        .prop_flat_map(|words| (Just(words.join(" ")), prop_oneof![Just(""), Just(" ")]))
        .prop_map(|(text, end)| text + end);
    let typed = prop_oneof![Just("m".to_owned()), "m[0-9]{0,2}", "[0-9a-f-]{0,3}", Just("red".to_owned())];
    let safety = prop_oneof![Just(Safety::Synced), Just(Safety::Unsynced)];
    prop_oneof![
        12 => append,
        2 => (0..4usize).prop_map(Operation::Again),
        4 => (0..CONVERSATIONS, prop::bool::weighted(0.2), amendment())
            .prop_map(|(conversation, is_stale, amendment)| Operation::Amend { conversation, is_stale, amendment }),
        3 => prop::collection::vec(removal, 1..3).prop_map(Operation::Remove),
        2 => (prop::collection::vec(blob(), 1..3), safety).prop_map(|(blobs, safety)| Operation::Put(blobs, safety)),
        1 => (any::<bool>(), prop::option::of(0..CONVERSATIONS), prop::collection::vec(Just(255), 0..2))
            .prop_map(|(space, owner, prefix)| Operation::Get { space, owner, prefix }),
        3 => (0..CONVERSATIONS, select)
            .prop_map(|(conversation, selection)| Operation::Read { conversation, selection }),
        2 => (filter(), 0..3usize).prop_map(|(filter, limit)| Operation::List { filter, limit }),
        4 => (text, filter(), prop::option::of(0..TIMES.len()), 0..4usize)
            .prop_map(|(text, filter, since, limit)| Operation::Search { text, filter, since, limit }),
        2 => typed.prop_map(|text| Operation::Find { text }),
        2 => (0..4usize, any::<bool>()).prop_map(|(task, is_short)| Operation::Maintain(task, is_short)),
        1 => Just(Operation::Reopen),
    ]
}

/// What an operation answered, as text, so that answers of any kind can be compared and shown.
type Answer = String;

fn told<T: std::fmt::Debug>(answer: Result<T>) -> Answer {
    format!("{:?}", answer.map_err(|error| error.kind()))
}

impl Filter {
    fn facets(&self) -> Facets {
        Facets {
            project: self.project.map(color).unwrap_or_default().to_owned(),
            kind: self.kind.map(color).unwrap_or_default().to_owned(),
            slug: self.kind.map(color).unwrap_or_default().to_owned(),
            status: self.status.map(|choice| Status::ALL[choice]).unwrap_or_default(),
            expires: self.expires.map(time),
            ..Facets::default()
        }
    }
}

fn put<'a>(blobs: &'a [Blob]) -> Vec<Put<'a>> {
    let one = |blob: &'a Blob| Put {
        space: space(blob.space),
        owner: blob.owner.map(conversation),
        name: &blob.name,
        bytes: blob.bytes.as_deref(),
    };
    blobs.iter().map(one).collect()
}

/// The messages that a conversation has, oldest first.
fn messages(store: &dyn Read, id: ConversationId) -> Vec<ReadMessage> {
    let mut all = Vec::new();
    let selection = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
    let read = store.read(id, selection, &mut |seen| {
        all.push(seen.into());
        Ok(())
    });
    assert!(read.map_or_else(|error| error.kind() == ErrorKind::NotFound, |()| true));
    all
}

impl Append {
    fn run(&self, store: &dyn Store) -> Answer {
        let id = conversation(self.conversation);
        let known = messages(store, id);
        let head = store
            .list(&ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() })
            .unwrap()
            .items
            .pop()
            .and_then(|row| row.head);
        let bodies: Vec<String> = self.lines.iter().map(Line::body).collect();
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for (line, body) in self.lines.iter().zip(&bodies) {
            let own = message(line.id);
            let stored = |id: u8| {
                let id = message(id);
                let stored = known.iter().find(|shown| shown.id == id);
                Anchor { id, link: stored.map_or_else(|| link(id), |shown| shown.link) }
            };
            let parent = match line.parent {
                Parent::Root => None,
                Parent::Head => head.map(|head| Anchor { id: head.id, link: head.digest }),
                Parent::Previous => entries.last().map(|entry| Anchor { id: entry.id, link: entry.link }),
                Parent::Message(id) => Some(stored(id)),
                Parent::Wrong(id) => Some(Anchor { link: Digest::chain(None, b"wrong"), ..stored(id) }),
            };
            entries.push(Entry {
                id: own,
                parent,
                link: if line.is_twin { twin() } else { link(own) },
                note: Note { label: line.label.as_deref(), is_pinned: line.label.is_some() },
                body,
            });
        }
        let facets = Facets { project: color(self.opens).to_owned(), ..Facets::default() };
        let active = time(self.active);
        let opening = Opening { facets: &facets, header: "{}", created: active };
        told(store.append(&Turn {
            conversation: id,
            opening: self.opens.then_some(opening),
            stale: if self.is_linear { Stale::Refuse } else { Stale::Branch },
            entries: &entries,
            previews: PreviewUpdate { first: &self.previews.0, last: &self.previews.1 },
            // Some of the few ids are also those of branches.
            branch: self.lines.first().map(|line| message(line.id)),
            active,
            now: active,
            blobs: &put(&self.blobs),
        }))
    }
}

impl Line {
    fn body(&self) -> String {
        let words: Vec<&str> = self.words.iter().map(|word| WORDS[*word]).collect();
        Message::new(Role::ALL[self.role], vec![Block::text(words.join(" "))]).at(time(self.time)).to_body()
    }
}

/// What lines make of messages; with all that follow those, when it is apt.
fn rewritten(known: &[ReadMessage], lines: &[Line], is_apt: bool) -> Vec<(MessageId, Digest, String)> {
    let named: Vec<(MessageId, Digest, String)> = lines
        .iter()
        .map(|line| {
            let (id, body) = (message(line.id), line.body());
            let own = Digest::chain(Some(link(id)), body.as_bytes());
            (id, if line.is_twin { twin() } else { own }, body)
        })
        .collect();
    if !is_apt {
        return named;
    }
    let mut all: Vec<(MessageId, Digest, String)> = Vec::new();
    for shown in known {
        let follows = all.iter().any(|(id, _, _)| Some(*id) == shown.parent);
        match named.iter().find(|(id, _, _)| *id == shown.id) {
            Some(own) => all.push(own.clone()),
            None if follows => {
                all.push((shown.id, Digest::chain(Some(shown.link), b"anew"), shown.body.clone()));
            }
            None => {}
        }
    }
    all
}

impl Amendment {
    fn run(&self, store: &dyn Store, id: ConversationId, is_stale: bool) -> Answer {
        let query = ListQuery { only: Some(&[id]), limit: 1, ..ListQuery::default() };
        let version = store.list(&query).unwrap().items.pop().map_or(1, |row| row.version);
        let expected = version + u64::from(is_stale);
        let amend = |change: &Change<'_>| told(store.amend(id, Some(expected), change, AT));
        match self {
            Self::Header(filter, header) => amend(&Change::Header { facets: &filter.facets(), header }),
            Self::Head(head) => amend(&Change::Head(head.map(message))),
            Self::Note(own, label, is_pinned) => {
                let note = Note { label: label.as_deref(), is_pinned: *is_pinned };
                amend(&Change::Note(message(*own), note))
            }
            Self::Branch(own, title, head) => {
                let branch = Branch { id: message(*own), title: title.clone(), head: message(*head) };
                amend(&Change::Branch(&branch))
            }
            Self::Unbranch(own) => amend(&Change::Unbranch(message(*own))),
            Self::Rewrite { lines, previews: (first, last), is_apt } => {
                let all = rewritten(&messages(store, id), lines, *is_apt);
                let messages: Vec<Rewritten<'_>> =
                    all.iter().map(|(id, link, body)| Rewritten { id: *id, link: *link, body }).collect();
                amend(&Change::Rewrite { messages: &messages, previews: PreviewUpdate { first, last } })
            }
        }
    }
}

fn remove(store: &dyn Store, removals: &[Removal]) -> Answer {
    let ids: Vec<Vec<MessageId>> = removals
        .iter()
        .map(|removal| match removal {
            Removal::Conversation(_) => Vec::new(),
            Removal::Messages(_, ids, _) => ids.iter().map(|id| message(*id)).collect(),
        })
        .collect();
    let targets: Vec<Target<'_>> = removals
        .iter()
        .zip(&ids)
        .map(|(removal, ids)| match removal {
            Removal::Conversation(number) => Target::Conversation(conversation(*number)),
            Removal::Messages(number, _, whole) => Target::Messages {
                conversation: conversation(*number),
                ids,
                children: if *whole { Children::Remove } else { Children::Refuse },
            },
        })
        .collect();
    told(store.remove(&targets, "tidying", AT))
}

fn read(store: &dyn Read, id: ConversationId, selection: &Select) -> Answer {
    let ids: Vec<MessageId> = match selection {
        Select::Ids(ids) => ids.iter().map(|id| message(*id)).collect(),
        Select::Path(_) | Select::All(..) => Vec::new(),
    };
    let what = match selection {
        Select::Path(target) => Selection::Path(target.map(message)),
        Select::All(newest, offset, limit) => {
            let order = if *newest { Order::NewestFirst } else { Order::OldestFirst };
            Selection::All { order, offset: *offset, limit: *limit }
        }
        Select::Ids(_) => Selection::Ids(&ids),
    };
    let mut seen: Vec<ReadMessage> = Vec::new();
    let answer = store.read(id, what, &mut |message| {
        seen.push(message.into());
        Ok(())
    });
    format!("{} {seen:?}", told(answer))
}

/// Every page of an answer; `ask` gives one page and the cursor of the next.
fn paged<T: std::fmt::Debug>(mut ask: impl FnMut(Option<Cursor>) -> Result<(T, Option<Cursor>)>) -> Answer {
    let (mut pages, mut after) = (String::new(), None);
    for _ in 0..50 {
        match ask(after) {
            Ok((page, next)) => {
                pages += &format!("{page:?} {next:?}\n");
                after = next;
            }
            Err(error) => return format!("{pages}{:?}", error.kind()),
        }
        if after.is_none() {
            break;
        }
    }
    pages
}

fn list(store: &dyn Read, filter: &Filter, limit: usize) -> Answer {
    let only = filter.conversation.map(|number| [conversation(number), conversation(0)]);
    paged(|after| {
        let page = store.list(&ListQuery {
            project: filter.project.map(color),
            status: filter.status.map(|choice| Status::ALL[choice]),
            idle_since: filter.idle_since.map(time),
            kind: filter.kind.filter(|_| !filter.excepts).map(color),
            except_kind: filter.kind.filter(|_| filter.excepts).map(color),
            only: only.as_ref().map(<[_; 2]>::as_slice),
            unexpired_at: filter.expires.map(time),
            after,
            limit,
            counts_total: true,
        })?;
        Ok(((page.items, page.total, page.excepted), page.next))
    })
}

fn search(store: &dyn Read, text: &str, filter: &Filter, since: Option<usize>, limit: usize) -> Answer {
    let words = WordQuery::parse(text);
    let query = SearchQuery {
        words: &words,
        conversation: filter.conversation.map(conversation),
        project: filter.project.map(color),
        role: filter.status.map(|choice| Role::ALL[choice]),
        since: since.map(time),
        order: SearchOrder::Newest,
        after: None,
        limit,
    };
    let newest = paged(|after| {
        let page = store.search(&SearchQuery { after, ..query })?;
        Ok((page.items, page.next))
    });
    // Ranks are the store's own; what is found is not.
    let best = store.search(&SearchQuery { order: SearchOrder::Best, limit: 100, ..query }).map(|page| {
        let mut hits = page.items;
        hits.sort_by_key(|hit| (hit.conversation, hit.seq));
        hits
    });
    format!("{newest}{}", told(best))
}

fn find(store: &dyn Read, text: &str) -> Answer {
    // The order within conversations and within messages is the store's own.
    let found = store.find(text, 100).map(|mut found| {
        assert!(found.is_sorted_by_key(|found| found.message.is_some()));
        found.sort_by_key(|found| (found.conversation, found.message));
        found
    });
    let few = store.find(text, 2).map(|found| found.len());
    format!("{} {}", told(found), told(few))
}

/// What a store counts for a message.
#[derive(Clone, Copy, PartialEq)]
enum Counts {
    /// Its bytes.
    Bytes,
    /// The same, in a store whose stamps grow by more than one.
    BytesUnderOwnStamps,
    /// Its bytes and what sealing adds.
    Sealed,
}

impl Counts {
    /// An answer that can be compared.
    fn comparable(self, answer: &Answer) -> Answer {
        let mut parts = answer.split("bytes: ");
        let mut same = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let rest = match self {
                Self::Bytes | Self::BytesUnderOwnStamps => part,
                Self::Sealed => part.trim_start_matches(|letter: char| letter.is_ascii_digit()),
            };
            same.push_str("bytes: ");
            same.push_str(rest);
        }
        same
    }

    fn visible(self, store: &dyn Read) -> Result<Visible> {
        let mut visible = visible(store)?;
        if self == Self::Sealed {
            visible.conversations.iter_mut().for_each(|(row, _)| row.bytes = 0);
        }
        Ok(visible)
    }
}

/// Opens the store that is kept at a place.
type Open = Box<dyn Fn(&Path) -> Box<dyn Store>>;

/// The store and the model, and the turns they were given.
struct Pair {
    counts: Counts,
    directory: tempfile::TempDir,
    open: Open,
    /// Empty only while it is closed and opened again.
    store: Option<Box<dyn Store>>,
    model: Model,
    appended: Vec<Append>,
}

impl Pair {
    fn new(counts: Counts, open: Open) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let model = Model::new();
        let mut pair = Self { counts, directory, open, store: None, model, appended: Vec::new() };
        pair.reopen();
        pair
    }

    fn reopen(&mut self) {
        self.store = None;
        self.store = Some((self.open)(&self.directory.path().join("store")));
    }

    fn store(&self) -> &dyn Store {
        self.store.as_deref().unwrap()
    }

    fn both(&self, run: impl Fn(&dyn Store) -> Answer) -> TestCaseResult {
        let [store, model] = [self.store(), &self.model].map(|store| self.counts.comparable(&run(store)));
        prop_assert_eq!(store, model);
        Ok(())
    }

    fn run(&mut self, operation: &Operation) -> TestCaseResult {
        match operation {
            Operation::Append(append) => {
                self.appended.push(append.clone());
                self.both(|store| append.run(store))
            }
            Operation::Again(ago) => match self.appended.iter().rev().nth(*ago) {
                Some(append) => self.both(|store| append.run(store)),
                None => Ok(()),
            },
            Operation::Amend { conversation: number, is_stale, amendment } => {
                self.both(|store| amendment.run(store, conversation(*number), *is_stale))
            }
            Operation::Remove(removals) => self.both(|store| remove(store, removals)),
            Operation::Put(blobs, safety) => self.both(|store| told(store.put(&put(blobs), *safety))),
            Operation::Get { space: own, owner, prefix } => self.both(|store| {
                let mut found = Vec::new();
                let got = store.get(
                    space(*own),
                    owner.map(conversation),
                    BlobNames::Prefix(prefix),
                    &mut |name, bytes| {
                        found.push((name.to_vec(), bytes.to_vec()));
                        Ok(())
                    },
                );
                format!("{} {found:?}", told(got))
            }),
            Operation::Read { conversation: number, selection } => {
                self.both(|store| read(store, conversation(*number), selection))
            }
            Operation::List { filter, limit } => self.both(|store| list(store, filter, *limit)),
            Operation::Search { text, filter, since, limit } => {
                self.both(|store| search(store, text, filter, *since, *limit))
            }
            Operation::Find { text } => self.both(|store| find(store, text)),
            Operation::Maintain(task, is_short) => {
                let task = [Task::Index, Task::Checkpoint, Task::Repack, Task::Check][*task];
                let budget = if *is_short { Duration::ZERO } else { Duration::from_millis(20) };
                self.both(|store| told(store.maintain(task, budget).map(|progress| progress.faults)))
            }
            Operation::Reopen => {
                self.reopen();
                Ok(())
            }
        }
    }

    fn compare(&self) -> TestCaseResult {
        let fail = |error: rejoin::Error| TestCaseError::fail(format!("{error:?}"));
        let [store, model] = [self.store(), &self.model].map(|store| self.counts.visible(store));
        prop_assert_eq!(store.map_err(fail)?, model.map_err(fail)?);
        let changes = |store: &dyn Store| {
            let mut changes = store.changes(0, Duration::ZERO).unwrap();
            if self.counts == Counts::BytesUnderOwnStamps {
                changes.iter_mut().zip(1..).for_each(|(change, place)| change.stamp = place);
            }
            changes
        };
        prop_assert_eq!(changes(self.store()), changes(&self.model));
        Ok(())
    }
}

/// Does everything to the store and to the model, and compares them all along.
fn agree(counts: Counts, open: Open, operations: &[Operation]) -> TestCaseResult {
    let mut pair = Pair::new(counts, open);
    for operation in operations {
        pair.run(operation)?;
        pair.compare()?;
    }
    pair.reopen();
    pair.compare()?;
    let faults = pair.store().maintain(Task::Check, Duration::MAX).unwrap().faults;
    prop_assert_eq!(faults, []);
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 96, failure_persistence: None, ..Config::default() })]

    #[test]
    fn the_memory_store_does_what_the_model_does(operations in prop::collection::vec(operation(), 1..60)) {
        let memory = MemoryStore::new();
        agree(Counts::Bytes, Box::new(move |_| Box::new(memory.clone())), &operations)?;
    }

    #[test]
    fn the_sqlite_store_does_what_the_model_does(operations in prop::collection::vec(operation(), 1..60)) {
        agree(Counts::Bytes, Box::new(|path| Box::new(SqliteStore::open(path).unwrap())), &operations)?;
    }

    #[test]
    fn the_jsonl_store_does_what_the_model_does(operations in prop::collection::vec(operation(), 1..60)) {
        agree(Counts::Bytes, Box::new(|path| Box::new(JsonlStore::open(path).unwrap())), &operations)?;
    }

    #[test]
    fn a_vault_in_sqlite_does_what_the_model_does(operations in prop::collection::vec(operation(), 1..60)) {
        let open = |path: &Path| -> Box<dyn Store> { Box::new(sealed(Arc::new(SqliteStore::open(path).unwrap()))) };
        agree(Counts::Sealed, Box::new(open), &operations)?;
    }

    #[test]
    fn two_handles_of_a_vault_do_what_the_model_does(operations in prop::collection::vec(operation(), 1..60)) {
        let open = |path: &Path| -> Box<dyn Store> { Box::new(TwoHands::over(Arc::new(SqliteStore::open(path).unwrap()))) };
        agree(Counts::Sealed, Box::new(open), &operations)?;
    }

    #[test]
    fn a_vault_in_jsonl_does_what_the_model_does(operations in prop::collection::vec(operation(), 1..60)) {
        let open = |path: &Path| -> Box<dyn Store> { Box::new(sealed(Arc::new(JsonlStore::open(path).unwrap()))) };
        agree(Counts::Sealed, Box::new(open), &operations)?;
    }
}

proptest! {
    // Each commit of it is seen by a server.
    #![proptest_config(Config { cases: 16, failure_persistence: None, ..Config::default() })]

    #[test]
    fn the_postgres_store_does_what_the_model_does(operations in prop::collection::vec(operation(), 1..60)) {
        if let Some(server) = shared() {
            let url = server.fresh_url();
            let open = move |_: &Path| -> Box<dyn Store> { Box::new(crate::postgres::Schema(url.clone()).store()) };
            agree(Counts::BytesUnderOwnStamps, Box::new(open), &operations)?;
        }
    }
}
