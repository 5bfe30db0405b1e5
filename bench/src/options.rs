//! The command line, and the sizes that follow from it.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use serde::Serialize;

/// Measure Rejoin, other stores and the limit side by side
#[derive(Debug, Parser)]
#[command(
    name = "rejoin-bench",
    after_help = "Example: cargo run --profile dist -p rejoin-bench -- --only append,load"
)]
pub(crate) struct Options {
    /// Measure every operation this many times over, contestants taking turns
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<usize>,
    /// Measure only these operations
    #[arg(long, value_delimiter = ',', value_name = "OPERATION")]
    pub(crate) only: Vec<Operation>,
    /// Use small data: finishes within a minute, its ratios are a smoke test
    #[arg(long)]
    pub(crate) quick: bool,
    /// Keep the measured files in a new directory below this one, which must be on a real disk
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,
    /// Write every sample to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Measure a program that speaks the protocol in the README, as `[NAME=]COMMAND`
    #[arg(long, value_name = "COMMAND")]
    pub(crate) peer: Vec<String>,
}

/// What can be measured by itself, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
pub(crate) enum Operation {
    Append,
    Growth,
    Load,
    View,
    List,
    Cold,
    Search,
    Fork,
    Bytes,
}

impl Options {
    pub(crate) fn wants(&self, operation: Operation) -> bool {
        self.only.is_empty() || self.only.contains(&operation)
    }

    pub(crate) fn scale(&self) -> Scale {
        let mut scale = if self.quick { QUICK } else { FULL };
        if let Some(rounds) = self.rounds {
            scale.rounds = rounds.max(1);
        }
        scale
    }
}

/// How much data is stored, and how many samples each round takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) rounds: usize,
    /// Messages in the conversation that is loaded and forked.
    pub(crate) long: usize,
    /// Short conversations in the store that is listed and searched.
    pub(crate) conversations: usize,
    /// Messages in the conversation that shows whether appends slow down.
    pub(crate) grown: usize,
    /// Turns that are measured in a new store, few enough that its log has not been checkpointed.
    pub(crate) fresh_turns: usize,
    /// Turns after which a log of a few megabytes has been checkpointed.
    pub(crate) settling_turns: usize,
    /// Turns that are measured after that; few enough that the next checkpoint is not due.
    pub(crate) settled_turns: usize,
    pub(crate) loads: usize,
    pub(crate) lists: usize,
    pub(crate) searches: usize,
    pub(crate) forks: usize,
    pub(crate) cold_starts: usize,
    /// Turns under the system call tracer: enough to fill the log past its limit at least once.
    pub(crate) traced_turns: usize,
}

impl Scale {
    /// Returns how many turns one round appends to a new store.
    pub(crate) fn turns(&self) -> usize {
        self.fresh_turns + self.settling_turns + self.settled_turns
    }
}

const FULL: Scale = Scale {
    rounds: 7,
    long: 10_000,
    conversations: 10_000,
    grown: 1_000_000,
    fresh_turns: 40,
    settling_turns: 100,
    settled_turns: 40,
    loads: 12,
    lists: 200,
    searches: 80,
    forks: 60,
    cold_starts: 20,
    traced_turns: 200,
};

const QUICK: Scale = Scale {
    rounds: 2,
    long: 10_000,
    conversations: 500,
    grown: 20_000,
    fresh_turns: 30,
    settling_turns: 50,
    settled_turns: 30,
    loads: 5,
    lists: 80,
    searches: 40,
    forks: 20,
    cold_starts: 8,
    traced_turns: 100,
};
