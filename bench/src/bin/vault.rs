//! How long a search of a vault takes in a new process, what its index costs, and how it catches up.
//!
//! `cargo run --release -p rejoin-bench --bin vault -- 20x10000 10000x20 jsonl:20x1000` measures vaults of so many
//! conversations by so many messages. Each search is made by a process of its own, so that nothing is in memory but what the
//! operating system keeps of the files. The middle one of five counts.
//!
//! `fill sqlite PLACE 10000x20` makes such a vault and leaves it; `ask sqlite PLACE search WORDS` searches it once.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::store::{
    Anchor, Entry, Facets, JsonlStore, Key, KeyId, ListQuery, Named, Note, Opening, Read, SearchOrder,
    SearchQuery, Space, SqliteStore, Stale, Store, Task, Tip, Turn, Unlock, VaultStore, Workspace,
};
use rejoin::{ConversationId, Digest, Message, MessageId, Time, WordQuery};

type Answer<T> = Result<T, Box<dyn Error>>;

/// Few enough that the default run ends within a minute.
const DEFAULT: [&str; 2] = ["20x250", "250x20"];

/// Messages of one turn while the vault is filled.
const TURN: usize = 500;

/// Different words, beside those that occur once only.
const WORDS: u64 = 50_000;

/// In three messages.
const RARE: &str = "zanzibarine";

/// In one message of ten.
const COMMON: &str = "deployment";

const ROUNDS: usize = 5;

fn main() -> Answer<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ask", kind, place, what @ ..] => ask(kind, Path::new(place), what),
        ["fill", kind, place, size] => {
            let (conversations, messages) = shape(size)?;
            make(kind, Path::new(place), conversations, messages).map(drop)
        }
        [] => measure(&DEFAULT),
        shapes => measure(shapes),
    }
}

/// The keys of the vault that is measured.
struct Fixed;

impl Unlock for Fixed {
    fn unlock(&self, _inner: &dyn Store) -> rejoin::Result<Workspace> {
        let key = |byte| Key::from_slice(&[byte; 32]).expect("a key has 32 bytes");
        let [vault, id] = [1, 2].map(|byte| KeyId::from_bytes([byte; 16]));
        Ok(Workspace::new(vault, 1, id, key(3), key(4)))
    }
}

fn inner(kind: &str, place: &Path) -> Answer<Arc<dyn Store>> {
    Ok(match kind {
        "jsonl" => Arc::new(JsonlStore::open(place.join("conversations"))?),
        _ => Arc::new(SqliteStore::open(place.join("store.db"))?),
    })
}

fn open(kind: &str, place: &Path) -> Answer<VaultStore> {
    Ok(VaultStore::open(inner(kind, place)?, Arc::new(Fixed))?)
}

fn measure(shapes: &[&str]) -> Answer<()> {
    println!(
        "| vault | text | index ÷ text | filled in | new process: rare | beginning | common | id | catch up a turn |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for shape in shapes {
        let (kind, size) = shape.split_once(':').unwrap_or(("sqlite", shape));
        let (conversations, messages) = self::shape(size)?;
        let scratch = tempfile::tempdir_in(".")?;
        let row = measure_one(kind, scratch.path(), conversations, messages)?;
        println!("| {shape} | {row} |");
    }
    Ok(())
}

fn shape(size: &str) -> Answer<(u64, u64)> {
    let (conversations, messages) = size.split_once('x').ok_or("a shape is CONVERSATIONSxMESSAGES")?;
    Ok((conversations.parse()?, messages.parse()?))
}

/// Makes a vault and its index. Answers how many bytes of text it holds, and how long the index took.
fn make(kind: &str, place: &Path, conversations: u64, messages: u64) -> Answer<(u64, Duration)> {
    let store = inner(kind, place)?;
    VaultStore::found(store.as_ref(), &Fixed.unlock(store.as_ref())?)?;
    drop(store);
    let vault = open(kind, place)?;
    let text = fill(&vault, conversations, messages)?;
    let begun = Instant::now();
    while vault.maintain(Task::Index, Duration::from_secs(1))?.left > 0 {}
    let filled = begun.elapsed();
    vault.maintain(Task::Checkpoint, Duration::MAX)?;
    Ok((text, filled))
}

fn measure_one(kind: &str, place: &Path, conversations: u64, messages: u64) -> Answer<String> {
    let (text, filled) = make(kind, place, conversations, messages)?;
    let index = index_bytes(kind, place)?;
    let asked =
        ["zanzibarine ", "zanziba", "deployment"].map(|words| middle(kind, place, &["search", words]));
    let [rare, beginning, common] = asked;
    let id = middle(kind, place, &["find", "m5x1y"])?;
    let caught = middle(kind, place, &["append", &conversations.to_string()])?;
    Ok(format!(
        "{:.0} MB | {:.2} | {:.1} s | {} | {} | {} | {id} | {caught}",
        text as f64 / 1e6,
        index as f64 / text as f64,
        filled.as_secs_f64(),
        rare?,
        beginning?,
        common?,
    ))
}

/// The bytes of all sealed segments.
fn index_bytes(kind: &str, place: &Path) -> Answer<u64> {
    let store = inner(kind, place)?;
    let mut bytes = 0;
    for row in store.list(&ListQuery { limit: usize::MAX, ..ListQuery::default() })?.items {
        store.get(Space::Shard, Some(row.id), Named::ALL, &mut |_, sealed| {
            bytes += sealed.len() as u64;
            Ok(())
        })?;
    }
    Ok(bytes)
}

/// The middle of several processes that each do the same, as they tell it.
fn middle(kind: &str, place: &Path, what: &[&str]) -> Answer<String> {
    let mut told: BTreeMap<u64, String> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let place = place.to_str().ok_or("a path is text")?;
        let output = Command::new(std::env::current_exe()?).args(["ask", kind, place]).args(what).output()?;
        let line = String::from_utf8(output.stdout)?;
        let micros: u64 = line
            .split(' ')
            .next()
            .unwrap_or_default()
            .parse()
            .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
        told.insert(micros, line.trim().split_once(' ').map(|(_, told)| told.to_owned()).unwrap_or_default());
    }
    told.into_values().nth(ROUNDS / 2).ok_or_else(|| "two rounds took the same time".into())
}

/// What a process of its own does: one thing, and tells how long it took from opening the vault.
fn ask(kind: &str, place: &Path, what: &[&str]) -> Answer<()> {
    let begun = Instant::now();
    let vault = open(kind, place)?;
    let found = match what {
        ["search", words] => {
            let words = WordQuery::parse(words);
            let query = SearchQuery {
                words: &words,
                conversation: None,
                project: None,
                since: None,
                order: SearchOrder::Newest,
                after: None,
                limit: 20,
            };
            vault.search(&query)?.items.len()
        }
        ["find", text] => vault.find(text, 10)?.len(),
        ["append", next] => {
            let next: u64 = next.parse::<u64>()? + u64::from(std::process::id());
            append(&vault, &mut Random(next), next, 0, 4)?;
            return catch_up(&vault);
        }
        _ => return Err("nothing is asked".into()),
    };
    tell(begun.elapsed(), found);
    Ok(())
}

fn catch_up(vault: &VaultStore) -> Answer<()> {
    let begun = Instant::now();
    let done = vault.maintain(Task::Index, Duration::ZERO)?.done;
    tell(begun.elapsed(), usize::try_from(done)?);
    Ok(())
}

fn tell(took: Duration, found: usize) {
    let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let cpu = cpu.tv_sec * 1_000 + cpu.tv_nsec / 1_000_000;
    println!("{} {} ms (cpu {cpu}, found {found})", took.as_micros(), took.as_millis());
}

/// Fills the vault and returns how many bytes of text it holds.
fn fill(vault: &VaultStore, conversations: u64, messages: u64) -> Answer<u64> {
    let mut random = Random(7);
    let mut bytes = 0;
    for conversation in 0..conversations {
        let mut from = 0;
        while from < messages {
            let count = (messages - from).min(TURN as u64);
            bytes += append(vault, &mut random, conversation, from, count)?;
            from += count;
        }
    }
    Ok(bytes)
}

fn name(conversation: u64) -> ConversationId {
    ConversationId::new(Time::from_micros(1_794_000_000_000_000), Random(conversation).bytes())
}

fn message(number: u64) -> rejoin::Result<MessageId> {
    format!("m{number}x1y").parse()
}

/// Appends one turn and returns how many bytes of text it has.
fn append(vault: &VaultStore, random: &mut Random, conversation: u64, from: u64, count: u64) -> Answer<u64> {
    let mut bodies = Vec::new();
    let mut bytes = 0;
    for number in from..from + count {
        let mut text = random.text();
        if number == 7 && conversation.is_multiple_of(7) && conversation < 20 {
            text += RARE;
        }
        if number.is_multiple_of(10) {
            text += COMMON;
        }
        bytes += text.len() as u64;
        let at =
            Time::from_micros(1_794_000_000_000_000 + (number * 20_000 + conversation).cast_signed() * 1_000);
        bodies.push(Message::user(text).at(at).to_body());
    }
    let link = |number: u64| Digest::chain(None, &number.to_be_bytes());
    let mut entries = Vec::new();
    for (number, body) in (from..).zip(&bodies) {
        let before = number.checked_sub(1);
        let parent =
            before.map(|before| Ok::<_, rejoin::Error>(Anchor { id: message(before)?, link: link(before) }));
        let parent = parent.transpose()?;
        entries.push(Entry { id: message(number)?, parent, link: link(number), note: Note::default(), body });
    }
    let facets = Facets::default();
    let opening = Opening { facets: &facets, header: "{}", created: Time::default() };
    vault.append(&Turn {
        conversation: name(conversation),
        opening: (from == 0).then_some(opening),
        stale: Stale::Branch,
        entries: &entries,
        tip: Tip { first: "first", last: "last" },
        branch: None,
        active: Time::from_micros(1_794_000_000_000_000 + conversation.cast_signed()),
        blobs: &[],
    })?;
    Ok(bytes)
}

/// SplitMix64: the same text in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn bytes(&mut self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&self.next().to_be_bytes());
        bytes
    }

    /// About 2,200 bytes: few words are frequent, most are rare, and one in fifty occurs nowhere else.
    fn text(&mut self) -> String {
        let length = 1_100 + (self.next() % 2_200) as usize;
        let mut text = String::with_capacity(length + 32);
        while text.len() < length {
            let fraction = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
            let rank = (WORDS as f64).powf(fraction) as u64;
            if self.next().is_multiple_of(50) {
                text += &format!("{:x}", self.next() >> 24);
            } else {
                text += &word(rank);
            }
            text.push(' ');
        }
        text
    }
}

/// The word of a rank: frequent ones are short.
fn word(rank: u64) -> String {
    const SYLLABLES: [&str; 16] = [
        "ra", "no", "tel", "mi", "sur", "ka", "ven", "dor", "pi", "las", "em", "gru", "tha", "ol", "ben",
        "ci",
    ];
    let (mut rest, mut word) = (rank, String::new());
    loop {
        word += SYLLABLES[(rest % 16) as usize];
        rest /= 16;
        if rest == 0 {
            return word;
        }
    }
}
