//! A segment in its file. The head is read at once; pages of words and messages of
//! runs are read when they are asked for.
//!
//! ```text
//! rejoinws  form  words' version  length of the head  its checksum  head  messages of each run  pages
//!        8     4               4                   8             8
//! ```

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::model::{ConversationId, Time, WORDS_VERSION, WordQuery};
use crate::store::durable;
use crate::store::index::{Pages, Taker, checksum, malformed, push};
use crate::store::jsonl::fault::DuringIo;
use crate::store::jsonl::files::FileIdentity;
use crate::store::jsonl::lines::read_at;
use crate::store::jsonl::words::CoveredRun;
use crate::store::jsonl::words::document::{self, Document};
use crate::store::jsonl::words::parts::SegmentParts;

/// How a file begins.
const MAGIC: &[u8; 8] = b"rejoinws";

/// The form of a file. Another one is not read.
const FORM: u32 = 2;

/// How many messages a block has. Whoever found one reads all of its block, and each block
/// costs some twenty bytes of the head.
pub(super) const BLOCK: u32 = 128;

/// How many bytes come before the head.
const START: usize = 32;

/// A file of words.
pub(super) struct WordSegment {
    pub(super) path: PathBuf,
    file: File,
    /// How long the file is.
    pub(super) length: u64,
    pub(super) runs: Vec<CoveredRun>,
    blocks: Vec<MessageBlock>,
    pages: Pages,
    /// Where the pages begin.
    words: u64,
}

/// Messages of a run that are read together, at most [`BLOCK`] of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageBlock {
    pub(super) run: usize,
    /// How many messages come before it in the segment, and how many it has.
    before: u32,
    documents: u32,
    offset: u64,
    pub(super) sums: BlockSums,
}

/// What the head says of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSums {
    /// The time of the newest message.
    pub(super) newest: Time,
    length: u64,
    checksum: u64,
}

impl BlockSums {
    /// Of messages, and their bytes.
    pub(super) fn of(documents: &[Document], bytes: &[u8]) -> Self {
        let newest = documents.iter().map(|document| document.time).max().unwrap_or_default();
        Self { newest, length: bytes.len() as u64, checksum: checksum(bytes) }
    }
}

impl WordSegment {
    /// Opens a file and reads its head; none when it is not there.
    pub(super) fn open(path: &Path) -> Result<Option<Self>> {
        let file = match durable::open_to_read(path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(cause).during(|| format!("open `{}`", path.display())),
        };
        let found = file.metadata().during(|| format!("look at `{}`", path.display()))?;
        if !found.is_file() {
            return Err(malformed("is not a regular file"));
        }
        Self::read(path, file, found.len()).map(Some)
    }

    fn read(path: &Path, file: File, length: u64) -> Result<Self> {
        // Most heads are short, so one read is enough for most.
        let start = bytes_at(&file, path, 0, length.min(1 << 14))?;
        let mut rest = Taker(&start);
        let is_known = rest.bytes(8)? == MAGIC
            && rest.bytes(4)? == FORM.to_be_bytes()
            && rest.bytes(4)? == WORDS_VERSION.to_be_bytes();
        if !is_known {
            return Err(malformed("has an unknown form"));
        }
        let (size, sum) = (rest.fixed()?, rest.fixed()?);
        if size > length {
            return Err(malformed("is cut off"));
        }
        let longer;
        let head = match rest.bytes(size) {
            Ok(head) => head,
            Err(_) => {
                longer = bytes_at(&file, path, START as u64, size)?;
                &longer
            }
        };
        if checksum(head) != sum {
            return Err(malformed("has a damaged head"));
        }
        let mut rest = Taker(head);
        let (mut runs, mut blocks) = (Vec::new(), Vec::new());
        let (mut offset, mut before) = (START as u64 + size, 0_u32);
        for number in 0..rest.number()? {
            let run = read_run(&mut rest)?;
            let mut left = run.documents;
            while left > 0 {
                let (sums, documents) = (read_block(&mut rest)?, left.min(BLOCK));
                blocks.push(MessageBlock { run: number as usize, before, documents, offset, sums });
                offset = offset.saturating_add(sums.length);
                before = before.saturating_add(documents);
                left -= documents;
            }
            runs.push(run);
        }
        let pages = Pages::read(&mut rest)?;
        if !rest.is_empty() || offset.checked_add(pages.length()) != Some(length) {
            return Err(malformed("has not the length that it says"));
        }
        Ok(Self { path: path.to_owned(), file, length, runs, blocks, pages, words: offset })
    }

    /// The numbers of messages that have every word of a query, ascending.
    pub(super) fn matches(&self, query: &WordQuery) -> Result<Vec<u32>> {
        self.pages.matches(query, &mut |fence| {
            bytes_at(&self.file, &self.path, self.words + fence.offset, fence.length)
        })
    }

    /// The block that a number belongs to, and its place there.
    pub(super) fn place_of(&self, number: u32) -> Option<(usize, usize)> {
        let place = self.blocks.partition_point(|block| block.before < number).checked_sub(1)?;
        let block = &self.blocks[place];
        let within = number - block.before - 1;
        (within < block.documents).then_some((place, within as usize))
    }

    pub(super) fn block(&self, block: usize) -> &MessageBlock {
        &self.blocks[block]
    }

    /// The messages of a block.
    pub(super) fn documents(&self, block: &MessageBlock) -> Result<Vec<Document>> {
        let bytes = bytes_at(&self.file, &self.path, block.offset, block.sums.length)?;
        if checksum(&bytes) != block.sums.checksum {
            return Err(malformed("has damaged messages"));
        }
        document::read(&bytes, block.documents)
    }

    /// All of it.
    pub(super) fn load(&self) -> Result<SegmentParts> {
        let mut runs: Vec<_> = self.runs.iter().map(|run| (run.clone(), Vec::new())).collect();
        for block in &self.blocks {
            runs[block.run].1.append(&mut self.documents(block)?);
        }
        let words = bytes_at(&self.file, &self.path, self.words, self.pages.length())?;
        Ok(SegmentParts { runs, pages: self.pages.clone(), words })
    }

    /// Says how the files of some conversations look now, in place: nothing else of the segment changes, nor
    /// how long it is. One that is cut off in between is damaged, and what it covers is indexed again.
    pub(super) fn note_looks(&self, seen: &HashMap<ConversationId, FileIdentity>) -> io::Result<()> {
        let now = |run: &CoveredRun| CoveredRun {
            seen: *seen.get(&run.conversation).unwrap_or(&run.seen),
            ..run.clone()
        };
        let runs: Vec<CoveredRun> = self.runs.iter().map(now).collect();
        let start = write_start(runs.iter(), self.blocks.iter().map(|block| block.sums), &self.pages);
        durable::write_at(&durable::open_to_write(&self.path)?, 0, &start)
    }

    /// True when the file that was opened still has its name.
    pub(super) fn is_there(&self) -> bool {
        let own = self.file.metadata().map(|own| FileIdentity::of(&own));
        let there = self.path.symlink_metadata().map(|there| FileIdentity::of(&there));
        matches!((own, there), (Ok(own), Ok(there)) if own == there)
    }
}

/// Everything before the messages: see docs/format.md. Blocks come in the order of runs.
pub(super) fn write_start<'r>(
    runs: impl ExactSizeIterator<Item = &'r CoveredRun>,
    mut blocks: impl Iterator<Item = BlockSums>,
    pages: &Pages,
) -> Vec<u8> {
    let mut head = Vec::new();
    push(&mut head, runs.len() as u64);
    for run in runs {
        write_run(run, &mut head);
        for block in blocks.by_ref().take(run.documents.div_ceil(BLOCK) as usize) {
            head.extend_from_slice(&block.newest.as_micros().to_be_bytes());
            push(&mut head, block.length);
            head.extend_from_slice(&block.checksum.to_be_bytes());
        }
    }
    pages.write(&mut head);
    let mut bytes = Vec::with_capacity(START + head.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORM.to_be_bytes());
    bytes.extend_from_slice(&WORDS_VERSION.to_be_bytes());
    bytes.extend_from_slice(&(head.len() as u64).to_be_bytes());
    bytes.extend_from_slice(&checksum(&head).to_be_bytes());
    bytes.append(&mut head);
    bytes
}

fn write_run(run: &CoveredRun, out: &mut Vec<u8>) {
    let fixed = |out: &mut Vec<u8>, number: u64| out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(run.conversation.as_bytes());
    push(out, run.start);
    push(out, run.end - run.start);
    [run.before, run.contents, run.pieces].into_iter().for_each(|sum| fixed(out, sum));
    push(out, run.messages.into());
    // How a file looks is as long as before when it looks different.
    [run.seen.inode, run.seen.length].into_iter().for_each(|number| fixed(out, number));
    out.extend_from_slice(&run.seen.modified.to_be_bytes());
    push(out, run.documents.into());
}

fn read_run(rest: &mut Taker<'_>) -> Result<CoveredRun> {
    let small = |number: u64| u32::try_from(number).map_err(|_| malformed("counts too many messages"));
    let mut conversation = [0; 16];
    conversation.copy_from_slice(rest.bytes(16)?);
    let start = rest.number()?;
    let length = rest.number()?;
    let end = start.checked_add(length).ok_or_else(|| malformed("covers an impossible part"))?;
    let (before, contents, pieces) = (rest.fixed()?, rest.fixed()?, rest.fixed()?);
    let messages = small(rest.number()?)?;
    let (inode, length) = (rest.fixed()?, rest.fixed()?);
    let mut modified = [0; 16];
    modified.copy_from_slice(rest.bytes(16)?);
    let seen = FileIdentity { device: 0, inode, length, modified: i128::from_be_bytes(modified) };
    let documents = small(rest.number()?)?;
    let conversation = ConversationId::from_bytes(conversation);
    Ok(CoveredRun { conversation, start, end, before, contents, pieces, messages, seen, documents })
}

fn read_block(rest: &mut Taker<'_>) -> Result<BlockSums> {
    let newest = Time::from_micros(rest.fixed()?.cast_signed());
    Ok(BlockSums { newest, length: rest.number()?, checksum: rest.fixed()? })
}

/// So many bytes from a place in a file.
fn bytes_at(file: &File, path: &Path, offset: u64, length: u64) -> Result<Vec<u8>> {
    let attempt = || format!("read `{}`", path.display());
    let within = file.metadata().during(attempt)?.len().checked_sub(offset);
    // What a head claims is believed only so far.
    let length = usize::try_from(length).ok().filter(|_| within.is_some_and(|within| length <= within));
    let mut bytes = vec![0; length.ok_or_else(|| malformed("is cut off"))?];
    let read = read_at(file, &mut bytes, offset).during(attempt)?;
    if read == bytes.len() { Ok(bytes) } else { Err(Error::corrupt("it was cut meanwhile")) }
}
