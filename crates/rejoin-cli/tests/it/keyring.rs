//! A keyring that is there: a real one, and one that never answers.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::auth::PLANTED;
use crate::skip::skip;
use crate::world::World;

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

/// Runs a script in a session with a real keyring, which is unlocked and ends with it, and answers what it
/// printed. None where there is no keyring to be had.
///
/// The program is `$REJOIN`.
pub(crate) fn session(world: &World, script: &str, variables: &[(&str, &str)]) -> Option<[String; 2]> {
    const BEGIN: &str = r#"
printf secret | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1 || exit 90
tries=0
until daemon=$(dbus-send --session --print-reply=literal --dest=org.freedesktop.DBus / \
    org.freedesktop.DBus.GetConnectionUnixProcessID string:org.freedesktop.secrets 2>/dev/null | grep -o '[0-9]*$'); do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || exit 91
    sleep 0.1
done
"#;
    let missing =
        ["dbus-run-session", "gnome-keyring-daemon", "dbus-send"].into_iter().find(|tool| !is_there(tool));
    if let Some(tool) = missing {
        skip(&format!("`{tool}` is not installed, so no real keyring is tested"));
        return None;
    }
    std::fs::create_dir(world.path("run")).unwrap();
    let output = Command::new("dbus-run-session")
        .args(["--", "sh", "-c", &format!("{BEGIN}{script}\nkill \"$daemon\"\n")])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", world.path("home"))
        .env("XDG_RUNTIME_DIR", world.path("run"))
        // On a desktop more patience is had; a busy machine needs it too.
        .env("DISPLAY", ":nowhere")
        .env("REJOIN", env!("CARGO_BIN_EXE_rejoin"))
        .envs(variables.iter().copied())
        .current_dir(world.path("project"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(world.path("").to_str().unwrap(), "[world]/");
    Some([told(&output.stdout), told(&output.stderr)])
}

const SESSION: &str = r#"
printf '%s\n' "$KEY" | "$REJOIN" auth set anthropic
"$REJOIN" auth status anthropic --json
"$REJOIN" provider set anthropic --model m --json
"$REJOIN" auth remove anthropic
"$REJOIN" auth remove anthropic
"$REJOIN" auth status anthropic --json
"#;

#[test]
fn a_real_keyring_keeps_a_key_and_gives_it_back() {
    let world = World::new();

    let Some([stdout, stderr]) = session(&world, SESSION, &[("KEY", PLANTED)]) else { return };

    let keys: Vec<String> = stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .map(|answer| answer["items"][0]["key"].as_str().or(answer["key"].as_str()).unwrap().to_owned())
        .collect();
    assert_eq!(keys, ["keyring", "keyring", "missing"], "{stdout}{stderr}");
    let expected = "\
The key of anthropic is in the keyring.
Next: run `rejoin setup --provider anthropic`
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
