//! Stock Python clients, installed under `target`, that check the streams our tests are built on.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip::skip;

/// A Python that has the package. None, said out loud, where it cannot be had.
pub(crate) fn with_package(package: &str) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("python-{package}"));
    let python = place.join("bin/python");
    if python.exists() {
        return Some(python);
    }
    match install(package, &place) {
        Ok(()) => Some(python),
        Err(why) => {
            skip(&format!("the Python package `{package}` cannot be installed: {why}"));
            None
        }
    }
}

/// Installs aside and then moves: another process may do the same at the same time.
fn install(package: &str, place: &Path) -> Result<(), String> {
    let aside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|error| error.to_string())?;
    let fresh = aside.path().join("venv");
    run(Command::new("python3").args(["-m", "venv"]).arg(&fresh))?;
    run(Command::new(fresh.join("bin/python")).args(["-m", "pip", "install", "--quiet", package]))?;
    match std::fs::rename(&fresh, place) {
        Err(error) if !place.exists() => Err(error.to_string()),
        _ => Ok(()),
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let words = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{}: {}", output.status, words.trim())) }
}

/// Runs a script that prints JSON, with nothing of the environment that could change where it goes.
pub(crate) async fn run_script(python: &Path, script: &str, arguments: &[&str]) -> serde_json::Value {
    let output = tokio::process::Command::new(python)
        .arg("-c")
        .arg(script)
        .args(arguments)
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("NO_PROXY", "*")
        .output()
        .await
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
