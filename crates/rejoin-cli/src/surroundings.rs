//! The machine as this run finds it: variables, home, working directory, terminals.
//!
//! They are read once, in `main`. Everything else takes them as an argument, so a test can bring its own.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use rejoin::store::User;

use crate::error::Failure;
use crate::ui::page::ScreenSize;

/// The machine as this run finds it.
#[derive(Clone, Debug)]
pub(crate) struct Surroundings {
    pub(crate) variables: BTreeMap<String, OsString>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) working_directory: PathBuf,
    pub(crate) terminal: Terminals,
    /// On whose behalf files are judged.
    pub(crate) user: User,
    /// The file that the flag names, with what opens a vault.
    pub(crate) passphrase_file: Option<PathBuf>,
}

/// Which of the three standard streams are terminals, and how large the screen is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terminals {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    /// The size of the screen that answers go to, where it has one.
    pub(crate) screen: Option<ScreenSize>,
}

impl Surroundings {
    pub(crate) fn capture() -> Result<Self, Failure> {
        let working_directory = env::current_dir().map_err(|error| {
            Failure::io("find the working directory", error)
                .hint("it may have been removed; change to another")
        })?;
        let is_screen = io::stdout().is_terminal();
        Ok(Self {
            // A name that is not text cannot be one of ours.
            variables: env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
                .collect(),
            home: env::home_dir().filter(|home| home.is_absolute()),
            working_directory,
            terminal: Terminals {
                stdin: io::stdin().is_terminal(),
                stdout: is_screen,
                stderr: io::stderr().is_terminal(),
                screen: if is_screen { screen() } else { None },
            },
            user: User::current(),
            passphrase_file: None,
        })
    }

    /// A variable's value; an empty one counts as absent, as is the custom of the shell.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(name).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The user's own configuration file, whether or not it exists.
    pub(crate) fn user_config_file(&self) -> Result<PathBuf, Failure> {
        Ok(self.base_directory("XDG_CONFIG_HOME", ".config")?.join("rejoin/config.toml"))
    }

    /// Where the default store, the trust register and the log live.
    pub(crate) fn data_directory(&self) -> Result<PathBuf, Failure> {
        Ok(self.base_directory("XDG_DATA_HOME", ".local/share")?.join("rejoin"))
    }

    /// Where anchors and key files of vaults and the key of redaction live: not
    /// beside the stores they belong to.
    pub(crate) fn state_directory(&self) -> Result<PathBuf, Failure> {
        Ok(self.base_directory("XDG_STATE_HOME", ".local/state")?.join("rejoin"))
    }

    /// The file with what opens a vault, if one is named.
    pub(crate) fn passphrase_file(&self) -> Option<PathBuf> {
        let named = self.variable("REJOIN_PASSPHRASE_FILE").map(PathBuf::from);
        self.passphrase_file.clone().or(named).map(|path| self.working_directory.join(path))
    }

    /// The user's Downloads folder, which desktops let people rename.
    pub(crate) fn downloads_directory(&self) -> Result<PathBuf, Failure> {
        let desktop = self.base_directory("XDG_CONFIG_HOME", ".config")?.join("user-dirs.dirs");
        let renamed = fs::read_to_string(desktop).ok().and_then(|text| self.downloads_named_in(&text));
        match renamed {
            Some(directory) => Ok(directory),
            None => Ok(self.home()?.join("Downloads")),
        }
    }

    pub(crate) fn home(&self) -> Result<&Path, Failure> {
        self.home
            .as_deref()
            .ok_or_else(|| Failure::not_found("find your home directory").hint("set the variable `HOME`"))
    }

    /// The base directory standard says that a relative path in one of its variables is to be ignored.
    fn base_directory(&self, variable: &str, fallback: &str) -> Result<PathBuf, Failure> {
        match self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute()) {
            Some(path) => Ok(path),
            None => Ok(self.home()?.join(fallback)),
        }
    }

    /// Reads `XDG_DOWNLOAD_DIR="$HOME/…"` or `="/…"`, the two forms that file allows.
    fn downloads_named_in(&self, user_dirs: &str) -> Option<PathBuf> {
        let line = user_dirs.lines().find_map(|line| line.trim().strip_prefix("XDG_DOWNLOAD_DIR="))?;
        let value = line.trim_matches('"');
        match value.strip_prefix("$HOME/") {
            Some(below_home) => Some(self.home.as_ref()?.join(below_home)),
            None => Some(PathBuf::from(value)).filter(|path| path.is_absolute()),
        }
    }
}

/// Some terminals, and all serial lines, answer with zero, which means that they do not know.
fn screen() -> Option<ScreenSize> {
    let (columns, rows) = terminal_size::terminal_size_of(io::stdout())?;
    let screen = ScreenSize { columns: columns.0.into(), rows: rows.0.into() };
    (screen.columns > 0 && screen.rows > 0).then_some(screen)
}

#[cfg(test)]
impl Surroundings {
    /// A machine that exists only in a test.
    pub(crate) fn imagined(variables: &[(&str, &str)]) -> Self {
        Self {
            variables: variables.iter().map(|(name, value)| (name.to_string(), value.into())).collect(),
            home: Some("/home/ada".into()),
            working_directory: "/".into(),
            terminal: Terminals::default(),
            user: User::current(),
            passphrase_file: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_variables_the_places_are_below_home() {
        let here = Surroundings::imagined(&[]);

        let places = [here.user_config_file().unwrap(), here.data_directory().unwrap()];

        let expected = ["/home/ada/.config/rejoin/config.toml", "/home/ada/.local/share/rejoin"];
        assert_eq!(places, expected.map(PathBuf::from));
    }

    #[test]
    fn a_relative_base_directory_is_ignored() {
        let here = Surroundings::imagined(&[("XDG_DATA_HOME", "data")]);

        assert_eq!(here.data_directory().unwrap(), PathBuf::from("/home/ada/.local/share/rejoin"));
    }

    #[test]
    fn a_renamed_downloads_folder_is_found() {
        let here = Surroundings::imagined(&[]);

        let named = here.downloads_named_in("# desktop\nXDG_DOWNLOAD_DIR=\"$HOME/Hentede filer\"\n");

        assert_eq!(named, Some(PathBuf::from("/home/ada/Hentede filer")));
    }
}
