//! The machine around the store: key files, git, the terminal.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rejoin_agent::Api;

use crate::commands::doctor::finding::CheckFinding;
use crate::commands::doctor::remedy::quoted;
use crate::config::families::ProviderConfig;
use crate::context::Context;
use crate::git;
use crate::provider::{KeyPlace, KnownProvider, find_key, unknown};

/// The variable that names the file with the passphrase of a vault.
const PASSPHRASE: &str = "REJOIN_PASSPHRASE_FILE";

/// Keys that are configured must be there to be read.
pub(super) fn check_keys(context: &Context) -> Vec<CheckFinding> {
    let mut findings = Vec::new();
    if let Some(path) = context.surroundings.variable(PASSPHRASE) {
        findings.extend(check_key_file(Path::new(path), PASSPHRASE));
    }
    for provider in context.config.providers() {
        findings.extend(check_provider(&provider, context));
    }
    findings.extend(check_chosen(context));
    if findings.is_empty() {
        findings.push(CheckFinding::ok("keys", "none is missing"));
    }
    findings
}

fn check_provider(provider: &ProviderConfig, context: &Context) -> Option<CheckFinding> {
    let name = &provider.name;
    if let Some(variable) = &provider.api_key_env
        && context.surroundings.variable(variable).is_none()
    {
        let message = format!("the variable `{variable}` with the key of provider `{name}` is not set");
        return Some(CheckFinding::warning("keys", message, format!("run `export {variable}=KEY`")));
    }
    let command = provider.api_key_command.as_deref()?;
    let key = format!("providers.{name}.api_key_command");
    files_in(command, context).find_map(|path| check_key_file(&path, &key))
}

/// The provider that is chosen must be one, have a model, and have its key.
fn check_chosen(context: &Context) -> Option<CheckFinding> {
    let name = context.config.provider()?;
    let Some(known) = KnownProvider::named(&context.config, name) else {
        return Some(CheckFinding::failed("provider", &unknown(&context.config, name)));
    };
    if known.api == Api::Offline {
        return None;
    }
    if known.model.is_none() {
        let remedy = format!("run `rejoin setup --provider {name}`");
        return Some(CheckFinding::warning("provider", format!("no model of `{name}` is chosen"), remedy));
    }
    match find_key(context, &known) {
        Err(failure) => Some(CheckFinding::failed("provider", &failure)),
        // A variable that was named and is not set is told above.
        Ok(found) if found.place == KeyPlace::Missing && !names_variable(context, name) => {
            let message = format!("there is no key of `{name}`");
            Some(CheckFinding::problem("provider", message, format!("run `rejoin auth set {name}`")))
        }
        Ok(_) => None,
    }
}

fn names_variable(context: &Context, name: &str) -> bool {
    context.config.providers().iter().any(|provider| provider.name == name && provider.api_key_env.is_some())
}

/// The words of a command that are paths: `cat ~/.keys/anthropic` names one.
fn files_in(command: &str, context: &Context) -> impl Iterator<Item = PathBuf> {
    command.split_whitespace().filter_map(|word| {
        let word = word.trim_matches(['"', '\'']);
        match word.strip_prefix("~/") {
            Some(below_home) => context.surroundings.home.as_ref().map(|home| home.join(below_home)),
            None => Some(PathBuf::from(word)).filter(|path| path.is_absolute()),
        }
    })
}

fn check_key_file(path: &Path, named_by: &str) -> Option<CheckFinding> {
    let shown = path.display();
    let file = File::open(path).and_then(|mut file| file.read(&mut [0]).and_then(|_| file.metadata()));
    let metadata = match file {
        Ok(metadata) => metadata,
        Err(cause) => {
            let message = format!("the key file `{shown}` cannot be read: {}", reason(&cause));
            let remedy = format!("correct `{named_by}`, or run `ls -l {}`", quoted(path));
            return Some(CheckFinding::problem("keys", message, remedy));
        }
    };
    // A program that prints a key is no secret; a file that holds one is.
    if metadata.mode() & 0o111 != 0 || metadata.mode() & 0o077 == 0 {
        return None;
    }
    let message = format!("others may read the key file `{shown}` (mode {:o})", metadata.mode() & 0o777);
    Some(CheckFinding::problem("keys", message, format!("run `chmod 600 {}`", quoted(path))))
}

/// The system's own words, without the number.
fn reason(cause: &std::io::Error) -> String {
    let text = cause.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

pub(super) fn check_tools(context: &Context) -> Vec<CheckFinding> {
    vec![check_git(context), describe_terminal(context)]
}

fn check_git(context: &Context) -> CheckFinding {
    match git::version(&context.environment()) {
        Some(version) => CheckFinding::ok("git", version),
        None => CheckFinding::warning(
            "git",
            "git was not found; a project that moves is not recognised",
            "install git, or see that `git --version` works",
        ),
    }
}

fn describe_terminal(context: &Context) -> CheckFinding {
    let here = &context.surroundings;
    let Some(screen) = here.terminal.screen else {
        return CheckFinding::ok("terminal", "none; answers go to a file or a pipe");
    };
    let pager = here.variable("PAGER").unwrap_or(OsStr::new("less")).to_string_lossy();
    CheckFinding::ok("terminal", format!("{} by {}, pager {pager}", screen.columns, screen.rows))
}
