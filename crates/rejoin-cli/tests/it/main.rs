//! Tests of the command line: the real program in a home of its own.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like the test itself")]

mod append;
mod config;
mod conversation;
mod dice;
mod disk;
mod faults;
mod feed;
mod frame;
mod full;
mod kill;
mod ledger;
mod list;
mod log;
mod power;
mod receipts;
mod show;
mod skip;
mod strace;
mod tree;
mod trust;
mod world;
mod writers;
