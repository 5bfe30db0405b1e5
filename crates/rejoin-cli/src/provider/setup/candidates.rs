//! Providers that can be talked to right away: their key is there, or their server runs on this machine.

use std::time::Duration;

use rejoin_agent::{Api, KeySource};

use crate::context::Context;
use crate::provider::{KeyFinder, KeyPlace, KnownProvider};

/// How long a server on this machine may take to list its models. One that does not run refuses at once.
const PATIENCE: Duration = Duration::from_millis(1500);

/// A provider that can be talked to right away.
#[derive(Debug)]
pub(super) struct ProviderCandidate {
    pub(super) known: KnownProvider,
    /// Why it is here: where its key is, or how many models it has.
    why: String,
}

impl ProviderCandidate {
    /// One line about it.
    pub(super) fn told(&self) -> String {
        format!("{} ({})", self.known.short_title(), self.why)
    }
}

/// The providers that can be talked to right away, those of the user first.
///
/// A local server is asked for its models, all of them at the same time. Nothing else is sent anywhere.
pub(super) async fn candidates(context: &Context) -> Vec<ProviderCandidate> {
    let mut keys = KeyFinder::new(context);
    let mut found = Vec::new();
    let mut servers = Vec::new();
    for known in KnownProvider::all(&context.config) {
        if known.api == Api::Offline {
            continue;
        }
        let place = keys.find(&known).map(|key| key.place);
        if known.is_local() {
            servers.push(tokio::spawn(running(known)));
        } else if let Ok(place) = place.as_ref()
            && *place != KeyPlace::Missing
        {
            // Two presets reach OpenAI; the one that is asked for by its plain name is offered.
            let is_double = |other: &ProviderCandidate| other.known.base_url == known.base_url;
            if !found.iter().any(is_double) {
                let why = match place {
                    KeyPlace::Variable(name) => format!("key in {name}"),
                    other => format!("key: {}", other.told()),
                };
                found.push(ProviderCandidate { known, why });
            }
        }
    }
    for server in servers {
        found.extend(server.await.ok().flatten());
    }
    found
}

/// A server of this machine, if it runs and lists its models.
async fn running(known: KnownProvider) -> Option<ProviderCandidate> {
    let provider = known.clone().impatient(PATIENCE).connect(KeySource::None).ok()?;
    let models = provider.models().await.ok()?.len();
    let url = known.base_url.as_deref().unwrap_or_default();
    let why = format!("running at {url}, {models} {}", if models == 1 { "model" } else { "models" });
    Some(ProviderCandidate { known, why })
}
