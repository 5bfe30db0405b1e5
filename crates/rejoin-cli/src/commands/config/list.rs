//! `rejoin config list`

use std::io::Write;

use serde::Serialize;

use crate::commands::config::SettingAnswer;
use crate::config::keys::KEYS;
use crate::context::Context;
use crate::error::Failure;
use crate::ui::clean;

/// List settings and their sources
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin config list
  rejoin config list retention
  rejoin config list --all      Include unset keys, and describe each")]
pub(super) struct Args {
    /// Only keys that start with this
    #[arg(value_name = "PREFIX")]
    prefix: Option<String>,

    /// Include unset keys, and describe each
    #[arg(long)]
    all: bool,
}

/// What is set, and what is set in vain, as programs read it.
#[derive(Serialize)]
struct SettingsAnswer<'a> {
    items: Vec<SettingAnswer<'a>>,
    ignored: Vec<IgnoredShape>,
}

/// A setting that does not count.
#[derive(Serialize)]
struct IgnoredShape {
    key: Option<String>,
    #[serde(rename = "where")]
    place: String,
    reason: &'static str,
}

pub(super) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let prefix = args.prefix.as_deref().unwrap_or_default();
    if context.is_json() {
        return answer_json(prefix, context);
    }
    let config = &context.config;
    let mut rows: Vec<[String; 3]> = config
        .settings()
        .filter(|(name, _)| name.starts_with(prefix))
        // A project's file can name and set anything.
        .map(|(name, setting)| {
            [name, &setting.value.to_string(), &setting.origin.to_string()].map(clean::line)
        })
        .collect();
    if args.all {
        let unset = KEYS.iter().filter(|key| key.default.is_none() && config.setting(key.name).is_none());
        rows.extend(
            unset
                .filter(|key| key.name.starts_with(prefix))
                .map(|key| [key.name.to_owned(), "-".to_owned(), format!("not set: {}", key.about)]),
        );
    }
    if rows.is_empty() && !prefix.is_empty() {
        return Err(Failure::not_found(format!("no key that begins with `{prefix}` is set"))
            .hint("run `rejoin config list --all` to see every key"));
    }
    write_table(&rows, context)
}

fn answer_json(prefix: &str, context: &Context) -> Result<(), Failure> {
    let settings = context.config.settings().filter(|(name, _)| name.starts_with(prefix));
    let ignored = context.config.ignored().iter().map(|ignored| IgnoredShape {
        key: ignored.key(),
        place: ignored.place(),
        reason: ignored.reason(),
    });
    context.answer_json(&SettingsAnswer {
        items: settings.map(|(_, setting)| SettingAnswer::from(setting)).collect(),
        ignored: ignored.collect(),
    })
}

fn write_table(rows: &[[String; 3]], context: &Context) -> Result<(), Failure> {
    // One very long value must not push the origins of all others off the screen.
    const WIDEST: usize = 44;
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.filter(|width| *width <= WIDEST).max().unwrap_or_default()
    };
    let (names, values) = (width(0), width(1));
    let mut answer = context.answer();
    for [name, value, origin] in rows {
        writeln!(answer, "{name:names$}  {value:values$}  {origin}")?;
    }
    answer.flush()?;
    Ok(())
}
