//! A policy that a person changed: what it does is told, and done at once after a question.

use super::{Policies, describe, expired, unrenewed, waiting};
use crate::config::origin::ValueOrigin;
use crate::config::{Config, ConfigOverrides};
use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::ui::consent::ConsentText;
use crate::ui::size;

/// Tells what the policy does since the configuration was written, if that is something else. At a terminal
/// it is done at once, after a question where something goes; elsewhere nothing is deleted.
pub(crate) fn apply_changed(before: &Context) -> Result<(), Failure> {
    let store =
        before.config.setting("store").filter(|setting| matches!(setting.origin, ValueOrigin::Flag(_)));
    let overrides = ConfigOverrides {
        store: store.map(|_| before.config.store().to_owned()),
        project: Some(before.config.project().to_owned()),
        ..ConfigOverrides::default()
    };
    // A configuration that is still broken has no policy.
    let Ok(config) = Config::load(&before.surroundings, &overrides) else { return Ok(()) };
    if config.retention() == before.config.retention() {
        return Ok(());
    }
    let context = before.configured(config);
    let archive = context.archive_to_read()?;
    let policies = Policies::of(&archive, &context)?;
    let retention = policies.here().retention;
    context.note(&describe(&retention));
    let due = policies.plan(&archive)?.due;
    if due.is_empty() {
        return Ok(());
    }
    let count = size::count(due.len() as u64, "conversation", "conversations");
    let terminal = context.surroundings.terminal;
    if !terminal.stdin || !terminal.stderr || !context.shows_notes() {
        context.note(&format!("{count} would be deleted once you confirm this in a terminal: rejoin expire"));
        return Ok(());
    }
    let bytes = size::bytes(due.iter().map(|expiring| expiring.stored.bytes).sum());
    context
        .confirm(&ConsentText::line(&format!("Delete {count} ({bytes}) at once?")), Consent::Ask)
        .map_err(|failure| {
            failure
                .retold("the setting is changed, and nothing was deleted")
                .or_hint("run `rejoin expire --dry-run` to see what is deleted, or undo the change")
        })?;
    archive.retention().see(&retention)?;
    let round = policies.sweep(&archive, &context)?;
    let waits = round.waits_until.map(|until| waiting(until, &context.clock()));
    let report = round.report.as_ref();
    for told in waits.into_iter().chain(report.and_then(expired)).chain(report.and_then(unrenewed)) {
        context.note(&told);
    }
    Ok(())
}
