//! The words of a large segment in pages, so that a lookup reads one page for
//! each word and not the whole segment.
//!
//! A page is what [`Words`] reads, for a range of words: `PageFence` has its first word, its length and its
//! checksum. Fences are small and read at once; pages are read when a word may be in them, and checked then.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::model::WordQuery;
use crate::store::index::checksum::checksum;
use crate::store::index::number::{Taker, push};
use crate::store::index::words::{WordCursor, Words, narrow};
use crate::store::index::write::SegmentWriter;
use crate::store::index::{Span, malformed};

/// A page is closed when it has this many bytes: one read of the operating system,
/// and a checksum that takes microseconds.
const PAGE: usize = 1 << 14;

/// What is known of a page without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageFence {
    first: Vec<u8>,
    /// Where it begins among all pages, and how long it is.
    pub(crate) offset: u64,
    pub(crate) length: u64,
    checksum: u64,
}

/// Where the pages of a segment are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    fences: Vec<PageFence>,
}

/// Returns the bytes of a page.
pub(crate) type ReadPage<'r> = dyn FnMut(&PageFence) -> Result<Vec<u8>> + 'r;

impl Pages {
    /// Reads what [`Self::write`] wrote from the beginning of some bytes.
    pub(crate) fn read(bytes: &mut Taker<'_>) -> Result<Self> {
        let count = bytes.number()?;
        let (mut fences, mut offset) = (Vec::new(), 0_u64);
        for _ in 0..count {
            let length = bytes.number()?;
            let first = bytes.bytes(length)?.to_vec();
            let length = bytes.number()?;
            let checksum = bytes.fixed()?;
            fences.push(PageFence { first, offset, length, checksum });
            offset = offset.checked_add(length).ok_or_else(|| malformed("has impossible pages"))?;
        }
        Ok(Self { fences })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        push(out, self.fences.len() as u64);
        for fence in &self.fences {
            push(out, fence.first.len() as u64);
            out.extend_from_slice(&fence.first);
            push(out, fence.length);
            out.extend_from_slice(&fence.checksum.to_be_bytes());
        }
    }

    /// How many bytes all pages have.
    pub(crate) fn length(&self) -> u64 {
        self.fences.last().map_or(0, |last| last.offset + last.length)
    }

    /// The numbers of documents that have every word of a query, ascending.
    pub(crate) fn matches(&self, query: &WordQuery, read: &mut ReadPage<'_>) -> Result<Vec<u32>> {
        let Some((last, whole)) = query.words().split_last() else { return Ok(Vec::new()) };
        let mut found: Option<Vec<u32>> = None;
        for word in whole {
            narrow(&mut found, self.of_word(word, read)?);
            if found.as_ref().is_some_and(Vec::is_empty) {
                return Ok(Vec::new());
            }
        }
        let ending =
            if query.last_is_prefix() { self.of_beginning(last, read)? } else { self.of_word(last, read)? };
        narrow(&mut found, ending);
        Ok(found.unwrap_or_default())
    }

    fn of_word(&self, word: &str, read: &mut ReadPage<'_>) -> Result<Vec<u32>> {
        let Some(fence) = self.fences.get(self.page_of(word)) else { return Ok(Vec::new()) };
        Words::read(&fence.checked(read(fence)?)?)?.of_word(word)
    }

    fn of_beginning(&self, beginning: &str, read: &mut ReadPage<'_>) -> Result<Vec<u32>> {
        let mut found = BTreeSet::new();
        let page = self.page_of(beginning);
        let follows = |fence: &PageFence| {
            fence.first.as_slice() < beginning.as_bytes() || fence.first.starts_with(beginning.as_bytes())
        };
        for (place, fence) in self.fences.iter().enumerate().skip(page) {
            if place > page && !follows(fence) {
                break;
            }
            found.extend(Words::read(&fence.checked(read(fence)?)?)?.of_beginning(beginning)?);
        }
        Ok(found.into_iter().collect())
    }

    /// The page that a word would stand in.
    fn page_of(&self, word: &str) -> usize {
        self.fences.partition_point(|fence| fence.first.as_slice() <= word.as_bytes()).saturating_sub(1)
    }
}

impl PageFence {
    fn checked(&self, page: Vec<u8>) -> Result<Vec<u8>> {
        if page.len() as u64 == self.length && checksum(&page) == self.checksum {
            return Ok(page);
        }
        Err(malformed("has a damaged page"))
    }
}

/// Writes words in order, page by page.
pub(crate) struct PageWriter {
    span: Span,
    page: SegmentWriter,
    first: Vec<u8>,
    fences: Vec<PageFence>,
    bytes: Vec<u8>,
}

impl PageWriter {
    /// Begins the words of so many documents, whose numbers begin with 1.
    pub(crate) const fn of(documents: u32) -> Self {
        let span = Span { first: 1, last: documents, messages: documents, bytes: 0 };
        Self { span, page: SegmentWriter::of(span), first: Vec::new(), fences: Vec::new(), bytes: Vec::new() }
    }

    /// Adds a word, greater than those before it, with the documents that have it, ascending.
    pub(crate) fn push(&mut self, word: &[u8], documents: &[u32]) {
        if self.page.is_empty() {
            self.first = word.to_vec();
        }
        self.page.push(word, &[documents]);
        if self.page.size() >= PAGE {
            self.close();
        }
    }

    /// Where the pages are, and their bytes.
    pub(crate) fn finish(mut self) -> (Pages, Vec<u8>) {
        if !self.page.is_empty() {
            self.close();
        }
        (Pages { fences: self.fences }, self.bytes)
    }

    fn close(&mut self) {
        let page = std::mem::replace(&mut self.page, SegmentWriter::of(self.span)).finish();
        self.fences.push(PageFence {
            first: std::mem::take(&mut self.first),
            offset: self.bytes.len() as u64,
            length: page.len() as u64,
            checksum: checksum(&page),
        });
        self.bytes.extend_from_slice(&page);
    }
}

/// The words of a segment that goes into another one.
pub(crate) struct MergedSegment<'a> {
    pub(crate) pages: &'a Pages,
    pub(crate) bytes: &'a [u8],
    /// The new number of each document, by its old one less 1; none for one that is left out.
    pub(crate) numbers: &'a [Option<u32>],
}

/// Writes the words of several segments as those of one.
pub(crate) fn combine(sources: &[MergedSegment<'_>], into: &mut PageWriter) -> Result<()> {
    let mut walks = sources.iter().map(WordWalk::of).collect::<Result<Vec<_>>>()?;
    let (mut word, mut documents) = (Vec::new(), Vec::new());
    while let Some(least) = walks.iter().filter_map(WordWalk::word).min() {
        word.clear();
        word.extend_from_slice(least);
        documents.clear();
        for walk in &mut walks {
            if walk.word() == Some(word.as_slice()) {
                walk.take(&mut documents);
                walk.advance()?;
            }
        }
        if !documents.is_empty() {
            documents.sort_unstable();
            into.push(&word, &documents);
        }
    }
    Ok(())
}

/// Goes through all words of a source.
struct WordWalk<'a> {
    source: &'a MergedSegment<'a>,
    next: usize,
    cursor: Option<WordCursor<'a>>,
}

impl<'a> WordWalk<'a> {
    fn of(source: &'a MergedSegment<'a>) -> Result<Self> {
        let mut walk = Self { source, next: 0, cursor: None };
        walk.advance()?;
        Ok(walk)
    }

    /// The word it stands at; none at the end.
    fn word(&self) -> Option<&[u8]> {
        self.cursor.as_ref().map(WordCursor::word)
    }

    /// Adds the new numbers of the documents that have the word.
    fn take(&self, documents: &mut Vec<u32>) {
        let Some(cursor) = &self.cursor else { return };
        let number = |old: &u32| self.source.numbers.get(*old as usize - 1).copied().flatten();
        documents.extend(cursor.sequences().iter().filter_map(number));
    }

    fn advance(&mut self) -> Result<()> {
        loop {
            if let Some(cursor) = &mut self.cursor
                && cursor.advance()?
            {
                return Ok(());
            }
            self.cursor = None;
            let Some(fence) = self.source.pages.fences.get(self.next) else { return Ok(()) };
            self.next += 1;
            let range = usize::try_from(fence.offset).ok().zip(usize::try_from(fence.length).ok());
            let page = range.and_then(|(offset, length)| self.source.bytes.get(offset..)?.get(..length));
            let page = page.filter(|page| checksum(page) == fence.checksum);
            let page = page.ok_or_else(|| malformed("has a damaged page"))?;
            self.cursor = Some(Words::read(page)?.cursor());
        }
    }
}
