//! `rejoin events`: what other processes did, and what they do.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use rejoin::{Event, Message};

use crate::past::{ask, minutes_ago};
use crate::world::{Outcome, World};

/// Follows the events of a world from the beginning, in a process of its own.
fn follow<const N: usize>(world: &World, arguments: [&str; N]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_rejoin"))
        .args(["events", "--follow", "--after", "0"])
        .args(arguments)
        .current_dir(world.path("project"))
        .env_clear()
        .env("HOME", world.path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn all(world: &World) -> Vec<Event> {
    world.archive().events_after(0).next(std::time::Duration::ZERO).unwrap()
}

#[test]
fn each_event_is_told_with_its_time_and_what_it_was() {
    let world = World::new();
    let mut trip = world.conversation_in(&world.archive_at(minutes_ago(5)), "Lisbon");
    let [_, answer] = ask(&mut trip, "Where to eat?", "In Alfama.");
    let archive = world.archive_at(minutes_ago(2));
    archive.marks().label(trip.id(), answer, Some("idea")).unwrap();
    let refuse = rejoin::store::Children::Refuse;
    archive.removal().delete_messages(trip.id(), &[answer], refuse, "user\u{1b}[31m-requested").unwrap();
    archive.removal().delete(&[trip.id()], "retention-expired");

    let outcome = world.rejoin(["events"]).variable("TZ", "UTC").run();

    let minute = |place: usize| all(&world)[place].at.to_string()[..16].replace('T', " ");
    let (minute, later, short) = (minute(0), minute(2), trip.id().short());
    assert_ne!(minute, later);
    let expected = format!(
        "{minute}  conversationStored   {short}  0 messages  #1\n\
         {minute}  conversationStored   {short}  2 messages  #2\n\
         {later}  conversationChanged  {short}  #3\n\
         {later}  messagesDeleted      {short}  user-requested  #4\n\
         {later}  conversationDeleted  {short}  retention-expired  #5\n"
    );
    assert_eq!(outcome, Outcome::answer(&expected));
}

#[test]
fn scripts_read_a_line_of_json_for_each_event() {
    let world = World::new();
    let trip = world.conversation("Lisbon");
    world.archive().rename(trip.id(), "Porto").unwrap();
    world.archive().removal().delete(&[trip.id()], "user-requested");

    let outcome = world.rejoin(["events", "--json"]).run();

    let events = all(&world);
    let line = |place: usize, event: &str, more: &str| {
        let (stamp, at, id) = (events[place].stamp, events[place].at, trip.id());
        format!(
            "{{\"stamp\":{stamp},\"event\":\"{event}\",\"at\":\"{at}\",\"conversation\":\"{id}\"{more}}}\n"
        )
    };
    let expected = [
        line(0, "conversationStored", ",\"messages\":0"),
        line(1, "conversationChanged", ""),
        line(2, "conversationDeleted", ",\"reason\":\"user-requested\""),
    ];
    assert_eq!(outcome, Outcome::answer(&expected.concat()));
}

#[test]
fn the_newest_are_shown_or_those_after_a_stamp() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    (0..30).for_each(|_| drop(trip.append(Message::user("Where to eat?")).unwrap()));
    let stamps = |outcome: Outcome| -> Vec<u64> {
        outcome.stdout.lines().map(|line| line.rsplit('#').next().unwrap().parse().unwrap()).collect()
    };

    let shown = [
        stamps(world.rejoin(["events"]).run()),
        stamps(world.rejoin(["events", "--limit", "2"]).run()),
        stamps(world.rejoin(["events", "--after", "3", "--limit", "2"]).run()),
        stamps(world.rejoin(["events", "--after", "28"]).run()),
        stamps(world.rejoin(["events", "--after", "31"]).run()),
    ];

    let expected: [Vec<u64>; 5] =
        [(12..=31).collect(), vec![30, 31], vec![4, 5], vec![29, 30, 31], Vec::new()];
    assert_eq!(shown, expected);
}

#[test]
fn a_follower_is_told_what_another_process_does_as_it_happens() {
    let world = World::new();
    let mut child = follow(&world, ["--json"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();

    let mut trip = world.conversation("Lisbon");
    let created = lines.next().unwrap().unwrap();
    trip.append(Message::user("Where to eat?")).unwrap();
    let grown = lines.next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();

    let events = all(&world);
    let told = [0, 1].map(|messages: usize| {
        let (at, id) = (events[messages].at, trip.id());
        format!(
            "{{\"stamp\":{},\"event\":\"conversationStored\",\"at\":\"{at}\",\"conversation\":\"{id}\",\"messages\":{messages}}}",
            messages + 1
        )
    });
    assert_eq!([created, grown], told);
}

#[test]
fn a_follower_with_a_limit_ends_by_itself() {
    let world = World::new();
    let child = follow(&world, ["--limit", "1"]);

    world.conversation("Lisbon");

    let output = child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap().lines().count();
    assert_eq!((output.status.code(), lines), (Some(0), 1));
}

#[test]
fn a_follower_whose_reader_left_ends_quietly() {
    let world = World::new();
    let mut child = follow(&world, []);
    drop(child.stdout.take());

    world.conversation("Lisbon");

    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaint), (Some(0), String::new()));
}

#[test]
fn a_store_that_is_not_there_has_no_events_and_wrong_numbers_are_refused() {
    let world = World::new();

    let nothing = world.rejoin(["events"]).run();
    let codes = [["--limit", "0"], ["--limit", "-1"], ["--after", "last"]]
        .map(|[flag, value]| world.rejoin(["events", flag, value]).run().code);

    assert_eq!((nothing, codes), (Outcome::note("Nothing has happened.\n"), [2; 3]));
    assert!(!world.path("home/.local/share/rejoin").exists());
}
