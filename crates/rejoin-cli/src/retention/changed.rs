//! A policy that a person changed: what it does is shown first, and done at once.

use rejoin::{Archive, Swept};

use super::{Policy, describe, expired, waiting};
use crate::config::Config;
use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::ui::size;

/// A change of the policy that was agreed to.
#[derive(Debug)]
pub(crate) struct Changed {
    archive: Archive,
    policy: Policy,
    /// True when somebody at a terminal made it.
    is_seen: bool,
    due: u64,
}

impl Changed {
    /// Looks at what the policy of a configuration would take away, and asks where something would go.
    pub(crate) fn weigh(config: &Config, context: &Context) -> Result<Self, Failure> {
        let context = context.configured(config.clone());
        let archive = context.archive_to_read()?;
        let policy = Policy::here(&archive, &context)?;
        let due = policy.plan(&archive)?.due;
        let terminal = context.surroundings.terminal;
        let is_seen = terminal.stdin && terminal.stderr && context.shows_notes();
        if is_seen && !due.is_empty() {
            let shown = format!("{}\n", describe(&policy.retention));
            let count = size::count(due.len() as u64, "conversation", "conversations");
            let bytes = size::bytes(due.iter().map(|expiring| expiring.stored.bytes).sum());
            let question = format!("Delete {count} ({bytes}) of this project at once?");
            context.confirm_shown(&shown, &question, Consent::Ask)?;
        }
        Ok(Self { archive, policy, is_seen, due: due.len() as u64 })
    }

    /// Does at once what the policy says, and tells it.
    pub(crate) fn apply(self, context: &Context) -> Result<(), Failure> {
        let Self { archive, policy, is_seen, due } = self;
        context.note(&describe(&policy.retention));
        if !is_seen {
            if due > 0 {
                let count = size::count(due, "conversation", "conversations");
                context.note(&format!("{count} would go, once this was seen at a terminal: rejoin expire"));
            }
            return Ok(());
        }
        // A store that does not exist yet is not made for a note.
        if due > 0 {
            archive.see_retention(&policy.retention)?;
        }
        match policy.sweep(&archive)? {
            Swept::Waiting(until) if due > 0 => context.note(&waiting(until, &context.clock())),
            Swept::Waiting(_) => {}
            Swept::Done(report) => {
                if let Some(told) = expired(&report) {
                    context.note(&told);
                }
            }
        }
        Ok(())
    }
}
