#![doc = include_str!("../README.md")]

mod compact;
mod directory_identity;
mod environment;
mod error;
mod file_snapshots;
mod mcp;
mod providers;
mod summarise;
mod talk;
mod tokens;
mod tools;

pub use compact::{CompactSettings, Compacted, Foreseen, Fullness, OnFailure};
pub use directory_identity::directory_identity;
pub use environment::Environment;
pub use error::{Error, ErrorKind, Result};
pub use file_snapshots::{FileChange, FileChangeKind, FileOutcome, FileSnapshots, NewFiles, RestorePlan};
pub use mcp::{ServerSpec, Servers};
pub use providers::{
    Api, ApiKey, Future, Http, HttpSettings, KeyLookup, KeySource, LimitField, Listener, Offline,
    ParallelCalls, Piece, Preset, Provider, Quirks, Reply, Request, Stop, ThinkingBudget, ToolSpec,
    context_window, presets,
};
pub use summarise::{Summariser, SummaryRequests, is_summary_due, summarise};
pub use talk::{Ended, History, NextRequest, Talk, TurnEvent};
pub use tokens::Estimate;
pub use tools::{Builtin, Decision, Output, Plan, Prepared, Rules, Subject, Tool, Toolbox, Verdict};
