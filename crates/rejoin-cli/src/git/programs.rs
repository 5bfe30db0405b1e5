//! Which programs of a repository run when something is committed to it, in words
//! that are told before the first commit.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::Failure;
use crate::git::repository::Repository;

/// The hooks that a commit runs, in the order in which it does.
const HOOKS: [&str; 6] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "reference-transaction",
    "post-index-change",
    "post-commit",
];

/// What in the configuration of git runs a program during a commit.
const KEYS: &str = "^(filter\\..*\\.(clean|process)|commit\\.gpgsign|gpg\\.(.*\\.)?program|gpg\\.format|hook\\..*\\.command)$";

/// The sentence that says which programs a commit runs here. It is the same as long as they are.
pub(super) fn told(repository: &Repository) -> Result<String, Failure> {
    let hooks = hooks_in(&repository.git_path("hooks")?);
    let mut run: Vec<String> = hooks.iter().map(|hook| format!("the hook `{hook}`")).collect();
    run.extend(configured(&repository.configured(KEYS)?));
    let place = repository.directory().display();
    Ok(match run.as_slice() {
        [] => format!(
            "Committing in {place} runs no program of the repository: it has no hooks, filters or signing."
        ),
        _ => format!(
            "Committing in {place} runs programs that the repository or your configuration of git names: {}.",
            run.join(", ")
        ),
    })
}

fn hooks_in(directory: &Path) -> Vec<&'static str> {
    let is_run = |hook: &&str| {
        let found = directory.join(hook).metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    HOOKS.into_iter().filter(is_run).collect()
}

/// What the keys and values of the configuration run.
fn configured(settings: &[(String, String)]) -> Vec<String> {
    let value =
        |name: &str| settings.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let is_signed =
        value("commit.gpgsign").is_some_and(|value| !matches!(value, "false" | "no" | "off" | "0"));
    let signer = match value("gpg.format").unwrap_or("openpgp") {
        "openpgp" => value("gpg.openpgp.program").or(value("gpg.program")).unwrap_or("gpg"),
        "x509" => value("gpg.x509.program").unwrap_or("gpgsm"),
        "ssh" => value("gpg.ssh.program").unwrap_or("ssh-keygen"),
        other => other,
    };
    let mut run: Vec<String> = settings
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(key, value)| {
            let (what, name) = key.split_once('.')?;
            let (name, _) = name.rsplit_once('.')?;
            matches!(what, "filter" | "hook").then(|| format!("the {what} `{name}` (`{value}`)"))
        })
        .collect();
    run.extend(is_signed.then(|| format!("signing with `{signer}`")));
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_hooks_and_signing_are_named_with_what_they_run() {
        let settings = [
            ("filter.lfs.clean", "git-lfs clean -- %f"),
            ("filter.none.clean", ""),
            ("commit.gpgsign", "false"),
            ("commit.gpgsign", "true"),
            ("gpg.program", "./sign"),
            ("hook.lint.command", "lint"),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));

        let run = [configured(&settings), configured(&settings[..3])];

        let lfs = "the filter `lfs` (`git-lfs clean -- %f`)";
        let all = vec![lfs, "the hook `lint` (`lint`)", "signing with `./sign`"];
        assert_eq!(run, [all, vec![lfs]]);
    }
}
