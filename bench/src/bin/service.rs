//! The times that the storage service promises: commits, purges and snapshots, in SQLite and in vaults over it and over
//! files, whose keys are replaced after each purge.
//!
//! `cargo run --release -p rejoin-bench --bin service` prints them beside their bars, and fails beyond one. A directory can be
//! named to measure in. Of each, the slowest but one in twenty counts. With `--processor` the clock counts what the processor
//! did for it and nothing else, so that a busy machine or a slow disk changes little. With `--databases` files are left out, which an
//! unoptimised build is too slow for.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rejoin::service::{
    ConversationRecordInput, ConversationRecordMutation, ConversationStorageService, ConversationSummary,
    FramePrivacy, MessageFrame, ParticipantRef, ParticipantRole, RecoverySnapshot,
};
use rejoin::store::{JsonlStore, SqliteStore, Store, VaultStore};
use rejoin::vault::{Keyholder, Keys, NewSlot, Places, SecretFiles};
use rejoin::{Archive, ConversationId, Fields, PurgeReason, Role, Time};
use rustix::time::{ClockId, clock_gettime};

type Answer<T> = Result<T, Box<dyn Error>>;

/// How many records are committed.
const RECORDS: u64 = 500;

/// How many frames a record has.
const FRAMES: u64 = 20;

/// How many records change, are purged one by one, and get snapshots.
const SOME: u64 = 100;

/// A commit may take so long; 19 of 20 have to.
const COMMIT: Duration = Duration::from_millis(150);

/// A purge may take so long a record.
const PURGE: Duration = Duration::from_millis(500);

/// A snapshot may take so long to be stored, and to be restored.
const SNAPSHOT: Duration = Duration::from_secs(2);

/// A sentence as people write them, some fifteen times in a frame.
const SENTENCE: &str = "The tram leaves at nine, and the last one back leaves at a quarter to eleven. ";

/// Where the records are.
#[derive(Clone, Copy)]
enum Side {
    Plain,
    Vault,
    Files,
}

/// What tells how long something took.
#[derive(Clone, Copy)]
enum Clock {
    /// The time that passed.
    Wall,
    /// The time that processors spent on this process.
    Processor,
}

impl Clock {
    fn now(self) -> Duration {
        let clock = match self {
            Self::Wall => ClockId::Monotonic,
            Self::Processor => ClockId::ProcessCPUTime,
        };
        clock_gettime(clock).try_into().expect("both count from zero upwards")
    }
}

fn main() -> Answer<ExitCode> {
    let (flags, places): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let has = |name: &str| flags.iter().any(|flag| flag == name);
    let clock = if has("--processor") { Clock::Processor } else { Clock::Wall };
    let mut sides = vec![("SQLite", Side::Plain), ("vault+SQLite", Side::Vault)];
    if !has("--databases") {
        sides.push(("vault+JSONL", Side::Files));
    }
    let scratch = tempfile::tempdir_in(places.first().map_or(".", String::as_str))?;
    let measured: Vec<Vec<Measured>> = sides
        .iter()
        .map(|(name, side)| measure(*side, clock, &scratch.path().join(name)))
        .collect::<Answer<_>>()?;
    let names: Vec<&str> = sides.iter().map(|(name, _)| *name).collect();
    println!("| what | {} | bar |", names.join(" | "));
    println!("|---|{}---|", "---|".repeat(names.len()));
    for (row, Measured { what, bar, .. }) in measured[0].iter().enumerate() {
        let took: Vec<String> = measured.iter().map(|side| format!("{:.1?}", side[row].took)).collect();
        println!("| {what} | {} | {bar:?} |", took.join(" | "));
    }
    let is_within = measured.iter().flatten().all(|measured| measured.took <= measured.bar);
    Ok(if is_within { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How long something took, and how long it may.
struct Measured {
    what: &'static str,
    took: Duration,
    bar: Duration,
}

fn open(side: Side, path: &Path) -> Answer<ConversationStorageService> {
    let inner = inner(side, path)?;
    Ok(ConversationStorageService::new(match side {
        Side::Plain => Archive::with_store(inner),
        Side::Vault | Side::Files => {
            let vault = VaultStore::open(Arc::clone(&inner), Arc::new(holder(path)))?;
            let lock = path.with_extension("keys.lock");
            let keys = Keys::of(inner, holder(path)).locked_by(lock, Duration::from_secs(10));
            Archive::with_store(Arc::new(vault.with_keys(keys)))
        }
    }))
}

fn inner(side: Side, path: &Path) -> Answer<Arc<dyn Store>> {
    Ok(match side {
        Side::Plain | Side::Vault => Arc::new(SqliteStore::open(path)?),
        Side::Files => Arc::new(JsonlStore::open(path)?),
    })
}

/// What opens a vault: a key file beside it.
fn holder(path: &Path) -> Keyholder {
    let files = SecretFiles::new(path.with_extension("keys"));
    Keyholder::new(Places { files: Some(Arc::new(files)), ..Places::default() })
}

fn measure(side: Side, clock: Clock, path: &Path) -> Answer<Vec<Measured>> {
    if let Side::Vault | Side::Files = side {
        Keys::of(inner(side, path)?, holder(path)).create(&[NewSlot::File], Time::now())?;
    }
    let service = open(side, path)?;
    let committed = slowest(clock, 0..RECORDS, |number| {
        service.commit_conversation(&input(number))?;
        Ok(())
    })?;
    let updated = slowest(clock, 0..SOME, |number| {
        service.update_record(&id_of(number), &mutation(number))?;
        Ok(())
    })?;
    let flushed = slowest(clock, 0..SOME, |number| Ok(service.commit_snapshot(&snapshot(number))?))?;
    drop(service);
    let restored = slowest(clock, 0..SOME, |number| {
        let service = open(side, path)?;
        let found = service.get_snapshot(&id_of(number))?;
        service.get_record(&id_of(number))?;
        assert_eq!(found, Some(snapshot(number)), "a snapshot is restored whole");
        Ok(())
    })?;
    let service = open(side, path)?;
    let purged = slowest(clock, 0..SOME, |number| {
        Ok(service.delete_record(&id_of(number), PurgeReason::UserRequested)?)
    })?;
    let begun = clock.now();
    let report = service.purge_all(PurgeReason::WorkspaceReset)?;
    let each = (clock.now() - begun) / u32::try_from(report.purged_count)?;
    let told = |what, took, bar| Measured { what, took, bar };
    Ok(vec![
        told("commit a conversation of 20 frames, p95", committed, COMMIT),
        told("update a record with 2 frames and a summary, p95", updated, COMMIT),
        told("store a snapshot of 10 frames, p95", flushed, SNAPSHOT),
        told("open the store, restore a snapshot and its record, p95", restored, SNAPSHOT),
        told("purge one record, p95", purged, PURGE),
        told("purge all 400 others, each", each, PURGE),
    ])
}

/// The time that 19 of 20 stay within.
fn slowest(
    clock: Clock,
    numbers: impl Iterator<Item = u64>,
    mut work: impl FnMut(u64) -> Answer<()>,
) -> Answer<Duration> {
    let mut times = Vec::new();
    for number in numbers {
        let begun = clock.now();
        work(number)?;
        times.push(clock.now() - begun);
    }
    times.sort();
    Ok(times[times.len() * 19 / 20])
}

fn id_of(number: u64) -> String {
    let mut bytes = [7; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    ConversationId::from_bytes(bytes).to_string()
}

fn frame(sequence: u64) -> MessageFrame {
    let length = usize::try_from(1 + sequence % 30).expect("it is at most 30");
    MessageFrame {
        frame_id: format!("frame-{sequence}"),
        sequence,
        role: if sequence % 2 == 1 { Role::User } else { Role::Assistant },
        content: SENTENCE.repeat(length),
        created_at: Time::from_micros(1_800_000_000_000_000),
        attachments: Vec::new(),
        privacy: FramePrivacy::default(),
        audio: None,
        extra: Fields::new(),
    }
}

fn input(number: u64) -> ConversationRecordInput {
    ConversationRecordInput {
        conversation_id: id_of(number),
        title: format!("talk {number}"),
        created_at: Time::from_micros(1_800_000_000_000_000),
        participants: vec![ParticipantRef {
            id: "user-default".to_owned(),
            role: ParticipantRole::User,
            display_name: Some("You".to_owned()),
            given_role: None,
        }],
        messages: (1..=FRAMES).map(frame).collect(),
        ..ConversationRecordInput::default()
    }
}

fn mutation(number: u64) -> ConversationRecordMutation {
    ConversationRecordMutation {
        append_messages: (FRAMES + 1..=FRAMES + 2).map(frame).collect(),
        summary: Some(ConversationSummary {
            synopsis: format!("Talked about trams, {number} times."),
            ..ConversationSummary::default()
        }),
        ..ConversationRecordMutation::default()
    }
}

fn snapshot(number: u64) -> RecoverySnapshot {
    RecoverySnapshot {
        conversation_id: id_of(number),
        saved_at: Time::from_micros(1_800_000_000_000_000),
        messages: (FRAMES + 3..FRAMES + 13).map(frame).collect(),
        ..RecoverySnapshot::default()
    }
}
