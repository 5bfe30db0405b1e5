//! Stores which provider and model to talk to, in the user's own configuration.

use std::path::PathBuf;

use crate::config::Config;
use crate::config::shape::ValueShape;
use crate::config::value::ConfigValue;
use crate::config::{file, write};
use crate::context::Context;
use crate::error::Failure;

/// A provider that is chosen for new conversations; what is not named stays as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProviderChoice<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Option<&'a str>,
    pub(crate) base_url: Option<&'a str>,
    pub(crate) model: Option<&'a str>,
}

/// A choice that is stored.
#[derive(Debug)]
pub(crate) struct StoredChoice {
    /// The file it was written to.
    pub(crate) path: PathBuf,
    /// The configuration with it; none where that is broken elsewhere.
    pub(crate) config: Option<Config>,
}

impl ProviderChoice<'_> {
    /// Writes the choice; comments and order are kept.
    pub(crate) fn store(&self, context: &Context) -> Result<StoredChoice, Failure> {
        let name = self.name;
        let path = context.surroundings.user_config_file()?;
        let old = file::text_of(&path)?.unwrap_or_default();
        let mut new = write::with_setting(&path, &old, &["provider".to_owned()], text("provider", name)?)?;
        for (field, value) in [("kind", self.kind), ("base_url", self.base_url), ("model", self.model)] {
            if let Some(value) = value {
                let segments = ["providers", name, field].map(str::to_owned);
                new = write::with_setting(&path, &new, &segments, text(field, value)?)?;
            }
        }
        let config = write::check(&path, &old, &new, &context.surroundings, context.config.project())?;
        write::replace(&path, &new)?;
        Ok(StoredChoice { path, config })
    }
}

/// A value that fits a key of text.
fn text(field: &str, value: &str) -> Result<toml_edit::Value, Failure> {
    let checked = ValueShape::Text.read_text(value);
    checked.as_ref().map(ConfigValue::to_toml).ok_or_else(|| {
        Failure::usage(format!("set `{field}` to `{}`", value.escape_debug()))
            .because(ValueShape::Text.complaint_about(value))
    })
}
