//! What sealing costs: appending, loading and listing in a vault, beside the same in the
//! store alone, SQLite and plain files.
//!
//! Both sides take turns in going first. Of appends the median counts, of what reads the smallest time.
//! Beside the time that passes stands the processor time of all threads, which other programs on the machine
//! disturb less. Words after the directory choose what is measured: `appends`, `loads`, `lists`, or
//! `loads=1000` for another number of messages. It fails where an append or a load is beyond its bar.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{ListQuery, Store};
use rejoin::vault::{Unlock, VaultStore};
use rejoin::{Archive, Conversation, ConversationId, Message};
use rejoin_bench::{Answer, Arguments, Bars, Fixed, Kind, Took};

/// How many messages are appended one by one.
const APPENDS: usize = 1_500;

/// How many messages a conversation that is loaded has.
const MESSAGES: usize = 10_000;

/// How many conversations are listed.
const CONVERSATIONS: usize = 10_000;

/// How often the same is loaded and listed.
const ROUNDS: usize = 9;

/// How many times as long an append to a vault may take.
const APPEND: f64 = 1.1;

/// How many times as long a load from a vault may take.
const LOAD: f64 = 1.5;

/// A sentence as people write them, some fifteen times in a message.
const SENTENCE: &str = "The tram leaves at nine, and the last one back leaves at a quarter to eleven. ";

fn main() -> Answer<ExitCode> {
    let words = Arguments::read().words;
    let scratch = tempfile::tempdir_in(words.first().map_or(".", String::as_str))?;
    let chosen = words.get(1..).unwrap_or_default();
    let mut bars = Bars::default();
    println!("| what | plain | vault | ratio | processor: plain | vault | ratio | bar |");
    println!("|---|---|---|---|---|---|---|---|");
    for kind in Kind::ALL {
        let sides = Sides::make(kind, &scratch.path().join(kind.name()))?;
        if let Some(count) = count(chosen, "appends", APPENDS)? {
            tell(
                &format!("{}: an append, median of {count}", kind.name()),
                appends(&sides, count)?,
                Some(APPEND),
                &mut bars,
            );
        }
        if let Some(count) = count(chosen, "loads", MESSAGES)? {
            tell(
                &format!("{}: loading {count} messages", kind.name()),
                loads(&sides, count)?,
                Some(LOAD),
                &mut bars,
            );
        }
        if let Some(count) = count(chosen, "lists", CONVERSATIONS)? {
            tell(
                &format!("{}: the first list of {count} conversations", kind.name()),
                lists(&sides, count)?,
                None,
                &mut bars,
            );
        }
    }
    Ok(bars.verdict())
}

/// How many of something are measured; none if others were chosen.
fn count(chosen: &[String], what: &str, usual: usize) -> Answer<Option<usize>> {
    if chosen.is_empty() {
        return Ok(Some(usual));
    }
    for word in chosen {
        match word.split_once('=') {
            Some((name, number)) if name == what => return Ok(Some(number.parse()?)),
            None if word == what => return Ok(Some(usual)),
            _ => {}
        }
    }
    Ok(None)
}

fn tell(what: &str, [plain, vault]: [Took; 2], bar: Option<f64>, bars: &mut Bars) {
    let ratio = |plain: Duration, vault: Duration| vault.as_secs_f64() / plain.as_secs_f64();
    let pair = |plain, vault| format!("{plain:.1?} | {vault:.1?} | {:.2}", ratio(plain, vault));
    let told = bar.map_or_else(|| "–".to_owned(), |bar| format!("≤ {bar}"));
    println!(
        "| {what} | {} | {} | {told} |",
        pair(plain.whole, vault.whole),
        pair(plain.processor, vault.processor)
    );
    if let Some(bar) = bar {
        bars.hold(what, ratio(plain.whole, vault.whole), bar);
    }
}

/// A store and a vault of the same kind, in this order wherever there are two.
struct Sides {
    kind: Kind,
    paths: [std::path::PathBuf; 2],
}

impl Sides {
    fn make(kind: Kind, place: &Path) -> Answer<Self> {
        std::fs::create_dir(place)?;
        let paths = ["plain", "vault"].map(|name| place.join(name));
        let inner = kind.open(&paths[1])?;
        VaultStore::found(inner.as_ref(), &Fixed.unlock(inner.as_ref())?)?;
        Ok(Self { kind, paths })
    }

    fn open(&self, side: usize) -> Answer<Archive> {
        Ok(Archive::with_store(self.store(side)?))
    }

    fn store(&self, side: usize) -> Answer<Arc<dyn Store>> {
        let inner = self.kind.open(&self.paths[side])?;
        Ok(match side {
            0 => inner,
            _ => Arc::new(VaultStore::open(inner, Arc::new(Fixed))?),
        })
    }
}

fn text(number: usize) -> String {
    SENTENCE.repeat(1 + number % 30)
}

fn appends(sides: &Sides, count: usize) -> Answer<[Took; 2]> {
    let archives = [sides.open(0)?, sides.open(1)?];
    let mut handles = [
        archives[0].start(Conversation::titled("Lisbon"))?,
        archives[1].start(Conversation::titled("Lisbon"))?,
    ];
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..count {
        for side in [number % 2, (number + 1) % 2] {
            let message =
                if number % 2 == 0 { Message::user(text(number)) } else { Message::assistant(text(number)) };
            times[side].push(Took::of(|| handles[side].append(message))?.0);
        }
    }
    Ok(times.map(|times| Took::median(&times)))
}

fn loads(sides: &Sides, count: usize) -> Answer<[Took; 2]> {
    let archives = [sides.open(0)?, sides.open(1)?];
    let mut ids: Vec<ConversationId> = Vec::new();
    for archive in &archives {
        let mut handle = archive.start(Conversation::titled("long"))?;
        for turn in 0..count / 100 {
            handle.append_turn((0..100).map(|number| Message::user(text(turn * 100 + number))).collect())?;
        }
        ids.push(handle.conversation()?.id);
    }
    let mut best = [Took::LONGEST; 2];
    for round in 0..ROUNDS {
        for side in [round % 2, (round + 1) % 2] {
            let (took, path) = Took::of(|| archives[side].path(ids[side], None))?;
            best[side] = best[side].least(took);
            assert_eq!(path.len(), count);
        }
    }
    Ok(best)
}

fn lists(sides: &Sides, count: usize) -> Answer<[Took; 2]> {
    for side in 0..2 {
        let archive = sides.open(side)?;
        for number in 0..count {
            archive
                .start(Conversation::titled(format!("talk {number}")))?
                .append(Message::user(text(number)))?;
        }
    }
    let mut best = [Took::LONGEST; 2];
    for round in 0..3 {
        for side in [round % 2, (round + 1) % 2] {
            let store = sides.store(side)?;
            let all = ListQuery { limit: usize::MAX, ..ListQuery::default() };
            let (took, page) = Took::of(|| store.list(&all))?;
            best[side] = best[side].least(took);
            assert!(page.items.len() >= count);
        }
    }
    Ok(best)
}
