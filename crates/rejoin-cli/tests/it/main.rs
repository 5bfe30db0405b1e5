//! Tests of the command line: the real program in a home of its own.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like the test itself")]

mod append;
mod auth;
mod backup;
mod chat;
mod clean;
mod commands_files;
mod config;
mod conversation;
mod delete;
mod dice;
mod disk;
mod doctor;
mod documents;
mod events;
mod faults;
mod feed;
mod flags;
mod fork;
mod frame;
mod full;
mod keep;
#[cfg(feature = "keyring")]
mod keyring;
mod kill;
mod label;
mod ledger;
mod list;
mod log;
mod migrating;
mod offline;
mod past;
mod picker;
mod planted_key;
mod planting;
mod power;
mod project;
mod provider;
mod receipts;
mod rename;
mod resume;
mod rewind;
mod search;
mod show;
mod skip;
mod stats;
mod stop;
mod strace;
mod tree;
mod trouble;
mod trust;
mod verify;
mod world;
mod writers;
