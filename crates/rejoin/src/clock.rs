//! Where the archive's times and random bytes come from, so that a test can decide both.

use std::{fmt, io};

#[cfg(target_os = "linux")]
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use rustix::rand::{GetRandomFlags, getrandom};

use crate::model::Time;

/// Tells the time and gives random bytes.
pub trait Nature: fmt::Debug + Send + Sync {
    /// The time now.
    fn now(&self) -> Time;

    /// Fills `bytes` with unpredictable values.
    fn fill(&self, bytes: &mut [u8]);
}

/// The machine's clock and the operating system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNature;

impl Nature for SystemNature {
    fn now(&self) -> Time {
        Time::now()
    }

    fn fill(&self, bytes: &mut [u8]) {
        fill(bytes).expect("the operating system gives random bytes");
    }
}

/// Asks the kernel, which gives fewer bytes at a time than may be wanted.
#[cfg(target_os = "linux")]
fn fill(mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match getrandom(&mut *bytes, GetRandomFlags::empty()) {
            Ok(given) => bytes = &mut bytes[given..],
            Err(Errno::INTR) => {}
            Err(cause) => return Err(cause.into()),
        }
    }
    Ok(())
}

/// Asks the operating system.
#[cfg(not(target_os = "linux"))]
fn fill(bytes: &mut [u8]) -> io::Result<()> {
    Ok(getrandom::fill(bytes)?)
}
