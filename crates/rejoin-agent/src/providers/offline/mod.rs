//! The provider without a model: answers from the conversation itself.
//!
//! It quotes what was said before, with the id of the message, and says so when
//! there is nothing. It never quotes itself.

mod question;
mod recall;

use rejoin::{Block, Json, Message, Role};

use crate::error::Result;
use crate::providers::offline::question::{Question, Wish};
use crate::providers::offline::recall::{RecalledStatement, recall};
use crate::providers::{Api, Future, Listener, Piece, Provider, Reply, Request, Stop};

/// The first line of its first reply in a conversation.
const NOTICE: &str = "No model is configured, so this answers from the conversation alone; run `rejoin setup` in a shell to choose one.";

/// The first line of later replies.
const SHORT_NOTICE: &str = "No model is configured.";

/// What every reply of it begins with.
const OPENING: &str = "No model is configured";

/// How many characters of a statement are quoted.
const LONGEST_QUOTE: usize = 300;

/// No model: answers from the conversation itself, and says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Provider for Offline {
    fn name(&self) -> &str {
        Api::Offline.as_str()
    }

    fn api(&self) -> Api {
        Api::Offline
    }

    fn reply<'a>(&'a self, request: Request<'a>, listen: &'a mut Listener<'_>) -> Future<'a, Result<Reply>> {
        Box::pin(async move {
            let text = answer(&request);
            for piece in text.split_inclusive(' ') {
                listen(Piece::Text(piece.to_owned()));
                // Whoever listens gets a turn, and the reply can be ended between two words.
                tokio::task::yield_now().await;
            }
            listen(Piece::Finished(Block::text(text.clone())));
            let mut message = Message::assistant(text);
            message.finish = Some("stop".to_owned());
            for (name, value) in
                [("provider", self.name()), ("api", Api::Offline.as_str()), ("model", request.model)]
            {
                message.extra.set(name, Json::of(&value).expect("a string is JSON"));
            }
            Ok(Reply { message, stop: Stop::Done })
        })
    }
}

fn answer(request: &Request<'_>) -> String {
    let Some((asked, earlier)) = request.messages.split_last() else { return NOTICE.to_owned() };
    let notice = if earlier.iter().any(|viewed| is_own(&viewed.message)) { SHORT_NOTICE } else { NOTICE };
    let question = Question::read(&asked.message.text());
    let body = match question.wish() {
        Wish::Nothing => "Say something to be kept, or ask about what was said before.".to_owned(),
        Wish::ToBeKept => "What you said is kept; ask about it later.".to_owned(),
        Wish::Answer => {
            let memories = recall(&question, earlier);
            if memories.is_empty() {
                "Nothing said earlier in this conversation answers that.".to_owned()
            } else {
                quoted(&memories)
            }
        }
    };
    format!("{notice}\n\n{body}")
}

/// One line for each statement. The id stands last, so that it can be copied.
fn quoted(memories: &[RecalledStatement<'_>]) -> String {
    let lines = memories.iter().enumerate().map(|(place, memory)| {
        let who = match (memory.role, place) {
            (Role::User, 0) => "You said",
            (Role::User, _) => "You also said",
            (_, 0) => "The assistant said",
            (_, _) => "The assistant also said",
        };
        let place = memory.id.map(|id| format!(" in message {id}")).unwrap_or_default();
        let bullet = if memories.len() > 1 { "- " } else { "" };
        format!("{bullet}{who} \"{}\"{place}", shortened(memory.statement))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn shortened(statement: &str) -> String {
    let mut words = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(LONGEST_QUOTE) {
        words.truncate(end);
        words.push_str("...");
    }
    words
}

/// True for a reply of this provider. What was received of one that was cut off has no fields to tell.
fn is_own(message: &Message) -> bool {
    if message.role != Role::Assistant {
        return false;
    }
    match message.extra.field("api") {
        Some(api) => api.as_str() == "\"offline\"",
        None => matches!(message.blocks.first(), Some(Block::Text(block)) if block.text.starts_with(OPENING)),
    }
}

#[cfg(test)]
mod tests;
