//! One turn, then exit.

use std::io::Write;

use rejoin::Message;
use rejoin_agent::{Event, Piece};
use tokio::sync::mpsc;

use crate::context::Context;
use crate::error::Failure;
use crate::talk::{Overrides, Session, Start, banner, runtime};

/// Sends one message, shows the reply as it arrives, and returns when it is complete.
pub(crate) fn once(
    context: &Context,
    start: &Start,
    overrides: &Overrides,
    message: &str,
) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let mut session = Session::begin(context, start, overrides)?;
        let (events, mut heard) = mpsc::unbounded_channel();
        let turn = session.talk.turn(Message::user(message), &events);
        tokio::pin!(turn);
        let outcome = loop {
            tokio::select! {
                biased;
                Some(event) = heard.recv() => show(context, &event)?,
                outcome = &mut turn => break outcome,
            }
        };
        while let Ok(event) = heard.try_recv() {
            show(context, &event)?;
        }
        writeln!(context.answer())?;
        outcome.map(drop).map_err(Failure::from)
    })
}

fn show(context: &Context, event: &Event) -> Result<(), Failure> {
    if let Event::Saved(receipt) = event
        && let Some(told) = banner::branched(receipt)
    {
        context.note(&told);
    }
    if let Event::Piece(Piece::Text(text)) = event {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}
