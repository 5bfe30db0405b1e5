//! The reference for a durable append: the bytes of the turn written to the end of a file, then `fdatasync`.
//!
//! The file grows with every write. Writing into blocks allocated before is faster, but no
//! store can know how much will be said.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::protocol::{Reply, Request};
use crate::worker::{Serve, read_turns, sample_each};
use rejoin_bench::failure::{Context, Result};

pub(crate) struct RawFile {
    file: File,
    turns: VecDeque<Vec<u8>>,
}

impl RawFile {
    pub(crate) fn open(place: &Path) -> Result<Self> {
        let path = place.join("raw.jsonl");
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.context(|| format!("open `{}`", path.display()))?;
        Ok(Self { file, turns: VecDeque::new() })
    }

    fn append(&mut self) -> Result<()> {
        let turn = self.turns.pop_front().ok_or("there are no turns left to append")?;
        self.file.write_all(&turn)?;
        self.file.sync_data()?;
        Ok(())
    }
}

impl Serve for RawFile {
    fn answer(&mut self, request: Request) -> Result<Reply> {
        match request {
            Request::Turns { file, skip, count } => {
                let text = read_turns(&file, skip, count)?;
                self.turns = text.iter().map(|turn| format!("{}\n", turn.join("\n")).into_bytes()).collect();
                Ok(Reply::default())
            }
            Request::Append { count } => sample_each(count, || self.append()),
            Request::Begin | Request::Resume | Request::Rest | Request::Checkpoint => Ok(Reply::default()),
            Request::Fill { .. }
            | Request::Load { .. }
            | Request::List { .. }
            | Request::Search { .. }
            | Request::Fork { .. }
            | Request::Index => Ok(Reply { unsupported: true, ..Reply::default() }),
        }
    }
}
