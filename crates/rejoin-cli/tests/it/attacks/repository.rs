//! A repository runs nothing, and nothing that it brings along makes the program wait or fill the memory.
//!
//! The repositories are real ones, and the control is plain git: in the same repository it runs the program.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::attempt::{Attempt, Target, assert_all_fail};
use crate::world::World;

/// Far more than a run takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs git in a directory of a world, as anybody would, and does not mind how it ends.
fn git(world: &World, directory: &str, arguments: &[&str]) {
    let mut command = Command::new("git");
    command
        .args(arguments)
        .current_dir(world.path(directory))
        .env("HOME", world.path("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().unwrap();
}

/// A repository with two commits, and a program that leaves a mark when it is run.
fn repository() -> World {
    let world = World::new();
    git(&world, "project", &["init", "--quiet", "--initial-branch=main"]);
    git(&world, "project", &["config", "user.name", "Ada"]);
    git(&world, "project", &["config", "user.email", "ada@example.com"]);
    world.write("project/code.txt", "one\n");
    git(&world, "project", &["add", "code.txt"]);
    git(&world, "project", &["commit", "--quiet", "--message", "Begin"]);
    world.write("project/code.txt", "two\n");
    git(&world, "project", &["commit", "--quiet", "--all", "--message", "Go on"]);
    world.write("pwn", &format!("#!/bin/sh\ntouch {}\nexit 1\n", world.path("pwned").display()));
    fs::set_permissions(world.path("pwn"), Permissions::from_mode(0o755)).unwrap();
    world
}

fn configure(world: &World, settings: &[(&str, &str)]) {
    let pwn = world.path("pwn");
    for (key, value) in settings {
        git(world, "project", &["config", key, &value.replace("PWN", pwn.to_str().unwrap())]);
    }
}

/// The name of the repository's first commit.
fn first(world: &World) -> String {
    let output = Command::new("git")
        .args(["rev-list", "--max-parents=0", "HEAD"])
        .current_dir(world.path("project"))
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Takes an object away, so that it is missing.
fn lose(world: &World, object: &str) {
    fs::remove_file(world.path(format!("project/.git/objects/{}/{}", &object[..2], &object[2..]))).unwrap();
}

/// What a victim does in the folder: every command that looks at the repository.
fn use_rejoin(world: &World) {
    world.rejoin(["new", "--title", "Lisbon"]).run();
    world.rejoin(["append", "Where to eat?"]).run();
    world.rejoin(["hello there"]).run();
    world.rejoin(["project", "id"]).run();
}

/// An attempt to have a program run by what a repository configures; the control is git with these arguments.
fn runs<'a>(name: &'a str, prepare: impl Fn(&World) + 'a, control: &'a [&'a str]) -> Attempt<'a> {
    Attempt::new(name, move |target| {
        let world = repository();
        prepare(&world);
        let _ = fs::remove_file(world.path("pwned"));
        match target {
            Target::Guarded => use_rejoin(&world),
            Target::Control => git(&world, "project", control),
        }
        world.path("pwned").exists()
    })
}

/// The settings of a remote that has what is missing.
fn promise(world: &World, settings: &[(&str, &str)]) {
    let missing = first(world);
    lose(world, &missing);
    git(world, "project", &["tag", "missing", "HEAD"]);
    fs::write(world.path("project/.git/refs/tags/missing"), format!("{missing}\n")).unwrap();
    let common = [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "x"),
        ("remote.x.promisor", "true"),
        ("remote.x.url", "."),
    ];
    configure(world, &common);
    configure(world, settings);
}

#[test]
fn a_repository_cannot_have_a_program_fetch_what_is_missing() {
    const ASK: &[&str] = &["show", "missing"];
    assert_all_fail(&[
        runs("upload pack", |world| promise(world, &[("remote.x.uploadpack", "PWN")]), ASK),
        runs(
            "ssh",
            |world| promise(world, &[("remote.x.url", "ssh://127.0.0.1/x"), ("core.sshCommand", "PWN")]),
            ASK,
        ),
        runs(
            "external helper",
            |world| promise(world, &[("remote.x.url", "ext::PWN x"), ("protocol.ext.allow", "always")]),
            ASK,
        ),
        runs(
            "git proxy",
            |world| promise(world, &[("remote.x.url", "git://127.0.0.1/x"), ("core.gitProxy", "PWN")]),
            ASK,
        ),
    ]);
}

#[test]
fn a_repository_cannot_have_a_program_run_by_its_configuration() {
    let include = |world: &World, key: &str| {
        let extra = format!("[core]\n\tfsmonitor = {}\n", world.path("pwn").display());
        world.write("project/.git/extra", &extra);
        configure(world, &[(key, "extra")]);
    };
    assert_all_fail(&[
        runs("file system monitor", |world| configure(world, &[("core.fsmonitor", "PWN")]), &["status"]),
        runs("include", |world| include(world, "include.path"), &["status"]),
        runs("conditional include", |world| include(world, "includeIf.gitdir:**.path"), &["status"]),
        runs(
            "configuration of the work tree",
            |world| {
                configure(
                    world,
                    &[("core.repositoryformatversion", "1"), ("extensions.worktreeConfig", "true")],
                );
                let own = format!("[core]\n\tfsmonitor = {}\n", world.path("pwn").display());
                world.write("project/.git/config.worktree", &own);
            },
            &["status"],
        ),
        runs(
            "hook",
            |world| {
                configure(world, &[("core.hooksPath", ".git/planted")]);
                world.write("project/.git/planted/post-index-change", "");
                fs::copy(world.path("pwn"), world.path("project/.git/planted/post-index-change")).unwrap();
                world.write("project/new.txt", "new");
            },
            &["add", "new.txt"],
        ),
        runs(
            "clean filter",
            |world| {
                configure(world, &[("filter.x.clean", "PWN")]);
                world.write("project/.gitattributes", "* filter=x\n");
                world.write("project/code.txt", "three\n");
            },
            &["diff", "HEAD"],
        ),
        runs(
            "text conversion",
            |world| {
                configure(world, &[("diff.x.textconv", "PWN")]);
                world.write("project/.gitattributes", "* diff=x\n");
                world.write("project/code.txt", "three\n");
            },
            &["diff", "HEAD"],
        ),
        runs(
            "external diff",
            |world| {
                configure(world, &[("diff.external", "PWN")]);
                world.write("project/code.txt", "three\n");
            },
            &["diff", "HEAD"],
        ),
        runs(
            "signing",
            |world| configure(world, &[("commit.gpgSign", "true"), ("gpg.program", "PWN")]),
            &["commit", "--allow-empty", "--message", "x"],
        ),
    ]);
}

#[test]
fn a_repository_that_lies_elsewhere_runs_nothing_either() {
    let move_to = |world: &World, place: &str| {
        configure(
            world,
            &[("core.fsmonitor", "PWN"), ("core.worktree", world.path("project").to_str().unwrap())],
        );
        fs::rename(world.path("project/.git"), world.path(place)).unwrap();
    };
    assert_all_fail(&[
        runs(
            "file that names the repository",
            |world| {
                move_to(world, "elsewhere");
                world.write("project/.git", "gitdir: ../elsewhere\n");
            },
            &["status"],
        ),
        runs(
            "link to the repository",
            |world| {
                move_to(world, "elsewhere");
                symlink(world.path("elsewhere"), world.path("project/.git")).unwrap();
            },
            &["status"],
        ),
        runs(
            "repository among the files",
            |world| {
                configure(world, &[("core.fsmonitor", "PWN"), ("core.worktree", "..")]);
                fs::rename(world.path("project/.git"), world.path("project/assets")).unwrap();
            },
            &["--git-dir=assets", "status"],
        ),
    ]);
}

/// The program that is run, in so much memory and time; true when it needed more.
fn hangs(world: &World, arguments: &[&str]) -> bool {
    let mut command = Command::new("sh");
    let program = world.program(arguments);
    command
        .args(["-c", "ulimit -v 4000000; exec \"$@\"", "sh"])
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(world.path("project"))
        .env_clear()
        .envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().is_none();
        }
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whoever simply reads a file: true when that takes for ever, or would take all memory.
fn is_endless(path: &Path) -> bool {
    const MUCH: u64 = 64 << 20;
    let (path, (sender, read)) = (path.to_owned(), mpsc::channel());
    thread::spawn(move || {
        let mut sink = std::io::sink();
        let copied = File::open(path).and_then(|file| std::io::copy(&mut file.take(MUCH), &mut sink));
        let _ = sender.send(copied.unwrap_or(0));
    });
    read.recv_timeout(Duration::from_secs(1)).is_ok_and(|bytes| bytes >= MUCH)
        || read.recv_timeout(Duration::ZERO) == Err(mpsc::RecvTimeoutError::Timeout)
}

fn pipe(path: &Path) {
    let status = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success());
}

fn huge(path: &Path) {
    File::create(path).unwrap().set_len(10 << 30).unwrap();
}

fn zeros(path: &Path) {
    symlink("/dev/zero", path).unwrap();
}

/// An attempt to make the program wait or fill the memory with what lies in the place of a file.
fn stops<'a>(name: &'a str, file: &'a str, plant: fn(&Path), arguments: &'a [&'a str]) -> Attempt<'a> {
    Attempt::new(name, move |target| {
        let world = World::new();
        let path = world.path(format!("project/{file}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        }
        plant(&path);
        match target {
            Target::Guarded => hangs(&world, arguments),
            Target::Control => is_endless(&path),
        }
    })
}

#[test]
fn no_file_of_a_folder_makes_the_program_wait_or_fills_the_memory() {
    const NEW: &[&str] = &["new"];
    const TALK: &[&str] = &["hello there"];
    const COMMAND: &[&str] = &["--command", "x", "hello there"];
    assert_all_fail(&[
        stops("identity as a pipe", ".rejoin/project", pipe, NEW),
        stops("identity as a device", ".rejoin/project", zeros, NEW),
        stops("identity of ten gigabytes", ".rejoin/project", huge, NEW),
        stops("head as a pipe", ".git/HEAD", pipe, NEW),
        stops("head as a device", ".git/HEAD", zeros, NEW),
        stops("repository as a pipe", ".git", pipe, NEW),
        stops("repository as ten gigabytes", ".git", huge, NEW),
        stops("instructions as a pipe", "AGENTS.md", pipe, TALK),
        stops("instructions as a device", "CLAUDE.md", zeros, TALK),
        stops("instructions of ten gigabytes", "AGENTS.md", huge, TALK),
        stops("command file as a pipe", ".rejoin/commands/x.md", pipe, COMMAND),
        stops("command file of ten gigabytes", ".rejoin/commands/x.md", huge, COMMAND),
        stops("configuration as a pipe", ".rejoin/config.toml", pipe, NEW),
        stops("configuration as a device", ".rejoin/config.toml", zeros, NEW),
    ]);
}

#[test]
fn references_that_are_pipes_or_endless_are_not_waited_for() {
    let attempt = |name, file: &'static str, plant: fn(&Path)| {
        Attempt::new(name, move |target| {
            let world = World::new();
            world.write("project/.git/HEAD", "ref: refs/heads/main\n");
            let path = world.path(format!("project/.git/{file}"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            plant(&path);
            match target {
                Target::Guarded => hangs(&world, &["new"]),
                Target::Control => is_endless(&path),
            }
        })
    };
    assert_all_fail(&[
        attempt("branch as a pipe", "refs/heads/main", pipe),
        attempt("many references of ten gigabytes", "packed-refs", huge),
        attempt("many references as a pipe", "packed-refs", pipe),
        attempt("shared directory as a pipe", "commondir", pipe),
    ]);
}

/// What git itself would wait for is bounded in time.
#[test]
fn objects_that_are_pipes_are_given_up_on() {
    let attempt = |name, file: fn(&World) -> String| {
        Attempt::new(name, move |target| {
            let world = repository();
            let path = world.path(format!("project/.git/objects/{}", file(&world)));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&path);
            pipe(&path);
            match target {
                Target::Guarded => hangs(&world, &["new"]),
                Target::Control => is_endless(&path),
            }
        })
    };
    assert_all_fail(&[
        attempt("alternates", |_| "info/alternates".to_owned()),
        attempt("commit", |world| {
            let first = first(world);
            format!("{}/{}", &first[..2], &first[2..])
        }),
    ]);
}

#[test]
fn a_socket_in_the_place_of_a_file_is_not_read() {
    let world = World::new();
    let _socket = UnixListener::bind(world.path("project/AGENTS.md")).unwrap();

    let outcome = world.rejoin(["-G", "hello there"]).run();

    let expected = "warning: nothing is saved: this run is incognito\n\
                    warning: `AGENTS.md` is not a regular file, so it was not read\n";
    assert_eq!((outcome.stderr.as_str(), outcome.code), (expected, 0));
}

#[test]
fn an_identity_that_leads_out_of_the_project_does_not_count_and_one_within_is_followed() {
    let world = World::new();
    world.write("theirs", "0190-theirs\n");
    world.write("project/.rejoin/README", "");
    symlink("../../theirs", world.path("project/.rejoin/project")).unwrap();

    let outside = world.rejoin(["list"]).run();
    fs::remove_file(world.path("project/.rejoin/project")).unwrap();
    world.write("project/id", "0190-own\n");
    symlink("../id", world.path("project/.rejoin/project")).unwrap();
    let inside = world.rejoin(["project", "id"]).run();

    let expected = "warning: `[world]/project/.rejoin/project` is a link that leads out of the project, so the project \
                    goes by its path\nhint: remove it to use the project's path instead\n";
    assert_eq!((outside.stderr.as_str(), outside.code), (expected, 0));
    assert_eq!(inside.stdout, "0190-own\n");
}

#[test]
fn the_first_commit_is_known_without_running_anything_in_the_repository() {
    let world = repository();
    git(&world, "project", &["gc", "--quiet"]);
    configure(&world, &[("core.fsmonitor", "PWN"), ("core.pager", "PWN")]);

    world.rejoin(["new"]).run();

    let known = world.archive().projects().list().unwrap();
    assert_eq!(known.first().and_then(|project| project.first_commit.clone()), Some(first(&world)));
    assert!(!world.path("pwned").exists());
}

#[test]
fn names_of_objects_may_be_of_either_length() {
    let world = World::new();
    fs::remove_dir_all(world.path("project/.git")).unwrap();
    git(&world, "project", &["init", "--quiet", "--object-format=sha256"]);
    git(
        &world,
        "project",
        &["-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "x"],
    );

    world.rejoin(["new"]).run();

    let known = world.archive().projects().list().unwrap();
    assert_eq!(known.first().and_then(|project| project.first_commit.clone()), Some(first(&world)));
}
