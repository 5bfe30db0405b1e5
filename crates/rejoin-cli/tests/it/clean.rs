//! `rejoin clean`: what is old goes, what is held, active or of another project stays.

use std::time::{Duration, Instant};

use rejoin::{Conversation, Handle, Hold, Message, Time};

use crate::past::ask;
use crate::terminal::Terminal;
use crate::world::{Outcome, World};

/// Far more than cleaning takes on any machine, and far less than it would take if it
/// grew with the square of what there is.
const MOMENTS: Duration = Duration::from_secs(30);

/// A conversation of this project that was last active this many hours ago.
fn idle(world: &World, title: &str, hours: i64) -> Handle {
    let archive = world.archive_at(Time::now().plus_micros(-hours * 3_600_000_000));
    let mut handle = world.conversation_in(&archive, title);
    ask(&mut handle, "Where to eat?", "In Alfama.");
    handle
}

fn bytes(handle: &Handle) -> u64 {
    handle.conversation().unwrap().bytes
}

/// The titles that are left, in the whole store.
fn left(world: &World) -> Vec<String> {
    let listed = world.archive().list(&rejoin::List::default()).unwrap();
    listed.items.iter().map(|stored| stored.title().to_owned()).collect()
}

#[test]
fn only_what_is_older_than_a_week_goes() {
    let world = World::new();
    let old = idle(&world, "Old", 7 * 24 + 1);
    idle(&world, "New", 7 * 24 - 1);
    let size = bytes(&old);

    let outcome = world.rejoin(["clean", "--yes"]).run();

    let expected = format!("1 conversation deleted, {size} B freed.\n");
    assert_eq!((outcome, left(&world)), (Outcome::answer(&expected), vec!["New".to_owned()]));
}

#[test]
fn age_counts_from_the_last_activity_and_not_from_the_start() {
    let world = World::new();
    let mut begun_long_ago = idle(&world, "Revived", 1_000);
    let archive = world.archive();
    begun_long_ago = archive.resume(begun_long_ago.id()).unwrap();
    begun_long_ago.append(Message::user("Still there?")).unwrap();

    let outcome = world.rejoin(["clean", "--yes"]).run();

    let note = "Nothing to clean: nothing in this project is older than 7 days.\n";
    assert_eq!((outcome, left(&world)), (Outcome::note(note), vec!["Revived".to_owned()]));
}

#[test]
fn the_age_comes_from_the_flag_or_else_from_the_configuration() {
    let world = World::new();
    world.user_config("clean.older_than_days = 3\n");
    let _all = [("One", 25), ("Two", 49), ("Three", 73)].map(|(title, hours)| idle(&world, title, hours));

    let configured = world.rejoin(["clean", "--yes"]).run().code;
    let after_configured = left(&world);
    let flagged = world.rejoin(["clean", "--older-than", "1d 12h", "--yes"]).run().code;

    assert_eq!((configured, after_configured), (0, vec!["One".to_owned(), "Two".to_owned()]));
    assert_eq!((flagged, left(&world)), (0, vec!["One".to_owned()]));
}

#[test]
fn what_is_held_or_active_is_passed_by_and_counted() {
    let world = World::new();
    idle(&world, "Old", 300);
    let held = idle(&world, "Held", 301);
    let imported = idle(&world, "Imported", 302);
    let active = idle(&world, "Active", 303);
    let archive = world.archive();
    archive.update(held.id(), |header| header.hold = Hold::User).unwrap();
    archive.update(imported.id(), |header| header.hold = Hold::Import).unwrap();
    let name = format!("active:{}", world.project_key());
    archive.state().remember(&name, Some(&active.id().to_string())).unwrap();
    let size = bytes(&held);

    let outcome = world.rejoin(["clean", "--yes", "--all"]).run();

    let stdout = format!("1 conversation deleted, {size} B freed.\n");
    let stderr = "Skipped: 2 held, the active one.\n".to_owned();
    assert_eq!(outcome, Outcome { stdout, stderr, code: 0 });
    assert_eq!(left(&world), ["Held", "Imported", "Active"]);
}

#[test]
fn all_means_all_of_this_project_and_no_other() {
    let world = World::new();
    idle(&world, "Old", 300);
    idle(&world, "New", 0);
    let archive = world.archive_at(Time::from_micros(0));
    archive.start(Conversation::titled("Elsewhere").in_project("/other")).unwrap();
    archive.start(Conversation::titled("Nowhere")).unwrap();

    let code = world.rejoin(["clean", "--all", "--yes"]).run().code;

    let mut left = left(&world);
    left.sort();
    assert_eq!((code, left), (0, vec!["Elsewhere".to_owned(), "Nowhere".to_owned()]));
}

#[test]
fn what_is_past_its_own_expiry_is_cleaned_too() {
    let world = World::new();
    let old = idle(&world, "Expired", 300);
    world.archive().update(old.id(), |header| header.expires_at = Some(Time::from_micros(1))).unwrap();

    let code = world.rejoin(["clean", "--yes"]).run().code;

    assert_eq!((code, old.conversation().is_err()), (0, true));
}

#[test]
fn a_dry_run_lists_and_deletes_nothing() {
    let world = World::new();
    let old = idle(&world, "Ol\u{1b}[31md", 3);
    let (short, size) = (old.id().short(), bytes(&old));

    let outcome = world.rejoin(["clean", "--dry-run", "--older-than", "2h"]).run();

    let expected = format!(
        "id      title  last active  messages   size\n\
         {short}  Old    3 hours ago         2  {size} B\n\
         1 conversation would be deleted, {size} B freed.\n"
    );
    assert_eq!((outcome, left(&world).len()), (Outcome::answer(&expected), 1));
}

#[test]
fn without_consent_it_shows_what_would_go_and_keeps_it() {
    let world = World::new();
    let short = idle(&world, "Old", 3).id().short();

    let outcome = world.rejoin(["clean", "--older-than", "2h"]).run();

    let expected = format!(
        "These conversations will be deleted:\n  {short}  3 hours ago  Old\n\
         error: not running in a terminal\n\
         hint: pass `--yes` to confirm\n"
    );
    assert_eq!((outcome, left(&world).len()), (Outcome::failure(1, &expected), 1));
}

#[test]
fn scripts_read_an_outcome_for_each() {
    let world = World::new();
    let old = idle(&world, "Old", 300);
    let stored = old.conversation().unwrap();

    let outcomes = [
        world.rejoin(["clean", "--dry-run", "--json"]).run(),
        world.rejoin(["clean", "--yes", "--json"]).run(),
        world.rejoin(["clean", "--yes", "--json"]).run(),
    ];

    let told = |outcome: &str, deleted: u64| {
        let bytes = deleted * stored.bytes;
        Outcome::answer(&format!(
            "{{\"items\":[{{\"id\":\"{}\",\"title\":\"Old\",\"messages\":2,\"bytes\":{},\
             \"last_active_at\":\"{}\",\"outcome\":\"{outcome}\",\"error\":null}}],\
             \"deleted\":{deleted},\"bytes\":{bytes},\"failed\":0,\"held\":0,\"active\":0}}\n",
            stored.id, stored.bytes, stored.last_active_at
        ))
    };
    let nothing = "{\"items\":[],\"deleted\":0,\"bytes\":0,\"failed\":0,\"held\":0,\"active\":0}\n";
    assert_eq!(outcomes, [told("planned", 0), told("deleted", 1), Outcome::answer(nothing)]);
}

#[test]
fn ages_that_are_none_are_refused() {
    let world = World::new();

    let outcomes = ["7", "soon", "-1d", "99999999999999999999d"].map(|typed| {
        let flag = format!("--older-than={typed}");
        world.rejoin(["clean", &flag, "--yes"]).run()
    });
    let both = world.rejoin(["clean", "--all", "--older-than", "1d"]).run().code;

    let expected = [
        "`7` has no unit: try `7d` for days or `7h` for hours",
        "`soon` is not a length of time: try `30m`, `12h`, `7d` or `2w`",
        "`-1d` is not a length of time: try `30m`, `12h`, `7d` or `2w`",
        "`99999999999999999999d` is too far away",
    ];
    let expected = expected.map(|why| Outcome::failure(2, &format!("error: `--older-than`: {why}\n")));
    assert_eq!((outcomes, both), (expected, 2));
}

#[test]
fn a_store_that_is_not_there_has_nothing_to_clean() {
    let world = World::new();

    let outcome = world.rejoin(["clean", "--all", "--yes"]).run();

    assert_eq!(outcome, Outcome::note("Nothing to clean in this project.\n"));
    assert!(!world.path("home/.local/share/rejoin").exists());
}

#[test]
fn the_prompt_cleans_the_old_ones_or_all_but_this_one() {
    let world = World::new();
    idle(&world, "Old", 7 * 24 + 1);
    idle(&world, "New", 1);
    let Some(terminal) = Terminal::open(&world, 100, 40) else { return };

    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("my bicycle is green");
    terminal.wait_until("the reply", |screen| screen.contains("No model is configured"));
    terminal.wait_for_last(">");
    terminal.enter("/conversations clean");
    terminal.wait_for("[y/N]");
    terminal.enter("y");
    terminal.wait_for("1 conversation deleted");
    terminal.wait_for_last(">");
    let after_clean = left(&world);
    terminal.enter("/conversations clean-all");
    terminal.wait_until("the question", |screen| screen.matches("[y/N]").count() == 2);
    terminal.enter("y");
    terminal.wait_until("the answer", |screen| screen.matches("1 conversation deleted").count() == 2);

    let this = "my bicycle is green".to_owned();
    assert_eq!((after_clean, left(&world)), (vec![this.clone(), "New".to_owned()], vec![this]));
}

#[test]
fn a_talk_that_is_not_kept_has_nothing_to_clean() {
    let world = World::new();
    let Some(terminal) = Terminal::open(&world, 100, 24) else { return };

    terminal.enter("HISTFILE= rejoin --incognito");
    terminal.wait_for_last("incognito>");
    terminal.enter("/conversations clean-all");
    terminal.wait_until("the answer", |screen| screen.matches("incognito>").count() == 2);

    assert!(!world.path("home/.local").exists());
}

#[test]
fn much_is_loaded_and_cleaned_in_moments() {
    let world = World::new();
    let archive = world.archive_at(Time::now().plus_micros(-30 * 24 * 3_600_000_000));
    for number in 0..200 {
        ask(&mut world.conversation_in(&archive, &format!("Small {number}")), "Where to eat?", "In Alfama.");
    }
    let mut large = world.conversation_in(&archive, "Large");
    for _ in 0..10 {
        large.append_turn((0..1_000).map(|_| Message::user("Where to eat?".repeat(20))).collect()).unwrap();
    }
    let began = Instant::now();

    let shown = world.rejoin(["show", "large", "--json"]).run();
    let loaded = began.elapsed();
    let outcome = world.rejoin(["clean", "--yes"]).run();
    let cleaned = began.elapsed() - loaded;

    assert_eq!(shown.json()["messages"].as_array().map(Vec::len), Some(10_000));
    assert!(outcome.stdout.starts_with("201 conversations deleted, "), "{outcome:?}");
    assert!(loaded < MOMENTS && cleaned < MOMENTS, "loaded in {loaded:?}, cleaned in {cleaned:?}");
}
