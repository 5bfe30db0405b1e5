//! `rejoin config`: show and change the configuration.

mod edit;
mod get;
mod list;
mod path;
mod set;

use std::path::PathBuf;

use clap::Subcommand;
use serde::Serialize;
use toml_edit::Key as TomlKey;

use crate::config::keys::{self, ConfigKey, KeyMeaning};
use crate::config::origin::{Setting, ValueOrigin};
use crate::config::value::ConfigValue;
use crate::config::{file, trust};
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::private;
use crate::project_file::{FileReading, read_inside};

/// Show and change settings
///
/// Settings are read from five sources; later ones take precedence: built-in defaults, your file
/// (`$XDG_CONFIG_HOME/rejoin/config.toml`), the project's file (`.rejoin/config.toml`), environment
/// variables, command-line options.
///
/// A key's variable is its name in upper case with underscores for dots: `retention.days` is
/// `REJOIN_RETENTION_DAYS`, and `providers.local.base_url` is `REJOIN_PROVIDERS_LOCAL_BASE_URL`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin config list                     Show each value and where it came from
  rejoin config set retention.days 60    Change your own file
  REJOIN_LOG=debug rejoin config get log")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::Args),
    Get(get::Args),
    Set(set::Args),
    Path(path::Args),
    Edit(edit::Args),
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    match args.action {
        Action::List(args) => list::run(args, context),
        Action::Get(args) => get::run(args, context),
        Action::Set(args) => set::run(args, context),
        Action::Path(args) => path::run(args, context),
        Action::Edit(args) => edit::run(args, context),
    }
}

impl Args {
    /// Whether this serves to repair a configuration, and so must work with a broken one.
    pub(crate) fn repairs(&self) -> bool {
        match self.action {
            Action::Set(_) | Action::Path(_) | Action::Edit(_) => true,
            Action::List(_) | Action::Get(_) => false,
        }
    }
}

/// Which of the two files a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
struct ConfigTarget {
    /// Use this project's file instead of yours
    #[arg(long)]
    local: bool,
}

impl ConfigTarget {
    /// The file to change. A link in a project could lead out of it, so it is not followed.
    fn file(self, context: &Context) -> Result<PathBuf, Failure> {
        if !self.local {
            return context.surroundings.user_config_file();
        }
        let path = context.config.project_file().to_owned();
        if trust::is_linked(context.config.project_root()) {
            return Err(Failure::new(Kind::Denied, format!("change `{}`", path.display()))
                .because("it is reached through a symbolic link")
                .hint("replace the link with a regular file"));
        }
        // What it holds now would not be read, and so be lost.
        if let FileReading::Foreign(foreign) = read_inside(&path, context.config.project(), 0) {
            return Err(private::refusal(format!("change `{}`", path.display()), &foreign));
        }
        Ok(path)
    }
}

/// A key as named on the command line, split at its dots.
struct NamedKey {
    segments: Vec<String>,
    key: &'static ConfigKey,
    name: String,
}

impl NamedKey {
    fn parse(written: &str) -> Result<Self, Failure> {
        let segments: Vec<String> = match TomlKey::parse(written) {
            Ok(parts) => parts.iter().map(|part| part.get().to_owned()).collect(),
            Err(_) => vec![written.to_owned()],
        };
        let name = keys::dotted(&segments);
        match keys::meaning_of(&segments) {
            KeyMeaning::Key { key, .. } => Ok(Self { segments, key, name }),
            KeyMeaning::Group => Err(Failure::invalid(format!("`{name}` is a group of keys"))
                .hint(format!("run `rejoin config list {name}` to see them"))),
            KeyMeaning::Unknown => {
                Err(Failure::invalid(format!("unknown key `{name}`")).hint(file::unknown_hint(&segments)))
            }
        }
    }
}

/// A setting as programs read it.
#[derive(Serialize)]
struct SettingAnswer<'a> {
    key: String,
    value: &'a ConfigValue,
    origin: &'static str,
    #[serde(rename = "where")]
    place: Option<String>,
}

impl<'a> From<&'a Setting> for SettingAnswer<'a> {
    fn from(setting: &'a Setting) -> Self {
        let (origin, place) = match &setting.origin {
            ValueOrigin::Default => ("default", None),
            ValueOrigin::File { .. } => ("file", Some(setting.origin.to_string())),
            ValueOrigin::Variable(name) => ("variable", Some(name.clone())),
            ValueOrigin::Flag(name) => ("flag", Some((*name).to_owned())),
        };
        Self { key: setting.name(), value: &setting.value, origin, place }
    }
}
