//! The agent, through its public face.
#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod anthropic;
mod asking;
mod http;
mod python;
mod server;
mod skip;
mod summarising;
mod talking;
