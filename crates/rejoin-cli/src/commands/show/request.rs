//! `rejoin show --view`: the request that a model would be sent, and what was mended in it.

use std::io::Write;

use rejoin::{Archive, Json, MessageId, StoredConversation};
use rejoin_agent::{Api, NextRequest};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::session::{Asked, Quiet, runtime};
use crate::shapes::RepairShape;
use crate::ui::json;

/// The languages that requests are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// Anthropic Messages
    Anthropic,
    /// OpenAI Responses
    Responses,
    /// Chat Completions
    Chat,
}

impl Language {
    const fn api(self) -> Api {
        match self {
            Self::Anthropic => Api::Anthropic,
            Self::Responses => Api::Responses,
            Self::Chat => Api::Chat,
        }
    }
}

#[derive(Serialize)]
struct RequestAnswer {
    request: Json,
    repairs: Vec<RepairShape>,
}

/// Answers with the request; repairs go beside it, so that the answer is the request alone.
pub(super) fn show(
    archive: Archive,
    stored: &StoredConversation,
    at: Option<MessageId>,
    language: Language,
    context: &Context,
) -> Result<(), Failure> {
    let runtime = runtime()?;
    let NextRequest { body, repairs } = runtime.block_on(async {
        let quiet = Quiet::begin(context, archive, stored, at, &Asked::Speaking(language.api()))?;
        Ok::<_, Failure>(quiet.talk.next_request().await)
    })?;
    let body = body.ok_or_else(|| Failure::invalid("this provider takes no requests"))?;
    if context.is_json() {
        let request = Json::parse(&body)?;
        return context.answer_json(&RequestAnswer {
            request,
            repairs: repairs.iter().map(RepairShape::from).collect(),
        });
    }
    if context.surroundings.terminal.stdout {
        let shown = Json::parse(&body)?.pretty();
        context.show(|page| Ok(writeln!(page, "{}", json::inert(&shown))?))?;
    } else {
        let mut answer = context.answer();
        writeln!(answer, "{body}")?;
        answer.flush()?;
    }
    for repair in &repairs {
        context.note(&repair.to_string());
    }
    Ok(())
}
