//! Tests of the command line: the real program in a home of its own.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like the test itself")]

mod append;
mod config;
mod frame;
mod list;
mod trust;
mod world;
