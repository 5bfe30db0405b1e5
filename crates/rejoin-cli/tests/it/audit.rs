//! `rejoin audit`: what was done, without what was said.

use rejoin::{AuditAction, AuditEntry};
use serde_json::json;

use crate::past::{ask, minutes_ago};
use crate::world::{Outcome, World};

#[test]
fn the_newest_comes_first_in_columns() {
    let world = World::new();
    let before = world.archive_at(minutes_ago(5));
    let mut trip = world.conversation_in(&before, "Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");
    before.removal().delete(&[trip.id()], "user\u{1b}[31m-requested");
    world.archive_at(minutes_ago(2)).audit().note(AuditEntry::new(AuditAction::Rotated, "yearly")).unwrap();

    let outcome = world.rejoin(["audit"]).run();

    let entries = world.archive().audit().query(&Default::default()).unwrap();
    let minute = |place: usize| entries[place].at.to_string()[..16].replace('T', " ");
    let bytes = entries[1].bytes;
    let expected = format!(
        "when              what     conversation  messages   size  failed  why\n\
         {}  rotated                                         yearly\n\
         {}  deleted  {}               2  {bytes} B          user-requested\n",
        minute(0),
        minute(1),
        trip.id().short(),
    );
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn scripts_read_every_field() {
    let world = World::new();
    let trip = world.conversation("Lisbon");
    world.archive().removal().delete(&[trip.id()], "user-requested");

    let outcome = world.rejoin(["audit", "--json", "--since", "1h", "--limit", "1"]).run();

    let at = world.archive().audit().query(&Default::default()).unwrap()[0].at;
    let expected = json!({"items": [{
        "at": at, "action": "deleted", "reason": "user-requested", "conversation": trip.id(),
        "conversations": 1, "messages": 0, "bytes": 0, "failures": [], "extra": {},
    }]});
    assert_eq!(outcome.json(), expected);
}

#[test]
fn an_empty_log_says_so_and_makes_no_store() {
    let world = World::new();

    let outcome = world.rejoin(["audit"]).run();

    assert_eq!((outcome, world.store().exists()), (Outcome::note("The audit log is empty.\n"), false));
}
