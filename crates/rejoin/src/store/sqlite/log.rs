//! What the log holds of the first page, read without SQLite: SQLite removes the log of an empty file unread.
//!
//! The format is described in <https://sqlite.org/fileformat2.html#walformat>.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::store::durable;
use crate::store::sqlite::open::{APPLICATION_ID, MAGIC};

const HEADER: usize = 32;

const FRAME_HEADER: usize = 24;

/// The last bit says in which order of bytes the checksums are computed.
const LOG_MAGIC: u32 = 0x377f_0682;

/// Where the first page says whose database it is.
const APPLICATION: usize = 68;

/// Keeps SQLite from throwing away the log of a main file that lost its bytes.
///
/// A log that holds the whole beginning of a Rejoin database gets a main file that is not empty, so that
/// SQLite reads the log. Any other log that holds something is left alone, and the database is not opened.
pub(super) fn save_from_empty(path: &Path) -> Result<()> {
    let log = durable::beside(path, "-wal");
    if !log.metadata().is_ok_and(|log| log.len() > 0) {
        return Ok(());
    }
    let failed =
        |cause| Error::new(ErrorKind::Unavailable, format!("read `{}`", log.display())).because(cause);
    match first_page(&log).map_err(failed)? {
        Some((page, size)) if is_own(&page) => durable::fill_empty(path, size as u64).map_err(|cause| {
            let attempt = format!("recover the database `{}` from its log", path.display());
            Error::new(ErrorKind::Unavailable, attempt).because(cause)
        }),
        // Another process may have made the database since its file was looked at.
        _ if path.metadata().is_ok_and(|main| main.len() > 0) => Ok(()),
        _ => Err(Error::corrupt(format!(
            "`{}` is empty, and its log `{}` does not hold what is missing",
            path.display(),
            log.display()
        ))),
    }
}

fn is_own(page: &[u8]) -> bool {
    page.starts_with(MAGIC) && page.get(APPLICATION..APPLICATION + 4) == Some(&APPLICATION_ID.to_be_bytes())
}

/// The first page of the database by the last transaction in the log that is whole, and the size of a page;
/// none when the log does not have that page.
fn first_page(log: &Path) -> io::Result<Option<(Vec<u8>, usize)>> {
    let mut log = BufReader::new(durable::open_to_read(log)?);
    let Some(header) = read_exactly(&mut log, HEADER)? else { return Ok(None) };
    let size = number(&header, 8) as usize;
    let is_known =
        number(&header, 0) & !1 == LOG_MAGIC && size.is_power_of_two() && (512..=65_536).contains(&size);
    let mut sum = Checksum { is_big_endian: number(&header, 0) & 1 == 1, sums: (0, 0) };
    sum.add(&header[..24]);
    if !is_known || sum.sums != (number(&header, 24), number(&header, 28)) {
        return Ok(None);
    }
    let (mut found, mut pending) = (None, None);
    while let Some((frame, page)) = next_frame(&mut log, size)? {
        sum.add(&frame[..8]);
        sum.add(&page);
        let is_whole = frame[8..16] == header[16..24] && sum.sums == (number(&frame, 16), number(&frame, 20));
        if !is_whole {
            break;
        }
        if number(&frame, 0) == 1 {
            pending = Some(page);
        }
        // The last frame of a transaction tells the size of the database.
        if number(&frame, 4) != 0 {
            found = pending.take().or(found);
        }
    }
    Ok(found.map(|page| (page, size)))
}

fn next_frame(log: &mut BufReader<File>, size: usize) -> io::Result<Option<(Vec<u8>, Vec<u8>)>> {
    let Some(frame) = read_exactly(log, FRAME_HEADER)? else { return Ok(None) };
    Ok(read_exactly(log, size)?.map(|page| (frame, page)))
}

/// So many bytes, unless the file ends before.
fn read_exactly(from: &mut impl Read, length: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::with_capacity(length);
    from.by_ref().take(length as u64).read_to_end(&mut bytes)?;
    Ok((bytes.len() == length).then_some(bytes))
}

/// A number that stands in `bytes` at a place, which is there.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// The sum over all that stands in a log up to some point.
struct Checksum {
    is_big_endian: bool,
    sums: (u32, u32),
}

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        let read = if self.is_big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        let (mut first, mut second) = self.sums;
        let (words, _) = bytes.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in words {
            first = first.wrapping_add(read([a, b, c, d])).wrapping_add(second);
            second = second.wrapping_add(read([e, f, g, h])).wrapping_add(first);
        }
        self.sums = (first, second);
    }
}
