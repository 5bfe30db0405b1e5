//! Tests of the command line: the real program in a home of its own.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like the test itself")]

mod append;
mod backup;
mod clean;
mod config;
mod conversation;
mod delete;
mod doctor;
mod documents;
mod events;
mod fork;
mod frame;
mod keep;
mod label;
mod list;
mod migrating;
mod past;
mod planting;
mod project;
mod rename;
mod rewind;
mod search;
mod show;
mod stats;
mod tree;
mod trouble;
mod trust;
mod verify;
mod world;
