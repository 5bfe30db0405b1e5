//! Tests of the command line: the real program in a home of its own.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail like the test itself")]

mod backup;
mod config;
mod doctor;
mod frame;
mod planting;
mod stats;
mod trouble;
mod trust;
mod verify;
mod world;
