//! Asking a provider in tests: settings that do not wait, and everything that was told.

use std::time::Duration;

use rejoin::Message;
use rejoin::view::{PathMessage, View};
use rejoin_agent::{ApiKey, HttpSettings, KeySource, Piece, Provider, Reply, Request, Result, ToolSpec};

use crate::server::Server;

/// A key that must never be seen.
pub(crate) const PLANTED: &str = "sk-planted-Zm9yYmlkZGVu";

/// A provider at the server, with a key, that tries again at once.
pub(crate) fn settings(server: &Server) -> HttpSettings {
    let mut settings = HttpSettings::new("mine");
    settings.base_url = Some(server.url());
    settings.key = KeySource::Value(ApiKey::new(PLANTED).unwrap());
    settings.first_wait = Duration::from_millis(1);
    settings
}

/// Asks once, and returns what came of it with the pieces that were told.
pub(crate) async fn ask(
    provider: &dyn Provider,
    messages: &[Message],
    tools: &[ToolSpec],
) -> (Result<Reply>, Vec<Piece>) {
    let mut pieces = Vec::new();
    let said: Vec<PathMessage<'_>> =
        messages.iter().map(|message| PathMessage { id: None, is_pinned: false, message }).collect();
    let messages = &View::of(&said, &[], &provider.recipient()).messages;
    let request = Request { model: "model-1", system: "be kind", messages, tools, max_tokens: Some(1000) };
    let reply = provider.reply(request, &mut |piece| pieces.push(piece)).await;
    (reply, pieces)
}

/// How often an attempt was void, why, and how long the wait was.
pub(crate) fn retries(pieces: &[Piece]) -> Vec<(String, u32, Duration)> {
    let again = pieces.iter().filter_map(|piece| match piece {
        Piece::Again { reason, failed, wait } => Some((reason.clone(), *failed, *wait)),
        _ => None,
    });
    again.collect()
}
