//! Searching all messages for a rare and for a common word, against bare FTS5 reading the bodies it finds.

use super::{Arena, BATCHES, PAGE, bytes, grouped, headline, pair};
use crate::contestants::SQLITE_BARE;
use crate::entrant::Entrant;
use crate::options::Operation;
use crate::protocol::Request;
use crate::results::Results;
use crate::session::Session;
use rejoin_bench::data::{COMMON_WORD, MESSAGES_PER_SHORT_CONVERSATION, RARE_WORD};
use rejoin_bench::failure::Result;

const REFERENCE: &str = "bare FTS5, newest first, reading the bodies";
const BAR: f64 = 2.0;

pub(crate) fn round(arena: &Arena, entrant: &Entrant, round: usize, results: &mut Results) -> Result<()> {
    let limit = Entrant::built_in(SQLITE_BARE)?;
    let mut reference = Session::start(&limit, &arena.place(&limit, bytes::STORE))?;
    let mut contestant = Session::start(entrant, &arena.place(entrant, bytes::STORE))?;
    reference.pin(round)?;
    contestant.pin(round)?;
    let messages = grouped(arena.scale.conversations * MESSAGES_PER_SHORT_CONVERSATION);
    for (kind, word) in [("rare", RARE_WORD), ("common", COMMON_WORD)] {
        let request =
            Request::Search { word: word.to_owned(), limit: PAGE, count: arena.scale.searches / BATCHES };
        let samples = pair(&mut reference, &mut contestant, &request, BATCHES)?;
        let operation = format!("search {messages} messages, {kind} word");
        results.add_round(headline(Operation::Search, &operation, entrant, REFERENCE, BAR), samples);
    }
    reference.finish()?;
    contestant.finish()
}
