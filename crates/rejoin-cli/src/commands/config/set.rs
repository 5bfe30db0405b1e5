//! `rejoin config set`

use std::path::Path;

use rejoin::StoreUrl;
use rejoin_agent::directory_identity;
use serde::Serialize;

use crate::commands::config::{ConfigTarget, NamedKey};
use crate::config::origin::ValueOrigin;
use crate::config::trust::{Register, TrustStanding};
use crate::config::value::ConfigValue;
use crate::config::{Config, file, resolve, write};
use crate::context::Context;
use crate::error::Failure;
use crate::retention;
use crate::ui::json;

/// Change a setting in your configuration file
///
/// The new value and the resulting file are validated before anything is written. Comments and order are
/// kept.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin config set retention.days forever
  rejoin config set limits.turn_bytes '20 MB'
  rejoin config set --local start.default continue    In this project only")]
pub(super) struct Args {
    /// The key, such as `retention.days`
    key: String,

    /// The value; separate list items with commas
    #[arg(allow_hyphen_values = true)]
    value: String,

    #[command(flatten)]
    target: ConfigTarget,
}

/// What was set, as programs read it.
#[derive(Serialize)]
struct SetAnswer<'a> {
    key: &'a str,
    value: &'a ConfigValue,
    file: json::PathText<'a>,
}

pub(super) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let named = NamedKey::parse(&args.key)?;
    let value = named.key.shape.read_text(&args.value).ok_or_else(|| {
        Failure::invalid(format!("set `{}` to `{}`", named.name, args.value.escape_debug()))
            .because(named.key.shape.complaint_about(&args.value))
    })?;
    if StoreUrl::parse(&args.value).is_ok_and(|url| url.has_password()) {
        return Err(Failure::invalid(
            "other users of this machine can read a password in a command's arguments",
        )
        .hint("put it into `PGPASSWORD` or `~/.pgpass`, or run `rejoin config edit`"));
    }
    // Your own file serves every directory, so a path is fixed where it was named. A project may be moved.
    let value = if args.target.local {
        value
    } else {
        let here = &context.surroundings;
        resolve::absolute(value, named.key.shape, &here.working_directory, here.home.as_deref())
    };
    let path = args.target.file(context)?;
    let old = file::text_of(&path)?.unwrap_or_default();
    let new = write::with_setting(&path, &old, &named.segments, value.to_toml())?;
    let effect = write::check(&path, &old, &new, &context.surroundings, context.config.project())?;

    let standing = args.target.local.then(|| standing(&old, context)).transpose()?;
    write::replace(&path, &new)?;
    if standing == Some(TrustStanding::Trusted) {
        renew_trust(&new, context)?;
    }
    if context.is_json() {
        return context.answer_json(&SetAnswer { key: &named.name, value: &value, file: json::path(&path) });
    }
    context.note(&format!("Set {} to {value} in {}", named.name, path.display()));
    if standing.is_some_and(|standing| standing != TrustStanding::Trusted) && !named.key.is_harmless() {
        context.note("It takes effect once you run `rejoin trust` here.");
    } else {
        tell_if_hidden(&named, &path, effect.as_ref(), context);
    }
    if named.name.starts_with("retention.") { retention::apply_changed(context) } else { Ok(()) }
}

fn standing(text: &str, context: &Context) -> Result<TrustStanding, Failure> {
    Ok(Register::read(&context.surroundings)?.standing(context.config.project_root(), text))
}

/// The user trusted the old text and made this change, so nothing in the new one is unknown to them.
fn renew_trust(text: &str, context: &Context) -> Result<(), Failure> {
    let Some(directory) = context.config.project_root().to_str() else { return Ok(()) };
    let own = directory_identity(context.config.project_root());
    Register::update(&context.surroundings, |register| register.trust(directory, own, text))?
}

fn tell_if_hidden(named: &NamedKey, path: &Path, effect: Option<&Config>, context: &Context) {
    let Some(setting) = effect.and_then(|config| config.setting(&named.name)) else { return };
    match &setting.origin {
        ValueOrigin::File { path: winner, .. } if winner == path => {}
        ValueOrigin::Default => {}
        ValueOrigin::File { .. } | ValueOrigin::Variable(_) | ValueOrigin::Flag(_) => {
            context.note(&format!("It is overridden here by {} ({})", setting.value, setting.origin));
        }
    }
}
