//! `rejoin config get`

use crate::commands::config::{NamedKey, SettingAnswer};
use crate::context::Context;
use crate::error::Failure;

/// Print the value of a setting
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin config get store
  rejoin config get providers.local.base_url --json")]
pub(super) struct Args {
    /// The key, such as `retention.days`
    key: String,
}

pub(super) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let named = NamedKey::parse(&args.key)?;
    let setting = context.config.setting(&named.name).ok_or_else(|| {
        Failure::not_found(format!("`{}` is not set", named.name))
            .hint(format!("run `rejoin config set {} VALUE`: {}", named.name, named.key.about))
    })?;
    if context.is_json() {
        return context.answer_json(&SettingAnswer::from(setting));
    }
    context.answer_text(&setting.value.to_string())
}
