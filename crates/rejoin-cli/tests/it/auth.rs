//! Keys: kept in the keyring, and nowhere else.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::skip::skip;
use crate::world::{Outcome, World};

const PLANTED: &str = "sk-planted-0123456789";

/// Why a machine without a desktop has no keyring.
pub(crate) const NO_KEYRING: &str = if cfg!(feature = "keyring") {
    "no keyring service answers on this machine"
} else {
    "this build cannot use a keyring: it was made without the feature `keyring`"
};

#[test]
fn a_machine_without_a_keyring_is_told_what_else_there_is() {
    let world = World::new();
    let started = Instant::now();

    let outcome = world.rejoin(["auth", "set", "anthropic"]).input(PLANTED).run();

    let hint = "name a variable that holds the key with `rejoin config set providers.anthropic.api_key_env NAME`, \
                or a command that prints it with `rejoin config set providers.anthropic.api_key_command COMMAND`";
    let expected = format!(
        "error: keep the key of `anthropic` in the keyring\n  caused by: {NO_KEYRING}\nhint: {hint}\n"
    );
    assert_eq!(outcome, Outcome::failure(1, &expected));
    // The limit is a second; the rest is room for a busy machine.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[cfg(feature = "keyring")]
#[test]
fn a_bus_that_never_answers_does_not_hang_the_program() {
    let world = World::new();
    let socket = world.path("bus");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let started = Instant::now();

    let outcome = world
        .rejoin(["auth", "remove", "anthropic"])
        .variable("DBUS_SESSION_BUS_ADDRESS", &format!("unix:path={}", socket.display()))
        .run();

    assert!(
        outcome.stderr.contains("it did not answer within 900ms; it may be locked"),
        "{}",
        outcome.stderr
    );
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn what_cannot_be_a_key_is_refused_and_not_shown() {
    let world = World::new();

    let outcomes = [
        world.rejoin(["auth", "set", "anthropic"]).input("").run(),
        world.rejoin(["auth", "set", "anthropic"]).input("sk planted\n").run(),
        world.rejoin(["auth", "set", "offline"]).input(PLANTED).run(),
    ];

    let expected = [
        "error: read the key of `anthropic`\n  caused by: the key is empty\n",
        "error: read the key of `anthropic`\n  caused by: the key holds characters that no key has\n",
        "error: there is no key without a provider\n\
         hint: run `rejoin provider list` to see those that have one\n",
    ];
    assert_eq!(outcomes, expected.map(|stderr| Outcome::failure(1, stderr)));
}

#[test]
fn status_says_where_a_key_comes_from_and_never_the_key() {
    let world = World::new();
    world.user_config("[providers.openrouter]\napi_key_command = \"echo sk-planted-command\"\n");

    let outcome = world
        .rejoin(["auth", "status", "--json"])
        .variable("ANTHROPIC_API_KEY", PLANTED)
        .variable("OPENAI_API_KEY", "sk planted with spaces")
        .run();

    let keys: Vec<(String, String)> = outcome.json()["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["provider"].as_str().unwrap().to_owned(), item["key"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [
        ("anthropic", "variable"),
        ("openai", "unusable"),
        ("openai-chat", "unusable"),
        ("openrouter", "command"),
        ("ollama", "not needed"),
        ("llama.cpp", "not needed"),
        ("vllm", "not needed"),
        ("offline", "not needed"),
    ];
    assert_eq!(keys, expected.map(|(name, key)| (name.to_owned(), key.to_owned())));
    assert_eq!(outcome.json()["keyring_error"], json!(NO_KEYRING));
    assert!(!format!("{outcome:?}").contains("planted"), "{outcome:?}");
}

/// A session bus with an unlocked keyring, in which a script runs. The daemon ends with it.
const SESSION: &str = r#"
printf secret | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1 || exit 90
daemon=$(dbus-send --session --print-reply=literal --dest=org.freedesktop.DBus / \
    org.freedesktop.DBus.GetConnectionUnixProcessID string:org.freedesktop.secrets | grep -o '[0-9]*$')
printf '%s\n' "$KEY" | "$REJOIN" auth set anthropic
"$REJOIN" auth status anthropic --json
"$REJOIN" provider set anthropic --model m --json
"$REJOIN" auth remove anthropic
"$REJOIN" auth remove anthropic
"$REJOIN" auth status anthropic --json
kill "$daemon"
"#;

#[cfg(feature = "keyring")]
#[test]
fn a_real_keyring_keeps_a_key_and_gives_it_back() {
    let missing =
        ["dbus-run-session", "gnome-keyring-daemon", "dbus-send"].into_iter().find(|tool| !is_there(tool));
    if let Some(tool) = missing {
        return skip(&format!("`{tool}` is not installed, so no real keyring is tested"));
    }
    let world = World::new();
    std::fs::create_dir(world.path("run")).unwrap();

    let output = Command::new("dbus-run-session")
        .args(["--", "sh", "-c", SESSION])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.path("home"))
        .env("XDG_RUNTIME_DIR", world.path("run"))
        // On a desktop more patience is had; a busy machine needs it too.
        .env("DISPLAY", ":nowhere")
        .env("KEY", PLANTED)
        .env("REJOIN", env!("CARGO_BIN_EXE_rejoin"))
        .current_dir(world.path("project"))
        .stdin(Stdio::null())
        .output()
        .unwrap();

    let told =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(world.path("").to_str().unwrap(), "[world]/");
    let (stdout, stderr) = (told(&output.stdout), told(&output.stderr));
    let keys: Vec<String> = stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .map(|answer| answer["items"][0]["key"].as_str().or(answer["key"].as_str()).unwrap().to_owned())
        .collect();
    assert_eq!(keys, ["keyring", "keyring", "missing"], "{stdout}{stderr}");
    let expected = "\
The key of anthropic is in the keyring.
Next: run `rejoin provider set anthropic --model MODEL`
Removed the key of anthropic from the keyring.
The keyring has no key of anthropic.
";
    let ours: String =
        stderr.lines().filter(|line| line.contains("anthropic")).map(|line| format!("{line}\n")).collect();
    assert_eq!(ours, expected, "{stderr}");
    assert!(!format!("{stdout}{stderr}").contains("planted"), "{stdout}{stderr}");
}

fn is_there(tool: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|directory| directory.join(tool).is_file())
}
