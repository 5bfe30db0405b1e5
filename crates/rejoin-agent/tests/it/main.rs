//! The agent, through its public face.
#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod script;
#[path = "../../../rejoin-cli/tests/it/skip.rs"]
mod skip;
mod talking;
mod trouble;
