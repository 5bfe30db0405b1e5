//! The provider without a model: answers from the conversation itself.

use rejoin::{Block, Message};

use crate::error::Result;
use crate::providers::{Api, Future, Listener, Piece, Provider, Reply, Request, Stop};

/// No model: answers from the conversation itself, and says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offline;

impl Provider for Offline {
    fn name(&self) -> &str {
        "offline"
    }

    fn api(&self) -> Api {
        Api::Offline
    }

    fn reply<'a>(&'a self, request: Request<'a>, listen: &'a mut Listener<'_>) -> Future<'a, Result<Reply>> {
        Box::pin(async move {
            let text =
                format!("No model is configured. This conversation has {} messages.", request.messages.len());
            listen(Piece::Text(text.clone()));
            listen(Piece::Finished(Block::text(text.clone())));
            let mut message = Message::assistant(text);
            message.finish = Some("stop".to_owned());
            Ok(Reply { message, stop: Stop::Done })
        })
    }
}
