//! A talk made ready: its conversation, its provider, its initial context.

use rejoin::{Archive, Conversation, Handle, List};
use rejoin_agent::{Recording, Talk};

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::talk::partner::{Partner, partner};
use crate::talk::tools::{self, ToolFlags};

/// Where a talk begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// In a new conversation.
    New,
    /// In the newest conversation of the project, or a new one when there is none.
    Latest,
    /// In the conversation with this name.
    Conversation(String),
    /// At the message with this name; a branch begins when it has children.
    Message(String),
    /// At the newest assistant or tool message of the project.
    LatestMessage,
    /// Nowhere: nothing is written.
    Incognito,
}

/// What this run asks for in place of what is configured or was used before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) tools: ToolFlags,
}

/// A talk made ready.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) talk: Talk,
}

impl Session {
    pub(crate) fn begin(context: &Context, start: &Start, overrides: &Overrides) -> Result<Self, Failure> {
        let toolbox = tools::toolbox(context, &overrides.tools, context.config.project())?;
        let archive = match start {
            Start::Incognito => Archive::open("memory:")?,
            _ => context.archive()?,
        };
        let handle = choose(context, &archive, start, overrides.title.clone())?;
        let history = handle.path()?.into_iter().map(|seen| seen.message).collect();
        if *start != Start::Incognito {
            context.set_active(&archive, handle.id())?;
        }
        tools::recall(context, &toolbox, &archive, handle.id())?;
        let recording = Recording::start(archive.record(handle, std::process::id().to_string()));
        let Partner { provider, model } = partner(context, overrides)?;
        Ok(Self { talk: Talk::new(provider, model, recording, history).with_tools(toolbox) })
    }
}

fn choose(
    context: &Context,
    archive: &Archive,
    start: &Start,
    title: Option<String>,
) -> Result<Handle, Failure> {
    let newest = match start {
        Start::Conversation(name) => Some(named::conversation(archive, name)?.id),
        Start::Latest => {
            let project = context.project_key()?;
            let list = List { project: Some(project), limit: 1, ..List::default() };
            archive.list(&list)?.items.first().map(|stored| stored.id)
        }
        Start::Message(_) | Start::LatestMessage | Start::New | Start::Incognito => None,
    };
    match newest {
        Some(id) => Ok(archive.resume(id)?),
        None => {
            let project = context.project(archive)?;
            Ok(archive.start(Conversation {
                title,
                project: Some(project.key),
                ..Conversation::default()
            })?)
        }
    }
}
