//! What child processes see of the environment: no key of a provider, and not where the secret of a vault is.

use std::ffi::{OsStr, OsString};

use rejoin_agent::{Environment, presets};

use crate::context::Context;

/// Names the file that opens a vault. No other program needs it.
const PASSPHRASE: &str = "REJOIN_PASSPHRASE_FILE";

/// Other variables in which the providers of the presets, or their own programs, keep a key.
const OTHERS: [&str; 3] = ["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CODEX_API_KEY"];

impl Context {
    /// The environment of every program that this one starts: commands of tools, MCP servers, git, the
    /// pager, the editor, and what prints a key.
    pub(crate) fn environment(&self) -> Environment {
        let configured = self.config.providers().into_iter().filter_map(|provider| provider.api_key_env);
        let names: Vec<String> = configured.chain(known().map(str::to_owned)).collect();
        let secrets: Vec<&OsStr> = names.iter().filter_map(|name| self.surroundings.variable(name)).collect();
        // The same key under another name is the same key.
        let copies = self.surroundings.variables.iter().filter(|(_, value)| is_in(value, &secrets));
        let copies: Vec<String> = copies.map(|(name, _)| name.clone()).collect();
        Environment::without(names.into_iter().chain(copies))
    }

    /// The environment of an agent that goes on in the place of this program. It asks its own provider, so it
    /// gets the keys of providers, as it would from the shell.
    pub(crate) fn environment_of_agent(&self) -> Environment {
        Environment::without([PASSPHRASE])
    }
}

/// The environment without the variables that are known whatever the configuration says.
pub(crate) fn without_known_keys() -> Environment {
    Environment::without(known())
}

fn known() -> impl Iterator<Item = &'static str> {
    presets().iter().filter_map(|preset| preset.key_variable).chain(OTHERS).chain([PASSPHRASE])
}

fn is_in(value: &OsString, secrets: &[&OsStr]) -> bool {
    secrets.contains(&value.as_os_str())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// The files below a directory.
    fn files(directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn programs_are_started_in_one_place_with_the_environment_they_may_see() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let sources =
            ["rejoin", "rejoin-agent", "rejoin-cli"].map(|name| files(&crates.join(name).join("src")));

        let starts = |path: &&PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            // What stands below is for tests only.
            let code = text.split("#[cfg(test)]").next().unwrap();
            !path.ends_with("tests.rs")
                && ["Command::new(", "posix_spawn"].iter().any(|start| code.contains(start))
        };
        let found: Vec<&PathBuf> = sources.iter().flatten().filter(starts).collect();

        assert_eq!(found, [&crates.join("rejoin-agent/src/environment.rs")]);
    }
}
