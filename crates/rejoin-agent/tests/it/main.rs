//! The agent, through its public face.
#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod anthropic;
mod asking;
mod chat;
mod http;
mod kept;
mod languages;
mod python;
mod responses;
mod server;
mod skip;
mod talking;
mod valid;
