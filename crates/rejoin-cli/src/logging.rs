//! The log file, for finding out what the program did. It never holds content.
//!
//! It is off unless the key `log` says otherwise, so that history leaves no trace outside its store.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Mutex;

use rejoin::store::Foreign;
use rustix::fs::OFlags;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::durable;
use crate::error::Failure;

/// When the file is larger than this at start, it makes room; one older file is kept beside it.
const LARGEST_LOG: u64 = 10_000_000;

/// Starts writing what our own code reports at `level` to `rejoin.log` in the data directory.
pub(crate) fn start(level: LevelFilter, data_directory: &Path) -> Result<(), Failure> {
    if level == LevelFilter::OFF {
        return Ok(());
    }
    let path = data_directory.join("rejoin.log");
    let file =
        open(&path).map_err(|error| Failure::io(format!("open the log `{}`", path.display()), error))?;
    // Libraries may report what passes through them, which can be content; only our own code is listened to.
    let ours = Targets::new().with_target("rejoin", level);
    let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Mutex::new(file));
    tracing_subscriber::registry().with(lines).with(ours).init();
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        durable::create_private_directory(directory)?;
    }
    if fs::metadata(path).is_ok_and(|metadata| metadata.len() > LARGEST_LOG) {
        fs::rename(path, path.with_extension("log.old"))?;
    }
    let flags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(flags).open(path)?;
    let found = file.metadata()?;
    if let Some(foreign) = Foreign::check(path, &found).filter(Foreign::is_of_another) {
        return Err(foreign.into());
    }
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if found.mode() & 0o077 != 0 {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_private() {
        let home = tempfile::tempdir().unwrap();

        let file = open(&home.path().join("data/rejoin.log")).unwrap();

        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_large_log_makes_room_and_is_kept_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("rejoin.log");
        File::create(&path).unwrap().set_len(LARGEST_LOG + 1).unwrap();

        let file = open(&path).unwrap();

        let old = fs::metadata(home.path().join("rejoin.log.old")).unwrap();
        assert_eq!((file.metadata().unwrap().len(), old.len()), (0, LARGEST_LOG + 1));
    }
}
