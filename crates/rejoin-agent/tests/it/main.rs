//! The agent, through its public face.
#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod anthropic;
mod asking;
#[expect(dead_code, reason = "the command's tests use the rest of it")]
#[path = "../../../rejoin-cli/tests/it/dice.rs"]
mod dice;
#[expect(dead_code, reason = "the command's tests use the rest of it")]
#[path = "../../../rejoin-cli/tests/it/disk.rs"]
mod disk;
mod feed;
mod http;
mod power;
mod python;
mod script;
mod server;
mod skip;
#[expect(dead_code, reason = "the command's tests use the rest of it")]
#[path = "../../../rejoin-cli/tests/it/strace.rs"]
mod strace;
mod summarising;
mod syncs;
mod talking;
mod traced;
mod trouble;
