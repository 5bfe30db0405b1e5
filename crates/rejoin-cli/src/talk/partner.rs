//! Whom to talk to: the provider and model that flags, the conversation and the configuration choose.

use std::sync::Arc;

use rejoin_agent::{Offline, Provider};

use crate::context::Context;
use crate::error::Failure;
use crate::talk::session::Overrides;

/// A provider and the model to ask for.
#[derive(Debug)]
pub(crate) struct Partner {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) model: String,
}

pub(crate) fn partner(_context: &Context, _overrides: &Overrides) -> Result<Partner, Failure> {
    Ok(Partner { provider: Arc::new(Offline), model: "none".to_owned() })
}
