//! One turn, then exit.

use std::io::Write;
use std::time::Duration;

use rejoin::Message;
use rejoin_agent::{Event, Piece};
use tokio::sync::mpsc;

use crate::context::Context;
use crate::error::Failure;
use crate::talk::{Overrides, Session, Start, runtime};

/// How long a synopsis may take to arrive once the reply is complete.
const GRACE: Duration = Duration::from_secs(2);

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
        let outcome = {
            let turn = session.talk.turn(Message::user(message), &events);
            tokio::pin!(turn);
            loop {
                tokio::select! {
                    biased;
                    Some(event) = heard.recv() => show(&event)?,
                    outcome = &mut turn => break outcome,
                }
            }
        };
        while let Ok(event) = heard.try_recv() {
            show(&event)?;
        }
        writeln!(context.answer())?;
        session.talk.finish(GRACE).await;
        outcome.map(drop).map_err(Failure::from)
    })
}

fn show(event: &Event) -> Result<(), Failure> {
    if let Event::Piece(Piece::Text(text)) = event {
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}
