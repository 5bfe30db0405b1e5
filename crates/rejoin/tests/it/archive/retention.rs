//! What expires and when, with a clock that a test moves.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use proptest::prelude::*;
use rejoin::{
    Archive, AuditAction, AuditQuery, Cause, Conversation, ConversationId, ErrorKind, Hold, List, Message,
    PurgeReason, Retention, Sweep, Swept, Time,
};

use super::{Lab, archive_in};

const DAY: i64 = 86_400;
const DAYS_7: Retention = Retention { days: Some(7), max_per_project: None };

fn following(archive: &Archive, title: &str) -> ConversationId {
    let header = Conversation { follows_retention: true, ..Conversation::titled(title) };
    let mut handle = archive.start(header).unwrap();
    handle.append(Message::user(title)).unwrap();
    handle.id()
}

fn sweeping(retention: Retention) -> Sweep<'static> {
    Sweep { project: None, retention, active: &[], is_alive: &|writer| writer == "living" }
}

/// The titles of what is left, oldest first.
fn left(archive: &Archive) -> String {
    let everything = List { includes_expired: true, limit: 500, ..List::default() };
    let mut titles: Vec<String> =
        archive.list(&everything).unwrap().items.iter().map(|stored| stored.title().to_owned()).collect();
    titles.reverse();
    titles.join(" ")
}

/// How many conversations a sweep took away; none when it waits.
fn swept(archive: &Archive, retention: Retention) -> Option<usize> {
    match archive.retention().sweep(&sweeping(retention)).unwrap() {
        Swept::Waiting(_) => None,
        Swept::Done(report) => Some(report.purged.len()),
    }
}

/// Talks at a time, lets the clock go on by so many seconds more than seven days, and sweeps.
fn after_seven_days(start: &str, more: i64) -> Option<usize> {
    let lab = Lab::new();
    lab.micros.store(start.parse::<Time>().unwrap().as_micros(), Ordering::Relaxed);
    let archive = archive_in(&lab);
    following(&archive, "one");
    lab.turn_clock(7 * DAY + more);
    swept(&archive, DAYS_7)
}

#[test]
fn a_conversation_expires_at_its_second_in_any_year() {
    let starts = [
        "2026-11-16T09:00:00Z",
        // The days on which clocks change, here and there.
        "2026-03-26T01:30:00Z",
        "2026-10-23T01:30:00Z",
        "2026-03-07T07:30:00Z",
        // The last second of 31 bits lies within the seven days.
        "2038-01-15T03:14:07Z",
        "2100-02-25T00:00:00Z",
        "2100-12-30T23:59:59Z",
    ];

    let swept = starts.map(|start| [-1, 0, 1].map(|more| after_seven_days(start, more)));

    assert_eq!(swept, [[Some(0), Some(1), Some(1)]; 7]);
}

/// The fifth document's third acceptance criterion.
#[test]
fn after_fifteen_days_with_fourteen_everything_is_gone_and_not_listed() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    following(&archive, "one");
    following(&archive, "two");
    lab.turn_clock(15 * DAY);

    let Swept::Done(report) = archive.retention().sweep(&sweeping(Retention::of_days(14).unwrap())).unwrap()
    else {
        panic!("it waits");
    };

    let expected = (PurgeReason::RetentionExpired, 2, true, String::new());
    assert_eq!((report.reason, report.purged.len(), report.is_erased, left(&archive)), expected);
    let audited =
        archive.audit().query(&AuditQuery::default()).unwrap().into_iter().map(|entry| entry.action);
    let actions = [AuditAction::PurgeCompleted, AuditAction::Expired, AuditAction::Expired];
    assert_eq!(audited.collect::<Vec<_>>(), actions);
}

#[test]
fn a_clock_that_was_set_back_for_a_while_expires_nothing_that_was_used() {
    let lab = Lab::new();
    lab.micros.store("2026-11-16T09:00:00Z".parse::<Time>().unwrap().as_micros(), Ordering::Relaxed);
    let archive = archive_in(&lab);
    let id = following(&archive, "one");
    lab.turn_clock(-20 * DAY);
    archive.resume(id).unwrap().append(Message::user("back")).unwrap();
    lab.turn_clock(21 * DAY);

    let looks_expired = DAYS_7.is_expired(&archive.conversation(id).unwrap(), archive.now());

    assert_eq!((looks_expired, swept(&archive, DAYS_7)), (true, Some(0)));
}

#[test]
fn a_shorter_policy_takes_effect_at_once() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    following(&archive, "old");
    lab.turn_clock(8 * DAY);
    following(&archive, "new");

    let counts = [swept(&archive, Retention::of_days(30).unwrap()), swept(&archive, DAYS_7)];

    assert_eq!((counts, left(&archive).as_str()), ([Some(0), Some(1)], "new"));
}

#[test]
fn what_does_not_follow_the_policy_stays_for_ever() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    archive.start(Conversation::titled("script")).unwrap();
    following(&archive, "talk");
    lab.turn_clock(20 * DAY);

    let counts = [swept(&archive, Retention::FOREVER), swept(&archive, DAYS_7)];

    assert_eq!((counts, left(&archive).as_str()), ([Some(0), Some(1)], "script"));
}

#[test]
fn what_is_held_stays_and_is_counted_until_it_is_released() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let ids = [Hold::Import, Hold::User].map(|hold| {
        let id = following(&archive, hold.as_str());
        archive.update(id, |header| header.hold = hold).unwrap();
        id
    });
    lab.turn_clock(8 * DAY);
    let held = archive.retention().plan(&sweeping(DAYS_7), 0).unwrap().held;
    let before = swept(&archive, DAYS_7);

    archive.update(ids[0], |header| header.hold = Hold::None).unwrap();

    assert_eq!((held, before, swept(&archive, DAYS_7)), (2, Some(0), Some(1)));
    assert_eq!(left(&archive), "user");
}

#[test]
fn an_expiry_of_its_own_counts_before_the_policy_and_without_it() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let until = |id, days: i64| {
        let time = archive.now().plus_micros(days * DAY * 1_000_000);
        archive.update(id, |header| header.expires_at = Some(time)).unwrap();
    };
    until(following(&archive, "long"), 20);
    until(archive.start(Conversation::titled("short")).unwrap().id(), 2);
    lab.turn_clock(8 * DAY);

    let plan = archive.retention().plan(&sweeping(DAYS_7), 20).unwrap();
    let count = swept(&archive, Retention::FOREVER);

    let told = |expiring: &rejoin::Expiring| (expiring.stored.title().to_owned(), expiring.cause);
    assert_eq!(plan.due.iter().map(told).collect::<Vec<_>>(), [("short".to_owned(), Cause::Own)]);
    assert_eq!(plan.soon.iter().map(told).collect::<Vec<_>>(), [("long".to_owned(), Cause::Own)]);
    assert_eq!((count, left(&archive).as_str()), (Some(1), "long"));
}

#[test]
fn a_held_conversation_is_listed_although_its_own_expiry_is_over() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let id = following(&archive, "kept");
    let past = archive.now().plus_micros(-1);
    let listed = || archive.list(&List::default()).unwrap().items.len();

    archive.update(id, |header| header.expires_at = Some(past)).unwrap();
    let expired = listed();
    archive.update(id, |header| header.hold = Hold::User).unwrap();

    assert_eq!((expired, listed()), (0, 1));
}

#[test]
fn what_is_in_use_is_not_touched() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let [active, open, living, dead, idle] =
        ["active", "open", "living", "dead", "idle"].map(|title| following(&archive, title));
    let mut recorder = archive.record(archive.resume(open).unwrap(), "gone");
    recorder.flush_open(&Message::assistant("Half a"), &[]);
    archive.retention().begin_use(living, "living").unwrap();
    archive.retention().begin_use(dead, "gone").unwrap();
    archive.retention().begin_use(idle, "living").unwrap();
    archive.retention().end_use(idle, "living").unwrap();
    lab.turn_clock(8 * DAY);
    let sweep = Sweep { active: &[active], ..sweeping(DAYS_7) };

    let in_use = archive.retention().plan(&sweep, 0).unwrap().in_use;
    archive.retention().sweep(&sweep).unwrap();

    let mut titles: Vec<String> = left(&archive).split(' ').map(str::to_owned).collect();
    titles.sort_unstable();
    assert_eq!((in_use, titles.join(" ").as_str()), (3, "active living open"));
}

#[test]
fn the_oldest_of_too_many_go_and_what_is_held_or_active_does_not_count() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let ids: Vec<ConversationId> = ["a", "b", "c", "d", "e", "f"]
        .map(|title| {
            lab.turn_clock(60);
            following(&archive, title)
        })
        .to_vec();
    archive.start(Conversation::titled("script")).unwrap();
    archive.update(ids[1], |header| header.hold = Hold::User).unwrap();
    let retention = Retention { max_per_project: Some(2), ..DAYS_7 };
    let sweep = Sweep { active: &ids[..1], ..sweeping(retention) };

    let causes: Vec<Cause> =
        archive.retention().plan(&sweep, 0).unwrap().due.iter().map(|expiring| expiring.cause).collect();
    let forever = Retention { days: None, ..retention };
    let kept = swept(&archive, forever);
    archive.retention().sweep(&sweep).unwrap();

    assert_eq!((causes, kept), (vec![Cause::Surplus; 2], Some(0)));
    let mut titles: Vec<String> = left(&archive).split(' ').map(str::to_owned).collect();
    titles.sort_unstable();
    assert_eq!(titles.join(" "), "a b e f script");
}

#[test]
fn a_project_has_its_own_policy_and_its_own_number() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    for (project, title) in [("/home/ada/one", "a"), ("/home/ada/one", "b"), ("/home/ada/two", "c")] {
        let header = Conversation { follows_retention: true, ..Conversation::titled(title) };
        archive.start(header.in_project(project)).unwrap();
        lab.turn_clock(1);
    }
    lab.turn_clock(8 * DAY);
    let one = Some("/home/ada/one");

    archive.retention().sweep(&Sweep { project: one, ..sweeping(DAYS_7) }).unwrap();

    assert_eq!(left(&archive), "c");
}

/// A conversation that follows the policy or not, with a run of a sub-agent that has started a run itself.
fn with_runs(archive: &Archive, title: &str) -> [ConversationId; 3] {
    let id = following(archive, title);
    let asked = |id| archive.conversation(id).unwrap().head.unwrap().id;
    let mut run = archive.subagents().start(id, asked(id), "scout", title).unwrap();
    run.append(Message::user("look")).unwrap();
    let deeper = archive.subagents().start(run.id(), asked(run.id()), "deeper", title).unwrap();
    [id, run.id(), deeper.id()]
}

fn hold(archive: &Archive, id: ConversationId, hold: Hold) {
    archive.update(id, |header| header.hold = hold).unwrap();
}

#[test]
fn the_runs_of_sub_agents_go_with_their_conversation_though_an_import_holds_them() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let [id, run, deeper] = with_runs(&archive, "imported");
    [run, deeper].iter().for_each(|run| hold(&archive, *run, Hold::Import));
    lab.turn_clock(8 * DAY);

    let Swept::Done(report) = archive.retention().sweep(&sweeping(DAYS_7)).unwrap() else {
        panic!("it waits")
    };

    // Whoever is cut off in between finds the conversation again, and with it the runs.
    assert_eq!((report.purged, left(&archive).as_str()), (vec![deeper, run, id], ""));
}

#[test]
fn the_runs_of_sub_agents_are_held_with_their_conversation() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let [held, ..] = with_runs(&archive, "held");
    hold(&archive, held, Hold::User);
    let [.., active] = with_runs(&archive, "active");
    lab.turn_clock(8 * DAY);

    let swept = archive.retention().sweep(&Sweep { active: &[active], ..sweeping(DAYS_7) }).unwrap();

    let Swept::Done(report) = swept else { panic!("it waits") };
    assert_eq!((report.purged, left(&archive).split(' ').count()), (vec![], 6));
}

#[test]
fn a_run_that_somebody_holds_for_itself_stays() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let [id, run, deeper] = with_runs(&archive, "one");
    hold(&archive, run, Hold::User);
    lab.turn_clock(8 * DAY);

    let Swept::Done(report) = archive.retention().sweep(&sweeping(DAYS_7)).unwrap() else {
        panic!("it waits")
    };

    let found = [id, run, deeper].map(|id| archive.conversation(id).is_ok());
    assert_eq!((report.purged, found), (vec![id], [false, true, true]));
}

#[test]
fn a_run_whose_conversation_is_gone_expires_by_itself() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let [id, run, deeper] = with_runs(&archive, "one");
    archive.removal().delete(&[id], "user-requested");
    lab.turn_clock(8 * DAY);

    let Swept::Done(report) = archive.retention().sweep(&sweeping(DAYS_7)).unwrap() else {
        panic!("it waits")
    };

    assert_eq!(report.purged, [deeper, run]);
}

#[test]
fn a_plan_names_the_runs_that_go_along() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    with_runs(&archive, "one");
    lab.turn_clock(6 * DAY);
    let soon = archive.retention().plan(&sweeping(DAYS_7), 5).unwrap().soon.len();
    lab.turn_clock(2 * DAY);

    let due = archive.retention().plan(&sweeping(DAYS_7), 5).unwrap().due;

    let causes: Vec<Cause> = due.iter().map(|expiring| expiring.cause).collect();
    assert_eq!((soon, causes), (3, vec![Cause::Age, Cause::Along, Cause::Along]));
}

#[test]
fn only_what_goes_is_told_before_it_goes() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let [one, two] = ["one", "two"].map(|title| {
        lab.turn_clock(-1);
        following(&archive, title)
    });
    lab.turn_clock(8 * DAY);
    let mut told = Vec::new();

    let swept = archive.retention().sweep_all(&[sweeping(DAYS_7)], &mut |id| {
        told.push(id);
        archive.resume(two)?.append(Message::user("again")).map(drop)
    });

    let Swept::Done(report) = swept.unwrap() else { panic!("it waits") };
    assert_eq!((told, report.purged), (vec![one], vec![one]));
}

#[test]
fn a_clock_far_ahead_is_believed_after_a_day() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    following(&archive, "one");
    let mut counts = vec![swept(&archive, DAYS_7)];
    for seconds in [40 * DAY, 60, DAY - 61, 1] {
        lab.turn_clock(seconds);
        counts.push(swept(&archive, DAYS_7));
    }

    assert_eq!(counts, [Some(0), None, None, None, Some(1)]);
}

#[test]
fn a_clock_that_comes_back_in_time_costs_nothing() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    following(&archive, "one");
    let mut counts = vec![swept(&archive, DAYS_7)];
    // Ahead by a century, back again, and steady from then on.
    for seconds in [36_500 * DAY, -36_500 * DAY, 60, DAY, 7 * DAY] {
        lab.turn_clock(seconds);
        counts.push(swept(&archive, DAYS_7));
    }

    assert_eq!(counts, [Some(0), None, None, None, Some(0), Some(1)]);
}

#[test]
fn a_clock_that_goes_back_is_watched_for_a_day() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let id = following(&archive, "one");
    let past = archive.now().plus_micros(-10 * DAY * 1_000_000);
    swept(&archive, DAYS_7);
    archive.update(id, |header| header.expires_at = Some(past)).unwrap();

    let mut counts = Vec::new();
    for seconds in [-DAY, DAY / 2, DAY / 2 - 1, 1] {
        lab.turn_clock(seconds);
        counts.push(swept(&archive, DAYS_7));
    }

    assert_eq!(counts, [None, None, None, Some(1)]);
}

#[test]
fn a_store_that_was_not_used_for_long_waits_a_day_before_its_first_sweep() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    following(&archive, "one");
    lab.turn_clock(31 * DAY);

    let Swept::Waiting(until) = archive.retention().sweep(&sweeping(DAYS_7)).unwrap() else {
        panic!("it does not wait")
    };

    assert_eq!(until, archive.now().plus_micros(DAY * 1_000_000));
}

#[test]
fn a_conversation_from_the_future_does_not_stop_the_sweeps() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let ahead = Lab::new();
    ahead.turn_clock(400 * DAY);
    archive.clone().with_nature(ahead as Arc<_>).start(Conversation::titled("future")).unwrap();
    following(&archive, "one");
    let first = swept(&archive, DAYS_7);
    lab.turn_clock(8 * DAY);

    assert_eq!((first, swept(&archive, DAYS_7), left(&archive).as_str()), (Some(0), Some(1), "future"));
}

#[test]
fn more_than_a_page_from_the_future_does_not_hide_what_was_last_used() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    following(&archive, "one");
    let ahead = Lab::new();
    ahead.turn_clock(400 * DAY);
    ahead.drawn.store(1_000, Ordering::Relaxed);
    let future = archive.clone().with_nature(ahead as Arc<_>);
    (0..60).for_each(|number| drop(future.start(Conversation::titled(format!("future {number}"))).unwrap()));
    lab.turn_clock(40 * DAY);

    // It is far from the newest that is not in the future, so that the clock may be wrong.
    assert_eq!(swept(&archive, DAYS_7), None);
}

#[test]
fn a_sweep_of_what_belongs_to_no_project_leaves_projects_alone() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let header = Conversation {
        follows_retention: true,
        project: Some("/home/ada/engine".to_owned()),
        ..Conversation::titled("of a project")
    };
    archive.start(header).unwrap();
    following(&archive, "of none");
    swept(&archive, DAYS_7);
    lab.turn_clock(8 * DAY);
    let sweep = Sweep { project: Some(""), ..sweeping(DAYS_7) };

    let plan = archive.retention().plan(&sweep, 0).unwrap();
    archive.retention().sweep(&sweep).unwrap();

    assert_eq!(plan.bytes(), plan.due[0].stored.bytes);
    assert_eq!((plan.due.len(), left(&archive).as_str()), (1, "of a project"));
}

#[test]
fn what_goes_soon_is_told_the_next_one_first_with_its_cause() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let age = following(&archive, "by age");
    let expires_at = Some(archive.now().plus_micros(3 * DAY * 1_000_000));
    let own = archive.start(Conversation { expires_at, ..Conversation::titled("by its own") }).unwrap().id();

    let plan = archive.retention().plan(&sweeping(DAYS_7), 30).unwrap();

    let soon: Vec<_> =
        plan.soon.iter().map(|expiring| (expiring.stored.id, expiring.cause.as_str())).collect();
    assert_eq!(soon, [(own, "its own expiry"), (age, "age")]);
    assert_eq!((plan.bytes(), Cause::Surplus.as_str()), (0, "too many"));
}

#[test]
fn what_went_between_the_two_looks_of_a_sweep_is_passed_by() {
    let lab = Lab::new();
    let archive = archive_in(&lab);
    let (one, other) = (following(&archive, "one"), following(&archive, "other"));
    swept(&archive, DAYS_7);
    lab.turn_clock(8 * DAY);

    let mut left = vec![one, other];
    let swept = archive.retention().sweep_all(&[sweeping(DAYS_7)], &mut |going| {
        left.retain(|id| *id != going);
        archive.removal().delete(&left, "user-requested");
        Ok(())
    });

    let Swept::Done(report) = swept.unwrap() else { panic!("it waits") };
    assert_eq!((report.purged.len(), report.failures), (1, Vec::new()));
    assert!(!report.purged.contains(&left[0]));
}

#[test]
fn a_sweep_shows_what_it_goes_over() {
    let sweep = Sweep { project: Some("/home/ada/engine"), ..sweeping(DAYS_7) };

    assert_eq!(
        format!("{sweep:?}"),
        "Sweep { project: Some(\"/home/ada/engine\"), retention: Retention { days: Some(7), max_per_project: None }, \
         active: [], .. }"
    );
}

#[test]
fn what_was_seen_is_remembered_by_policy() {
    let archive = archive_in(&Lab::new());
    let thirty = Retention { days: Some(30), max_per_project: Some(100) };

    archive.retention().see(&thirty).unwrap();

    let seen =
        [thirty, DAYS_7, Retention::FOREVER].map(|policy| archive.retention().has_seen(&policy).unwrap());
    assert_eq!(seen, [true, false, false]);
}

#[test]
fn days_have_bounds() {
    let kinds = [6, 7, 180, 181].map(|days| Retention::of_days(days).map(drop).map_err(|error| error.kind()));

    assert_eq!(kinds, [Err(ErrorKind::Invalid), Ok(()), Ok(()), Err(ErrorKind::Invalid)]);
}

proptest! {
    #[test]
    fn nothing_goes_before_its_time(days in 7..=180_u32, start in 0..4_000_000_000_i64, waited in 0..20_000_000_i64) {
        let lab = Lab::new();
        lab.micros.store(start * 1_000_000, Ordering::Relaxed);
        let archive = archive_in(&lab);
        let id = following(&archive, "one");
        lab.turn_clock(waited);
        let retention = Retention::of_days(days).unwrap();

        let stored = archive.conversation(id).unwrap();
        let is_over = waited >= i64::from(days) * DAY;

        prop_assert_eq!(retention.is_expired(&stored, archive.now()), is_over);
        let goes = swept(&archive, retention).unwrap_or(0) > 0;
        prop_assert!(!goes || is_over);
    }
}
