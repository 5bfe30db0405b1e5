//! Talking: which conversation, with which provider, and one turn of it.

mod session;

use std::io::Write;

use rejoin::Message;
use rejoin_agent::{Event, Piece};
pub(crate) use session::{Session, Start};
use tokio::sync::mpsc;

use crate::context::Context;
use crate::error::Failure;

/// Sends one message, shows the reply as it arrives, and returns when it is complete.
pub(crate) fn once(
    context: &Context,
    start: &Start,
    title: Option<String>,
    message: &str,
) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let mut session = Session::begin(context, start, title)?;
        let (events, mut heard) = mpsc::unbounded_channel();
        let turn = session.talk.turn(Message::user(message), &events);
        tokio::pin!(turn);
        let outcome = loop {
            tokio::select! {
                biased;
                Some(event) = heard.recv() => show(&event)?,
                outcome = &mut turn => break outcome,
            }
        };
        while let Ok(event) = heard.try_recv() {
            show(&event)?;
        }
        writeln!(context.answer())?;
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

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::io("start the runtime", error))
}
