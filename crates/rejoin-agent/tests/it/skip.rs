//! Tests that need something the system may not have.

use std::env;
use std::io::{self, Write};

/// Says that a test is skipped, and why. In CI everything is there, so there it is a failure.
pub(crate) fn skip(reason: &str) {
    tell(&format!("SKIPPED: {reason}"));
    assert_ne!(env::var("CI").as_deref(), Ok("true"), "CI must not skip: {reason}");
}

/// Prints a line even when the test passes; the harness keeps what `println!` says to itself then.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
