//! Retention: what expires is told before it goes, and goes only after that.

mod question;

use rejoin::{Conversation, ConversationId, Hold, List, Message, Retention, Time};
use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::world::{Outcome, World};

const DAY: i64 = 86_400_000_000;
const POLICY: Retention = Retention { days: Some(30), max_per_project: Some(100) };

/// A talk of this project that follows the policy and was last active so many days and hours ago.
fn talk(world: &World, title: &str, days: i64) -> ConversationId {
    let archive = world.archive_at(Time::now().plus_micros(-days * DAY - DAY / 24));
    let header = Conversation { follows_retention: true, ..Conversation::titled(title) };
    let mut handle = archive.start(header.in_project(world.project_key())).unwrap();
    handle.append(Message::user("Where to eat?")).unwrap();
    handle.id()
}

/// The titles that are left, in order.
fn left(world: &World) -> Vec<String> {
    let everything = List { includes_expired: true, ..List::default() };
    let items = world.archive().list(&everything).unwrap().items;
    let mut titles: Vec<String> = items.iter().map(|stored| stored.title().to_owned()).collect();
    titles.sort_unstable();
    titles
}

fn see(world: &World) {
    world.archive().retention().see(&POLICY).unwrap();
}

#[test]
fn a_dry_run_tells_what_goes_and_when() {
    let world = World::new();
    let (old, soon) = (talk(&world, "Old", 31), talk(&world, "Soon", 27));
    talk(&world, "New", 1);

    let outcome = world.rejoin(["expire", "--dry-run"]).run();

    let expected = format!(
        "Conversations are deleted 30 days after they were last used, and the oldest beyond 100 of a \
         project.\n\
         id      title  expires    why  messages   size\n\
         {}  Old    now        age         1  103 B\n\
         {}  Soon   in 3 days  age         1  103 B\n\
         1 conversation would be deleted now, 103 B freed.\n",
        old.short(),
        soon.short(),
    );
    let size = world.archive().conversation(old).unwrap().bytes;
    let told = outcome.stdout.replace(&format!("{size} B"), "103 B");
    let told = told.replace("tomorrow", "in 3 days").replace("in 2 days", "in 3 days");
    assert_eq!((told, outcome.stderr.as_str(), left(&world).len()), (expected, "", 3));
}

#[test]
fn nothing_goes_before_somebody_has_seen_the_notice_at_a_terminal() {
    let world = World::new();
    talk(&world, "Old", 29);
    talk(&world, "Older", 31);
    talk(&world, "New", 0);

    let before = world.rejoin(["expire"]).run();
    let kept = left(&world).len();
    see(&world);
    let after = world.rejoin(["expire"]).run();

    let refusal = "error: the retention policy was never confirmed in a terminal\n\
                   hint: run `rejoin expire` in a terminal once; `rejoin expire --dry-run` shows what is deleted\n";
    assert_eq!((before.stderr.as_str(), before.stdout.as_str(), kept), (refusal, "", 3));
    assert!(
        before.code != 0 && after.stdout.starts_with("1 conversation expired and deleted, "),
        "{after:?}"
    );
    assert_eq!(left(&world), ["New", "Old"]);
}

#[test]
fn scripts_read_what_a_sweep_came_to() {
    let world = World::new();
    let id = talk(&world, "Old", 31);
    talk(&world, "New", 0);
    see(&world);
    let stored = world.archive().conversation(id).unwrap();

    let outcome = world.rejoin(["expire", "--json"]).run().json();

    let expected = json!({
        "policy": {"days": 30, "max_per_project": 100, "notice_days": 5},
        "items": [{
            "id": id, "title": "Old", "project": "[world]/project", "messages": 1, "bytes": stored.bytes,
            "last_active_at": stored.last_active_at,
            "expires_at": stored.last_active_at.plus_micros(30 * DAY), "why": "age", "outcome": "deleted",
        }],
        "deleted": 1, "bytes": stored.bytes, "failed": 0, "keys": null, "held": 0, "in_use": 0, "waits_until": null,
    });
    assert_eq!(outcome, expected);
    let audit = world.rejoin(["audit", "--json"]).run().json();
    let first = (&audit["items"][1]["action"], &audit["items"][1]["reason"]);
    assert_eq!(first, (&json!("expired"), &json!("retention-expired")));
}

#[test]
fn a_store_that_was_not_used_for_long_waits_a_day() {
    let world = World::new();
    talk(&world, "Old", 60);
    see(&world);

    let outcome = world.rejoin(["expire"]).run();

    assert!(outcome.stderr.contains("so nothing goes before 20"), "{outcome:?}");
    assert_eq!((outcome.code, left(&world).len()), (0, 1));
}

#[test]
fn what_a_script_appends_is_kept_for_ever() {
    let world = World::new();
    world.rejoin(["append", "a fact"]).run();
    let appended = world.archive().list(&List::default()).unwrap().items.remove(0);
    let begun = world.started("Begun here");

    let begun = world.archive().conversation(begun.parse().unwrap()).unwrap();

    let follows = [appended, begun].map(|stored| stored.conversation.follows_retention);
    assert_eq!(follows, [false, true]);
}

#[test]
fn a_list_of_all_projects_tells_when_each_expires_by_its_own_policy() {
    let world = World::new();
    world.write("other/.git/HEAD", "");
    let here = world.started("Lisbon");
    let other = world.rejoin(["new", "--title", "Porto"]).from("other").run().stdout;
    let other = world.archive().names().resolve(&other).unwrap().conversation();
    let expiries = || -> Vec<(Value, Value)> {
        let listed = world.rejoin(["list", "--all-projects", "--json"]).run().stdout;
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let items = listed["items"].as_array().unwrap().iter();
        items.map(|item| (item["id"].clone(), item["expires_at"].clone())).collect()
    };
    let archive = world.archive();
    let at = |id, days| json!(archive.conversation(id).unwrap().last_active_at.plus_micros(days * DAY));

    let both = expiries();
    world.write("other/.rejoin/config.toml", "[retention]\ndays = 7\n");
    world.rejoin(["trust", "--yes"]).from("other").run();
    let unseen = expiries();
    archive.retention().see(&Retention { days: Some(7), ..POLICY }).unwrap();
    let seen = expiries();

    let here = here.parse().unwrap();
    let row = |id: ConversationId, expires: Value| (json!(id.to_string()), expires);
    assert_eq!(both, [row(other, at(other, 30)), row(here, at(here, 30))]);
    assert_eq!(unseen, [row(other, Value::Null), row(here, at(here, 30))]);
    assert_eq!(seen, [row(other, at(other, 7)), row(here, at(here, 30))]);
}

#[test]
fn a_list_tells_when_a_conversation_expires() {
    let world = World::new();
    let id = talk(&world, "Old", 27);

    let shown = world.rejoin(["list"]).run().stdout;
    let listed = world.rejoin(["list", "--json"]).run().json();

    let at = world.archive().conversation(id).unwrap().last_active_at.plus_micros(30 * DAY);
    assert!(shown.contains("(expires in 2d)"), "{shown}");
    assert_eq!(listed["items"][0]["expires_at"], json!(at));
}

#[test]
fn a_project_may_keep_longer_once_it_is_trusted() {
    let world = World::new();
    let id = talk(&world, "Old", 31);
    world.project_config("retention.days = 180\n");
    let expires = || {
        let listed = world.rejoin(["list", "--json", "--include-expired"]).run().json();
        listed["items"][0]["expires_at"].clone()
    };
    let active = world.archive().conversation(id).unwrap().last_active_at;

    let before = expires();
    world.rejoin(["trust", "--yes"]).run();

    assert_eq!(
        (before, expires()),
        (json!(active.plus_micros(30 * DAY)), json!(active.plus_micros(180 * DAY)))
    );
}

#[test]
fn a_conversation_is_kept_until_a_day_and_then_goes() {
    let world = World::new();
    let trip = world.conversation("Lisbon");
    let keep = |until: &str| world.rejoin(["keep", "lisbon", "--until", until]).run();

    let told = keep("2099-01-01");

    let header = trip.conversation().unwrap().conversation;
    let short = trip.id().short();
    let expected = format!("Keeping \"Lisbon\" until 2099-01-01 00:00, when it expires: {short}\n");
    assert_eq!(told, Outcome::note(&expected));
    assert_eq!((header.hold, header.expires_at), (Hold::None, Some("2099-01-01T00:00:00Z".parse().unwrap())));
    let refused = ["2020-01-01", "soon", "99999999999w"].map(|until| keep(until).code);
    assert_eq!(refused, [2; 3]);
}

#[test]
fn what_must_not_be_exported_needs_force_and_consent_and_is_noted() {
    let world = World::new();
    let mut trip = world.conversation("Lisbon");
    trip.append(Message::user("psst")).unwrap();
    let set = world.rejoin(["keep", "lisbon", "--exportable", "no"]).run();
    let export = |arguments: &[&str]| {
        let mut all = vec!["export", "lisbon", "--output", "-"];
        all.extend(arguments);
        let mut child = world.program(&all);
        child.output().unwrap().status.code().unwrap()
    };

    let codes = [export(&[]), export(&["--force"]), export(&["--force", "--yes"])];

    let short = trip.id().short();
    assert_eq!(set, Outcome::note(&format!("\"Lisbon\" may not be exported: {short}\n")));
    assert_eq!(trip.conversation().unwrap().conversation.hold, Hold::None);
    assert_eq!(codes.map(|code| code == 0), [false, false, true]);
    let audited = world.archive().audit().query(&Default::default()).unwrap();
    let told: Vec<(&str, &str)> =
        audited.iter().map(|entry| (entry.action.as_str(), entry.reason.as_str())).collect();
    assert_eq!(told, [("exported", "forced")]);
}

#[test]
fn a_changed_policy_is_told_and_a_script_that_changes_it_deletes_nothing() {
    let world = World::new();
    talk(&world, "Old", 8);
    talk(&world, "New", 0);

    let outcome = world.rejoin(["config", "set", "retention.days", "7"]).run();

    let expected = "Set retention.days to 7 in [world]/home/.config/rejoin/config.toml\n\
                    Conversations are deleted 7 days after they were last used, and the oldest \
                    beyond 100 of a project.\n\
                    1 conversation would be deleted once you confirm this in a terminal: rejoin expire\n";
    assert_eq!((outcome, left(&world).len()), (Outcome::note(expected), 2));
}

#[test]
fn a_person_who_changes_the_policy_is_asked_and_it_is_done_at_once() {
    let world = World::new();
    talk(&world, "Old", 8);
    talk(&world, "New", 0);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    terminal.enter("rejoin config set retention.days 7");
    terminal.wait_for("at once?");
    terminal.enter("y");

    terminal.wait_for("1 conversation expired and deleted");
    assert_eq!(left(&world), ["New"]);
}

/// An editor that writes a policy of 7 days.
fn editor(world: &World) -> String {
    world.write("editor", "#!/bin/sh\necho 'retention.days = 7' > \"$1\"\n");
    format!("sh {}", world.path("editor").display())
}

#[test]
fn a_policy_that_was_changed_in_an_editor_is_told_and_a_script_deletes_nothing() {
    let world = World::new();
    talk(&world, "Old", 8);
    talk(&world, "New", 0);
    let editor = editor(&world);

    let outcomes = [(); 2].map(|()| world.rejoin(["config", "edit"]).variable("EDITOR", &editor).run());

    let valid = "The configuration is valid: [world]/home/.config/rejoin/config.toml\n";
    let told = "Conversations are deleted 7 days after they were last used, and the oldest \
                beyond 100 of a project.\n\
                1 conversation would be deleted once you confirm this in a terminal: rejoin expire\n";
    // The second time it is the policy that there was.
    let expected = [Outcome::note(&format!("{valid}{told}")), Outcome::note(valid)];
    assert_eq!((outcomes, left(&world).len()), (expected, 2));
}

#[test]
fn a_person_who_changes_the_policy_in_an_editor_is_asked_and_it_is_done_at_once() {
    let world = World::new();
    talk(&world, "Old", 8);
    talk(&world, "New", 0);
    let editor = editor(&world);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };

    terminal.enter(&format!("EDITOR='{editor}' rejoin config edit"));
    terminal.wait_for("at once?");
    terminal.enter("y");

    terminal.wait_for("1 conversation expired and deleted");
    assert_eq!(left(&world), ["New"]);
}

#[test]
fn the_notice_is_shown_at_the_prompt_and_counts_after_the_next_line() {
    let world = World::new();
    talk(&world, "Old", 31);
    talk(&world, "Soon", 27);
    talk(&world, "New", 0);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };
    let is_seen = || world.archive().retention().has_seen(&POLICY).unwrap();

    terminal.enter("rejoin");
    terminal.wait_for("1 conversation would be deleted next time");
    terminal.wait_for_last(">");
    terminal.key("C-d");
    terminal.wait_for_last("$");
    let after_looking = is_seen();
    terminal.key("C-l");
    terminal.enter("rejoin");
    terminal.wait_for("1 conversation would be deleted next time");
    terminal.wait_for_last(">");
    terminal.enter("/help");
    terminal.wait_for("/rewind");
    terminal.enter("/quit");
    terminal.wait_for_last("$");
    let after_going_on = (is_seen(), left(&world).len());
    terminal.key("C-l");
    terminal.enter("rejoin");
    terminal.wait_for("1 conversation expired and deleted");
    terminal.wait_for("1 conversation expires ");

    assert_eq!((after_looking, after_going_on), (false, (true, 3)));
    assert_eq!(left(&world).iter().filter(|title| *title != "untitled").collect::<Vec<_>>(), ["New", "Soon"]);
}

#[test]
fn what_another_prompt_has_open_is_not_touched() {
    let world = World::new();
    let id = talk(&world, "Old", 31);
    talk(&world, "New", 0);
    see(&world);
    let Some(terminal) = Terminal::open(&world, 120, 40) else { return };
    terminal.enter("REJOIN_RETENTION_DAYS=forever rejoin -r old");
    terminal.wait_for_last(">");
    world.archive().state().remember(&format!("active:{}", world.project_key()), None).unwrap();

    let while_open = (world.rejoin(["expire"]).run().stderr, left(&world).len());
    terminal.enter("/quit");
    terminal.wait_for_last("$");

    assert_eq!(while_open, ("Skipped: 1 in use.\n".to_owned(), 2));
    assert!(world.archive().conversation(id).is_ok());
}

/// A talk of another project that follows the policy and was last active so many days ago.
fn talk_in(world: &World, project: &str, title: &str, days: i64) -> ConversationId {
    let id = talk(world, title, days);
    world.archive().update(id, |header| header.project = Some(project.to_owned())).unwrap();
    id
}

#[test]
fn every_project_is_swept_by_its_own_policy_once_that_was_seen() {
    let world = World::new();
    let keeps = world.path("keeps").canonicalize().unwrap_or_else(|_| world.path("keeps"));
    world.write("keeps/.rejoin/config.toml", "retention.days = \"forever\"\n");
    world.write("hasty/.rejoin/config.toml", "retention.days = 7\n");
    for project in ["keeps", "hasty"] {
        let trusted = world.rejoin(["trust", "--yes"]).from(project).run();
        assert_eq!(trusted.code, 0, "{trusted:?}");
    }
    let hasty = world.path("hasty").canonicalize().unwrap();
    let keeps = keeps.canonicalize().unwrap();
    talk(&world, "Here", 1);
    talk_in(&world, keeps.to_str().unwrap(), "Kept", 40);
    talk_in(&world, hasty.to_str().unwrap(), "Hasty", 8);
    talk_in(&world, "/home/ada/gone", "Gone", 31);
    see(&world);

    let first = world.rejoin(["expire"]).run();
    let after_first = left(&world);
    world.archive().retention().see(&Retention { days: Some(7), max_per_project: Some(100) }).unwrap();
    let second = world.rejoin(["expire"]).run();

    assert!(first.stdout.starts_with("1 conversation expired and deleted, "), "{first:?}");
    assert_eq!(after_first, ["Hasty", "Here", "Kept"]);
    assert!(second.stdout.starts_with("1 conversation expired and deleted, "), "{second:?}");
    assert_eq!(left(&world), ["Here", "Kept"]);
}

#[test]
fn a_project_whose_configuration_was_trusted_and_is_broken_keeps_everything() {
    let world = World::new();
    let file = "broken/.rejoin/config.toml";
    world.write(file, "retention.days = 180\n");
    world.rejoin(["trust", "--yes", "../broken"]).run();
    world.write(file, "retention.days = = 7\n");
    let broken = world.path("broken").canonicalize().unwrap();
    talk(&world, "Here", 1);
    talk_in(&world, broken.to_str().unwrap(), "Old", 60);
    see(&world);

    let elsewhere = world.rejoin(["expire"]).run();
    let there = world.rejoin(["expire"]).from("broken").run();

    assert_eq!((elsewhere.code, there.code, left(&world).len()), (0, 0, 2), "{elsewhere:?} {there:?}");
}

#[test]
fn a_project_that_is_not_trusted_any_more_keeps_everything_until_the_user_decides() {
    let world = World::new();
    world.project_config("retention.days = 180\n");
    world.rejoin(["trust", "--yes"]).run();
    talk(&world, "Here", 1);
    talk(&world, "Old", 60);
    see(&world);
    world.project_config("retention.days = 180\n# pulled\n");

    let changed = world.rejoin(["expire"]).run();
    world.project_config("start.default = \"new\"\n");
    let without_keys = world.rejoin(["expire"]).run();
    std::fs::remove_file(world.path("project/.rejoin/config.toml")).unwrap();
    let without_file = world.rejoin(["expire"]).run();
    let kept = left(&world).len();
    world.rejoin(["trust", "--revoke"]).run();
    let revoked = world.rejoin(["expire"]).run();

    let told =
        [&changed, &without_keys, &without_file].map(|outcome| outcome.stderr.contains("has changed since"));
    assert_eq!((told, kept), ([true; 3], 2), "{changed:?} {without_keys:?} {without_file:?}");
    assert_eq!((revoked.code, left(&world)), (0, vec!["Here".to_owned()]), "{revoked:?}");
}

#[test]
fn a_project_that_was_never_trusted_cannot_stop_retention_with_a_broken_file() {
    let world = World::new();
    world.write("broken/.rejoin/config.toml", "retention.days = = 7\n");
    let broken = world.path("broken").canonicalize().unwrap();
    talk(&world, "Here", 1);
    talk_in(&world, broken.to_str().unwrap(), "Old", 60);
    see(&world);

    let outcome = world.rejoin(["expire"]).run();

    assert_eq!((outcome.code, left(&world)), (0, vec!["Here".to_owned()]), "{outcome:?}");
}

/// Runs a command that goes on until it is ended, and ends it once the old talk is gone.
fn sweeps_meanwhile(world: &World, arguments: &[&str]) {
    let mut child = world.program(arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut events = world.archive().events_after(0);
    let is_gone = |event: &rejoin::Event| matches!(event.kind, rejoin::EventKind::Deleted { .. });
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut gone = false;
    while !gone && std::time::Instant::now() < until {
        gone = events.next(std::time::Duration::from_secs(5)).unwrap().iter().any(is_gone);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((gone, left(world)), (true, vec!["New".to_owned()]));
}

#[test]
fn who_follows_events_sweeps_at_the_start() {
    let world = World::new();
    talk(&world, "Old", 31);
    talk(&world, "New", 0);
    see(&world);

    sweeps_meanwhile(&world, &["events", "--follow"]);
}

#[test]
fn who_watches_other_programs_sweeps_at_the_start() {
    let world = World::new();
    talk(&world, "Old", 31);
    talk(&world, "New", 0);
    see(&world);
    world.write("watched/none.jsonl", "");
    let path = world.path("watched");

    sweeps_meanwhile(&world, &["import", "--watch", "--from", "codex", path.to_str().unwrap()]);
}

#[test]
fn what_belongs_to_no_project_expires_too() {
    let world = World::new();
    let (old, kept) = (talk(&world, "Old", 31), talk(&world, "Until", 1));
    let own = Time::now().plus_micros(-DAY / 48);
    let archive = world.archive();
    archive.update(old, |header| header.project = None).unwrap();
    archive.update(kept, |header| (header.project, header.expires_at) = (None, Some(own))).unwrap();
    talk(&world, "New", 0);
    see(&world);

    let outcome = world.rejoin(["expire"]).run();

    assert!(outcome.stdout.starts_with("2 conversations expired and deleted, "), "{outcome:?}");
    assert_eq!(left(&world), ["New"]);
}

#[test]
fn one_turn_sweeps_after_its_answer_if_nobody_did_for_six_hours() {
    let world = World::new();
    talk(&world, "New", 0);
    see(&world);
    let swept = |hours: i64| {
        talk(&world, "Old", 31);
        let last = Time::now().plus_micros(-hours * DAY / 24).to_string();
        world.archive().state().remember("retention.swept", Some(&last)).unwrap();
        let outcome = world.rejoin(["chat", "Where to eat?"]).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        left(&world).contains(&"Old".to_owned())
    };

    let is_left = [swept(5), swept(7)];

    assert_eq!(is_left, [true, false]);
}
