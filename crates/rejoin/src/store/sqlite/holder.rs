//! Which processes use a database, as the system's table of locks tells it.
//!
//! The table is read instead of asking for each lock: closing a file that was opened to ask would drop the
//! locks that this process holds on it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{major, minor};

use crate::store::{Holders, durable};

/// Where Linux lists the locks of all processes.
const TABLE: &str = "/proc/locks";

/// The byte of the shared index that a writer locks.
const WRITER: u64 = 120;

/// The bytes of the main file that SQLite locks: one gigabyte from the start.
const MAIN: std::ops::RangeInclusive<u64> = 0x4000_0000..=0x4000_01ff;

/// One lock that is held.
struct Lock {
    process: u32,
    is_exclusive: bool,
    file: (u32, u32, u64),
    first: u64,
    last: u64,
}

/// The processes that hold locks on the database at `path`; none where the system does not tell.
pub(super) fn holders(path: &Path) -> Holders {
    let table = fs::read_to_string(TABLE).unwrap_or_default();
    told(&table, file_of(path), file_of(&durable::beside(path, "-shm")))
}

fn file_of(path: &Path) -> Option<(u32, u32, u64)> {
    let metadata = path.metadata().ok()?;
    Some((major(metadata.dev()), minor(metadata.dev()), metadata.ino()))
}

fn told(table: &str, main: Option<(u32, u32, u64)>, index: Option<(u32, u32, u64)>) -> Holders {
    let mut holders = Holders::default();
    for lock in table.lines().filter_map(parse) {
        let (in_main, in_index) = (Some(lock.file) == main, Some(lock.file) == index);
        if in_main || in_index {
            note(&mut holders.users, lock.process);
        }
        let blocks =
            in_main && MAIN.contains(&lock.first) || in_index && (lock.first..=lock.last).contains(&WRITER);
        if blocks && lock.is_exclusive {
            note(&mut holders.writers, lock.process);
        }
    }
    holders
}

fn note(processes: &mut Vec<u32>, process: u32) {
    if !processes.contains(&process) {
        processes.push(process);
    }
}

/// Reads `3: POSIX  ADVISORY  WRITE 812 fe:00:131 120 120`; a process that
/// waits has `->` in the second place.
fn parse(line: &str) -> Option<Lock> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? != "POSIX" {
        return None;
    }
    let is_exclusive = words.nth(1)? == "WRITE";
    let process = words.next()?.parse().ok()?;
    let mut file = words.next()?.split(':');
    let number = |part: &str| u32::from_str_radix(part, 16).ok();
    let file = (number(file.next()?)?, number(file.next()?)?, file.next()?.parse().ok()?);
    let first = words.next()?.parse().ok()?;
    let last = words.next()?;
    let last = if last == "EOF" { u64::MAX } else { last.parse().ok()? };
    Some(Lock { process, is_exclusive, file, first, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_are_users_and_a_writer_is_named() {
        let table = "\
1: POSIX  ADVISORY  READ 41 fe:00:7 1073741826 1073742335
2: POSIX  ADVISORY  READ 41 fe:00:8 123 123
3: POSIX  ADVISORY  WRITE 42 fe:00:8 120 120
3: -> POSIX  ADVISORY  WRITE 43 fe:00:8 120 120
4: FLOCK  ADVISORY  WRITE 44 fe:00:7 0 EOF
5: POSIX  ADVISORY  WRITE 45 fe:01:8 120 120
";

        let holders = told(table, Some((0xfe, 0, 7)), Some((0xfe, 0, 8)));

        assert_eq!(holders, Holders { users: vec![41, 42], writers: vec![42] });
    }

    #[test]
    fn a_lock_on_the_whole_file_keeps_writers_out() {
        let table = "1: POSIX  ADVISORY  WRITE 9 fe:00:7 1073741824 1073742335\n";

        assert_eq!(told(table, Some((0xfe, 0, 7)), None).writers, [9]);
    }

    #[test]
    fn a_table_in_another_form_tells_nothing() {
        assert_eq!(told("1: POSIX nonsense\n\nxyz", Some((0, 0, 0)), None), Holders::default());
    }
}
