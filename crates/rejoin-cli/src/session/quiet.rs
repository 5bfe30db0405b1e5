//! A conversation looked at as a talk would take it up: the same provider, initial context and tools. Nobody
//! is told that it goes on, and nothing changes unless it is asked for.

use std::sync::Arc;

use rejoin::{Archive, AsyncRecorder, MessageId, StoredConversation};
use rejoin_agent::{Api, History, KeySource, Offline, Talk};

use crate::compaction;
use crate::context::Context;
use crate::error::Failure;
use crate::provider::{KnownProvider, unknown};
use crate::session::partner::partner_of;
use crate::session::prepare::{SessionOverrides, command_of, initial_of, tools_of};
use crate::session::tools::{self, ToolFlags};
use crate::session::{Partner, choose, writer};

/// What stands for a model that nothing names.
const ANY_MODEL: &str = "MODEL";

/// A conversation that is looked at.
#[derive(Debug)]
pub(crate) struct Quiet {
    pub(crate) talk: Talk,
    pub(crate) archive: Archive,
}

/// Who would be asked.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// Those the conversation was held with, or whom the configuration names. Their key must be there.
    Partner(SessionOverrides),
    /// The same, as far as they can be found without a key; nobody is asked in the end.
    Nobody(SessionOverrides),
    /// Someone who speaks this language; nobody is asked in the end.
    Speaking(Api),
}

impl Quiet {
    /// Takes up a conversation, at its head or at a message.
    pub(crate) fn begin(
        context: &Context,
        archive: Archive,
        stored: &StoredConversation,
        at: Option<MessageId>,
        asked: &Asked,
    ) -> Result<Self, Failure> {
        let archive = archive.passing_over_damage();
        let conversation = stored.id;
        let stored = context.as_of(archive.now(), stored.clone());
        let nothing = SessionOverrides::default();
        let overrides = match asked {
            Asked::Partner(overrides) | Asked::Nobody(overrides) => overrides,
            Asked::Speaking(_) => &nothing,
        };
        let command = command_of(context, &stored, overrides)?;
        let partner = match asked {
            Asked::Partner(_) => partner_of(context, &stored, command.as_ref(), overrides)?,
            Asked::Nobody(_) => without_key(context, &stored, overrides, None)?,
            Asked::Speaking(api) => without_key(context, &stored, overrides, Some(*api))?,
        };
        let system = initial_of(context, &stored, command.as_ref(), overrides).system;
        let mut toolbox = tools::toolbox(context, &ToolFlags::default(), context.config.project())?;
        if let Some(names) = tools_of(command, &stored) {
            toolbox = toolbox.only(names);
        }
        let handle = match at {
            Some(message) => archive.resume_at(conversation, message),
            None => archive.resume(conversation),
        };
        let handle = handle.map_err(|error| choose::damaged(conversation, error))?;
        let history = History::load(&handle).map_err(|error| choose::damaged(conversation, error))?;
        context.warn_of_damage(&archive, conversation)?;
        let url = context.store_url()?;
        let recorder = archive
            .record(handle, writer::own())
            .reopening(context.reopener()?)
            .watching_room(move || url.free_bytes());
        let Partner { provider, model } = partner;
        let settings = compaction::settings(&context.config, provider.as_ref(), &model);
        let talk = Talk::new(provider, model, AsyncRecorder::start(recorder), history)
            .with_system(system)
            .with_tools(toolbox)
            .with_compaction(settings);
        Ok(Self { talk, archive })
    }
}

/// A partner that is never asked, so that no key is needed: the one that is named, else the conversation's
/// own, else the one that is configured, else any that speaks the language.
fn without_key(
    context: &Context,
    stored: &StoredConversation,
    overrides: &SessionOverrides,
    api: Option<Api>,
) -> Result<Partner, Failure> {
    let config = &context.config;
    let before = &stored.conversation.settings;
    if let Some(name) = &overrides.provider {
        let known = KnownProvider::named(config, name).ok_or_else(|| unknown(config, name))?;
        return connect(&known, overrides.model.clone());
    }
    let speaks = |known: &KnownProvider| api.map_or(known.api != Api::Offline, |api| known.api == api);
    let named = |name: Option<&str>| name.and_then(|name| KnownProvider::named(config, name)).filter(speaks);
    if let Some(known) = named(before.provider.as_deref()) {
        return connect(&known, overrides.model.clone().or_else(|| before.model.clone()));
    }
    let any = || {
        let mut all: Vec<KnownProvider> = KnownProvider::all(config).into_iter().filter(speaks).collect();
        // One that says which model it has shows more of a request.
        all.sort_by_key(|known| known.model.is_none());
        all.into_iter().next().filter(|_| api.is_some())
    };
    match named(config.provider()).or_else(any) {
        Some(known) => connect(&known, overrides.model.clone()),
        None => Ok(Partner { provider: Arc::new(Offline), model: ANY_MODEL.to_owned() }),
    }
}

fn connect(known: &KnownProvider, model: Option<String>) -> Result<Partner, Failure> {
    let model = model.or_else(|| known.model.clone()).unwrap_or_else(|| ANY_MODEL.to_owned());
    Ok(Partner { provider: known.connect(KeySource::None)?, model })
}
