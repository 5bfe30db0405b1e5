//! The power goes at any moment: what was acknowledged before is in every state the disk may be left in.
//!
//! A killed process cannot show a missing sync, so these states are built from the writes and syncs of real
//! runs. The controls leave out syncs, and must find a loss.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rejoin::store::{JsonlStore, Read, Task};
use rejoin::{Archive, StoredConversation};
use serde_json::json;
use tempfile::TempDir;

use crate::dice::Dice;
use crate::disk::{CALLS, Disk, Event, State, below, events};
use crate::feed::Feed;
use crate::ledger::{Ledger, line};
use crate::skip::tell;
use crate::strace::{Call, Strace};
use crate::world::World;

const PLACE: &str = "home/.local/share/rejoin";

/// What a run did, and what was there before it.
#[derive(Debug)]
struct RecordedRun {
    world: World,
    before: Disk,
    ledger: Ledger,
    events: Vec<(usize, Event)>,
}

/// What was found in the states of a recording.
#[derive(Debug, Default)]
struct Findings {
    moments: usize,
    states: usize,
    faults: Vec<String>,
}

impl RecordedRun {
    /// Records a run that appends these turns.
    fn of(strace: Strace, world: World, ledger: Ledger, turns: Vec<String>) -> Self {
        let before = Disk::holding(&world.path(PLACE));
        let trace = world.path("trace");
        let program: Command = strace.record(&world.program(&["append", "--jsonl", "-"]), CALLS, &trace);
        let ended = Feed::start(program, turns.into_iter()).end();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let events = events(&Call::read(&trace), &world.path("home"));
        Self { world, before, ledger, events }
    }

    /// A few turns that go to a store which is there, with an empty log.
    fn of_an_append(strace: Strace, world: World, turns: Vec<String>) -> Self {
        let begun = Feed::start(world.program(&["append", "--jsonl", "-"]), (0..2).map(line)).end();
        let mut ledger = Ledger::default();
        ledger.audit(&world.archive(), &begun.receipts).unwrap();
        world.archive().maintenance().run(Task::Checkpoint, Duration::MAX).unwrap();
        Self::of(strace, world, ledger, turns)
    }

    /// The same run without the events that are not wanted.
    fn without(mut self, is_unwanted: impl Fn(&Event) -> bool) -> Self {
        self.events.retain(|(_, event)| !is_unwanted(event));
        self
    }

    /// Cuts the power at about this many moments, and opens what is found.
    fn cut_power(&self, moments: usize) -> Findings {
        let (mut disk, mut dice) = (self.before.clone(), Dice::seeded(1));
        let (mut seen, mut findings) = (HashSet::new(), Findings::default());
        let step = self.events.len().div_ceil(moments);
        for (number, event) in self.events.iter().enumerate() {
            disk.apply(event);
            // The moments around a sync and after a receipt are the ones that matter most.
            let next = self.events.get(number + 1).map(|(_, next)| next);
            let is_turning = |event: &Event| matches!(event, Event::Sync { .. } | Event::Tell(_));
            if number % step != 0 && !is_turning(&event.1) && !next.is_some_and(is_turning) {
                continue;
            }
            findings.moments += 1;
            for state in disk.states(&mut dice).into_iter().filter(|state| seen.insert(mark(&disk, state))) {
                findings.states += 1;
                let fault = self.open(&disk, &state).err();
                findings.faults.extend(fault.map(|fault| format!("after event {number}: {fault}")));
            }
        }
        findings
    }

    /// Cuts the power at every event, and looks at every state. Nothing may be
    /// wrong, and in the end every look says so.
    fn cut_power_at_every_event(&self, what: &str, look: impl Fn(&State) -> Result<bool, String>) {
        let (mut disk, mut dice) = (self.before.clone(), Dice::seeded(1));
        let (mut seen, mut faults) = (HashSet::new(), Vec::new());
        for event in &self.events {
            disk.apply(event);
            for state in disk.states(&mut dice).into_iter().filter(|state| seen.insert(mark(&disk, state))) {
                faults.extend(look(&state).err().map(|fault| format!("{fault} after {event:?}")));
            }
        }
        let last: Vec<_> = disk.states(&mut dice).iter().map(look).collect();

        tell(&format!("{what}: {} states", seen.len()));
        assert_eq!(faults, Vec::<String>::new());
        assert!(last.iter().all(|answer| *answer == Ok(true)), "{last:?}");
    }

    /// Opens a store as it was found, and compares it with the receipts until then.
    fn open(&self, disk: &Disk, state: &State) -> Result<(), String> {
        let directory = self.found(state);
        let archive =
            Archive::open(&self.world.url_in(directory.path())).map_err(|error| format!("{error:?}"))?;
        let mut ledger = self.ledger.clone();
        ledger.audit(&archive, &disk.receipts)?;
        if self.world.is_of_files() {
            write_on(&archive, directory.path())?;
        }
        let faults = archive.maintenance().check().map_err(|error| format!("{error:?}"))?.faults;
        if faults.is_empty() { Ok(()) } else { Err(format!("{faults:?}")) }
    }

    /// Lays out what was found in a directory.
    fn found(&self, state: &State) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        let mut names: HashMap<usize, PathBuf> = HashMap::new();
        for (path, file) in state {
            // What lies elsewhere, such as keys, is not of the store.
            let Ok(path) = path.strip_prefix(self.world.path(PLACE)) else { continue };
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match names.get(&file.number) {
                Some(name) => fs::hard_link(name, path).unwrap(),
                None => {
                    fs::write(&path, &file.content).unwrap();
                    names.insert(file.number, path);
                }
            }
        }
        // The machine was started anew since.
        let boot = directory.path().join("conversations/.store/boot");
        if boot.exists() {
            fs::write(boot, "earlier").unwrap();
        }
        directory
    }

    fn path(&self, name: &str) -> PathBuf {
        self.world.path(PLACE).join(name)
    }
}

/// Two conversations in plain files. Of one, the last message says a secret, and is being removed.
#[derive(Debug)]
struct Removal {
    going: String,
    /// How many messages are left of it; if none is, the conversation goes with the message.
    left: u64,
    staying: String,
    recording: RecordedRun,
}

impl Removal {
    /// Prepares both, with so many messages before the secret.
    fn prepared(world: &World, left: u64) -> (String, String, String) {
        let (going, staying) = (world.started("going"), world.started("staying"));
        for number in 0..left {
            world.append(&going, &format!("{{\"role\":\"user\",\"content\":\"number {number}\"}}\n"));
        }
        let secret = world.append(&going, "{\"role\":\"user\",\"content\":\"a secret\"}\n").remove(0);
        world.append(&staying, "{\"role\":\"user\",\"content\":\"stays\"}\n");
        world.rejoin(["list"]).run();
        (going, staying, secret)
    }

    /// Records the removal, with some calls failing.
    fn of(strace: Strace, left: u64, fault: Option<&str>) -> Self {
        let world = World::of_files();
        let (going, staying, secret) = Self::prepared(&world, left);
        let name = if left == 0 { &going } else { &secret };
        let (before, trace) = (Disk::holding(&world.path(PLACE)), world.path("trace"));
        let program = world.program(&["delete", name, "--yes"]);
        let mut traced = match fault {
            Some(fault) => strace.record_failing(&program, CALLS, fault, &trace),
            None => strace.record(&program, CALLS, &trace),
        };
        let ended = traced.output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
        let mut calls = Call::read(&trace);
        // What it says is no receipt.
        calls.retain(|call| call.name != "write");
        let events = events(&calls, &world.path("home"));
        Self {
            going,
            left,
            staying,
            recording: RecordedRun { world, before, ledger: Ledger::default(), events },
        }
    }

    /// Cuts the power at every moment, and looks. Nothing may be wrong, and in the end it is removed.
    fn cut_power(&self, what: &str) {
        self.recording.cut_power_at_every_event(what, |state| self.look(state));
    }

    /// Looks at a state: what goes is whole or gone, and stays so when somebody has written. Nothing is left
    /// of it then if it is gone. Tells whether it is.
    fn look(&self, state: &State) -> Result<bool, String> {
        let directory = self.recording.found(state);
        let archive = Archive::open(&self.recording.world.url_in(directory.path())).map_err(explain)?;
        let is_gone = self.is_gone(&archive)?;
        let mut talk = archive.resume(self.staying.parse().unwrap()).map_err(explain)?;
        talk.append(rejoin::Message::user("after")).map_err(explain)?;
        if self.is_gone(&archive)? != is_gone {
            return Err("it changed when another was written".to_owned());
        }
        let left: Vec<PathBuf> = below(directory.path())
            .into_iter()
            .filter(|path| fs::read(path).unwrap().windows(8).any(|window| window == b"a secret"))
            .collect();
        if is_gone && !left.is_empty() {
            return Err(format!("text is left in {left:?}"));
        }
        Ok(is_gone)
    }

    fn is_gone(&self, archive: &Archive) -> Result<bool, String> {
        let listed = archive.list(&rejoin::List::default()).map_err(explain)?.items;
        let mut counts: HashMap<String, u64> = HashMap::new();
        for stored in &listed {
            let verdict = archive.maintenance().verify(stored.id).map_err(explain)?;
            if !verdict.is_sound() {
                return Err(format!("{} is not whole: {verdict:?}", stored.id));
            }
            counts.insert(stored.id.to_string(), verdict.messages);
        }
        if !counts.contains_key(&self.staying) {
            return Err("the other one is lost".to_owned());
        }
        match counts.get(&self.going) {
            None if self.left == 0 => Ok(true),
            Some(count) if *count == self.left + 1 => Ok(false),
            Some(count) if *count == self.left && self.left > 0 => Ok(true),
            other => Err(format!("there are {other:?} messages")),
        }
    }
}

/// A conversation in which a secret is being scrubbed.
#[derive(Debug)]
struct Scrubbing {
    id: String,
    recording: RecordedRun,
}

impl Scrubbing {
    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    fn of(strace: Strace, world: World) -> Self {
        let id = world.started("going");
        let archive = world.archive();
        let mut talk = archive.resume(id.parse().unwrap()).unwrap();
        for text in ["before", Self::TOKEN, "after"] {
            talk.append(rejoin::Message::user(text)).unwrap();
        }
        drop((talk, archive));
        world.rejoin(["list"]).run();
        let (before, trace) = (Disk::holding(&world.path(PLACE)), world.path("trace"));
        let ended = strace.record(&world.program(&["scrub", &id, "--yes"]), CALLS, &trace).output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
        let mut calls = Call::read(&trace);
        // What it says is no receipt.
        calls.retain(|call| call.name != "write" || call.descriptor().is_none_or(|file| file > 2));
        let events = events(&calls, &world.path(PLACE));
        Self { id, recording: RecordedRun { world, before, ledger: Ledger::default(), events } }
    }

    /// Cuts the power at every moment, and looks. Nothing may be wrong, and in the end the secret is gone.
    fn cut_power(&self, what: &str) {
        self.recording.cut_power_at_every_event(what, |state| self.look(state));
    }

    /// Looks at a state: everything can be read and is sound, with the secret or without. Another scrub
    /// takes it out. Tells whether it was gone.
    fn look(&self, state: &State) -> Result<bool, String> {
        let directory = self.recording.found(state);
        let archive = Archive::open(&self.recording.world.url_in(directory.path())).map_err(explain)?;
        let id = self.id.parse().unwrap();
        let texts = || -> Result<Vec<String>, String> {
            let path = archive.path(id, None).map_err(explain)?;
            let verdict = archive.maintenance().verify(id).map_err(explain)?;
            if !verdict.is_sound() {
                return Err(format!("it is not whole: {verdict:?}"));
            }
            Ok(path.iter().map(|stored| stored.message.text()).collect())
        };
        let (before, is_gone) = (texts()?, !texts()?.iter().any(|text| text == Self::TOKEN));
        archive.removal().scrub(id, rejoin::ScrubMode::Replace).map_err(explain)?;
        let after = texts()?;
        let is_marked = after[1].starts_with("[redacted:github-token:");
        if before.len() != 3 || [&after[0], &after[2]] != ["before", "after"] || !is_marked {
            return Err(format!("{before:?} became {after:?}"));
        }
        Ok(is_gone)
    }
}

fn explain(error: rejoin::Error) -> String {
    format!("{error:?}")
}

/// Writes to every conversation, so that what was cut off is mended, and
/// compares what was told with what is there.
fn write_on(archive: &Archive, directory: &Path) -> Result<(), String> {
    let listed = archive.list(&rejoin::List::default()).map_err(explain)?.items;
    for stored in &listed {
        let mut talk = archive.resume(stored.id).map_err(explain)?;
        talk.append(rejoin::Message::user("after the power came back")).map_err(explain)?;
    }
    let store = JsonlStore::open(directory.join("conversations")).map_err(explain)?;
    let changes = store.changes(0, Duration::ZERO).map_err(explain)?;
    let is_growing = changes.windows(2).all(|pair| pair[0].stamp < pair[1].stamp);
    let is_told = |stored: &StoredConversation| {
        changes.iter().filter(|change| change.conversation == stored.id).count() > 1
    };
    if is_growing && listed.iter().all(is_told) {
        Ok(())
    } else {
        Err(format!("changes were lost: {changes:?}"))
    }
}

fn mark(disk: &Disk, state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    (disk.receipts.len(), state).hash(&mut hasher);
    hasher.finish()
}

fn is_sync_of(event: &Event, wanted: &Path) -> bool {
    matches!(event, Event::Sync { path, .. } if path == wanted)
}

impl Findings {
    fn tell(&self, what: &str) {
        let Self { moments, states, faults } = self;
        tell(&format!("{what}: {states} states at {moments} moments, {} faults", faults.len()));
    }
}

fn three_turns() -> Vec<String> {
    (2..5).map(line).collect()
}

#[test]
fn an_append_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };
    let recording = RecordedRun::of_an_append(strace, World::new(), three_turns());

    let findings = recording.cut_power(80);

    findings.tell("an append");
    assert_eq!(findings.faults, Vec::<String>::new());
    assert!(findings.states > 100);
}

#[test]
fn a_first_run_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };
    let world = World::new();
    let turns = (0..2).map(line).collect();
    let recording = RecordedRun::of(strace, world, Ledger::default(), turns);

    let findings = recording.cut_power(40);

    findings.tell("a first run");
    assert_eq!(findings.faults, Vec::<String>::new());
}

#[test]
fn a_fold_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };
    let mut recording = RecordedRun::of_an_append(strace, World::new(), (2..45).map(line).collect());
    let begins = recording.events.iter().position(
        |(_, event)| matches!(event, Event::Change(path, _) if *path == recording.path("rejoin.db")),
    );
    // What comes well before the fold, or well after, is an append like any other.
    let rest = recording.events.split_off(begins.expect("the log was folded") - 40);
    for event in std::mem::replace(&mut recording.events, rest) {
        recording.before.apply(&event);
    }
    recording.events.truncate(300);

    let findings = recording.cut_power(30);

    findings.tell("a fold");
    assert_eq!(findings.faults, Vec::<String>::new());
}

#[test]
fn without_the_syncs_of_the_log_the_same_states_show_a_loss() {
    let Some(strace) = Strace::find() else { return };
    let recording = RecordedRun::of_an_append(strace, World::new(), three_turns());
    let log = recording.path("rejoin.db-wal");

    let findings = recording.without(|event| is_sync_of(event, &log)).cut_power(80);

    findings.tell("control without syncs of the log");
    assert!(
        findings.faults.iter().any(|fault| fault.ends_with("acknowledged turns are lost")),
        "{findings:?}"
    );
}

#[test]
fn without_the_syncs_of_its_directory_a_first_run_shows_a_loss() {
    let Some(strace) = Strace::find() else { return };
    let world = World::new();
    let turns = vec![json!({"role": "user", "content": "hello"}).to_string()];
    let recording = RecordedRun::of(strace, world, Ledger::default(), turns);
    let directory = recording.path("");

    let findings = recording.without(|event| is_sync_of(event, &directory)).cut_power(10);

    findings.tell("control without syncs of the directory");
    assert!(findings.faults.iter().any(|fault| fault.ends_with("there are no messages")), "{findings:?}");
}

#[test]
fn an_append_to_plain_files_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };
    let recording = RecordedRun::of_an_append(strace, World::of_files(), three_turns());

    let findings = recording.cut_power(80);

    findings.tell("an append to plain files");
    assert_eq!(findings.faults, Vec::<String>::new());
    assert!(findings.states > 20);
}

#[test]
fn a_first_run_with_plain_files_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };
    let turns = (0..2).map(line).collect();
    let recording = RecordedRun::of(strace, World::of_files(), Ledger::default(), turns);

    let findings = recording.cut_power(60);

    findings.tell("a first run with plain files");
    assert_eq!(findings.faults, Vec::<String>::new());
}

#[test]
fn without_the_syncs_of_its_file_a_conversation_shows_a_loss() {
    let Some(strace) = Strace::find() else { return };
    let recording = RecordedRun::of_an_append(strace, World::of_files(), three_turns());
    let folder = recording.path("conversations");

    let findings = recording
        .without(|event| matches!(event, Event::Sync { path, .. } if path.starts_with(&folder)))
        .cut_power(80);

    findings.tell("control without syncs of plain files");
    assert!(
        findings.faults.iter().any(|fault| fault.ends_with("acknowledged turns are lost")),
        "{findings:?}"
    );
}

#[test]
fn a_removal_from_plain_files_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };

    Removal::of(strace, 0, None).cut_power("a removal from plain files");
}

#[test]
fn a_removal_of_a_message_from_plain_files_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };
    let removal = Removal::of(strace, 2, None);
    let is_exchange = |(_, event): &(usize, Event)| matches!(event, Event::Exchange(..));
    let exchanges = removal.recording.events.iter().filter(|event| is_exchange(event)).count();

    removal.cut_power("a removal of a message from plain files");

    // Not every file system can do it; the next test is about those.
    tell(&format!("{exchanges} exchanges"));
}

#[test]
fn a_message_is_removed_safely_where_files_cannot_be_exchanged() {
    let Some(strace) = Strace::find() else { return };
    let removal = Removal::of(strace, 2, Some("renameat2:error=EINVAL"));
    let is_link = |(_, event): &(usize, Event)| matches!(event, Event::Link(_, to) if to.to_string_lossy().ends_with("-aside"));

    assert!(removal.recording.events.iter().any(is_link), "{:?}", removal.recording.events);
    removal.cut_power("a removal of a message without an exchange");
}

#[test]
fn a_scrub_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };

    Scrubbing::of(strace, World::new()).cut_power("a scrub");
}

#[test]
fn a_scrub_of_plain_files_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };

    Scrubbing::of(strace, World::of_files()).cut_power("a scrub of plain files");
}
