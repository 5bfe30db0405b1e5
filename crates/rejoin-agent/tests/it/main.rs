//! The agent, through its public face.
#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod anthropic;
mod approval;
mod approval_stage;
mod asking;
mod attacks;
mod chat;
mod compacting;
mod compacting_alone;
mod compacting_care;
mod compacting_dropped;
mod compacting_http;
mod compacting_views;
mod damaged;
#[expect(dead_code, reason = "the command's tests use the rest of it")]
#[path = "../../../rejoin-cli/tests/it/dice.rs"]
mod dice;
#[expect(dead_code, reason = "the command's tests use the rest of it")]
#[path = "../../../rejoin-cli/tests/it/disk.rs"]
mod disk;
mod feed;
mod http;
mod languages;
mod mcp;
mod planted;
mod power;
mod python;
mod recalling;
mod responses;
mod scribe;
mod script;
mod server;
#[path = "../../../rejoin-cli/tests/it/skip.rs"]
mod skip;
mod stored_talk;
#[expect(dead_code, reason = "the command's tests use the rest of it")]
#[path = "../../../rejoin-cli/tests/it/strace.rs"]
mod strace;
mod summarising;
mod syncs;
mod talking;
mod tools_files;
mod tools_run;
mod tools_workshop;
mod traced;
mod trouble;
mod valid;
