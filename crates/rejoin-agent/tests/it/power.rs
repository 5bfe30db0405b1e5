//! The power goes while a reply arrives: what was shown two seconds before is in
//! every state the disk may be left in.

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

use rejoin::{Archive, List, Role};

use crate::dice::Dice;
use crate::disk::{Disk, Event, State, events};
use crate::feed::Receipt;
use crate::skip::tell;
use crate::strace::Strace;
use crate::traced::{Kind, Traced, words};

/// What was shown so long ago must be there.
const PROMISE: u64 = 2_000;

/// The text that must be there when this was the last thing shown.
fn promised(shown: &[Receipt]) -> usize {
    let now = shown.last().map_or(0, |shown| shown.milliseconds);
    let old = shown.iter().filter(|shown| shown.milliseconds + PROMISE <= now);
    old.map(|shown| shown.length).max().unwrap_or(0)
}

/// The text that is found of the reply, finished or not.
fn found(state: &State) -> Result<String, String> {
    // What is found is only looked at, so it need not wait for a disk where there is memory.
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    for (path, file) in state {
        fs::write(directory.path().join(path.file_name().unwrap()), &file.content).unwrap();
    }
    let open = || {
        let archive = Archive::open(&format!("sqlite:{}", directory.path().join("a.db").display()))?;
        let Some(stored) = archive.list(&List::default())?.items.pop() else { return Ok(String::new()) };
        let path = archive.path(stored.id, None)?;
        let finished = path.into_iter().rev().find(|seen| seen.message.role == Role::Assistant);
        let open = archive.open_turns().list(stored.id)?.pop().map(|turn| turn.partial);
        Ok(finished.map(|seen| seen.message).or(open).map(|message| message.text()).unwrap_or_default())
    };
    open().map_err(|error: rejoin::Error| format!("{error:?}"))
}

/// Cuts the power at the moments around each sync, and now and then between; returns what is wrong.
fn cut_power(run: &Traced, is_unwanted: impl Fn(&Event) -> bool) -> (usize, Vec<String>) {
    let all = words().concat();
    let (mut disk, mut dice, mut seen) = (Disk::default(), Dice::seeded(1), HashSet::new());
    let mut faults = Vec::new();
    let mut events = events(&run.calls, &run.store());
    events.retain(|(_, event)| !is_unwanted(event));
    for (number, event) in events.iter().enumerate() {
        disk.apply(event);
        // What matters most is the moment before a sync ends, the one after it,
        // and the longest wait for the next.
        let is_turning = |event: Option<&(usize, Event)>| {
            event.is_some_and(|(_, event)| matches!(event, Event::Sync { .. }))
        };
        let is_moment = is_turning(Some(event)) || is_turning(events.get(number + 1)) || number % 10 == 0;
        if disk.receipts.is_empty() || !is_moment {
            continue;
        }
        let promised = promised(&disk.receipts);
        for state in disk.states(&mut dice) {
            let mut hasher = DefaultHasher::new();
            (promised, &state).hash(&mut hasher);
            if !seen.insert(hasher.finish()) {
                continue;
            }
            match found(&state) {
                Ok(text) if all.starts_with(&text) && text.len() >= promised => {}
                Ok(text) => faults.push(format!("after event {number}: {} of {promised} bytes", text.len())),
                Err(error) => faults.push(format!("after event {number}: {error}")),
            }
        }
    }
    (seen.len(), faults)
}

#[test]
fn what_was_shown_two_seconds_ago_survives_a_power_cut_at_any_moment() {
    let Some(strace) = Strace::find() else { return };
    let run = Traced::run(strace, Kind::Stream);

    let (states, faults) = cut_power(&run, |_| false);

    tell(&format!("a reply that arrives: {states} states, {} faults", faults.len()));
    assert_eq!(faults, Vec::<String>::new());
    assert!(states > 30, "{states}");
}

#[test]
fn without_the_syncs_of_the_log_the_same_states_show_a_loss() {
    let Some(strace) = Strace::find() else { return };
    let run = Traced::run(strace, Kind::Stream);
    let log = run.store().join("a.db-wal");

    let (_, faults) = cut_power(&run, |event| matches!(event, Event::Sync { path, .. } if *path == log));

    assert!(faults.iter().any(|fault| fault.ends_with("bytes")), "{faults:?}");
}
