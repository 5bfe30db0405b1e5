//! How often a recorded talk waits for the disk: once for each appended turn,
//! and apart from that for the open turn.

use std::time::Instant;

use crate::strace::{Call, Strace};
use crate::traced::{Kind, Traced};

/// Syncs of the log between the marks, by what they made safe.
#[derive(Debug, Default, PartialEq, Eq)]
struct Syncs {
    turns: usize,
    open_turns: usize,
}

fn syncs(calls: &[Call]) -> Syncs {
    let marked = |line: &'static [u8]| {
        move |call: &Call| call.name == "write" && call.descriptor() == Some(1) && call.data() == line
    };
    let begin = calls.iter().position(marked(b"begin\n")).unwrap();
    let end = calls.iter().position(marked(b"end\n")).unwrap();
    let (mut found, mut is_open_turn) = (Syncs::default(), false);
    for call in calls[begin..end].iter().filter(|call| call.is_about("a.db-wal")) {
        if !call.is_sync() {
            // The page of an open turn holds the name of its field; that of an erased one is overwritten.
            is_open_turn |= call.data().windows(10).any(|bytes| bytes == b"\"partial\":");
        } else if std::mem::take(&mut is_open_turn) {
            found.open_turns += 1;
        } else {
            found.turns += 1;
        }
    }
    found
}

#[test]
fn an_appended_turn_is_one_sync_and_a_short_reply_needs_no_other() {
    let Some(strace) = Strace::find() else { return };

    let found = syncs(&Traced::run(strace, Kind::Short).calls);

    assert_eq!(found, Syncs { turns: 8, open_turns: 0 });
}

#[test]
fn a_reply_that_asks_for_tools_is_one_more_sync_while_they_run() {
    let Some(strace) = Strace::find() else { return };

    let found = syncs(&Traced::run(strace, Kind::Tool).calls);

    assert_eq!(found, Syncs { turns: 3, open_turns: 1 });
}

#[test]
fn an_open_turn_is_synced_at_most_once_a_second() {
    let Some(strace) = Strace::find() else { return };

    let began = Instant::now();
    let found = syncs(&Traced::run(strace, Kind::Stream).calls);
    let seconds = usize::try_from(began.elapsed().as_secs()).unwrap();

    assert_eq!(found.turns, 2);
    assert!((3..=seconds + 1).contains(&found.open_turns), "{found:?} in {seconds} s");
}
