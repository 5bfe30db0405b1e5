//! A whole segment in memory: made of messages, or of other segments.

use crate::error::Result;
use crate::store::index::{DraftSegment, MergedSegment, PageWriter, Pages, combine};
use crate::store::jsonl::words::CoveredRun;
use crate::store::jsonl::words::document::{self, Document};
use crate::store::jsonl::words::segment::{BLOCK, BlockSums, write_start};

/// A segment, all of it.
pub(super) struct SegmentParts {
    /// Runs in order of conversation and place; documents are numbered in this order, from 1.
    pub(super) runs: Vec<(CoveredRun, Vec<Document>)>,
    pub(super) pages: Pages,
    pub(super) words: Vec<u8>,
}

impl SegmentParts {
    /// The bytes of a file: see docs/format.md.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let (mut documents, mut blocks) = (Vec::new(), Vec::new());
        for block in self.runs.iter().flat_map(|(_, own)| own.chunks(BLOCK as usize)) {
            let from = documents.len();
            document::write(block, &mut documents);
            blocks.push(BlockSums::of(block, &documents[from..]));
        }
        let runs = self.runs.iter().map(|(run, _)| run);
        let mut bytes = write_start(runs, blocks.into_iter(), &self.pages);
        bytes.reserve_exact(documents.len() + self.words.len());
        bytes.append(&mut documents);
        bytes.extend_from_slice(&self.words);
        bytes
    }

    /// One segment of several; none when nothing is left. Runs that follow each other become one.
    pub(super) fn combined(sources: Vec<Self>) -> Result<Option<Self>> {
        let mut all = Vec::new();
        let (mut words, mut counts) = (Vec::new(), Vec::new());
        for (source, parts) in sources.into_iter().enumerate() {
            let mut first = 0;
            for (run, documents) in parts.runs {
                let from = first;
                first += documents.len();
                all.push((source, from, run, documents));
            }
            words.push((parts.pages, parts.words));
            counts.push(first);
        }
        all.sort_by(|(.., one, _), (.., other, _)| {
            (one.conversation, one.start, one.end).cmp(&(other.conversation, other.start, other.end))
        });
        let mut numbers: Vec<Vec<Option<u32>>> = counts.iter().map(|count| vec![None; *count]).collect();
        let (mut runs, mut count): (Vec<(CoveredRun, Vec<Document>)>, u32) = (Vec::new(), 0);
        for (source, from, run, mut documents) in all {
            for number in &mut numbers[source][from..from + documents.len()] {
                count += 1;
                *number = Some(count);
            }
            match runs.last_mut().filter(|(last, _)| run.continues(last)) {
                Some((last, before)) => {
                    last.extend(&run);
                    before.append(&mut documents);
                }
                None => runs.push((run, documents)),
            }
        }
        Self::of_words(runs, &words, &numbers, count)
    }

    /// This segment without some of its runs; none when nothing is left.
    pub(super) fn without(self, is_gone: impl Fn(&CoveredRun) -> bool) -> Result<Option<Self>> {
        let (mut runs, mut numbers, mut count) = (Vec::new(), Vec::new(), 0);
        for (run, documents) in self.runs {
            let is_gone = is_gone(&run);
            for _ in &documents {
                count += u32::from(!is_gone);
                numbers.push((!is_gone).then_some(count));
            }
            if !is_gone {
                runs.push((run, documents));
            }
        }
        Self::of_words(runs, &[(self.pages, self.words)], &[numbers], count)
    }

    fn of_words(
        runs: Vec<(CoveredRun, Vec<Document>)>,
        words: &[(Pages, Vec<u8>)],
        numbers: &[Vec<Option<u32>>],
        count: u32,
    ) -> Result<Option<Self>> {
        if runs.is_empty() {
            return Ok(None);
        }
        let sources = words.iter().zip(numbers);
        let sources: Vec<MergedSegment<'_>> =
            sources.map(|((pages, bytes), numbers)| MergedSegment { pages, bytes, numbers }).collect();
        let mut writer = PageWriter::of(count);
        combine(&sources, &mut writer)?;
        let (pages, words) = writer.finish();
        Ok(Some(Self { runs, pages, words }))
    }
}

impl CoveredRun {
    /// True when it is the next part of the same file.
    fn continues(&self, last: &Self) -> bool {
        self.conversation == last.conversation && self.follows(last)
    }

    /// Takes in the next part.
    fn extend(&mut self, next: &Self) {
        (self.end, self.contents, self.pieces, self.seen) = (next.end, next.contents, next.pieces, next.seen);
        self.messages += next.messages;
        self.documents += next.documents;
    }
}

/// A segment that is being made of messages.
pub(super) struct Drafting {
    runs: Vec<(CoveredRun, Vec<Document>)>,
    words: DraftSegment,
    documents: u32,
}

impl Drafting {
    pub(super) fn new() -> Self {
        Self { runs: Vec::new(), words: DraftSegment::after(0), documents: 0 }
    }

    /// Adds a run with its messages, each with its text.
    pub(super) fn add(&mut self, mut run: CoveredRun, said: Vec<(Document, String)>) {
        let mut documents = Vec::with_capacity(said.len());
        for (document, text) in said {
            self.documents += 1;
            let Document { id, time, length, .. } = document;
            self.words.add(self.documents, id, time, &text, length.into());
            documents.push(document);
        }
        run.documents = documents.len() as u32;
        self.runs.push((run, documents));
    }

    /// How many bytes its messages take in their files.
    pub(super) const fn size(&self) -> u64 {
        self.words.span().bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn finish(self) -> SegmentParts {
        let mut writer = PageWriter::of(self.documents);
        for (word, documents) in self.words.into_words() {
            writer.push(word.as_bytes(), &documents);
        }
        let (pages, words) = writer.finish();
        SegmentParts { runs: self.runs, pages, words }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::model::{ConversationId, MessageId, Role, Time, WordQuery};
    use crate::store::jsonl::files::FileIdentity;
    use crate::store::jsonl::words::segment::WordSegment;

    const WORDS: [&str; 6] = ["green", "greenish", "Café", "東京", "a", "bicycle"];

    /// The messages of a conversation, by the words that each has.
    fn parts(conversation: u8, from: u32, texts: &[Vec<usize>]) -> SegmentParts {
        let mut drafting = Drafting::new();
        let said = (from + 1..).zip(texts).map(|(seq, words)| {
            let text = words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
            let id: MessageId = format!("m{conversation}x{seq}").parse().unwrap();
            let time = Time::from_micros(seq.into());
            (Document { seq, time, role: Role::User, offset: seq.into(), length: 1, id }, text)
        });
        let run = CoveredRun {
            conversation: ConversationId::from_bytes([conversation; 16]),
            start: from.into(),
            end: u64::from(from) + texts.len() as u64,
            before: from.into(),
            contents: u64::from(from) + texts.len() as u64,
            pieces: 0,
            messages: texts.len() as u32,
            seen: FileIdentity { device: 0, inode: 1, length: 2, modified: -3 },
            documents: 0,
        };
        drafting.add(run, said.collect());
        drafting.finish()
    }

    /// What a segment finds for each word, by conversation and sequence, through a file.
    fn found(parts: &SegmentParts) -> BTreeMap<String, Vec<(ConversationId, u32)>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0000000000000001");
        std::fs::write(&path, parts.to_bytes()).unwrap();
        let segment = WordSegment::open(&path).unwrap().unwrap();
        let of = |text: &str| {
            let numbers = segment.matches(&WordQuery::parse(text)).unwrap();
            let mut found: Vec<_> = numbers
                .into_iter()
                .map(|number| {
                    let (block, place) = segment.place_of(number).unwrap();
                    let block = segment.block(block);
                    (segment.runs[block.run].conversation, segment.documents(block).unwrap()[place].seq)
                })
                .collect();
            found.sort_unstable();
            (text.to_owned(), found)
        };
        ["green ", "green", "cafe ", "京", "a ", "bicycle green", "bicy", "x"].map(of).into_iter().collect()
    }

    fn texts() -> impl Strategy<Value = Vec<Vec<usize>>> {
        prop::collection::vec(prop::collection::vec(0..WORDS.len(), 0..4), 1..300)
    }

    proptest! {
        #[test]
        fn combined_segments_find_what_each_finds_and_parts_of_a_file_become_one(
            one in texts(), more in texts(), other in texts(),
        ) {
            let whole: Vec<_> = one.iter().chain(&more).cloned().collect();
            let expected = found(&parts(1, 0, &whole));
            let beside = found(&parts(2, 0, &other));

            let sources =
                vec![parts(2, 0, &other), parts(1, one.len() as u32, &more), parts(1, 0, &one)];
            let combined = SegmentParts::combined(sources).unwrap().unwrap();

            let together = found(&combined);
            for (word, found) in &together {
                let both: Vec<_> = expected[word].iter().chain(&beside[word]).copied().collect();
                prop_assert_eq!(found, &both, "{}", word);
            }
            prop_assert_eq!(combined.runs.len(), 2);
            let left = combined.without(|run| run.conversation == ConversationId::from_bytes([2; 16]));
            prop_assert_eq!(found(&left.unwrap().unwrap()), expected);
        }
    }

    #[test]
    fn a_segment_without_any_run_is_none() {
        let left = parts(1, 0, &[vec![0, 3]]).without(|_| true).unwrap();

        assert!(left.is_none());
    }
}
