//! Titles and synopses by a model: asked by a process of their own, so that nobody waits for them.
//!
//! Without `summary.model` no model is asked, and both are computed.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::thread;

use rejoin::{Archive, ConversationId, StoreUrl, StoredConversation};
use rejoin_agent::{Api, Environment, SummaryRequests, is_summary_due};

use crate::context::Context;

/// When a process may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// A turn ended, and more may follow: only a conversation that was never described is.
    Turn,
    /// The conversation is left, or nobody says anything any more.
    Pause,
}

/// How conversations of this run are described by a model, if they are.
#[derive(Clone, Debug)]
pub(crate) struct Describing {
    arguments: Vec<String>,
}

impl Describing {
    /// None without `summary.model`, and where another process could not read what was said: it is told the
    /// store in its arguments, where no password may stand.
    pub(crate) fn of(context: &Context) -> Option<Self> {
        context.config.summary_model()?;
        if !context.config.persistence_enabled()
            || context.store_url().map_or(true, |url| matches!(url, StoreUrl::Memory) || url.has_password())
        {
            return None;
        }
        let project = context.config.start().to_str()?;
        let mut arguments =
            ["--quiet", "--store", context.config.store(), "--project", project].map(str::to_owned).to_vec();
        if let Some(file) = context.surroundings.passphrase_file() {
            arguments.extend(["--passphrase-file".to_owned(), file.to_str()?.to_owned()]);
        }
        arguments.push("resummarize".to_owned());
        Some(Self { arguments })
    }

    /// Starts a process that describes the conversation, if that is due.
    pub(crate) fn start_if_due(&self, archive: &Archive, id: ConversationId, occasion: Occasion) {
        let Ok(stored) = archive.conversation(id) else { return };
        if is_due(&stored, occasion) {
            self.start(id, base_url(archive, &stored).as_deref());
        }
    }

    /// What fails leaves the computed title and synopsis, so it is not told.
    fn start(&self, id: ConversationId, base_url: Option<&str>) {
        let Ok(program) = std::env::current_exe() else { return };
        let mut command = Environment::default().command(program);
        command.args(&self.arguments).arg(id.to_string());
        // What was said goes nowhere else than where it went before.
        command.args(base_url.map(|url| format!("--base-url={url}")));
        // A group of its own: Ctrl+C at this terminal is not meant for it.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        match command.spawn() {
            // A prompt may stay open for days, and collects what it started.
            Ok(mut child) => drop(thread::spawn(move || child.wait())),
            Err(error) => tracing::warn!(%error, "no process was started to describe the conversation"),
        }
    }
}

fn is_due(stored: &StoredConversation, occasion: Occasion) -> bool {
    let conversation = &stored.conversation;
    let has_model =
        conversation.settings.provider.as_deref().is_some_and(|name| name != Api::Offline.as_str());
    let is_first = SummaryRequests::of(conversation).requests == 0;
    has_model && is_summary_due(stored) && (occasion == Occasion::Pause || is_first)
}

/// What the store remembers for a conversation whose provider a flag reaches elsewhere.
const BASE_URL: &str = "provider.base_url";

/// Remembers that a flag said where the provider of a conversation is reached.
pub(crate) fn note_base_url(archive: &Archive, id: ConversationId, provider: &str, base_url: &str) {
    let noted = format!("{provider} {base_url}");
    if let Err(error) = archive.state().remember_for(id, BASE_URL, Some(&noted)) {
        tracing::warn!(kind = error.kind().as_str(), "it was not noted where the provider is reached");
    }
}

/// Where a flag said that the provider of a conversation is reached.
fn base_url(archive: &Archive, stored: &StoredConversation) -> Option<String> {
    let noted = archive.state().recall_for(stored.id, BASE_URL).ok()??;
    let (provider, url) = noted.split_once(' ')?;
    (stored.conversation.settings.provider.as_deref() == Some(provider)).then(|| url.to_owned())
}
