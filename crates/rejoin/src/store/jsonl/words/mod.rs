//! The word index of plain files: segments in a folder of Rejoin's own, each with the words of many messages.
//!
//! A segment says which parts of which files it covers, how those files looked, and a checksum of
//! everything up to there. So a file that grew, was edited or was replaced is noticed, and what is
//! not covered is read. Deleting the folder loses nothing. Segments are written without a sync, by
//! whoever holds the lock of those who write.

mod contents;
mod document;
mod fill;
mod parts;
mod publish;
mod search;
mod segment;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::ConversationId;
use crate::store::jsonl::files::FileIdentity;
use crate::store::jsonl::words::contents::NOTHING;
use crate::store::jsonl::words::segment::WordSegment;

/// A part of a conversation's file whose messages a segment covers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CoveredRun {
    conversation: ConversationId,
    /// From here in the file, where another run ends, or at its beginning.
    start: u64,
    /// To here: at the end of the file, or before a message.
    end: u64,
    /// The checksum of the file up to the start, up to the end, and of the whole pieces before the end.
    before: u64,
    contents: u64,
    pieces: u64,
    /// How many messages begin in it, also those without words.
    messages: u32,
    /// How the file looked. The device is not kept: it is that of the segment.
    seen: FileIdentity,
    /// How many messages have words.
    documents: u32,
}

impl CoveredRun {
    /// True when this is the last part of a file that looks as it did.
    fn is_current(&self, seen: &FileIdentity) -> bool {
        let own = &self.seen;
        (own.inode, own.length, own.modified) == (seen.inode, seen.length, seen.modified)
            && self.end == seen.length
    }

    /// True when it begins where the other one ends, and what was there is the same.
    const fn follows(&self, other: &Self) -> bool {
        self.start == other.end && self.before == other.contents
    }
}

/// A run: the place of its segment, and its own place there.
type RunPosition = (usize, usize);

/// The segments that can be used.
struct Segments {
    all: Vec<WordSegment>,
    /// Files that should be segments and are none.
    broken: Vec<PathBuf>,
}

/// The runs of a conversation that follow each other, from the beginning of its file.
struct RunChain {
    places: Vec<RunPosition>,
    last: CoveredRun,
    /// How many messages they cover.
    messages: usize,
}

impl Segments {
    /// Opens all segments but those that are doubted. Others may replace some
    /// meanwhile; what those cover is read.
    fn open(folder: &Path, doubted: &HashSet<PathBuf>) -> io::Result<Self> {
        let mut segments = Self { all: Vec::new(), broken: Vec::new() };
        for path in paths(folder)? {
            if doubted.contains(&path) {
                continue;
            }
            match WordSegment::open(&path) {
                Ok(Some(segment)) => segments.all.push(segment),
                Ok(None) => {}
                // A folder is not Rejoin's. A check names it.
                Err(_) if is_folder(&path) => {}
                Err(_) => segments.broken.push(path),
            }
        }
        Ok(segments)
    }

    /// The run at a place.
    fn run(&self, (segment, run): RunPosition) -> &CoveredRun {
        &self.all[segment].runs[run]
    }

    /// What is covered of each conversation. The second answer names those that have runs beside their chain.
    fn chains(&self) -> (HashMap<ConversationId, RunChain>, HashSet<ConversationId>) {
        let mut places: HashMap<ConversationId, Vec<RunPosition>> = HashMap::new();
        for (number, segment) in self.all.iter().enumerate() {
            for (place, run) in segment.runs.iter().enumerate() {
                places.entry(run.conversation).or_default().push((number, place));
            }
        }
        let (mut chains, mut loose) = (HashMap::new(), HashSet::new());
        for (id, places) in places {
            let count = places.len();
            let chain = self.chain(places);
            if chain.as_ref().map_or(0, |chain| chain.places.len()) != count {
                loose.insert(id);
            }
            chains.extend(chain.map(|chain| (id, chain)));
        }
        (chains, loose)
    }

    fn chain(&self, mut places: Vec<RunPosition>) -> Option<RunChain> {
        // Of several that begin at the same place, the longest counts, and of those the newest.
        places.sort_unstable_by_key(|place| {
            let run = self.run(*place);
            (run.start, std::cmp::Reverse((run.end, *place)))
        });
        let mut chain: Option<RunChain> = None;
        for place in places {
            let run = self.run(place);
            let follows = match &chain {
                None => (run.start, run.before) == (0, NOTHING),
                Some(chain) => run.follows(&chain.last),
            };
            if follows {
                let mut before = chain.take().map_or((Vec::new(), 0), |chain| (chain.places, chain.messages));
                before.0.push(place);
                let messages = before.1 + run.messages as usize;
                chain = Some(RunChain { places: before.0, last: run.clone(), messages });
            }
        }
        chain
    }
}

/// The names of segments are numbers, so that a new one gets a name that none had.
fn paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(cause),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if number_of(&path).is_some() {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

/// The folders that have the name of a segment, which nobody but a person puts there.
pub(super) fn folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = paths(folder)?;
    paths.retain(|path| is_folder(path));
    Ok(paths)
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|there| there.is_dir())
}

/// The number that a segment's name is.
fn number_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    (name.len() == 16).then(|| u64::from_str_radix(name, 16).ok()).flatten()
}

#[cfg(test)]
mod tests;
