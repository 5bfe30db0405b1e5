//! Keys that Rejoin holds, as seen by programs that run as the same user: those that it
//! starts, and those that look at its process.
//!
//! Everything runs as a user without rights. The control does the same to a shell, which guards nothing.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::attacks::attempt::{Attempt, Target, assert_all_fail};
use crate::model_server::{ModelServer, call, end, reply};
use crate::planting::{NOBODY, is_root};
use crate::vault::secret;
use crate::world::World;

const PLANTED: &str = "sk-planted-7d1f0c5e9b";

/// What is in the environment of the program: keys by the names that are configured, known and not known.
const VARIABLES: [(&str, &str); 5] = [
    ("OWN_KEY", PLANTED),
    ("OPENAI_API_KEY", "sk-planted-default"),
    ("ANTHROPIC_AUTH_TOKEN", "sk-planted-token"),
    ("SHADOW", PLANTED),
    ("REJOIN_PASSPHRASE_FILE", "/planted/passphrase"),
];

/// A world of an ordinary user whose provider is a server of the test that has a command run.
fn world_running(command: &str) -> (World, ModelServer) {
    let command = command.to_owned();
    let server = ModelServer::start(move |request| {
        let messages = request["messages"].as_array().unwrap();
        if messages.iter().any(|message| message["role"] == "tool") {
            return reply("Done.");
        }
        vec![call("c1", "run", &json!({"command": command})), end("tool_calls")]
    });
    let world = World::new();
    world.user_config(&format!("{}api_key_env = \"OWN_KEY\"\n", server.config()));
    (world, server)
}

/// What a command that the model asks for prints, or, as a control, what a shell lets it print.
fn printed(command: &str, target: Target) -> String {
    let (world, server) = world_running(command);
    let store = world.store();
    fs::create_dir_all(store.parent().unwrap()).unwrap();
    world.give_to(NOBODY);
    let mut program = match target {
        Target::Guarded => world.program(&["--allow-all-tools", "--quiet", "Look around"]),
        Target::Control => {
            // The shell stays, as Rejoin does, with a store open and its key in its environment.
            let line = "ulimit -c unlimited; printf SQLite >\"$1\"; exec 9<\"$1\"; /bin/sh -c \"$2\"; :";
            let mut control = like(&world.program(&[]), "/bin/sh");
            control.args(["-c", line, "sh"]).arg(&store).arg(command);
            control
        }
    };
    let output = program.envs(VARIABLES).uid(NOBODY).gid(NOBODY).stdin(Stdio::null()).output().unwrap();
    if target == Target::Control {
        return String::from_utf8_lossy(&output.stdout).into_owned();
    }
    assert!(output.status.success(), "{output:?}");
    let requests = server.requests();
    let messages = requests.iter().flat_map(|request| request["messages"].as_array().unwrap());
    let result = messages.into_iter().find(|message| message["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

/// Another program in the same directory and environment.
fn like(program: &Command, other: &str) -> Command {
    let mut command = Command::new(other);
    command.current_dir(program.get_current_dir().unwrap());
    command.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// Whether what a command prints shows something.
fn shows<'a>(command: &'a str, wanted: &'a str) -> impl Fn(Target) -> bool + 'a {
    move |target| printed(command, target).contains(wanted)
}

#[test]
fn a_command_of_a_model_finds_no_key_in_its_environment() {
    if !is_root("act for another user") {
        return;
    }

    assert_all_fail(&[
        Attempt::new("the variable that the configuration names", shows("env", "OWN_KEY=")),
        Attempt::new("the variable of a provider that is not used", shows("env", "OPENAI_API_KEY=")),
        Attempt::new("another variable of a known provider", shows("env", "ANTHROPIC_AUTH_TOKEN=")),
        Attempt::new("a copy of the key in a variable of another name", shows("env", PLANTED)),
        Attempt::new("the file that opens the vault", shows("env", "/planted/passphrase")),
    ]);
}

#[test]
fn a_command_of_a_model_cannot_look_into_the_process_that_runs_it() {
    if !is_root("act for another user") {
        return;
    }
    let each = "for file in /proc/$PPID/fd/*; do [ -f \"$file\" ] && head -c 6 \"$file\"; done";
    let core = "grep 'core file size' /proc/$PPID/limits | awk '{print \"soft limit \" $5}'";

    assert_all_fail(&[
        Attempt::new("its environment", shows("tr '\\0' '\\n' </proc/$PPID/environ", PLANTED)),
        Attempt::new("the map of its memory", shows("cat /proc/$PPID/maps", "[stack]")),
        Attempt::new("its memory", shows("true </proc/$PPID/mem && echo opened", "opened")),
        Attempt::new("the files it has open", shows("ls -l /proc/$PPID/fd", "rejoin.db")),
        Attempt::new("what is in the files it has open", shows(each, "SQLite")),
        Attempt::new(
            "its own open files, for one that was left to it",
            shows("ls -l /proc/self/fd", "rejoin.db"),
        ),
        Attempt::new("a core file, as far as the limit allows", shows(core, "soft limit unlimited")),
    ]);
}

/// Whether a process that is ended by a fault leaves its memory in a file.
fn leaves_core(target: Target) -> bool {
    let (world, _server) = world_running("kill -ABRT $PPID; sleep 1");
    world.give_to(NOBODY);
    let program = world.program(&["--allow-all-tools", "--quiet", "Look around"]);
    let guarded: Vec<&OsStr> = [program.get_program()].into_iter().chain(program.get_args()).collect();
    let unguarded = ["/bin/sh", "-c", "kill -ABRT $$; sleep 1"].map(OsStr::new);
    let line = if target == Target::Guarded { guarded.as_slice() } else { unguarded.as_slice() };
    let mut shell = like(&program, "/bin/sh");
    shell.args(["-c", "ulimit -c unlimited; \"$@\"; :", "sh"]).args(line).envs(VARIABLES);
    shell.uid(NOBODY).gid(NOBODY).stdin(Stdio::null()).output().unwrap();
    let files = fs::read_dir(world.path("project")).unwrap().map(|entry| entry.unwrap().file_name());
    files.into_iter().any(|name| name.to_string_lossy().starts_with("core"))
}

#[test]
fn a_crash_leaves_no_memory_on_disk() {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    if !is_root("act for another user") || !pattern.starts_with("core") {
        return;
    }

    assert_all_fail(&[Attempt::new("a core file after an abort", leaves_core)]);
}

/// Writes a program that notes its environment in a file.
fn spy(world: &World, name: &str) -> String {
    let path = world.path(name);
    let notes = world.path("seen");
    world.write(name, &format!("#!/bin/sh\nenv >>{}\necho sk-from-command\n", notes.display()));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Whether a spy that is started one way or the other has seen something.
fn is_seen(world: &World, spy: &str, arguments: &[&str], target: Target, wanted: &str) -> bool {
    let mut program = match target {
        Target::Guarded => world.program(arguments),
        Target::Control => Command::new(spy),
    };
    let output = program.envs(VARIABLES).stdin(Stdio::null()).output().unwrap();
    let seen = fs::read_to_string(world.path("seen")).unwrap_or_else(|_| panic!("nothing ran: {output:?}"));
    seen.contains(wanted)
}

#[test]
fn no_other_program_that_is_started_gets_a_key() {
    assert_all_fail(&[
        Attempt::new("an MCP server", |target| {
            let (world, server) = world_running("true");
            let spy = spy(&world, "server");
            let config = format!(
                "{}api_key_env = \"OWN_KEY\"\n[mcp.servers.spy]\ncommand = \"{spy}\"\n",
                server.config()
            );
            world.user_config(&config);
            is_seen(&world, &spy, &["--allow-all-tools", "--quiet", "Look"], target, PLANTED)
        }),
        Attempt::new("the command that prints the key of another provider", |target| {
            let (world, server) = world_running("true");
            let spy = spy(&world, "print-key");
            world.user_config(&format!("{}api_key_command = \"{spy}\"\n", server.config()));
            is_seen(&world, &spy, &["--no-tools", "--quiet", "Look"], target, "OPENAI_API_KEY=")
        }),
        Attempt::new("the editor", |target| {
            let (world, _server) = world_running("true");
            let spy = spy(&world, "editor");
            let mut program = world.program(&["config", "edit"]);
            if target == Target::Guarded {
                program.envs(VARIABLES).env("EDITOR", &spy).output().unwrap();
                return fs::read_to_string(world.path("seen")).unwrap().contains(PLANTED);
            }
            is_seen(&world, &spy, &[], target, PLANTED)
        }),
        Attempt::new("git, when it asks for its version", |target| {
            let (world, _server) = world_running("true");
            let spy = spy(&world, "bin/git");
            let directory = Path::new(&spy).parent().unwrap().to_str().unwrap().to_owned();
            if target == Target::Guarded {
                let path = format!("{directory}:/usr/bin:/bin");
                world.program(&["doctor"]).envs(VARIABLES).env("PATH", path).output().unwrap();
                return fs::read_to_string(world.path("seen")).unwrap().contains(PLANTED);
            }
            is_seen(&world, &spy, &[], target, PLANTED)
        }),
        Attempt::new("a hook of the repository that sessions are committed to", |target| {
            let (world, server) = world_running("true");
            let config =
                format!("{}api_key_env = \"OWN_KEY\"\n[git]\ncommit_sessions = true\n", server.config());
            world.user_config(&config);
            let git = |arguments: &[&str]| {
                let mut git = like(&world.program(&[]), "git");
                let output = git.args(arguments).envs(VARIABLES).output().unwrap();
                assert!(output.status.success(), "{output:?}");
            };
            git(&["init", "--quiet", "--initial-branch=main"]);
            git(&["config", "user.name", "Ada"]);
            git(&["config", "user.email", "ada@example.com"]);
            git(&["commit", "--quiet", "--allow-empty", "--message", "Begin"]);
            spy(&world, "project/.git/hooks/pre-commit");
            if target == Target::Control {
                git(&["commit", "--quiet", "--allow-empty", "--message", "Next"]);
            } else {
                let id = world.started("Lisbon");
                world.append(&id, "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n");
                world.program(&["stop", &id]).envs(VARIABLES).output().unwrap();
            }
            fs::read_to_string(world.path("seen")).unwrap().contains(PLANTED)
        }),
        Attempt::new("an agent that takes over, the file that opens the vault", |target| {
            let world = World::new();
            let id = world.started("Lisbon");
            world.append(&id, "{\"role\":\"user\",\"content\":\"Where to eat?\"}\n");
            let spy = spy(&world, "bin/codex");
            let directory = Path::new(&spy).parent().unwrap().to_str().unwrap().to_owned();
            if target == Target::Guarded {
                let path = format!("{directory}:/usr/bin:/bin");
                let arguments = ["handoff", &id, "--to", "codex", "--run"];
                world.program(&arguments).envs(VARIABLES).env("PATH", path).output().unwrap();
                let seen = fs::read_to_string(world.path("seen")).unwrap();
                // It asks its own provider, so it has that key, as it would from the shell.
                assert!(seen.contains("OPENAI_API_KEY=sk-planted-default"), "{seen}");
                return seen.contains("/planted/passphrase");
            }
            is_seen(&world, &spy, &[], target, "/planted/passphrase")
        }),
    ]);
}

#[test]
fn a_passphrase_can_still_come_through_a_pipe_of_the_shell() {
    if !is_root("act for another user") {
        return;
    }
    let world = World::new();
    let file = secret(&world, "passphrase", "correct horse planted battery");
    world.give_to(NOBODY);
    let line = "exec 7<\"$1\"; \"$REJOIN\" vault init --slot passphrase --passphrase-file /dev/fd/7";
    let program = world.program(&[]);
    let mut shell = like(&program, "/bin/sh");
    shell.args(["-c", line, "sh", &file]);
    shell.env("REJOIN", program.get_program()).uid(NOBODY).gid(NOBODY);

    let output = shell.output().unwrap();

    assert!(output.status.success(), "{output:?}");
}
