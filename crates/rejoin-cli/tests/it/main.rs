//! Tests of the command line: the real program in a home of its own.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like the test itself")]

mod clean;
mod config;
mod delete;
mod events;
mod fork;
mod frame;
mod keep;
mod label;
mod past;
mod project;
mod rename;
mod rewind;
mod search;
mod trust;
mod world;
