//! Which store commands use from now on.

use rejoin::StoreUrl;

use crate::config::origin::ValueOrigin;
use crate::config::{file, value::ConfigValue, write};
use crate::context::Context;
use crate::error::Failure;
use crate::ui::quote;

/// Whether the configuration names the store.
pub(super) enum ConfigSwitch {
    /// It does.
    Yes,
    /// Something stronger than the user's file names another; this is the command that would help.
    No(String),
}

impl ConfigSwitch {
    /// Tells the command that makes it the one.
    pub(super) fn note(&self, context: &Context) {
        if let Self::No(command) = self {
            context.note(&format!("To use it from now on: {command}"));
        }
    }
}

/// Makes a store the one that commands use, where the user's own file decides that.
pub(super) fn use_store(url: &StoreUrl, context: &Context) -> Result<ConfigSwitch, Failure> {
    let wanted = url.to_string();
    if context.config.store() == wanted {
        return Ok(ConfigSwitch::Yes);
    }
    let path = context.surroundings.user_config_file()?;
    let is_ours = context.config.setting("store").is_none_or(|setting| match &setting.origin {
        ValueOrigin::Default => true,
        ValueOrigin::File { path: origin, .. } => *origin == path,
        ValueOrigin::Variable(_) | ValueOrigin::Flag(_) => false,
    });
    let command = format!("rejoin config set store {}", quote::argument(&wanted));
    if !is_ours {
        return Ok(ConfigSwitch::No(command));
    }
    let old = file::text_of(&path)?.unwrap_or_default();
    let new = write::with_setting(&path, &old, &["store".to_owned()], ConfigValue::Text(wanted).to_toml())?;
    write::replace(&path, &new)?;
    Ok(ConfigSwitch::Yes)
}
