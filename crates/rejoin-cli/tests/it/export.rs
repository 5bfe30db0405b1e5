//! `rejoin export`: where files go, what they are called, and that nothing is overwritten unasked.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rejoin::{ConversationId, Message, Time};
use serde_json::json;

use crate::terminal::Terminal;
use crate::world::{Outcome, World};

/// A world with one conversation of two messages.
fn lisbon(world: &World) -> ConversationId {
    world.started("note");
    let id = world.talk("Lisbon: où manger?", &["Where to eat?"]);
    world.archive().resume(id).unwrap().append(Message::assistant("A *tasca*.")).unwrap();
    id
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn an_export_goes_to_the_downloads_folder_under_the_name_of_its_title() {
    let world = World::new();
    let short = lisbon(&world).short().to_string();

    let outcome = world.rejoin(["export", &short]).run().naming(&[(&short, "SHORT")]);

    let stdout = "[world]/home/Downloads/lisbon-où-manger-SHORT.md\n".to_owned();
    assert_eq!(outcome, Outcome { stdout, stderr: "Exported 1 conversation.\n".to_owned(), code: 0 });
    let path = world.path(format!("home/Downloads/lisbon-où-manger-{short}.md"));
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let text = fs::read_to_string(path).unwrap();
    assert!(text.starts_with("---\ntitle: \"Lisbon: où manger?\"\n"), "{text}");
    assert!(text.ends_with("\n> A *tasca*.\n"), "{text}");
}

#[test]
fn the_configured_folder_counts_and_a_project_may_not_choose_it() {
    let world = World::new();
    let short = lisbon(&world).short().to_string();
    world.user_config("export.directory = \"~/exports\"\n");
    world.project_config("export.directory = \"/elsewhere\"\n");

    let outcome = world.rejoin(["export", &short, "--format", "html"]).run();

    assert!(outcome.stdout.starts_with("[world]/home/exports/lisbon"), "{outcome:?}");
    assert!(outcome.stderr.contains("export.directory"), "{outcome:?}");
}

#[test]
fn what_is_there_is_not_replaced_unasked() {
    let world = World::new();
    let short = lisbon(&world).short().to_string();
    let export = || world.rejoin(["export", &short, "--output", "a.md"]).run();
    let (first, same) = (export(), export());
    world.write("project/a.md", "mine");

    let refused = export();
    let kept = world.read("project/a.md");
    let forced = world.rejoin(["export", &short, "--output", "a.md", "--yes", "--json"]).run().json();

    let done = |note: &str| Outcome {
        stdout: "[world]/project/a.md\n".to_owned(),
        stderr: note.to_owned(),
        code: 0,
    };
    assert_eq!(first, done("Exported 1 conversation.\n"));
    assert_eq!(same, done("Exported 0 conversations; 1 file already exists.\n"));
    let told = "error: `[world]/project/a.md` already exists\n\
                hint: pass `--yes` to replace it, or `--output` to write elsewhere\n";
    assert_eq!((refused.stderr.as_str(), refused.stdout.as_str(), kept.as_str()), (told, "", "mine"));
    assert_eq!(forced["exported"][0]["state"], "replaced");
    assert_eq!(mode(&world.path("project/a.md")), 0o600);
}

#[test]
fn a_symbolic_link_is_replaced_and_not_followed() {
    let world = World::new();
    let short = lisbon(&world).short().to_string();
    world.write("precious", "mine");
    std::os::unix::fs::symlink(world.path("precious"), world.path("project/a.md")).unwrap();

    let refused = world.rejoin(["export", &short, "--output", "a.md"]).run();
    let forced = world.rejoin(["export", &short, "--output", "a.md", "--yes"]).run();

    assert_eq!(
        (refused.code, forced.code, world.read("precious").as_str()),
        (refused.code.max(1), 0, "mine")
    );
    assert!(fs::symlink_metadata(world.path("project/a.md")).unwrap().is_file());
}

#[test]
fn what_is_not_a_file_is_not_replaced() {
    let world = World::new();
    let short = lisbon(&world).short().to_string();
    let pipe = world.path("project/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink("pipe", world.path("project/link")).unwrap();

    let outcomes = ["pipe", "link", "/dev/null"]
        .map(|place| world.rejoin(["export", &short, "--output", place, "--yes"]).run().stderr);

    let told = |path: &str| {
        format!(
            "error: `{path}` is not a file\n\
             hint: name a file, or write to stdout with `--output -`\n"
        )
    };
    assert_eq!(outcomes, ["[world]/project/pipe", "[world]/project/link", "/dev/null"].map(told));
    assert!(!fs::symlink_metadata(pipe).unwrap().is_file());
    assert!(!fs::symlink_metadata("/dev/null").unwrap().is_file());
}

#[test]
fn a_place_below_a_file_is_told() {
    let world = World::new();
    let id = lisbon(&world).to_string();
    world.write("project/notes.txt", "mine");

    let outcome = world.rejoin(["export", &id, "--output", "notes.txt/lisbon.md"]).run();

    let expected =
        "error: `[world]/project/notes.txt` is not a directory\nhint: name another place with `--output`\n";
    assert_eq!(outcome, Outcome::failure(1, expected));
}

#[test]
fn the_standard_output_takes_one_conversation() {
    let world = World::new();
    let (short, other) =
        (lisbon(&world).short().to_string(), world.talk("Porto", &["Hm?"]).short().to_string());

    let one = world.rejoin(["export", &short, "--output", "-", "--format", "json"]).run();
    let two = world.rejoin(["export", &short, &other, "--output", "-"]).run();
    let both = world.rejoin(["export", &short, "--output", "-", "--json"]).run();

    assert_eq!((one.code, one.stderr.as_str(), one.json()["rejoin"].clone()), (0, "", json!(1)));
    assert_eq!(
        two,
        Outcome::failure(
            2,
            "error: only one conversation can be written to stdout\nhint: name a directory with `--output`\n"
        )
    );
    assert_eq!(both.code, 2);
}

#[test]
fn all_of_a_project_are_exported_and_one_that_fails_does_not_stop_the_others() {
    let world = World::new();
    let (lisbon, porto) = (lisbon(&world), world.talk("Porto", &["Hm?"]));
    let secret = world.talk("Secret", &["psst"]);
    world.archive().update(secret, |header| header.privacy.exportable = false).unwrap();
    let run = world.archive().subagents().start(
        porto,
        world.archive().conversation(porto).unwrap().head.unwrap().id,
        "scout",
        "1",
    );
    run.unwrap().append(Message::user("look")).unwrap();

    let outcome = world.rejoin(["export", "--all", "--output", "out/"]).run();

    let (l, p, s) = (lisbon.short(), porto.short(), secret.short());
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let expected =
        [format!("[world]/project/out/porto-{p}.md"), format!("[world]/project/out/lisbon-où-manger-{l}.md")];
    assert_eq!((outcome.code, lines), (1, expected.iter().map(String::as_str).collect::<Vec<_>>()));
    let told = format!(
        "Exported 2 conversations.\nerror: 1 of 3 conversations could not be exported: {s} (Secret): conversation `{secret}` is marked as not exportable\n\
         hint: run `rejoin keep {s} --exportable yes` to allow it, or pass `--force` to export it once\n"
    );
    assert_eq!(outcome.stderr, told);
    assert_eq!(fs::read_dir(world.path("project/out")).unwrap().count(), 2);
}

#[test]
fn runs_of_sub_agents_without_a_parent_are_exported_and_counted() {
    let world = World::new();
    let parent = lisbon(&world);
    let archive = world.archive();
    let head = archive.conversation(parent).unwrap().head.unwrap().id;
    let run = |parent, message, run: &str| {
        let mut run = archive.subagents().start(parent, message, "explorer", run).unwrap();
        let text = format!("explore {}", run.id());
        (run.id(), run.append(Message::user(text)).unwrap().head)
    };
    let (first, asked) = run(parent, head, "one");
    run(first, asked, "two");
    let along =
        world.rejoin(["export", "--all", "--format", "json", "--output", "a/", "--json"]).run().json();
    archive.removal().delete(&[parent], "gone");

    let alone =
        world.rejoin(["export", "--all", "--format", "json", "--output", "b/", "--json"]).run().json();
    let told = world.rejoin(["export", "--all", "--output", "c/"]).run();

    let counts = |told: &serde_json::Value| {
        (told["exported"].as_array().unwrap().len(), told["orphaned_runs"].as_u64().unwrap())
    };
    // The other one is the note that made the store.
    assert_eq!((counts(&along), counts(&alone)), ((1, 0), (1, 1)));
    let expected =
        "Exported 1 conversation, including 1 sub-agent run without the conversation that started it.\n";
    assert_eq!(told.stderr, expected);
    let file = alone["exported"][0]["path"]
        .as_str()
        .unwrap()
        .replace("[world]", &world.path("").display().to_string());
    let text = fs::read_to_string(file).unwrap();
    assert_eq!(text.matches("\"explore ").count(), 2, "{text}");
}

#[test]
fn conversations_with_the_same_short_id_go_to_files_of_their_own() {
    let world = World::new();
    let id = lisbon(&world);
    world.rejoin(["export", &id.to_string(), "--format", "json", "--output", "a.json"]).run();
    let text = world.read("project/a.json");
    // Such ids are no longer made, and a store may have them.
    let ids = [1, 2, 3].map(|minute| ConversationId::new(Time::from_micros(minute * 60_000_000), [7; 10]));
    for id_of_copy in ids {
        world.write("project/b.json", &text.replace(&id.to_string(), &id_of_copy.to_string()));
        world.rejoin(["import", "b.json"]).run();
    }
    let short = ids[0].short().to_string();

    let outcomes = ["markdown", "json", "codex"].map(|format| {
        let arguments = ["export", "--all-projects", "--format", format, "--output", "out/", "--json"];
        let told = world.rejoin(arguments).run().json();
        let paths = told["exported"].as_array().unwrap().iter().map(|one| one["path"].to_string());
        (paths.collect::<std::collections::HashSet<_>>().len(), told["failed"].clone())
    });
    let asked = world.rejoin(["show", &short]).run();
    let shown = ids.map(|id| world.rejoin(["show", &id.to_string()]).run().code);

    assert_eq!(outcomes, [(4, json!([])), (4, json!([])), (4, json!([]))]);
    assert!(ids.iter().all(|id| asked.stderr.contains(&id.to_string())), "{asked:?}");
    assert_eq!(shown, [0; 3]);
}

#[test]
fn a_message_or_a_branch_exports_what_leads_to_it() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append(
        &id,
        "{\"role\":\"user\",\"content\":\"one\"}\n{\"role\":\"assistant\",\"content\":\"two\"}\n",
    );
    world.archive().fork(id.parse().unwrap(), ids[0].parse().unwrap(), "on a budget").unwrap();

    let message = world.rejoin(["export", &ids[0], "--output", "-"]).run().stdout;
    let branch = world.rejoin(["export", &id, "--branch", "on a budget", "--output", "-"]).run().stdout;
    let whole = world.rejoin(["export", &id, "--output", "-"]).run().stdout;

    let has = |text: &str| [text.contains("> one\n"), text.contains("> two\n")];
    assert_eq!([has(&message), has(&branch), has(&whole)], [[true, false], [true, false], [true, true]]);
}

#[test]
fn two_messages_or_two_conversations_never_share_a_file() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append(
        &id,
        "{\"role\":\"user\",\"content\":\"one\"}\n{\"role\":\"assistant\",\"content\":\"two\"}\n",
    );
    world.talk("Porto", &["Hm?"]);
    let paths = |outcome: Outcome| {
        let done = outcome.json()["exported"].as_array().unwrap().clone();
        let paths = done.iter().map(|one| (one["path"].as_str().unwrap().to_owned(), one["state"].clone()));
        paths.collect::<std::collections::BTreeMap<_, _>>()
    };

    let messages = ["markdown", "html", "json", "codex", "cpe"].map(|format| {
        let arguments =
            ["export", &ids[0], &ids[1], "--format", format, "--output", "out/", "--yes", "--json"];
        paths(world.rejoin(arguments).run())
    });
    let all = paths(world.rejoin(["export", "--all", "--format", "cpe", "--output", "out/", "--json"]).run());

    let is_written = |paths: &std::collections::BTreeMap<String, serde_json::Value>| {
        paths.len() == 2 && paths.values().all(|state| state == "written")
    };
    assert!(messages.iter().all(is_written), "{messages:?}");
    assert!(is_written(&all), "{all:?}");
    assert!(all.keys().all(|path| path.ends_with("/.cpeconvo")), "{all:?}");
}

#[test]
fn json_goes_out_and_comes_back_into_another_store() {
    let world = World::new();
    let id = lisbon(&world);
    let short = id.short().to_string();
    world.rejoin(["export", &short, "--format", "json", "--output", "a.json"]).run();
    let store = format!("sqlite:{}", world.path("other.db").display());

    let there = world.rejoin(["import", "a.json", "--store", &store]).run();
    let here = world.rejoin(["import", "a.json"]).run();
    let again =
        world.rejoin(["export", &short, "--format", "json", "--output", "-", "--store", &store]).run();

    assert_eq!(there.stdout, "Imported 2 messages of 1 new conversation from 1 file.\n");
    assert_eq!(here.stdout, "Nothing new in 1 file.\n1 conversation is already here.\n");
    let messages = |text: &str| {
        serde_json::from_str::<serde_json::Value>(text).unwrap()["conversations"][0]["messages"].clone()
    };
    assert_eq!(messages(&again.stdout), messages(&world.read("project/a.json")));
}

#[test]
fn every_format_that_can_be_written_is_offered() {
    let world = World::new();
    let short = lisbon(&world).short().to_string();
    let offered = ["markdown", "html", "json"].into_iter().map(str::to_owned);
    let others = rejoin::formats::FORMATS.iter().filter(|format| format.can_write() && format.name != "json");

    for format in offered.chain(others.map(|format| format.name.to_owned())) {
        let outcome = world.rejoin(["export", &short, "--format", &format, "--output", "out/"]).run();

        assert_eq!((outcome.code, outcome.stdout.lines().count()), (0, 1), "{format}: {outcome:?}");
    }
}

#[test]
fn a_terminal_is_asked_before_anything_is_replaced() {
    let world = World::new();
    let short = lisbon(&world).short().to_string();
    world.write("project/a.md", "mine");
    let Some(terminal) = Terminal::open(&world, 100, 20) else { return };

    terminal.enter(&format!("rejoin export {short} --output a.md"));
    terminal.wait_for("Replace it? [y/N]");
    terminal.enter("n");
    terminal.wait_for("not confirmed");
    let kept = world.read("project/a.md");
    terminal.enter("clear");
    terminal.wait_until("an empty screen", |screen| !screen.contains("Replace it?"));
    terminal.enter(&format!("rejoin export {short} --output a.md"));
    terminal.wait_for("Replace it? [y/N]");
    terminal.enter("y");
    terminal.wait_for("Exported 1 conversation.");

    assert_eq!(kept, "mine");
    assert!(world.read("project/a.md").starts_with("---\n"));
}

#[test]
fn the_prompt_exports_this_conversation_another_and_all() {
    let world = World::new();
    let short = lisbon(&world).short().to_string();
    let porto = world.talk("Porto", &["Hm?"]).short().to_string();
    let Some(terminal) = Terminal::open(&world, 150, 40) else { return };

    terminal.enter(&format!("rejoin -r {short}"));
    terminal.wait_for("Resumed conversation");
    terminal.enter("/export");
    terminal.wait_for(&format!("Downloads/lisbon-où-manger-{short}.md"));
    terminal.enter("/export json");
    terminal.wait_for(&format!("Downloads/lisbon-où-manger-{short}.json"));
    terminal.enter(&format!("/export {porto} html"));
    terminal.wait_for(&format!("Downloads/porto-{porto}.html"));
    terminal.enter("/export nothing-like-it");
    terminal.wait_for("error: ");
    terminal.enter("/export-all");
    terminal.wait_for("Exported 1 conversation; 1 file already exists.");
    terminal.enter("/quit");
    terminal.wait_for_last("$");

    let entries = fs::read_dir(world.path("home/Downloads")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let lisbon = |ending: &str| format!("lisbon-où-manger-{short}.{ending}");
    let porto = |ending: &str| format!("porto-{porto}.{ending}");
    assert_eq!(names, [lisbon("json"), lisbon("md"), porto("html"), porto("md")]);
}
