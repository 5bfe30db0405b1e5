//! Compaction as people meet it: when it happens, what is told about it, and what it left out.

mod losses;
mod report;
mod settings;
mod told;

pub(crate) use losses::{LossesExtent, losses};
pub(crate) use report::{CompactionReport, WindowUse, newest, show, sizes, stays};
pub(crate) use settings::settings;
pub(crate) use told::{COMPACTING, STOPPED, facts, full, notice, sent_again, share, trimmed};
