//! `rejoin config edit`

use std::fmt::Write;

use crate::commands::config::ConfigTarget;
use crate::config::keys::{self, KEYS};
use crate::config::{Config, ConfigOverrides, file};
use crate::context::Context;
use crate::durable;
use crate::error::Failure;
use crate::retention;
use crate::ui::external_editor;

/// Open the configuration file in your editor
///
/// The editor is `$VISUAL`, then `$EDITOR`, then vi. The file is checked when the editor exits. A new
/// file lists every key with its default, commented out. If the retention policy changed, shows the
/// effect and asks before applying it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin config edit
  EDITOR=nano rejoin config edit --local")]
pub(super) struct Args {
    #[command(flatten)]
    target: ConfigTarget,
}

pub(super) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let path = args.target.file(context)?;
    if file::text_of(&path)?.is_none() {
        durable::replace(&path, starting_text().as_bytes())
            .map_err(|error| Failure::io(format!("create `{}`", path.display()), error))?;
    }
    external_editor::open(&path, context)?;
    let again = "run `rejoin config edit` to correct it";
    let text = file::text_of(&path)?.unwrap_or_default();
    file::settings_in(&path, &text).map_err(|failure| failure.or_hint(again))?;
    let overrides =
        ConfigOverrides { project: Some(context.config.project().to_owned()), ..ConfigOverrides::default() };
    let config = Config::load(&context.surroundings, &overrides).map_err(|failure| failure.or_hint(again))?;
    for warning in config.warnings() {
        context.manner.warn(&warning.message, warning.hint.as_deref());
    }
    context.note(&format!("The configuration is valid: {}", path.display()));
    retention::apply_changed(context)
}

fn starting_text() -> String {
    let mut text = String::from("# Configuration of rejoin. Remove a `#` to change a default.\n");
    for key in KEYS.iter().filter(|key| !key.name.contains('<')) {
        let value = match key.default {
            // What a machine decides cannot be written down here.
            Some(default) if default.contains('<') => "\"\"".to_owned(),
            Some(default) => {
                key.shape.read_text(default).map_or_else(String::new, |value| value.to_toml().to_string())
            }
            None => "\"\"".to_owned(),
        };
        // Writing to a String cannot fail.
        let quote = if keys::quoted(key.name).is_some() { "\"" } else { "" };
        let _ = write!(text, "\n# {}\n# {quote}{}{quote} = {value}\n", key.about, key.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_in_the_starting_text_is_valid_once_uncommented() {
        let starting = starting_text();
        let uncommented: String = starting
            .lines()
            .filter_map(|line| line.strip_prefix("# "))
            .filter(|line| line.contains(" = ") && !line.ends_with("\"\""))
            .map(|line| format!("{line}\n"))
            .collect();

        let settings = file::settings_in(std::path::Path::new("config.toml"), &uncommented).unwrap();

        let machine_independent =
            |key: &&keys::ConfigKey| key.default.is_some_and(|default| !default.contains('<'));
        assert_eq!(settings.len(), KEYS.iter().filter(machine_independent).count());
    }
}
