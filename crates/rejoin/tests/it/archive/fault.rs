//! Sweeps and purges whose store fails at any one call: nothing goes that must
//! stay, and the next one finishes.

use std::sync::Arc;
use std::time::Duration;

use rejoin::store::{BlobNames, Space, Store};
use rejoin::{
    Archive, Conversation, ConversationId, ErrorKind, EventKind, Hold, List, Message, PurgeKeys, PurgeReason,
    Retention, Sweep, Swept,
};

use super::Lab;
use crate::failing::{Failing, at_every_call};
use crate::held::Held;

const DAY: i64 = 86_400;
const POLICY: Retention = Retention { days: Some(7), max_per_project: Some(1) };
const KINDS: [ErrorKind; 3] = [ErrorKind::Unavailable, ErrorKind::Corrupt, ErrorKind::NotFound];

/// An archive of two that are too old, one that is held, and two young ones, of which one is too many.
fn aged(store: Failing) -> (Arc<Failing>, Held) {
    let (store, lab) = (Arc::new(store), Lab::new());
    let archive =
        Held::over(store.clone()).map(|_| Archive::with_vault(store.clone())).with_nature(lab.clone());
    let say = |title: &str, hold: Hold| -> ConversationId {
        let header = Conversation { follows_retention: true, hold, ..Conversation::titled(title) };
        let mut handle = archive.start(header).unwrap();
        handle.append(Message::user(title)).unwrap();
        handle.id()
    };
    say("old", Hold::None);
    say("older", Hold::None);
    say("held", Hold::User);
    // The clock is believed from the first sweep on.
    assert!(matches!(archive.retention().sweep(&sweep()).unwrap(), Swept::Done(_)));
    lab.turn_clock(8 * DAY);
    say("young", Hold::None);
    lab.turn_clock(60);
    say("youngest", Hold::None);
    (store, archive)
}

fn sweep() -> Sweep<'static> {
    Sweep {
        project: None,
        retention: Retention { max_per_project: None, ..POLICY },
        active: &[],
        is_alive: &|_| false,
    }
}

fn sweep_of_one() -> Sweep<'static> {
    Sweep { retention: POLICY, ..sweep() }
}

fn left(archive: &Archive) -> Vec<String> {
    let everything = List { includes_expired: true, limit: 50, ..List::default() };
    let mut titles: Vec<String> =
        archive.list(&everything).unwrap().items.iter().map(|stored| stored.title().to_owned()).collect();
    titles.sort();
    titles
}

#[test]
fn a_sweep_that_fails_anywhere_takes_nothing_that_stays_and_the_next_finishes() {
    let mut calls = 0;
    for kind in KINDS {
        for keys in [None, Some(&[][..]), Some(&["d1d1d1d1d1d1d1d1"][..])] {
            let make = || {
                let store = Failing::with(kind);
                aged(match keys {
                    Some(unreached) => store.renewing(unreached),
                    None => store,
                })
            };
            calls += at_every_call(
                make,
                |archive| drop(archive.retention().sweep(&sweep_of_one())),
                |call, archive| {
                    let halfway = left(archive);
                    assert!(halfway.contains(&"held".to_owned()), "{kind:?} at call {call}: {halfway:?}");
                    assert!(halfway.contains(&"youngest".to_owned()), "{kind:?} at call {call}: {halfway:?}");
                    let next = archive.retention().sweep(&sweep_of_one()).unwrap();
                    assert!(matches!(next, Swept::Done(_)), "{kind:?} at call {call}: {next:?}");
                    assert_eq!(left(archive), ["held", "youngest"], "{kind:?} at call {call}");
                    assert!(archive.removal().finish_erasing().unwrap(), "{kind:?} at call {call}");
                },
            );
        }
    }
    assert!(calls > 100, "{calls} calls failed");
}

#[test]
fn a_purge_of_everything_that_fails_anywhere_is_made_up_for_by_the_next() {
    let make = || {
        let (store, archive) = aged(Failing::with(ErrorKind::Unavailable).renewing(&[]));
        archive.state().remember("prompt.history:/home/ada/trip", Some("[\"a secret\"]")).unwrap();
        (store, archive)
    };
    let calls = at_every_call(
        make,
        |archive| drop(archive.removal().purge_everything(PurgeReason::WorkspaceReset, &mut |_| ())),
        |call, archive| {
            let report =
                archive.removal().purge_everything(PurgeReason::WorkspaceReset, &mut |_| ()).unwrap();
            let mut remembered = 0;
            archive
                .store()
                .get(Space::State, None, BlobNames::ALL, &mut |_, _| {
                    remembered += 1;
                    Ok(())
                })
                .unwrap();
            assert_eq!((left(archive), remembered), (Vec::new(), 0), "call {call}: {report:?}");
            assert!(archive.removal().finish_erasing().unwrap(), "call {call}");
        },
    );
    assert!(calls > 20, "{calls} calls failed");
}

#[test]
fn what_somebody_saw_of_a_policy_and_cannot_be_read_is_shown_again() {
    let (store, archive) = aged(Failing::with(ErrorKind::Corrupt));
    archive.retention().see(&POLICY).unwrap();

    store.fail_at(1);
    let unread = archive.retention().has_seen(&POLICY).unwrap();
    archive.retention().see(&POLICY).unwrap();
    let again = archive.retention().has_seen(&POLICY).unwrap();

    assert_eq!((unread, again), (false, true));
}

#[test]
fn a_purge_tells_which_keys_it_replaced() {
    let purged = |store: Failing| {
        let (_, archive) = aged(store);
        let all: Vec<ConversationId> =
            archive.list(&List::default()).unwrap().items.iter().map(|stored| stored.id).collect();
        archive.removal().purge(&all, PurgeReason::UserRequested, &mut |_| ()).keys
    };
    let store = || Failing::with(ErrorKind::Unavailable);

    let keys =
        [purged(store()), purged(store().renewing(&[])), purged(store().renewing(&["d1d1d1d1d1d1d1d1"]))];

    assert_eq!(keys, [PurgeKeys::None, PurgeKeys::Rotated, PurgeKeys::Kept]);
    assert_eq!(serde_json::to_string(&keys).unwrap(), r#"[null,"rotated","kept"]"#);
}

#[test]
fn what_a_look_that_fails_has_seen_is_told_by_the_next() {
    let store = Arc::new(Failing::with(ErrorKind::Unavailable));
    let archive = Archive::with_store(Arc::clone(&store) as Arc<dyn Store>);
    let id = archive.start(Conversation::titled("Lisbon")).unwrap().id();
    let mut events = archive.events_after(0);

    // The changes are read, and the notices are not.
    store.fail_at(2);
    let failed = events.next(Duration::ZERO).unwrap_err().kind();
    let told = events.next(Duration::ZERO).unwrap();

    let told: Vec<_> = told.into_iter().map(|event| (event.conversation, event.kind)).collect();
    assert_eq!(failed, ErrorKind::Unavailable);
    assert_eq!(told, [(Some(id), EventKind::Stored { messages: 0 })]);
}
