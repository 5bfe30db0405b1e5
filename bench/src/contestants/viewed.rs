//! Rejoin again, for the view: a load here also computes what a model would be sent.

use std::path::Path;

use rejoin::StoredMessage;
use rejoin::view::{PathMessage, Recipient, View};

use super::Contestant;
use super::rejoin::Rejoin;
use crate::protocol::{Reply, Request};
use crate::worker::{Serve, sample_load};
use rejoin_bench::failure::Result;

pub(crate) struct ViewedRejoin {
    store: Rejoin,
    recipient: Recipient,
}

impl ViewedRejoin {
    pub(crate) fn open(place: &Path) -> Result<Self> {
        // The rules of the API that asks for most.
        Ok(Self { store: Rejoin::open(place)?, recipient: Recipient::anthropic() })
    }

    /// Returns what was loaded, after its view was computed, looked at and freed.
    fn load(&mut self) -> Result<Vec<StoredMessage>> {
        let messages = self.store.load()?;
        let shown = View::of(&PathMessage::all(&messages), &[], &self.recipient);
        if shown.messages.len() != messages.len() || !shown.repairs.is_empty() {
            return Err(format!("the view needed {} repairs", shown.repairs.len()).into());
        }
        drop(shown);
        Ok(messages)
    }
}

impl Serve for ViewedRejoin {
    fn answer(&mut self, request: Request) -> Result<Reply> {
        match request {
            Request::Load { count } => sample_load(count, || self.load(), <Rejoin>::weigh),
            Request::Resume => self.store.resume().map(|()| Reply::default()),
            Request::Rest => self.store.rest().map(|()| Reply::default()),
            Request::Fill { .. }
            | Request::Begin
            | Request::Turns { .. }
            | Request::Append { .. }
            | Request::List { .. }
            | Request::Search { .. }
            | Request::Fork { .. }
            | Request::Index
            | Request::Checkpoint => Ok(Reply { unsupported: true, ..Reply::default() }),
        }
    }
}
