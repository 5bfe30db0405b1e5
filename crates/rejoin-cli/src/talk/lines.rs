//! Turn after turn, a line each.

use std::io::{self, BufRead, Write};

use rejoin::Message;
use rejoin_agent::{Event, Piece};
use tokio::sync::mpsc;

use crate::context::Context;
use crate::error::Failure;
use crate::talk::idle::Watch;
use crate::talk::{Overrides, Session, Start, banner, runtime};
use crate::ui::clean;

/// Talks until the input ends. `first` is said before anything is read.
pub(crate) fn interactive(
    context: &Context,
    start: &Start,
    overrides: &Overrides,
    first: Option<&str>,
) -> Result<(), Failure> {
    let runtime = runtime()?;
    let mut session = runtime.block_on(async { Session::begin(context, start, overrides) })?;
    if let Some(message) = first {
        runtime.block_on(turn(context, &mut session, message))?;
    }
    let watch = Watch::start(context, &session.archive, session.conversation);
    let mut line = String::new();
    loop {
        eprint!("> ");
        line.clear();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            eprintln!();
            return Ok(());
        }
        if let Some(told) = watch.touch() {
            context.note(&told);
        }
        if !line.trim().is_empty() {
            runtime.block_on(turn(context, &mut session, line.trim()))?;
        }
    }
}

async fn turn(context: &Context, session: &mut Session, message: &str) -> Result<(), Failure> {
    let (events, mut heard) = mpsc::unbounded_channel();
    let outcome = session.talk.turn(Message::user(message), &events).await;
    drop(events);
    let mut answer = context.answer();
    while let Some(event) = heard.recv().await {
        match event {
            Event::Piece(Piece::Text(text)) => write!(answer, "{}", clean::block(&text))?,
            Event::Saved(receipt) => {
                if let Some(told) = banner::branched(&receipt) {
                    context.note(&told);
                }
            }
            _ => {}
        }
    }
    writeln!(answer)?;
    answer.flush()?;
    outcome.map(drop).map_err(Failure::from)
}
