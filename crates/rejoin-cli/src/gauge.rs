//! Shows how far work in several stages has come, one display after the other.

use rejoin::Stage;

use crate::context::Context;
use crate::ui::progress::{ProgressLine, Unit};

/// The display of the stage that is going on.
#[derive(Debug)]
pub(crate) struct Gauge<'a> {
    context: &'a Context,
    current: Option<CurrentWork>,
}

#[derive(Debug)]
struct CurrentWork {
    stage: Stage,
    progress: ProgressLine,
    done: u64,
}

impl<'a> Gauge<'a> {
    pub(crate) fn new(context: &'a Context) -> Self {
        Self { context, current: None }
    }

    /// Takes note of how much of a stage is done, and how much there is.
    pub(crate) fn report(&mut self, stage: Stage, done: u64, all: u64) {
        let (doing, unit) = match stage {
            Stage::Copying => ("Copying", Unit::Bytes),
            Stage::Checking => ("Checking", Unit::Items),
        };
        let current = match &mut self.current {
            Some(current) if current.stage == stage => current,
            other => {
                // The old display has to be gone before the new one is drawn.
                drop(other.take());
                let progress = self.context.progress(doing, unit, Some(all));
                other.insert(CurrentWork { stage, progress, done: 0 })
            }
        };
        current.progress.advance(done.saturating_sub(current.done));
        current.done = done;
    }
}
