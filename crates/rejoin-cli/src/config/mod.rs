//! The configuration: layers read once, checked once, then trusted.
//!
//! From weakest to strongest: the defaults of the key table, the user's file, the project's file, `REJOIN_*`
//! variables, flags. Every value remembers where it came from.

mod accessors;
pub(crate) mod choices;
pub(crate) mod families;
pub(crate) mod file;
pub(crate) mod keys;
mod layers;
pub(crate) mod origin;
pub(crate) mod project;
pub(crate) mod resolve;
pub(crate) mod shape;
pub(crate) mod size;
pub(crate) mod trust;
pub(crate) mod value;
mod variables;
pub(crate) mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::config::origin::Setting;
use crate::config::trust::TrustStanding;

/// The checked configuration of this run. Its values are read with one method per key.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    settings: BTreeMap<String, Setting>,
    /// The directory that the project was looked for from, with symbolic links resolved.
    start: PathBuf,
    project: PathBuf,
    /// True when nobody else was found to own the project's directory, or to be able to write it.
    is_own_project: bool,
    project_file: PathBuf,
    ignored: Vec<IgnoredConfig>,
    /// How the project stands, where the user trusted it and that does not count any more. What it set for
    /// retention is not known then, so nothing of it is deleted.
    lapsed: Option<TrustStanding>,
    unknown_variables: Vec<(String, Option<String>)>,
}

/// What does not count in the file of a project that the user does not trust.
#[derive(Clone, Debug)]
pub(crate) enum IgnoredConfig {
    /// A value of a key that is not harmless.
    Setting { setting: Setting, standing: TrustStanding },
    /// The whole file, because it could not be read.
    File { path: PathBuf, fault: String, hint: Option<String> },
}

/// How many ignored settings are named: a file can set thousands, which would hide every other message.
const NAMED: usize = 10;

/// The flags that stand above every file and variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConfigOverrides {
    pub(crate) store: Option<String>,
    pub(crate) conversation_directory: Option<PathBuf>,
    pub(crate) project: Option<PathBuf>,
}

/// Something the user should know about the configuration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConfigWarning {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl IgnoredConfig {
    /// The key, unless it is the whole file.
    pub(crate) fn key(&self) -> Option<String> {
        match self {
            IgnoredConfig::Setting { setting, .. } => Some(setting.name()),
            IgnoredConfig::File { .. } => None,
        }
    }

    /// The line that set the key, or the file.
    pub(crate) fn place(&self) -> String {
        match self {
            IgnoredConfig::Setting { setting, .. } => setting.origin.to_string(),
            IgnoredConfig::File { path, .. } => path.display().to_string(),
        }
    }

    /// The word for scripts.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            IgnoredConfig::Setting { standing, .. } => standing.name(),
            IgnoredConfig::File { .. } => "invalid",
        }
    }
}

impl Config {
    /// Every setting in force, by name.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.settings.iter().map(|(name, setting)| (name.as_str(), setting))
    }

    pub(crate) fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.get(name)
    }

    /// What the project's own file sets in vain.
    pub(crate) fn ignored(&self) -> &[IgnoredConfig] {
        &self.ignored
    }

    /// What to tell the user before a command runs.
    pub(crate) fn warnings(&self) -> Vec<ConfigWarning> {
        let mut warnings = self.ignored_in_project();
        if let (Some(standing), true) = (self.lapsed, warnings.is_empty()) {
            let root = self.project_root().display();
            warnings.push(ConfigWarning {
                message: format!("what you trusted in {root} does not count: {standing}"),
                hint: Some("run `rejoin trust` there to decide again, or `rejoin trust --revoke`".to_owned()),
            });
        }
        let unknown = self.unknown_variables.iter().map(|(name, likely)| ConfigWarning {
            message: format!("the variable `{name}` means nothing to rejoin"),
            hint: likely.as_ref().map(|likely| format!("did you mean `{likely}`?")),
        });
        warnings.extend(unknown);
        let found = project::FoundProject { directory: &self.project, is_own: self.is_own_project };
        warnings.extend(project::unused(found));
        warnings
    }

    fn ignored_in_project(&self) -> Vec<ConfigWarning> {
        let told = self.ignored.iter().take(NAMED).map(|ignored| match ignored {
            IgnoredConfig::Setting { setting, standing } => {
                let message = format!("ignored `{}` in `{}`: {standing}", setting.name(), setting.origin);
                ConfigWarning { message, hint: None }
            }
            IgnoredConfig::File { fault, hint, .. } => {
                let message = format!("ignored the project's configuration: {fault}");
                ConfigWarning { message, hint: hint.clone() }
            }
        });
        let mut warnings: Vec<ConfigWarning> = told.collect();
        let more = self.ignored.len().saturating_sub(NAMED);
        if more > 0 {
            let message = format!("ignored {more} more in `{}`", self.project_file.display());
            warnings.push(ConfigWarning { message, hint: None });
        }
        // All settings have one remedy, so it is told once.
        if let (Some(last), Some(IgnoredConfig::Setting { standing, .. })) =
            (warnings.last_mut(), self.ignored.last())
        {
            last.hint = Some(self.remedy(*standing));
        }
        warnings
    }

    fn remedy(&self, standing: TrustStanding) -> String {
        let trust = format!(
            "run `rejoin trust` in {} to see what the file sets and to allow it",
            self.project_root().display()
        );
        match standing {
            TrustStanding::Linked => format!("replace the link with a regular file, then {trust}"),
            TrustStanding::Trusted
            | TrustStanding::Unknown
            | TrustStanding::Changed
            | TrustStanding::Replaced
            | TrustStanding::Outdated => trust,
        }
    }
}
