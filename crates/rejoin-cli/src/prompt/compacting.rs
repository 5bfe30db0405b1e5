//! Compaction that somebody asked for: shown while it happens, and stopped when somebody wants it to.

use std::pin::pin;

use rejoin_agent::{Compacted, Talk, TurnEvent};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::TypedAhead;
use super::show::{ArrivedReply, Hushed, TICK, TurnDisplay, TurnEnd};
use crate::error::Failure;

/// Compacts, and returns what that did; none when it was stopped with Ctrl+C, or Esc where what is typed is
/// kept. Stopping leaves everything as it was.
pub(crate) async fn compact(
    talk: &mut Talk,
    show: &mut dyn TurnDisplay,
    ahead: &mut TypedAhead,
) -> Result<Option<Compacted>, Failure> {
    let _hushed = Hushed::begin();
    let mut interrupts =
        signal(SignalKind::interrupt()).map_err(|error| Failure::io("watch for Ctrl+C", error))?;
    let (events, mut heard) = mpsc::unbounded_channel();
    let mut teller = CompactionTeller { show, warning: None };
    let outcome = {
        let mut work = pin!(talk.compact(&events));
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            if ahead.poll() {
                break None;
            }
            tokio::select! {
                biased;
                _ = interrupts.recv() => break None,
                Some(event) = heard.recv() => teller.tell(event)?,
                outcome = &mut work => break Some(outcome),
                _ = ticks.tick() => teller.show.tick()?,
            }
        }
    };
    while let Ok(event) = heard.try_recv() {
        teller.tell(event)?;
    }
    let CompactionTeller { show, .. } = teller;
    match outcome {
        Some(Ok(compacted)) => {
            show.end(&TurnEnd::Compacted)?;
            Ok(Some(compacted))
        }
        Some(Err(error)) => {
            show.end(&TurnEnd::Failed)?;
            Err(error.into())
        }
        None => {
            let conversation = talk.recorder().conversation();
            show.end(&TurnEnd::Interrupted { kept: ArrivedReply::Nothing, conversation })?;
            Ok(None)
        }
    }
}

/// Tells what happens. A failure says itself what its last warning said, so a
/// warning waits for what comes next.
struct CompactionTeller<'a> {
    show: &'a mut dyn TurnDisplay,
    warning: Option<TurnEvent>,
}

impl CompactionTeller<'_> {
    fn tell(&mut self, event: TurnEvent) -> Result<(), Failure> {
        if let Some(warning) = self.warning.take() {
            self.show.event(warning)?;
        }
        match event {
            TurnEvent::Warning(_) => self.warning = Some(event),
            // Nothing that happens here asks for a decision.
            event => drop(self.show.event(event)?),
        }
        Ok(())
    }
}
