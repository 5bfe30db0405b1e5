//! Why nothing that is said is saved.
//!
//! Whoever relies on Rejoin relies on what was said being there tomorrow. So it is always said when it will
//! not be, also to those who asked for silence.

use std::fmt;

use rejoin::StoreUrl;

use crate::context::Context;
use crate::error::Failure;
use crate::session::Start;

/// Why nothing that is said is saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnsavedReason {
    /// The user asked for this run.
    Incognito,
    /// The configuration says so, here.
    Disabled { origin: String },
    /// The store is in memory; it was chosen here.
    Memory { origin: String },
}

impl UnsavedReason {
    /// Why nothing is saved in a talk; none when it is.
    pub(crate) fn of(context: &Context, start: &Start) -> Result<Option<Self>, Failure> {
        if *start == Start::Incognito {
            return Ok(Some(Self::Incognito));
        }
        if !context.config.persistence_enabled() {
            return Ok(Some(Self::Disabled { origin: origin_of(context, "persistence.enabled") }));
        }
        Self::by_store(context)
    }

    /// Why the store saves nothing; none when it does.
    pub(crate) fn by_store(context: &Context) -> Result<Option<Self>, Failure> {
        let is_memory = matches!(context.store_url()?, StoreUrl::Memory);
        Ok(is_memory.then(|| Self::Memory { origin: origin_of(context, "store") }))
    }

    /// The word for scripts.
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::Incognito => "incognito",
            Self::Disabled { .. } => "disabled",
            Self::Memory { .. } => "memory",
        }
    }
}

impl fmt::Display for UnsavedReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incognito => out.write_str("nothing is saved: this run is incognito"),
            Self::Disabled { origin } => {
                write!(out, "nothing is saved: `persistence.enabled` is false ({origin})")
            }
            Self::Memory { origin } => write!(out, "nothing is saved: the store is in memory ({origin})"),
        }
    }
}

fn origin_of(context: &Context, key: &str) -> String {
    context.config.setting(key).map(|setting| setting.origin.to_string()).unwrap_or_default()
}
