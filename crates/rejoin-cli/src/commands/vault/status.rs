//! `rejoin vault status`

use rejoin::vault::{Keyholder, SlotStatus, VaultId, VaultStatus};
use rejoin::{Access, ErrorKind, Existing, StoreUrl};
use serde::Serialize;

use crate::commands::vault::slots::suggest_second;
use crate::commands::vault::{beside, explain_keys, vault_url};
use crate::context::Context;
use crate::error::Failure;
use crate::ui::quote;
use crate::ui::table::{Column, Table};

/// Show the slots that unlock the vault
///
/// Nothing is asked. When a slot was added is shown if the vault unlocks without asking, such as with
/// the keyring.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin vault status
  rejoin vault status --json")]
pub(super) struct Args {}

/// What opens the vault, as programs read it.
#[derive(Serialize)]
struct VaultStatusAnswer<'a> {
    vault: VaultId,
    epoch: u64,
    rotating: bool,
    sealing_anew: bool,
    slots: &'a [SlotStatus],
}

pub(super) fn run(_args: Args, context: &Context) -> Result<(), Failure> {
    let url = vault_url(context)?;
    let access = context.access()?;
    let status = url.vault_status(&access).map_err(|error| explain_keys(&url, error))?;
    let status = unlocked(&url, access).unwrap_or(status);
    if context.is_json() {
        context.answer_json(&VaultStatusAnswer::from(&status))?;
        return warn_of_replacement(&url, &status, context);
    }
    let clock = context.clock();
    let mut table = Table::new([Column::text("slot"), Column::text("kind"), Column::text("added")]);
    for slot in &status.slots {
        let added = slot.created_at.map(|at| clock.relative(at.as_micros()));
        table.push([slot.id.to_string(), slot.kind.to_string(), added.unwrap_or_default()]);
    }
    context.show(|answer| {
        write!(answer, "{}", table.draw(context.columns(), context.paint()))?;
        writeln!(answer, "Vault {}, epoch {}", status.vault, status.epoch)?;
        Ok(())
    })?;
    if status.is_rotating {
        context.manner.warn("a rotation is incomplete", Some("run `rejoin vault rotate` to complete it"));
    }
    if status.is_being_sealed {
        context.manner.warn(
            "not everything is sealed anew yet",
            Some("run `rejoin vault rotate --reencrypt` to go on"),
        );
    }
    warn_of_replacement(&url, &status, context)?;
    warn_of_copies(&url, context);
    suggest_second(status.slots.iter().map(|slot| slot.kind), context);
    Ok(())
}

/// The status of a vault that opens without asking. Why it does not open is for other commands to say.
fn unlocked(url: &StoreUrl, access: Access) -> Option<VaultStatus> {
    let keys = access.keys.map(Keyholder::without_asking);
    url.keys(&Access { keys, ..access }, Existing::Needed).and_then(|keys| keys.check()).ok()
}

/// Says what other commands refuse the vault for.
fn warn_of_replacement(url: &StoreUrl, status: &VaultStatus, context: &Context) -> Result<(), Failure> {
    let access = context.access()?;
    if let Some(pinned) = url.pinned(&access)?.filter(|pinned| *pinned != status.vault) {
        context.manner.warn(
            &format!("it is another vault than the one used here before, `{pinned}`"),
            Some("put that one back, or run `rejoin vault accept` if you replaced it yourself"),
        );
        return Ok(());
    }
    match url.refuse_older_copy(&access) {
        Err(error) if error.kind() == ErrorKind::Conflict => context.manner.warn(
            &format!("it is an older copy of the vault: {error}"),
            Some("put the newer one back, or run `rejoin vault accept` if you put this one there yourself"),
        ),
        checked => checked?,
    }
    Ok(())
}

/// Sealing or unsealing that ended early, or whose old store was kept, leaves
/// everything in the clear beside the vault.
fn warn_of_copies(url: &StoreUrl, context: &Context) {
    if let Some(plain) = beside::source_of(url, context) {
        let hint = format!(
            "run `rejoin --store {} vault encrypt` to copy what it holds and erase it",
            quote::argument(&plain.to_string())
        );
        context.manner.warn(&format!("the original store still exists, unencrypted: `{plain}`"), Some(&hint));
    }
    if let Some(plain) = beside::copy_of(url, context) {
        context.manner.warn(
            &format!("a copy of it in the clear was begun, `{plain}`"),
            Some("run `rejoin vault decrypt` to go on, or remove the copy"),
        );
    }
}

impl<'a> From<&'a VaultStatus> for VaultStatusAnswer<'a> {
    fn from(status: &'a VaultStatus) -> Self {
        Self {
            vault: status.vault,
            epoch: status.epoch,
            rotating: status.is_rotating,
            sealing_anew: status.is_being_sealed,
            slots: &status.slots,
        }
    }
}
