//! Keys in use: whoever seals with a key holds on to it until what was sealed is stored, and whoever takes keys away waits
//! for that.
//!
//! A file beside the store is locked, shared to seal and alone to take away. It tells how often keys were taken away, so that
//! whoever remembers keys sees without asking the store that there may be others.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable;

/// How long taking keys away waits before it looks again whether anybody seals.
const LOOK: Duration = Duration::from_millis(1);

/// Keys stay where they are while it is there.
#[derive(Debug)]
pub(crate) struct InUse {
    _file: File,
    /// How often keys were taken away before.
    pub(crate) taken: u64,
}

/// Nobody seals while it is there.
#[derive(Debug)]
pub(crate) struct Alone {
    file: File,
}

/// Keeps keys from being taken away.
pub(crate) fn hold(path: &Path) -> Result<InUse> {
    let file = open(path)?;
    loop {
        match flock(&file, FlockOperation::LockShared) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(cause) => return Err(fault(path, cause.into())),
        }
    }
    let taken = count(&file).map_err(|cause| fault(path, cause))?;
    Ok(InUse { _file: file, taken })
}

/// Waits until nobody seals, and tells everybody that the keys they remember are old.
pub(crate) fn take_away(path: &Path, patience: Duration) -> Result<Alone> {
    let alone = alone(path, patience)?;
    // Before the keys go: whoever dies in between has made others look once too often.
    let counted = count(&alone.file).and_then(|taken| alone.file.write_all_at(&(taken + 1).to_be_bytes(), 0));
    counted.map_err(|cause| fault(path, cause))?;
    Ok(alone)
}

/// Waits until nobody seals.
fn alone(path: &Path, patience: Duration) -> Result<Alone> {
    let file = open(path)?;
    let began = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Alone { file }),
            Err(Errno::WOULDBLOCK) if began.elapsed() < patience => std::thread::sleep(LOOK),
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::new(
                    ErrorKind::Locked,
                    "somebody writes so much that there is no moment to seal anew",
                ));
            }
            Err(Errno::INTR) => {}
            Err(cause) => return Err(fault(path, cause.into())),
        }
    }
}

fn open(path: &Path) -> Result<File> {
    match durable::open_to_write(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            let made = durable::create_private_directory(path).and_then(|()| durable::create_private(path));
            made.and_then(|()| durable::open_to_write(path)).map_err(|cause| fault(path, cause))
        }
        opened => opened.map_err(|cause| fault(path, cause)),
    }
}

/// An empty file counts nothing yet.
fn count(file: &File) -> io::Result<u64> {
    let mut bytes = [0; 8];
    match file.read_exact_at(&mut bytes, 0) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        read => read.map(|()| u64::from_be_bytes(bytes)),
    }
}

fn fault(path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("lock `{}`", path.display())).because(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_keys_away_waits_for_those_who_seal() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("use");
        let (first, second) = (hold(&path).unwrap(), hold(&path).unwrap());

        let early = take_away(&path, Duration::from_millis(5)).unwrap_err().kind();
        drop(first);
        let still = take_away(&path, Duration::from_millis(5)).unwrap_err().kind();
        drop(second);
        drop(take_away(&path, Duration::ZERO).unwrap());
        drop(take_away(&path, Duration::ZERO).unwrap());

        assert_eq!([early, still], [ErrorKind::Locked; 2]);
        assert_eq!(hold(&path).unwrap().taken, 2);
    }

    #[test]
    fn who_seals_waits_until_the_keys_are_taken_away() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("use");
        let alone = take_away(&path, Duration::ZERO).unwrap();

        let taken = std::thread::scope(|scope| {
            let sealer = scope.spawn(|| hold(&path).unwrap().taken);
            drop(alone);
            sealer.join().unwrap()
        });

        assert_eq!(taken, 1);
    }
}
