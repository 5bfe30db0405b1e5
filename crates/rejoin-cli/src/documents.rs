//! `docs/cli.md`, written from the commands, the key table and the kinds of failure, so that it cannot drift.
//!
//! The test compares. With `REJOIN_WRITE_DOCS=1`, which is what `just
//! help-pages` sets, it writes the file instead.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use crate::args::Arguments;
use crate::commands::{first_screen, whole_help};
use crate::config::keys::{ConfigKey, KEYS};
use crate::error::Kind;

const PREFACE: &str = "\
# The command line

`just help-pages` generates this page. To change it, change the help of a command.

Commands write their result to stdout and everything else to stderr. With `--json` the result is one JSON value; existing fields
do not change.

An ID is a short ID, the start of one, or the slug of a title (`trip-to-lisbon`). A message is named by its ID, alone or after its
conversation's (`Ehsn5f/k3f9aB`). The options of `rejoin help --all` under \"Global options\" work with every command.
";

const KEYS_PREFACE: &str = "
## Configuration

Settings are read from five sources; later ones take precedence: built-in defaults, your file
(`$XDG_CONFIG_HOME/rejoin/config.toml`), the project's file (`.rejoin/config.toml`), environment variables, command-line options.
`rejoin config list` shows each value and its source. An unknown key or an invalid value is an error.

Until you run `rejoin trust` in a project, its file can set only the keys marked **harmless**. Rejoin ignores and names every other key in
it. An invalid project file is ignored as a whole; in a trusted project it is an error. A key marked **later** is validated, but this
version does not use it.

| key | default | meaning | |
|---|---|---|---|
";

const VARIABLES_PREFACE: &str = "
## Variables

A key's variable is its name in upper case with underscores for dots: `limits.turn_bytes` is `REJOIN_LIMITS_TURN_BYTES`. An empty
variable counts as unset. Rejoin also reads these:

| variable | meaning |
|---|---|
";

const VARIABLES: [(&str, &str); 22] = [
    ("HOME", "the parent of the directories below"),
    ("XDG_CONFIG_HOME", "the parent of `rejoin/config.toml`; default: `~/.config`"),
    ("XDG_DATA_HOME", "the parent of `rejoin/rejoin.db`; default: `~/.local/share`"),
    (
        "XDG_STATE_HOME",
        "the parent of the anchors, pins and key files of vaults and of the redaction key; default: `~/.local/state`",
    ),
    (
        "REJOIN_PASSPHRASE_FILE",
        "a file with the passphrase or recovery key of a vault, like `--passphrase-file`",
    ),
    ("NO_COLOR", "disables color"),
    ("CLICOLOR_FORCE", "forces color, unless it is `0`"),
    ("TERM", "`dumb` disables color"),
    ("TZ", "the time zone of printed times; default: `/etc/localtime`"),
    ("PAGER", "the pager; default: `less`. Empty or `cat` disables it"),
    ("LESS", "options of `less`; default: `FRXK`"),
    ("DISPLAY", "if set, Rejoin waits for the keyring to be unlocked on the desktop"),
    ("WAYLAND_DISPLAY", "the same"),
    ("ANTHROPIC_API_KEY", "the API key of `anthropic`, unless `api_key_env` names another variable"),
    ("OPENAI_API_KEY", "the API key of `openai` and `openai-chat`, likewise"),
    ("OPENROUTER_API_KEY", "the API key of `openrouter`, likewise"),
    ("SHELL", "the shell that runs `!command` at the prompt; default: `sh`"),
    ("VISUAL", "the editor of `rejoin config edit` and of Ctrl+X Ctrl+E at the prompt"),
    ("EDITOR", "the same, if `VISUAL` is unset"),
    ("PATH", "searched by `rejoin handoff` for the other agent"),
    ("CLAUDE_CONFIG_DIR", "the directory of Claude Code's sessions; default: `~/.claude`"),
    ("CODEX_HOME", "the directory of Codex's sessions; default: `~/.codex`"),
];

const JSON: &str = "
## JSON

Fields may be added; these do not change.

| what | shape |
|---|---|
| a line for `append --jsonl` | `{\"role\",\"content\"}`, where `content` is text or a list of [blocks](format.md#a-message); optional `parent`, `label`, `created_at`, `usage`, `finish`, `is_error`, `extra`. A list of such objects on one line is one turn |
| its receipt, after the sync | `{\"conversation\",\"messages\":[id…],\"head\",\"seq\",\"digest\",\"forked\",\"replayed\"}` |
| `show` | `{\"conversation\":{…},\"messages\":[{\"id\",\"parent\",\"role\",\"label\",\"created_at\",\"text\",\"blocks\":[…]}…]}`, root first |
| `list` | `{\"items\":[…],\"next_cursor\",\"total\"}`; an item has `id`, `short`, `title`, `kind`, `status`, `provider`, `model`, `project`, `messages`, `bytes`, `first`, `last`, `created_at`, `last_active_at`, `expires_at`, `source`; `runs` counts folded runs of sub-agents, and a run has `parent` |
| `search` | the same frame; an item has `conversation`, `message`, `role`, `created_at`, `snippet` |
| `tree` | `{\"roots\":[{\"id\",\"role\",\"created_at\",\"text\",\"label\",\"children\":[…]}…]}` |
| an error, on stderr | `{\"error\":{\"kind\",\"message\",\"hint\"}}` |
";

const CODES_PREFACE: &str = "
## Exit codes

| code | meaning |
|---|---|
| 0 | success, also if the reader of the output closed it early |
";

#[test]
fn the_page_of_commands_says_what_the_commands_say() {
    let path = root().join("docs/cli.md");
    let page = page();
    if env::var_os("REJOIN_WRITE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }

    let written = fs::read_to_string(&path).unwrap_or_default();

    assert!(written == page, "docs/cli.md is not what the program says; run `just help-pages`");
}

#[test]
fn every_variable_that_is_read_has_a_line() {
    let sources = sources();
    let read = sources.iter().flat_map(|(_, text)| variables_read(program_part(text)));

    let missing: Vec<&str> = read.filter(|name| VARIABLES.iter().all(|(known, _)| known != name)).collect();

    assert_eq!(missing, Vec::<&str>::new());
}

fn page() -> String {
    let mut page = PREFACE.to_owned();
    let mut root = Arguments::command().term_width(100);
    root.build();
    write_command(&mut page, &root, "rejoin");
    write_keys(&mut page);
    page.push_str(VARIABLES_PREFACE);
    for (name, means) in VARIABLES {
        writeln!(page, "| `{name}` | {means} |").unwrap();
    }
    write_codes(&mut page);
    page
}

fn write_command(page: &mut String, command: &Command, path: &str) {
    let is_root = path == "rejoin";
    let help = command
        .clone()
        .bin_name(path)
        .mut_args(|arg| if arg.get_id() == "help" { arg.hide(true) } else { arg })
        .render_long_help()
        .to_string();
    if is_root {
        write_help(page, path, &first_screen());
        write_help(page, "rejoin help --all", &whole_help(Some(100)).to_string());
    } else {
        write_help(page, path, &help);
    }
    // clap adds its own `help` to commands with subcommands.
    for below in command.get_subcommands().filter(|below| is_root || below.get_name() != "help") {
        write_command(page, below, &format!("{path} {}", below.get_name()));
    }
}

fn write_help(page: &mut String, title: &str, help: &str) {
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    write!(page, "\n## {title}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()).unwrap();
}

fn write_keys(page: &mut String) {
    page.push_str(KEYS_PREFACE);
    let sources = sources();
    for key in KEYS {
        let default = key.default.map(|default| format!("`{default}`")).unwrap_or_default();
        let guard = key.is_harmless().then_some("harmless");
        let later = if is_read(key, &sources) { None } else { Some("later") };
        let notes: Vec<&str> = [guard, later].into_iter().flatten().collect();
        let name = key.name;
        writeln!(page, "| `{name}` | {default} | {} | {} |", key.about, notes.join(", ")).unwrap();
    }
}

fn write_codes(page: &mut String) {
    page.push_str(CODES_PREFACE);
    for (code, what) in [(1, "failure"), (2, "invalid command line")] {
        let kinds = Kind::ALL.iter().filter(|kind| kind.exit_status() == code);
        let names: Vec<String> = kinds.map(|kind| format!("`{}`", kind.name())).collect();
        writeln!(page, "| {code} | {what}: {} |", names.join(", ")).unwrap();
    }
    page.push_str("\nThe words in backticks are the values of `kind` in an error with `--json`.\n");
    page.push_str(JSON);
}

/// Whether anything outside the configuration calls the method that gives this key's value.
fn is_read(key: &ConfigKey, sources: &[(PathBuf, String)]) -> bool {
    let of = |file: &str| sources.iter().find(|(path, _)| path.ends_with(file)).map(|(_, text)| text);
    let call = match key.name.split_once(".<name>") {
        Some((family, _)) => family.replace('.', "_"),
        None => {
            let accessors = program_part(of("config/accessors.rs").unwrap());
            let Some((before, _)) = accessors.split_once(&format!("(\"{}\")", key.name)) else {
                return false;
            };
            let own = before.rsplit_once("fn ").unwrap().1;
            own.split_once('(').unwrap().0.to_owned()
        }
    };
    let outside =
        sources.iter().filter(|(path, _)| !path.components().any(|part| part.as_os_str() == "config"));
    outside.map(|(_, text)| program_part(text)).any(|text| text.contains(&format!("config.{call}()")))
}

/// The names of variables that a source asks for, as in `variable("NO_COLOR")`.
fn variables_read(source: &str) -> impl Iterator<Item = &str> {
    let calls = ["variable(\"", "variables.get(\"", "base_directory(\""];
    let after = calls.into_iter().flat_map(|call| source.split(call).skip(1));
    after.filter_map(|rest| rest.split('"').next())
}

/// A source without its tests.
fn program_part(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates/rejoin-cli/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                None => folders.push(path),
                Some(_) if path.ends_with("documents.rs") => {}
                Some(_) => found.push((path.clone(), fs::read_to_string(&path).unwrap())),
            }
        }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
