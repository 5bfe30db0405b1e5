//! The agent, through its public face.
#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod approval;
mod approval_stage;
mod mcp;
#[path = "../../../rejoin-cli/tests/it/skip.rs"]
mod skip;
mod talking;
mod tools_files;
mod tools_run;
mod tools_workshop;
