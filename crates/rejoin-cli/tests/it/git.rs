//! Sessions in the repository: what is committed when a conversation is left, and what is left alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use rejoin::{ConversationId, List, Status};

use crate::past::{ask, minutes_ago};
use crate::terminal::Terminal;
use crate::world::{Outcome, World};

/// Runs git in the project and returns what it said.
fn git(world: &World, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(world.path("project"))
        .env("HOME", world.path("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A repository with one commit, in which sessions are committed.
fn repository() -> World {
    let world = World::new();
    world.user_config("[git]\ncommit_sessions = true\n");
    git(&world, &["init", "--quiet", "--initial-branch=main"]);
    git(&world, &["config", "user.name", "Ada"]);
    git(&world, &["config", "user.email", "ada@example.com"]);
    world.write("project/code.txt", "one\n");
    git(&world, &["add", "code.txt"]);
    git(&world, &["commit", "--quiet", "--message", "Begin"]);
    world
}

fn hook(world: &World, script: &str) {
    world.write("project/.git/hooks/pre-commit", &format!("#!/bin/sh\n{script}\n"));
    let path = world.path("project/.git/hooks/pre-commit");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A talk that began at a known time, so that its folder has a known name.
fn talked(world: &World) -> ConversationId {
    let mut trip = world.conversation("Lisbon");
    ask(&mut trip, "Where to eat?", "In Alfama.");
    trip.id()
}

/// The folders of sessions, and the subjects of the commits, newest first.
fn folders(world: &World) -> Vec<String> {
    let files = git(world, &["ls-files", "conversations"]);
    files.lines().map(|file| file.splitn(3, '/').nth(2).unwrap().to_owned()).collect()
}

fn subjects(world: &World) -> Vec<String> {
    git(world, &["log", "--format=%s"]).lines().map(str::to_owned).collect()
}

fn status(world: &World, id: ConversationId) -> Status {
    world.archive().conversation(id).unwrap().conversation.status
}

#[test]
fn a_stopped_conversation_is_committed_alone_and_what_is_staged_stays_staged() {
    let world = repository();
    let id = talked(&world);
    world.write("project/code.txt", "two\n");
    world.write("project/new.txt", "new\n");
    git(&world, &["add", "code.txt", "new.txt"]);
    world.write("project/code.txt", "three\n");
    hook(&world, "git diff --cached --name-only > seen.txt");

    let outcome = world.rejoin(["stop", &id.to_string()]).run();

    let staged = git(&world, &["diff", "--cached", "--name-only"]);
    let committed = git(&world, &["show", "--format=", "--name-only", "HEAD"]);
    let commit = git(&world, &["rev-parse", "--short", "HEAD"]);
    let folder = committed.lines().next().unwrap().split("/.session").next().unwrap().to_owned();
    let programs = "Committing in [world]/project runs programs that the repository or your configuration of git \
                    names: the hook `pre-commit`.";
    assert_eq!(outcome.stderr, format!("{programs}\nCommitted {folder} as {commit}"));
    assert_eq!(subjects(&world), ["Conversation \"Lisbon\": session state saved", "Begin"]);
    let expected = [".session/messages.jsonl", ".session/session.json", "chat.md"];
    assert_eq!(committed.lines().collect::<Vec<_>>(), expected.map(|name| format!("{folder}/{name}")));
    assert_eq!(world.read("project/seen.txt"), committed);
    assert_eq!(staged, "code.txt\nnew.txt\n");
    assert_eq!(git(&world, &["show", ":code.txt"]), "two\n");
}

#[test]
fn the_programs_that_a_commit_runs_are_told_before_the_first_and_when_they_change() {
    let world = repository();
    let id = talked(&world).to_string();
    world.write("project/.gitattributes", "conversations/** filter=x\n");
    let first = world.rejoin(["stop", &id]).run().stderr;
    let again = world.rejoin(["stop", &id, "--complete"]).run().stderr;
    git(&world, &["config", "filter.x.clean", "touch ../seen; cat"]);
    world.archive().status().reopen(id.parse().unwrap()).unwrap();
    world.rejoin(["rename", &id, "Porto"]).run();

    let changed = world.rejoin(["stop", &id]).run().stderr;

    let none = "Committing in [world]/project runs no program of the repository: it has no hooks, filters or signing.\n";
    let filter = "Committing in [world]/project runs programs that the repository or your configuration of git names: the \
                  filter `x` (`touch ../seen; cat`).\n";
    assert!(first.starts_with(none), "{first}");
    assert!(again.starts_with("Committed "), "{again}");
    assert!(changed.starts_with(filter), "{changed}");
    assert!(world.path("seen").exists());
}

#[test]
fn looking_at_a_repository_before_a_commit_fetches_nothing() {
    let world = repository();
    let id = talked(&world).to_string();
    let trap = world.path("sprung");
    world.write("trap", &format!("#!/bin/sh\ntouch {}\n", trap.display()));
    fs::set_permissions(world.path("trap"), fs::Permissions::from_mode(0o755)).unwrap();
    let first = git(&world, &["rev-parse", "HEAD^{tree}"]).trim().to_owned();
    fs::remove_file(world.path(format!("project/.git/objects/{}/{}", &first[..2], &first[2..]))).unwrap();
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "x"),
        ("remote.x.promisor", "true"),
        ("remote.x.url", "."),
        ("remote.x.uploadpack", world.path("trap").to_str().unwrap()),
        ("core.fsmonitor", world.path("trap").to_str().unwrap()),
    ] {
        git(&world, &["config", key, value]);
    }
    let _ = fs::remove_file(&trap);

    let outcome = world.rejoin(["stop", &id]).run();

    assert!(!trap.exists(), "{outcome:?}");
    let plain =
        Command::new("git").args(["show", &first]).current_dir(world.path("project")).output().unwrap();
    assert!(trap.exists(), "{plain:?}");
}

#[test]
fn a_change_of_the_session_alone_says_so_and_no_change_is_no_commit() {
    let world = repository();
    let id = talked(&world).to_string();
    world.rejoin(["stop", &id]).run();

    let completed = world.rejoin(["stop", &id, "--complete"]).run();
    world.archive().status().reopen(id.parse().unwrap()).unwrap();
    let again = world.rejoin(["stop", &id, "--complete"]).run();

    let expected =
        ["Conversation \"Lisbon\": session update", "Conversation \"Lisbon\": session state saved", "Begin"];
    assert_eq!(subjects(&world), expected);
    assert!(completed.stderr.starts_with("Committed conversations/"), "{}", completed.stderr);
    assert_eq!((again.code, again.stderr.as_str()), (0, ""));
}

#[test]
fn a_conversation_keeps_its_folder_when_it_is_renamed() {
    let world = repository();
    let id = talked(&world).to_string();
    world.rejoin(["stop", &id]).run();
    let before = folders(&world);

    world.rejoin(["rename", &id, "Porto"]).run();
    world.rejoin(["stop", &id, "--complete"]).run();

    assert_eq!(folders(&world), before);
    assert_eq!(subjects(&world)[0], "Conversation \"Porto\": session state saved");
}

#[test]
fn two_conversations_never_share_a_folder() {
    let world = repository();
    let archive = world.archive_at(minutes_ago(10));
    let ids = [0, 1].map(|_| {
        let mut trip = world.conversation_in(&archive, "Lisbon");
        ask(&mut trip, "Where to eat?", "In Alfama.");
        trip.id().to_string()
    });

    let outcomes = ids.map(|id| world.rejoin(["stop", &id]).run().code);

    assert_eq!(outcomes, [0, 0]);
    assert_eq!(folders(&world).len(), 6);
}

#[test]
fn a_hook_that_refuses_leaves_the_index_and_the_conversation_as_they_were() {
    let world = repository();
    let id = talked(&world);
    world.write("project/code.txt", "two\n");
    git(&world, &["add", "code.txt"]);
    hook(&world, "echo 'No commits today.' >&2; exit 1");

    let outcome = world.rejoin(["stop", &id.to_string()]).run();

    let stderr = "warning: the session was not committed: No commits today.\n\
                  hint: run `git -C [world]/project status` to see what is wrong\n";
    assert_eq!((outcome.code, outcome.stderr.split_once('\n').map(|(_, rest)| rest)), (0, Some(stderr)));
    assert_eq!(subjects(&world), ["Begin"]);
    assert_eq!(git(&world, &["diff", "--cached", "--name-only"]), "code.txt\n");
    assert_eq!(git(&world, &["ls-files"]), "code.txt\n");
    assert_eq!(status(&world, id), Status::Paused);
}

#[test]
fn nothing_is_committed_in_the_middle_of_something_else() {
    let merging = repository();
    git(&merging, &["checkout", "--quiet", "-b", "other"]);
    git(&merging, &["commit", "--quiet", "--allow-empty", "--message", "Other"]);
    git(&merging, &["checkout", "--quiet", "main"]);
    git(&merging, &["merge", "--quiet", "--no-ff", "--no-commit", "other"]);
    let detached = repository();
    git(&detached, &["checkout", "--quiet", "--detach"]);
    let ignoring = repository();
    ignoring.write("project/.gitignore", "conversations/\n");
    let linked = repository();
    symlink("/tmp", linked.path("project/conversations")).unwrap();

    let told = [&merging, &detached, &ignoring, &linked].map(|world| {
        let id = talked(world).to_string();
        let outcome = world.rejoin(["stop", &id]).run();
        assert_eq!((outcome.code, subjects(world)), (0, vec!["Begin".to_owned()]));
        outcome.stderr.lines().next().unwrap_or_default().to_owned()
    });

    let refused = |why: &str| format!("warning: the session was not committed: {why}");
    assert_eq!(told[0], refused("a merge is under way"));
    assert_eq!(told[1], refused("no branch is checked out"));
    assert!(told[2].starts_with(&refused("git ignores `conversations/")), "{}", told[2]);
    assert_eq!(told[3], refused("`[world]/project/conversations` is a link"));
    assert!(!merging.path("project/conversations").exists());
    assert!(!ignoring.path("project/conversations").exists());
}

#[test]
fn without_a_repository_or_unless_asked_nothing_is_written() {
    let bare = World::new();
    bare.user_config("[git]\ncommit_sessions = true\n");
    fs::remove_dir(bare.path("project/.git")).unwrap();
    let unasked = repository();
    unasked.user_config("");

    let outcomes = [&bare, &unasked].map(|world| {
        let id = talked(world).to_string();
        let Outcome { stderr, code, .. } = world.rejoin(["stop", &id]).run();
        (stderr, code, world.path("project/conversations").exists())
    });

    assert_eq!(outcomes, [(String::new(), 0, false), (String::new(), 0, false)]);
}

#[test]
fn a_repository_that_cannot_be_used_is_told() {
    let empty = World::new();
    empty.user_config("[git]\ncommit_sessions = true\n");
    let locked = repository();
    locked.write("project/.git/index.lock", "");

    let told = [&empty, &locked].map(|world| {
        let id = talked(world).to_string();
        world.rejoin(["stop", &id]).run().stderr
    });

    let begins = ["not a git repository", "Unable to create '[world]/project/.git/"];
    let is_told = [0, 1].map(|place| {
        told[place].contains(&format!("warning: the session was not committed: {}", begins[place]))
            && told[place].ends_with("hint: run `git -C [world]/project status` to see what is wrong\n")
    });
    assert_eq!(is_told, [true, true], "{told:?}");
}

#[test]
fn a_bare_repository_among_the_files_of_another_runs_nothing() {
    let world = repository();
    let trap = world.path("sprung");
    for directory in ["objects", "refs", ".rejoin"] {
        fs::create_dir_all(world.path("project/sub").join(directory)).unwrap();
    }
    world.write("project/sub/HEAD", "ref: refs/heads/main\n");
    let config = format!(
        "[core]\nrepositoryformatversion = 0\nbare = false\nworktree = .\nfsmonitor = \"touch {0}; true\"\n\
         hooksPath = hooks\n[user]\nname = A\nemail = a@example.com\n",
        trap.display()
    );
    world.write("project/sub/config", &config);
    world.write("project/sub/hooks/pre-commit", &format!("#!/bin/sh\ntouch {}\n", trap.display()));
    let hook = world.path("project/sub/hooks/pre-commit");
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
    world.rejoin(["new", "--title", "Lisbon"]).from("project/sub").run();
    world.rejoin(["append", "--role", "user", "hello"]).from("project/sub").run();
    let id = world.archive().list(&List::default()).unwrap().items.remove(0).id.to_string();

    let outcome = world.rejoin(["stop", &id]).from("project/sub").run();

    assert!(!trap.exists(), "{outcome:?}");
    assert!(outcome.stderr.contains("cannot use bare repository"), "{outcome:?}");
}

#[test]
fn a_folder_is_its_conversations_own_only_if_its_state_says_so() {
    let world = repository();
    let id = talked(&world).to_string();
    world.rejoin(["stop", &id]).run();
    let state = git(&world, &["ls-files", "conversations/*/session.json"]).trim().to_owned();
    let text = world.read(&format!("project/{state}"));
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["rejoin"]["id"] = "another".into();
    value["title"] = id.as_str().into();
    let foreign = value.to_string();
    world.write(&format!("project/{state}"), &foreign);

    let outcome = world.rejoin(["stop", &id, "--complete"]).run();

    assert!(outcome.stderr.contains("-2 as "), "{outcome:?}");
    assert_eq!(world.read(&format!("project/{state}")), foreign);
}

#[test]
fn a_state_that_is_a_link_or_no_file_is_not_read() {
    let world = repository();
    let id = talked(&world).to_string();
    world.rejoin(["stop", &id]).run();
    let state = world.path("project").join(git(&world, &["ls-files", "conversations/*/session.json"]).trim());
    fs::remove_file(&state).unwrap();
    symlink("/dev/zero", &state).unwrap();

    let outcome = world.rejoin(["stop", &id, "--complete"]).run();

    assert!(outcome.stderr.contains("-2 as "), "{outcome:?}");
    assert!(fs::symlink_metadata(&state).unwrap().is_symlink());
}

#[test]
fn the_first_commit_of_a_repository_may_be_a_session() {
    let world = World::new();
    world.user_config("[git]\ncommit_sessions = true\n");
    git(&world, &["init", "--quiet", "--initial-branch=main"]);
    git(&world, &["config", "user.name", "Ada"]);
    git(&world, &["config", "user.email", "ada@example.com"]);
    let id = talked(&world).to_string();

    let outcome = world.rejoin(["stop", &id]).run();

    assert!(outcome.stderr.contains("\nCommitted "), "{}", outcome.stderr);
    assert_eq!(subjects(&world), ["Conversation \"Lisbon\": session state saved"]);
}

#[test]
fn a_committed_session_is_read_back_whole() {
    let world = repository();
    let id = talked(&world).to_string();
    world.rejoin(["stop", &id]).run();
    let other = World::new();

    let outcome = other.rejoin(["import", world.path("project/conversations").to_str().unwrap()]).run();

    let found = other.archive().list(&List::default()).unwrap().items.remove(0);
    let texts: Vec<String> =
        other.archive().path(found.id, None).unwrap().iter().map(|stored| stored.message.text()).collect();
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert_eq!(found.conversation.title.as_deref(), Some("Lisbon"));
    assert_eq!(texts, ["Where to eat?", "In Alfama."]);
}

#[test]
fn leaving_the_prompt_commits_the_session() {
    let world = repository();
    let Some(terminal) = Terminal::open(&world, 100, 30) else { return };

    terminal.enter("rejoin");
    terminal.wait_for_last(">");
    terminal.enter("my bicycle is green");
    terminal.wait_until("the line to be taken", |screen| screen.contains("bicycle is green"));
    terminal.wait_for_last(">");
    terminal.enter("/quit");
    terminal.wait_for_last("$");

    let [subject, begin] = subjects(&world).try_into().unwrap();
    assert!(subject.ends_with(": session state saved"), "{subject}");
    assert_eq!(begin, "Begin");
}

#[test]
fn a_conversation_remembers_the_commit_it_began_at() {
    let world = repository();
    let commit = git(&world, &["rev-parse", "HEAD"]).trim().to_owned();

    world.rejoin(["new"]).run();
    world.rejoin(["append", "--role", "user", "hello"]).run();

    let found = world.archive().list(&List::default()).unwrap().items.remove(0);
    assert_eq!(found.conversation.git_commit, Some(commit));
}

#[test]
fn what_a_vault_keeps_is_committed_only_when_both_allow_it() {
    let world = repository();
    assert_eq!(world.rejoin(["vault", "init", "--slot", "file"]).run().code, 0);
    let begin = |title: &str| {
        let made = world.rejoin(["new", "--title", title, "--json"]).run().json();
        assert_eq!(world.rejoin(["append", "Where to eat?"]).run().code, 0);
        crate::world::short(made["id"].as_str().unwrap())
    };
    let stop = |short: &str| world.rejoin(["stop", short]).run().stderr;

    let sealed = stop(&begin("Lisbon"));
    world.rejoin(["config", "set", "git.allow_plaintext", "true"]).run();
    let short = begin("Porto");
    let marked = stop(&short);
    let before = subjects(&world).len();
    let last = begin("Faro");
    world.rejoin(["keep", &last, "--exportable"]).run();
    let allowed = stop(&last);

    assert!(
        sealed
            .contains("not committed: it is stored in a vault, and its session files would not be encrypted"),
        "{sealed}"
    );
    assert!(sealed.contains("run `rejoin config set git.allow_plaintext true`"), "{sealed}");
    assert!(marked.contains("not committed: it is marked as not exportable"), "{marked}");
    assert!(marked.contains(&format!("run `rejoin keep {short} --exportable yes`")), "{marked}");
    assert!(allowed.contains("Committed conversations/"), "{allowed}");
    assert_eq!((before, subjects(&world).len()), (1, 2));
}
