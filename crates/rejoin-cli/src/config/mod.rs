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
use crate::config::trust::Standing;

/// The checked configuration of this run. Its values are read with one method per key.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    settings: BTreeMap<String, Setting>,
    project: PathBuf,
    project_file: PathBuf,
    ignored: Vec<Ignored>,
    unknown_variables: Vec<(String, Option<String>)>,
}

/// A value in the project's own file that does not count, because the user did not allow it.
#[derive(Clone, Debug)]
pub(crate) struct Ignored {
    pub(crate) setting: Setting,
    pub(crate) standing: Standing,
}

/// The flags that stand above every file and variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) store: Option<String>,
    pub(crate) conversation_directory: Option<PathBuf>,
    pub(crate) project: Option<PathBuf>,
}

/// Something the user should know about the configuration.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
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
    pub(crate) fn ignored(&self) -> &[Ignored] {
        &self.ignored
    }

    /// What to tell the user before a command runs.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let ignored = self.ignored.iter().map(|ignored| {
            let Ignored { setting, standing } = ignored;
            let message = format!("ignored `{}` in `{}`: {standing}", setting.name(), setting.origin);
            Warning { message, hint: None }
        });
        let unknown = self.unknown_variables.iter().map(|(name, likely)| Warning {
            message: format!("the variable `{name}` means nothing to rejoin"),
            hint: likely.as_ref().map(|likely| format!("did you mean `{likely}`?")),
        });
        let mut warnings: Vec<Warning> = ignored.collect();
        // All of them have one remedy, so it is told once.
        if let (Some(last), Some(reason)) = (warnings.last_mut(), self.ignored.last()) {
            last.hint = Some(self.remedy(reason.standing));
        }
        warnings.extend(unknown);
        warnings.extend(project::unused(&self.project));
        warnings
    }

    fn remedy(&self, standing: Standing) -> String {
        let trust = format!(
            "run `rejoin trust` in {} to see what the file sets and to allow it",
            self.project.display()
        );
        match standing {
            Standing::Linked => format!("put a regular file in place of the link, then {trust}"),
            Standing::Trusted | Standing::Unknown | Standing::Changed => trust,
        }
    }
}
