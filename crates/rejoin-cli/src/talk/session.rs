//! A talk made ready: its conversation, its provider, its initial context.

use std::sync::Arc;

use rejoin::{Archive, Conversation, Handle, List};
use rejoin_agent::{Offline, Recording, Talk};

use crate::context::Context;
use crate::error::Failure;
use crate::named;

/// Where a talk begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// In a new conversation.
    New,
    /// In the newest conversation of the project, or a new one when there is none.
    Latest,
    /// In the conversation with this name.
    Conversation(String),
    /// Nowhere: nothing is written.
    Incognito,
}

/// A talk made ready.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) talk: Talk,
}

impl Session {
    pub(crate) fn begin(context: &Context, start: &Start, title: Option<String>) -> Result<Self, Failure> {
        let archive = match start {
            Start::Incognito => Archive::open("memory:")?,
            _ => context.archive()?,
        };
        let handle = choose(context, &archive, start, title)?;
        let history = handle.path()?.into_iter().map(|seen| seen.message).collect();
        if *start != Start::Incognito {
            context.set_active(&archive, handle.id())?;
        }
        let recording = Recording::start(archive.record(handle, std::process::id().to_string()));
        Ok(Self { talk: Talk::new(Arc::new(Offline), "none", recording, history) })
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
        Start::New | Start::Incognito => None,
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
