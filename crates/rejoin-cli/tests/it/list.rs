//! `rejoin list`: which conversations there are, page by page.

use std::fs;
use std::io::{BufRead, BufReader, Read};

use rejoin::{Conversation, Hold, Time};
use serde_json::json;

use crate::strace::Strace;
use crate::world::{Outcome, World, short};

const QUESTION: &str = r#"{"role":"user","content":"Where to eat?\n\nWe like fish."}"#;
const ANSWER: &str = r#"{"role":"assistant","content":"In Alfama.\u001b[2J\u009b2J"}"#;

/// When a conversation was last active, as people and as scripts are told.
fn moment(world: &World, id: &str) -> (String, String) {
    let time = world.archive().conversation(id.parse().unwrap()).unwrap().last_active_at.to_string();
    (time[..16].replace('T', " "), time)
}

#[test]
fn without_conversations_the_next_step_is_told() {
    let world = World::new();

    let outcomes = [world.rejoin(["list"]).run(), world.rejoin(["ls", "--json"]).run()];

    let expected = [
        "No saved conversations.\nCreate one: rejoin new\n",
        "{\"items\":[],\"next_cursor\":null,\"total\":0}\n",
    ];
    assert_eq!(outcomes, expected.map(Outcome::answer));
    assert!(!world.path("home/.local").exists(), "reading creates nothing");
}

#[test]
fn each_conversation_is_a_line_and_the_active_one_is_marked() {
    let world = World::new();
    let porto = world.started("Porto\u{1b}]0;x\u{7} by train");
    let lisbon = world.started("Lisbon");
    world.append("lisbon", &format!("{QUESTION}\n{ANSWER}\n"));
    world.archive().update(porto.parse().unwrap(), |header| header.hold = Hold::User).unwrap();
    let model = |header: &mut Conversation| header.settings.model = Some("opus".to_owned());
    world.archive().update(lisbon.parse().unwrap(), model).unwrap();

    let outcome = world.rejoin(["list"]).run();

    let expected = "\
→ [lisb]  now  opus  2 msgs  Lisbon
  [port]  now  -     0 msgs  Porto by train (kept)

Total: 2 conversation(s)
";
    let names = [(short(&lisbon), "[lisb]"), (short(&porto), "[port]")];
    let names = names.each_ref().map(|(id, name)| (id.as_str(), *name));
    assert_eq!(outcome.naming(&names), Outcome::answer(expected));
}

#[test]
fn details_are_listed_newest_first_with_the_active_one_marked() {
    let world = World::new();
    let porto = world.started("Porto\u{1b}]0;x\u{7} by train");
    let lisbon = world.started("Lisbon");
    world.append("lisbon", &format!("{QUESTION}\n{ANSWER}\n"));
    world.archive().update(porto.parse().unwrap(), |header| header.hold = Hold::User).unwrap();

    let outcome = world.rejoin(["list", "--long"]).run();

    let (first, second) = (moment(&world, &lisbon).0, moment(&world, &porto).0);
    let expected = format!(
        "Saved Conversations:\n\n\
         → [lisbon] [chat] Lisbon\n    \
         Last active: just now | Status: active | Messages: 2 | Size: 248 B\n    \
         Provider: unknown (unknown) | Updated: {first}\n    \
         First: Where to eat? We like fish.\n    \
         Last: In Alfama.\n\n  \
         [porto] [chat] Porto by train\n    \
         Last active: just now | Status: active | Messages: 0 | Size: 0 B | Kept\n    \
         Provider: unknown (unknown) | Updated: {second}\n\n\
         Total: 2 conversation(s)\n"
    );
    let names = [(short(&lisbon), "[lisbon]"), (short(&porto), "[porto]")];
    let names = names.each_ref().map(|(id, name)| (id.as_str(), *name));
    assert_eq!(outcome.naming(&names), Outcome::answer(&expected));
}

/// Whoever lists often waits for nothing but these calls. The library looks again at
/// what is above a store that it opens.
#[test]
fn a_list_judges_the_project_once_and_what_is_above_a_store_twice() {
    let Some(strace) = Strace::find() else { return };
    let world = World::new();
    world.started("Lisbon");
    let trace = world.path("trace");

    let listed = strace.watch(&world.program(&["list"]), "statx,geteuid", &trace).output().unwrap();

    let calls = fs::read_to_string(&trace).unwrap();
    let looks = |place: &str| {
        let quoted = format!("\"{}\"", world.path(place).display());
        calls.lines().filter(|call| call.contains(&quoted)).count()
    };
    let places = ["project", "project/.git", "home", "home/.local/share"];
    assert_eq!((listed.status.success(), places.map(looks)), (true, [1, 1, 2, 2]), "{calls}");
    // The command, the library and SQLite, which asks for each of its two files.
    assert!(calls.matches("geteuid()").count() <= 4, "{calls}");
}

#[test]
fn a_script_reads_every_field() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append("lisbon", &format!("{QUESTION}\n{ANSWER}\n"));
    let archive = world.archive();
    let branch = archive.fork(id.parse().unwrap(), ids[0].parse().unwrap(), "on a budget").unwrap();
    let changed = archive
        .update(id.parse().unwrap(), |header| {
            header.settings.provider = Some("anthropic".to_owned());
            header.settings.model = Some("opus".to_owned());
            header.expires_at = Some(Time::from_micros(4_000_000_000_000_000));
        })
        .unwrap();

    let outcome = world.rejoin(["list", "--json"]).run();

    let expected = json!({"items": [{
        "id": id, "short": short(&id), "title": "Lisbon", "kind": "chat", "status": "active",
        "provider": "anthropic", "model": "opus", "project": "[world]/project", "messages": 2, "bytes": 248,
        "first": "Where to eat? We like fish.", "last": "In Alfama.\u{1b}[2J\u{9b}2J",
        "created_at": changed.created_at, "last_active_at": moment(&world, &id).1,
        "expires_at": "2096-10-02T07:06:40.000000Z", "hold": "none", "source": null, "active": true, "head": ids[1],
        "branches": [{"id": branch.id, "title": "on a budget", "head": ids[0]}],
    }], "next_cursor": null, "total": 1});
    assert_eq!(outcome.json(), expected);
    let is_inert = outcome.stdout.chars().all(|letter| letter == '\n' || !letter.is_control());
    assert!(is_inert, "{:?}", outcome.stdout);
}

#[test]
fn the_next_page_is_the_command_that_was_told() {
    let world = World::new();
    let ids = ["A", "B", "C"].map(|title| world.started(title));

    let first = world.rejoin(["list", "--limit", "2", "--kind", "chat"]).run();
    let command = first.stdout.lines().last().unwrap().strip_prefix("More: rejoin list ").unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    let [limit, two, kind, chat, cursor, place] = words.try_into().unwrap();
    let second = world.rejoin(["list", limit, two, kind, chat.trim_matches('\''), cursor, place]).run();

    let shown = |outcome: &Outcome| ids.each_ref().map(|id| outcome.stdout.contains(&short(id)));
    assert_eq!([shown(&first), shown(&second)], [[false, true, true], [true, false, false]]);
    assert!(second.stdout.ends_with("\nTotal: 3 conversation(s)\n"), "{}", second.stdout);
}

#[test]
fn a_list_of_what_cannot_be_read_does_not_say_that_there_is_nothing() {
    let world = World::of_files();
    world.started("Lisbon");
    files_below(&world.path("home/.local/share/rejoin"), "jsonl")
        .iter()
        .for_each(|path| fs::write(path, "damaged\n").unwrap());

    let listed = world.rejoin(["list"]).run();

    assert_eq!(
        listed.stdout, "No conversation can be read.\nTo see what is wrong: rejoin verify\n",
        "{listed:?}"
    );
    assert!(listed.stderr.starts_with("warning: "), "{listed:?}");
}

/// The files below a directory whose names end like this.
fn files_below(directory: &std::path::Path, ending: &str) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let below = |path: std::path::PathBuf| {
        if path.is_dir() { files_below(&path, ending) } else { vec![path] }
    };
    entries.flat_map(below).filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

#[test]
fn only_this_project_is_listed_unless_all_are_asked_for() {
    let world = World::new();
    world.write("other/.git/HEAD", "");
    world.started("Lisbon");

    let here = world.rejoin(["list"]).from("other").run();
    let everywhere = world.rejoin(["list", "--all-projects", "--long"]).from("other").run();

    let expected = Outcome {
        stdout: "No saved conversations.\nCreate one: rejoin new\n".to_owned(),
        stderr: "There are some in other projects: rejoin list --all-projects\n".to_owned(),
        code: 0,
    };
    assert_eq!(here, expected);
    assert!(everywhere.stdout.contains("\n    Project: [world]/project\n"), "{}", everywhere.stdout);
}

#[test]
fn a_line_names_the_project_where_there_are_several() {
    let world = World::new();
    world.write("other/.git/HEAD", "");
    let lisbon = world.started("Lisbon");
    let porto = world.rejoin(["new", "--title", "Porto"]).from("other").run().stdout;

    let listed = world.rejoin(["list", "--all-projects"]).run();

    let expected = "  [port]  now  -  0 msgs  other    Porto\n→ [lisb]  now  -  0 msgs  project  Lisbon\n\n\
                    Total: 2 conversation(s)\n";
    let names = [(porto.trim(), "[port]"), (&short(&lisbon), "[lisb]")];
    assert_eq!(listed.naming(&names), Outcome::answer(expected));
}

/// A world with an import of Claude Code that has a run of a sub-agent, and a conversation that began here.
fn with_an_import(world: &World) -> (String, String) {
    let line = |id: &str, parent: &str, kind: &str, rest: &str| {
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"uuid":"{id}","sessionId":"0b9d4b3e-3f0e-4b6e-8d6c-0a4c7a5a1d01","cwd":"{}","timestamp":"2026-01-05T10:00:00.000Z","version":"2.0.0","type":"{kind}","message":{{"role":"{kind}",{rest}}}}}"#,
            world.path("project").display()
        )
    };
    let said = [
        line("a1", "null", "user", r#""content":"Where to eat?""#),
        line(
            "a2",
            "\"a1\"",
            "assistant",
            r#""id":"m1","model":"opus","content":[{"type":"text","text":"In Alfama."}]"#,
        ),
    ];
    world.write("home/claude.jsonl", &format!("{}\n", said.join("\n")));
    let file = world.path("home/claude.jsonl").display().to_string();
    let imported = world.rejoin(["import", &file]).run();
    assert_eq!(imported.code, 0, "{imported:?}");
    let archive = world.archive();
    let list = rejoin::List { source: Some("claude".to_owned()), ..Default::default() };
    let trip = archive.list(&list).unwrap().items.remove(0);
    let asked = trip.head.unwrap().id;
    let run = archive.subagents().start(trip.id, asked, "reviewer", "r1").unwrap();
    let deeper = archive.start(Conversation::new().in_project(trip.conversation.project.unwrap())).unwrap();
    drop(deeper);
    (trip.id.to_string(), run.id().to_string())
}

#[test]
fn a_list_filters_by_the_program_that_conversations_come_from() {
    let world = World::new();
    let (imported, _) = with_an_import(&world);
    let own = world.started("Lisbon");

    let of = |source| world.rejoin(["list", "--source", source, "--json"]).run().json();
    let [claude, codex, here] = ["claude", "codex", "rejoin"].map(of);
    let unknown = world.rejoin(["list", "--source", "claud"]).run();
    let found = |source| world.rejoin(["search", "eat", "--source", source, "--json"]).run().json();
    let found = ["claude", "codex", "rejoin"].map(found).map(|found| found["total"].clone());

    let told = json!([claude["total"], claude["items"][0]["id"], claude["items"][0]["source"]]);
    assert_eq!(told, json!([1, imported, "claude"]));
    assert_eq!(
        [&codex["total"], &here["total"], &here["items"][0]["id"]],
        [&json!(0), &json!(2), &json!(own)]
    );
    assert!(unknown.code == 2 && unknown.stderr.contains("`claude`, `qwen`, `codex`"), "{unknown:?}");
    assert_eq!(found, [json!(1), json!(0), json!(0)]);
}

#[test]
fn runs_of_sub_agents_are_folded_shown_and_found() {
    let world = World::new();
    let (imported, run) = with_an_import(&world);
    let ids = |outcome: Outcome| {
        let items = outcome.json()["items"].as_array().unwrap().clone();
        items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    let folded = world.rejoin(["list", "--source", "claude"]).run().stdout;
    let everything = world.rejoin(["list"]).run().stdout;
    let script = world.rejoin(["list", "--source", "claude", "--json"]).run().json();
    let unfolded = world.rejoin(["list", "--subagents"]).run().stdout;
    let named = ids(world.rejoin(["list", "--subagent", "reviewer", "--json"]).run());
    let one = ids(world.rejoin(["list", "--subagent", "reviewer:r1", "--json"]).run());
    let other = ids(world.rejoin(["list", "--subagent", "reviewer:r2", "--json"]).run());

    assert!(folded.contains("  Claude Code  2 msgs  Where to eat?\n"), "{folded}");
    assert!(everything.contains("  Claude Code  2 msgs  Where to eat? (+1 run)\n"), "{everything}");
    assert!(
        everything.ends_with("\nTotal: 2 conversation(s)\nAnd 1 sub-agent run: rejoin list --subagents\n"),
        "{everything}"
    );
    assert_eq!((script["total"].clone(), script["items"][0]["id"].clone()), (json!(1), json!(imported)));
    assert!(unfolded.contains(&format!("Where to eat?\n└ {}", short(&run))), "{unfolded}");
    assert!(unfolded.ends_with("\nTotal: 3 conversation(s)\n"), "{unfolded}");
    assert_eq!([named, one, other], [vec![run.clone()], vec![run], vec![]]);
}

#[test]
fn filters_leave_out_the_rest() {
    let world = World::new();
    let old = world.started("Old");
    world
        .archive()
        .update(old.parse().unwrap(), |header| header.expires_at = Some(Time::from_micros(1)))
        .unwrap();
    world.rejoin(["new", "--kind", "review"]).run();

    let totals = [
        world.rejoin(["list", "--json"]).run(),
        world.rejoin(["list", "--json", "--include-expired"]).run(),
        world.rejoin(["list", "--json", "--kind", "review"]).run(),
        world.rejoin(["list", "--json", "--status", "paused"]).run(),
    ]
    .map(|outcome| outcome.json()["total"].clone());
    let empty = world.rejoin(["list", "--status", "paused"]).run();

    assert_eq!(totals, [json!(1), json!(2), json!(1), json!(0)]);
    let expected = "No saved conversations match.\nTo see all 2: rejoin list --include-expired\n";
    assert_eq!(empty, Outcome::answer(expected));
}

#[test]
fn wrong_flags_are_refused() {
    let world = World::new();

    let cursor = world.rejoin(["list", "--cursor", "../x\u{1b}[2J"]).run();
    let codes = [
        world.rejoin(["list", "--limit", "0"]).run().code,
        world.rejoin(["list", "--limit", "-1"]).run().code,
        world.rejoin(["list", "--limit", "1001"]).run().code,
        world.rejoin(["list", "--status", "asleep"]).run().code,
    ];

    let expected = "error: `../x` is not a cursor; use the one from the page before\n";
    assert_eq!(cursor, Outcome::failure(1, expected));
    assert_eq!(codes, [2; 4]);
}

#[test]
fn a_reader_that_leaves_after_the_first_line_is_no_failure() {
    let world = World::new();
    world.started("Lisbon");
    let archive = world.archive();
    let title = "x".repeat(900);
    // More than a pipe holds, so that the program is still writing when the reader leaves.
    (0..100).for_each(|_| drop(archive.start(Conversation::titled(&title)).unwrap()));
    let mut child = world.program(&["list", "--long", "--limit", "1000", "--all-projects"]).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();

    output.read_line(&mut line).unwrap();
    drop(output);

    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!(line, "Saved Conversations:\n");
    assert_eq!((child.wait().unwrap().code(), complaint), (Some(0), String::new()));
}
