//! The reference for a load: a file of JSON lines read whole and parsed into
//! typed values by the fastest parser.

use std::path::PathBuf;

use super::message::{Message, weigh};
use crate::protocol::{Reply, Request};
use crate::worker::{Serve, sample_load};
use rejoin_bench::failure::{Context, Result};

pub(crate) struct JsonLines {
    file: PathBuf,
}

impl JsonLines {
    pub(crate) fn new() -> Self {
        Self { file: PathBuf::new() }
    }

    fn load(&self) -> Result<Vec<Message>> {
        let bytes = std::fs::read(&self.file).context(|| format!("read `{}`", self.file.display()))?;
        let text = std::str::from_utf8(&bytes)?;
        Ok(text.lines().map(sonic_rs::from_str).collect::<sonic_rs::Result<_>>()?)
    }
}

impl Serve for JsonLines {
    fn answer(&mut self, request: Request) -> Result<Reply> {
        match request {
            // The file itself is the store; there is nothing to copy.
            Request::Fill { file, .. } => {
                self.file = file;
                Ok(Reply::default())
            }
            Request::Load { count } => sample_load(count, || self.load(), |messages| weigh(messages)),
            Request::Begin | Request::Resume | Request::Rest | Request::Checkpoint => Ok(Reply::default()),
            Request::Turns { .. }
            | Request::Append { .. }
            | Request::List { .. }
            | Request::Search { .. }
            | Request::Fork { .. }
            | Request::Index => Ok(Reply { unsupported: true, ..Reply::default() }),
        }
    }
}
