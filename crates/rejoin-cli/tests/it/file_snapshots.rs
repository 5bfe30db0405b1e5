//! Snapshots of a project's files: taken before a turn writes, restored by `rejoin restore-files`.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rejoin::files::{FileEntry, FileManifest, FileStamp};
use rejoin::store::Children;
use rejoin::{Archive, Block, Conversation, ConversationId, Message, Role};
use serde_json::{Value, json};

use crate::model_server::{ModelServer, call, end, reply};
use crate::vault::sealed;
use crate::world::{Outcome, World};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// A model that runs what the user says.
fn obedient() -> ModelServer {
    ModelServer::start(|request| {
        let is_background = request["tools"].as_array().is_none_or(Vec::is_empty);
        match request["messages"].as_array().unwrap().last() {
            Some(last) if !is_background && last["role"] == "user" => {
                let said = last["content"].as_str().unwrap_or_default();
                vec![call("c1", "run", &json!({"command": said})), end("tool_calls")]
            }
            _ => reply("Done."),
        }
    })
}

/// Has the model run a command in the project.
fn talk(world: &World, id: &str, command: &str) -> Outcome {
    let outcome = world.rejoin(["--allow-all-tools", "-r", id, command]).run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    outcome
}

/// The id of the first message that says this.
fn said(world: &World, id: &str, text: &str) -> String {
    let archive = world.archive();
    let path = archive.path(id.parse().unwrap(), None).unwrap();
    let found = path.iter().find(|stored| stored.message.text().contains(text)).unwrap();
    format!("{id}/{}", found.id)
}

fn has_snapshot(archive: &Archive, id: ConversationId) -> bool {
    let path = archive.path(id, None).unwrap();
    let mut blocks = path.iter().flat_map(|stored| &stored.message.blocks);
    blocks.any(|block| matches!(block, Block::Snapshot(_)))
}

/// Every file below a directory with what it holds, and whether it may be run.
fn files(directory: &Path) -> BTreeMap<String, (String, bool)> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                left.push(path);
            } else if metadata.is_file() {
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                found.insert(name, (text, metadata.permissions().mode() & 0o100 != 0));
            }
        }
    }
    found
}

/// How many files below a directory hold some bytes.
fn holding(directory: &Path, needle: &str) -> usize {
    let mut count = 0;
    let mut left = vec![directory.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.is_file() {
                let bytes = fs::read(&path).unwrap();
                count += usize::from(bytes.windows(needle.len()).any(|part| part == needle.as_bytes()));
            }
        }
    }
    count
}

fn started(server: &ModelServer, world: &World) -> String {
    let store = if world.is_of_files() {
        format!("store = \"jsonl:{}\"\n", world.store().display())
    } else {
        String::new()
    };
    world.user_config(&format!("{store}{}", server.config()));
    world.started("Lisbon")
}

#[test]
fn files_are_restored_as_they_were_before_the_turn() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/a.txt", "one\n");
    world.write("project/deep/er/b.txt", "two\n");
    world.write("project/run.sh", "#!/bin/sh\n");
    world.write("project/.hidden", "three\n");
    world.write("project/same.txt", "same\n");
    fs::set_permissions(world.path("project/run.sh"), Permissions::from_mode(0o755)).unwrap();
    let before = files(&world.path("project"));

    talk(&world, &id, "echo 1 > a.txt; rm -r deep .hidden; chmod -x run.sh; echo new > new.txt");
    let message = said(&world, &id, "echo 1");
    let dry = world.rejoin(["restore-files", &message, "--dry-run"]).run();
    let unchanged = world.read("project/a.txt");
    let unasked = world.rejoin(["restore-files", &message]).run();
    let done = world.rejoin(["restore-files", &message, "--yes", "--json"]).run();

    let mut expected = before.clone();
    expected.insert("new.txt".to_owned(), ("new\n".to_owned(), false));
    expected.insert("a.txt.before-restore".to_owned(), ("1\n".to_owned(), false));
    assert_eq!(files(&world.path("project")), expected);
    assert_eq!(unchanged, "1\n");
    assert!(dry.stdout.contains("replace a.txt\n") && dry.stdout.contains("-1\n+one\n"), "{dry:?}");
    assert!(dry.stdout.contains("keep new.txt: it is new since then"), "{dry:?}");
    assert_ne!(unasked.code, 0);
    let files = done.json()["files"].clone();
    assert_eq!(
        files,
        json!([
            {"path": ".hidden", "change": "create"},
            {"path": "a.txt", "change": "replace", "copy": "a.txt.before-restore"},
            {"path": "deep/er/b.txt", "change": "create"},
            {"path": "run.sh", "change": "mode"},
            {"path": "new.txt", "change": "new"},
        ])
    );
}

#[test]
fn each_turn_can_be_gone_back_to_and_new_files_are_set_aside_when_asked() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/a.txt", "first\n");

    talk(&world, &id, "echo second > a.txt");
    talk(&world, &id, "echo third > a.txt; echo b > b.txt");
    world.write("project/a.txt", "by hand\n");
    let second = said(&world, &id, "echo third");
    let one = world.rejoin(["restore-files", &second, "--yes", "--remove-new"]).run();
    let then = files(&world.path("project"));
    let first = said(&world, &id, "echo second");
    let two = world.rejoin(["restore-files", &first, "--yes"]).run();

    assert_eq!((one.code, two.code), (0, 0), "{one:?} {two:?}");
    let file = |name: &str, text: &str| (name.to_owned(), (text.to_owned(), false));
    let expected = [
        file("a.txt", "second\n"),
        file("a.txt.before-restore", "by hand\n"),
        file("b.txt.before-restore", "b\n"),
    ];
    assert_eq!(then, expected.clone().into());
    let mut later = BTreeMap::from(expected);
    later.extend([file("a.txt", "first\n"), file("a.txt.before-restore-2", "second\n")]);
    assert_eq!(files(&world.path("project")), later);
}

#[test]
fn a_turn_that_writes_nothing_takes_no_snapshot_and_no_model_is_shown_one() {
    let server = ModelServer::start(|request| {
        let messages = request["messages"].as_array().unwrap();
        let tool = if messages.iter().any(|message| message["role"] == "tool") { "run" } else { "read" };
        let arguments = match tool {
            "run" => json!({"command": "touch x"}),
            _ => json!({"path": "a.txt"}),
        };
        match messages.last() {
            Some(last) if last["role"] == "user" && request["tools"].is_array() => {
                vec![call("c1", tool, &arguments), end("tool_calls")]
            }
            _ => reply("Done."),
        }
    });
    let world = World::new();
    let id = started(&server, &world);
    world.write("project/a.txt", "one\n");
    let conversation = id.parse().unwrap();

    talk(&world, &id, "look");
    let after_reading = has_snapshot(&world.archive(), conversation);
    talk(&world, &id, "write");
    let after_writing = has_snapshot(&world.archive(), conversation);
    talk(&world, &id, "again");

    assert_eq!((after_reading, after_writing), (false, true));
    assert!(server.bodies().iter().all(|body| !body.contains("rejoin-files") && !body.contains("State to")));
    world.user_config(&format!("{}[snapshots]\nfiles = false\n", server.config()));
    let other = world.started("Porto");
    talk(&world, &other, "look");
    talk(&world, &other, "write");
    assert!(!has_snapshot(&world.archive(), other.parse().unwrap()));
}

#[test]
fn a_purge_leaves_no_byte_of_a_snapshot() {
    for world in [World::new(), World::of_files()] {
        let server = obedient();
        let id = started(&server, &world);
        world.write("project/a.txt", "word-that-is-nowhere-else\n");
        talk(&world, &id, "rm a.txt");
        let data = world.path("home");
        let before = holding(&data, "word-that-is-nowhere-else");
        let verified = world.rejoin(["verify", &id]).run();

        let purged = world.rejoin(["purge", &id, "--yes"]).run();

        assert!(before > 0);
        assert_eq!((verified.code, purged.code), (0, 0), "{verified:?} {purged:?}");
        assert_eq!(holding(&data, "word-that-is-nowhere-else"), 0);
    }
}

#[test]
fn a_vault_holds_no_byte_of_a_snapshot_in_the_clear_and_restores_it() {
    let (server, world) = (obedient(), sealed());
    let config = world.read("home/.config/rejoin/config.toml");
    world.user_config(&format!("{config}{}", server.config()));
    world.rejoin(["new", "--title", "Lisbon"]).run();
    world.write("project/planted-name.txt", "word-that-is-nowhere-else\n");

    let told = world.rejoin(["--allow-all-tools", "--resume", "rm planted-name.txt"]).run();
    let listed = world.rejoin(["tree", "--json"]).run().json();
    let message = listed["roots"][0]["id"].as_str().unwrap().to_owned();
    let done = world.rejoin(["restore-files", &message, "--yes"]).run();

    assert_eq!((told.code, done.code), (0, 0), "{told:?} {done:?}");
    assert_eq!(world.read("project/planted-name.txt"), "word-that-is-nowhere-else\n");
    assert_eq!(holding(&world.path("home"), "word-that-is-nowhere-else"), 0);
    assert_eq!(holding(&world.path("home"), "planted-name"), 0);
}

#[test]
fn a_deleted_message_takes_its_snapshot_along() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/a.txt", "word-that-is-nowhere-else\n");
    talk(&world, &id, "rm a.txt");
    let archive = world.archive();
    let conversation: ConversationId = id.parse().unwrap();
    let before = archive.attachments().list(conversation).unwrap().len();

    let path = archive.path(conversation, None).unwrap();
    archive.removal().delete_messages(conversation, &[path[0].id], Children::Remove, "test").unwrap();

    assert_eq!((before, archive.attachments().list(conversation).unwrap().len()), (2, 0));
}

#[test]
fn a_file_with_a_secret_is_listed_and_never_kept_or_overwritten() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/key.txt", &format!("token = {TOKEN}\n"));
    world.write("project/plain.txt", "plain\n");

    let told = talk(&world, &id, "echo changed > key.txt; rm plain.txt");
    let message = said(&world, &id, "echo changed");
    let done = world.rejoin(["restore-files", &message, "--yes", "--json"]).run();

    assert!(told.stderr.contains("The snapshot of the files leaves out: 1 with secrets."), "{told:?}");
    assert_eq!(holding(&world.path("home"), TOKEN), 0);
    assert_eq!(
        done.json()["files"],
        json!([
            {"path": "key.txt", "change": "none", "reason": "it held a secret, so its content was not kept"},
            {"path": "plain.txt", "change": "create"},
        ])
    );
    assert_eq!(world.read("project/key.txt"), "changed\n");
}

#[test]
fn a_scrub_takes_a_file_out_of_every_snapshot() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/a.txt", "the code is bluebird-77\n");
    world.write("project/b.txt", "two\n");
    talk(&world, &id, "touch x");
    talk(&world, &id, "rm a.txt b.txt");
    let message = said(&world, &id, "rm a.txt");
    let before = holding(&world.path("home"), "bluebird-77");

    world.user_config(&format!("{}[redact]\nextra_patterns = [\"bluebird-[0-9]+\"]\n", server.config()));
    let scrubbed = world.rejoin(["scrub", &id, "--yes"]).run();
    let verified = world.rejoin(["verify", &id]).run();
    let done = world.rejoin(["restore-files", &message, "--yes", "--json"]).run();

    assert!(before > 0);
    assert_eq!((scrubbed.code, verified.code), (0, 0), "{scrubbed:?} {verified:?}");
    // The pattern itself is in the configuration, without the number.
    assert_eq!(holding(&world.path("home"), "bluebird-77"), 0);
    assert_eq!(
        done.json()["files"],
        json!([
            {"path": "a.txt", "change": "none", "reason": "it held a secret, so its content was not kept"},
            {"path": "b.txt", "change": "create"},
        ])
    );
}

#[test]
fn a_hostile_project_neither_stops_a_turn_nor_leads_out() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    let project = world.path("project");
    world.write("outside.txt", "outside\n");
    world.write("project/.gitignore", "ignored.txt\nbuild/\n");
    world.write("project/ignored.txt", "ignored\n");
    world.write("project/build/out.bin", "built\n");
    world.write("project/.git/config", "config\n");
    world.write("project/line\nbreak\u{1b}[31m.txt", "odd\n");
    world.write("project/sub/target.txt", "target\n");
    symlink(world.path("outside.txt"), project.join("link.txt")).unwrap();
    symlink("/", project.join("root")).unwrap();
    File::create(project.join("huge.bin")).unwrap().set_len(1 << 40).unwrap();
    assert!(Command::new("mkfifo").arg(project.join("pipe")).status().unwrap().success());
    fs::create_dir(project.join("trap")).unwrap();
    assert!(Command::new("mkfifo").arg(project.join("trap/.gitignore")).status().unwrap().success());

    let told = talk(&world, &id, "rm ignored.txt line*; rm -r sub build; ln -s .. sub; rm .git/config");
    let message = said(&world, &id, "rm ignored.txt");
    let dry = world.rejoin(["restore-files", &message, "--dry-run"]).run();
    let done = world.rejoin(["restore-files", &message, "--yes", "--json"]).run();

    assert!(
        told.stderr
            .contains("The snapshot of the files leaves out: 1 larger than 10 MB, 3 links or special files."),
        "{told:?}"
    );
    assert_eq!(
        done.json()["files"],
        json!([
            {"path": "line\nbreak\u{1b}[31m.txt", "change": "create"},
            {"path": "sub/target.txt", "change": "none",
             "reason": "a link, a directory or a special file is in its place"},
        ])
    );
    assert!(dry.stdout.contains("create line⟨U+000A⟩break⟨U+001B⟩[31m.txt"), "{dry:?}");
    assert!(!world.path("target.txt").exists() && !project.join(".git/config").exists());
    assert_eq!(world.read("outside.txt"), "outside\n");
}

#[test]
fn a_manifest_from_elsewhere_leads_nowhere() {
    let world = World::new();
    world.user_config("");
    let archive = world.archive();
    let mut trip = archive.start(Conversation::titled("Lisbon")).unwrap();
    trip.append(Message::user("hello")).unwrap();
    let mut keeper = archive.files().keeper(trip.id(), None).unwrap();
    let content = keeper.add(b"planted\n".to_vec()).unwrap();
    let entry = FileEntry { size: 8, mode: 0o4777, stamp: FileStamp::default(), content };
    let absolute = world.path("absolute.txt").to_str().unwrap().to_owned();
    let paths = [
        "../../.ssh/authorized_keys",
        "../up.txt",
        &absolute,
        ".git/hooks/post-checkout",
        "a/.GIT/config",
        "link/out.txt",
        "./dot.txt",
        "",
        "fine.txt",
    ];
    let files = paths.iter().map(|path| ((*path).to_owned(), entry)).collect();
    let directory = world.path("project").to_str().unwrap().to_owned();
    let manifest = FileManifest { directory, files, ..FileManifest::default() };
    let block = keeper.finish(&manifest, false).unwrap().to_block();
    let receipt = trip.append(Message::new(Role::Assistant, vec![block])).unwrap();
    symlink(world.path(""), world.path("project/link")).unwrap();
    let mut before = files_of(&world);

    let message = format!("{}/{}", trip.id(), receipt.head);
    let unsaid = world.rejoin(["restore-files", &message, "--yes"]).run();
    let done = world.rejoin(["restore-files", &message, "--yes", "--here", "--json"]).run();

    assert!(unsaid.stderr.contains("the snapshot was taken in another directory"), "{unsaid:?}");
    before.insert("project/fine.txt".to_owned(), ("planted\n".to_owned(), true));
    assert_eq!(files_of(&world), before);
    let changes: Vec<Value> =
        done.json()["files"].as_array().unwrap().iter().map(|file| file["change"].clone()).collect();
    assert_eq!(changes.iter().filter(|change| *change == "create").count(), 1, "{done:?}");
    let mode = fs::metadata(world.path("project/fine.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7022, 0);
}

/// Everything but the store.
fn files_of(world: &World) -> BTreeMap<String, (String, bool)> {
    let mut all = files(&world.path(""));
    all.retain(|path, _| !path.starts_with("home/.local"));
    all
}

#[test]
fn a_restore_that_is_killed_loses_nothing() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    let names: Vec<String> = (0..120).map(|number| format!("f{number:03}.txt")).collect();
    names.iter().for_each(|name| world.write(&format!("project/{name}"), &format!("old {name}\n")));
    talk(&world, &id, "for f in f*.txt; do echo \"new $f\" > $f; done");
    let message = said(&world, &id, "for f in");
    let mut killed = 0;

    for delay in 0..12 {
        names.iter().for_each(|name| world.write(&format!("project/{name}"), &format!("new {name}\n")));
        let mut restore = world.program(&["restore-files", &message, "--yes"]);
        let mut child = restore.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(30 + 15 * delay));
        let _ = child.kill();
        killed += usize::from(!child.wait().unwrap().success());

        let now = files(&world.path("project"));
        for name in &names {
            let (text, _) = &now[name];
            let copies: Vec<&str> = now
                .iter()
                .filter(|(path, _)| path.contains(".before-restore"))
                .map(|(_, (text, _))| text.as_str())
                .collect();
            let (old, new) = (format!("old {name}\n"), format!("new {name}\n"));
            assert!(*text == new || *text == old && copies.contains(&new.as_str()), "{name}: {text}");
        }
        for path in now.keys().filter(|path| path.contains(".before-restore")) {
            fs::remove_file(world.path("project").join(path)).unwrap();
        }
    }
    let whole = world.rejoin(["restore-files", &message, "--yes"]).run();

    assert!(killed > 0);
    assert_eq!(whole.code, 0, "{whole:?}");
    assert!(names.iter().all(|name| world.read(&format!("project/{name}")) == format!("old {name}\n")));
}

#[test]
fn a_turn_that_is_killed_while_its_tool_runs_can_be_gone_back_to() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/a.txt", "one\n");
    let mut command = world.program(&["--allow-all-tools", "-r", &id, "echo two > a.txt; sleep 5"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while world.read("project/a.txt") != "two\n" && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }

    child.kill().unwrap();
    child.wait().unwrap();
    let done = world.rejoin(["restore-files", &said(&world, &id, "echo two"), "--yes"]).run();

    assert_eq!((done.code, world.read("project/a.txt").as_str()), (0, "one\n"), "{done:?}");
}

#[test]
fn another_directory_is_not_restored_into_unless_that_is_said() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/a.txt", "one\n");
    world.write("clone/.git/HEAD", "");
    talk(&world, &id, "rm a.txt");
    let message = said(&world, &id, "rm a.txt");

    let refused = world.rejoin(["restore-files", &message, "--yes"]).from("clone").run();
    let there = world.path("clone/a.txt").exists();
    let told = world.rejoin(["restore-files", &message, "--yes", "--here"]).from("clone").run();

    assert_eq!((refused.code, there, told.code), (1, false, 0), "{refused:?}");
    assert!(refused.stderr.contains("the snapshot was taken in `"), "{refused:?}");
    assert_eq!(world.read("clone/a.txt"), "one\n");
}

#[test]
fn another_directory_of_the_same_path_is_not_restored_into_either() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/a.txt", "one\n");
    talk(&world, &id, "rm a.txt");
    let message = said(&world, &id, "rm a.txt");
    fs::rename(world.path("project"), world.path("before")).unwrap();
    fs::create_dir(world.path("project")).unwrap();

    let refused = world.rejoin(["restore-files", &message, "--yes"]).run();

    assert_eq!((refused.code, world.path("project/a.txt").exists()), (1, false), "{refused:?}");
    assert!(refused.stderr.contains("the snapshot was taken in another directory"), "{refused:?}");
}

#[test]
fn what_was_ignored_when_a_snapshot_was_taken_is_not_new() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/.git/HEAD", "ref: refs/heads/main\n");
    world.write("project/.gitignore", ".env\n");
    world.write("project/.env", "KEY=1\n");
    world.write("project/a.txt", "one\n");
    std::thread::sleep(Duration::from_millis(100));
    talk(&world, &id, "rm .gitignore; echo new > new.txt");
    let message = said(&world, &id, "rm .gitignore");

    let done = world.rejoin(["restore-files", &message, "--yes", "--remove-new"]).run();

    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(
        [".gitignore", ".env"].map(|name| world.read(&format!("project/{name}"))),
        [".env\n", "KEY=1\n"]
    );
    assert_eq!(world.read("project/new.txt.before-restore"), "new\n");
    assert!(!world.path("project/.env.before-restore").exists());
}

#[test]
fn a_file_that_has_a_name_outside_of_the_project_keeps_its_mode() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("outside/tool", "#!/bin/sh\n");
    world.write("project/tool", "#!/bin/sh\n");
    fs::set_permissions(world.path("outside/tool"), Permissions::from_mode(0o755)).unwrap();
    talk(&world, &id, "rm tool; ln ../outside/tool tool");
    let message = said(&world, &id, "rm tool");

    let done = world.rejoin(["restore-files", &message, "--yes"]).run();

    let mode = fs::metadata(world.path("outside/tool")).unwrap().permissions().mode() & 0o777;
    assert_eq!((done.code, mode), (1, 0o755), "{done:?}");
    assert!(done.stdout.contains("it is the same file under another name"), "{done:?}");
}

#[test]
fn a_conversation_that_is_imported_comes_without_its_snapshots_and_is_sound() {
    let (server, world) = (obedient(), World::new());
    let id = started(&server, &world);
    world.write("project/a.txt", "one\n");
    talk(&world, &id, "rm a.txt");
    let message = said(&world, &id, "rm a.txt");
    let file = world.path("talk.json");
    let exported = world.rejoin(["export", &id, "--format", "json", "-o", file.to_str().unwrap()]).run();
    let other = World::new();
    let imported = other.rejoin(["import", file.to_str().unwrap()]).run();

    let verified = other.rejoin(["verify"]).run();
    let copied = other.rejoin(["backup", "copy.db"]).run();
    let restored = other.rejoin(["restore-files", &message, "--yes"]).run();

    assert_eq!(
        [&exported, &imported, &verified, &copied].map(|outcome| outcome.code),
        [0; 4],
        "{verified:?}"
    );
    let expected = "error: the files of this snapshot are not in the store\n\
                    hint: a conversation that was imported comes without them\n";
    assert_eq!(restored, Outcome::failure(1, expected));
}

#[test]
fn a_message_without_a_snapshot_says_so() {
    let world = World::new();
    let id = world.started("Lisbon");
    let ids = world.append(&id, "{\"role\":\"user\",\"content\":\"hello\"}\n");

    let outcome = world.rejoin(["restore-files", &format!("{id}/{}", ids[0])]).run();

    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stderr.starts_with("error: no snapshot of files was taken at or after message"),
        "{outcome:?}"
    );
}
