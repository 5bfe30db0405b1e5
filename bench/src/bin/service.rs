//! The times that the storage service promises: commits, purges and snapshots, in SQLite and in vaults over
//! it and over files, whose keys are replaced after each purge.
//!
//! `cargo run --profile dist -p rejoin-bench --bin service` prints them beside their bars, and fails beyond
//! one. A directory can be named to measure in. Of each, the slowest but one in twenty counts. With
//! `--processor` the clock counts what the processor did for it and nothing else, so that a busy machine or a
//! slow disk changes little. With `--databases` files are left out, which an unoptimised build is too slow
//! for.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rejoin::service::{
    ConversationRecordInput, ConversationRecordMutation, ConversationStorageService, ConversationSummary,
    FramePrivacy, MessageFrame, ParticipantRef, ParticipantRole, RecoverySnapshot,
};
use rejoin::vault::{Keys, NewSlot, VaultStore};
use rejoin::{Archive, ConversationId, Fields, PurgeReason, Role, Time};
use rejoin_bench::{Answer, Arguments, Bars, Clock, Kind, holder};

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
    Vault(Kind),
}

impl Side {
    const fn kind(self) -> Kind {
        match self {
            Self::Plain => Kind::Sqlite,
            Self::Vault(kind) => kind,
        }
    }
}

fn main() -> Answer<ExitCode> {
    let arguments = Arguments::read();
    let mut sides = vec![("SQLite", Side::Plain), ("vault+SQLite", Side::Vault(Kind::Sqlite))];
    if !arguments.has("--databases") {
        sides.push(("vault+JSONL", Side::Vault(Kind::Jsonl)));
    }
    let scratch = tempfile::tempdir_in(arguments.words.first().map_or(".", String::as_str))?;
    let measured: Vec<Vec<Measured>> = sides
        .iter()
        .map(|(name, side)| measure(*side, arguments.clock(), &scratch.path().join(name)))
        .collect::<Answer<_>>()?;
    let names: Vec<&str> = sides.iter().map(|(name, _)| *name).collect();
    println!("| what | {} | bar |", names.join(" | "));
    println!("|---|{}---|", "---|".repeat(names.len()));
    let mut bars = Bars::default();
    for (row, Measured { what, bar, .. }) in measured[0].iter().enumerate() {
        let took: Vec<Duration> = measured.iter().map(|side| side[row].took).collect();
        let told: Vec<String> = took.iter().map(|took| format!("{took:.1?}")).collect();
        println!("| {what} | {} | {bar:?} |", told.join(" | "));
        names.iter().zip(took).for_each(|(name, took)| bars.hold(format!("{name}: {what}"), took, *bar));
    }
    Ok(bars.verdict())
}

/// How long something took, and how long it may.
struct Measured {
    what: &'static str,
    took: Duration,
    bar: Duration,
}

fn open(side: Side, path: &Path) -> Answer<ConversationStorageService> {
    let inner = side.kind().open(path)?;
    Ok(ConversationStorageService::new(match side {
        Side::Plain => Archive::with_store(inner),
        Side::Vault(_) => {
            let vault = VaultStore::open(inner.clone(), Arc::new(holder(path)))?;
            let lock = path.with_extension("keys.lock");
            let keys = Keys::of(inner, holder(path)).locked_by(lock, Duration::from_secs(10));
            Archive::with_store(Arc::new(vault.with_keys(keys)))
        }
    }))
}

fn measure(side: Side, clock: Clock, path: &Path) -> Answer<Vec<Measured>> {
    if let Side::Vault(kind) = side {
        Keys::of(kind.open(path)?, holder(path)).create(&[NewSlot::File], Time::now())?;
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
