//! `rejoin vault init`, `add-slot`, `remove-slot` and `rotate`.

use std::io::Write;
use std::path::PathBuf;

use rejoin::vault::{Added, Keys, Reencrypted, Rotated, SlotId, SlotKind};
use rejoin::{AuditAction, ErrorKind, Existing, StoreUrl, Time};
use serde::Serialize;

use crate::commands::vault::noted::{audit, fact};
use crate::commands::vault::switch::use_store;
use crate::commands::vault::{Kinds, explain_keys, new_passphrase_from, new_slot, vault_url};
use crate::context::Context;
use crate::error::Failure;
use crate::ui::consent::ConsentText;
use crate::ui::json::JsonText;
use crate::ui::progress::Unit;
use crate::ui::size;
use crate::vault::new_passphrase;

/// Create an empty vault
///
/// By default, the system keyring unlocks the vault. A passphrase is asked for, or read from the first
/// line of `--passphrase-file`. A recovery key is shown once and stored nowhere. Conversations in a
/// vault are not exported, handed off or committed unless you run `rejoin keep ID --exportable yes` or
/// `rejoin export --force`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin vault init
  rejoin vault init --slot passphrase --slot recovery
  rejoin --store vault+jsonl:notes vault init --slot file")]
pub(super) struct InitArgs {
    /// What unlocks the vault; can be repeated
    #[arg(long, value_name = "KIND", value_enum, default_value = "keyring")]
    slot: Vec<Kinds>,
}

/// Add a slot
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin vault add-slot recovery
  rejoin vault add-slot passphrase
  rejoin vault add-slot passphrase --new-passphrase-file secret.txt")]
pub(super) struct AddArgs {
    /// What unlocks the vault
    #[arg(value_enum)]
    slot: Kinds,

    /// Read the new passphrase from the first line of this file
    #[arg(long, value_name = "FILE")]
    new_passphrase_file: Option<PathBuf>,
}

/// Remove a slot
///
/// The keys are rotated, so the removed slot cannot unlock the vault any more. It can still unlock older
/// copies of the vault. The last slot cannot be removed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin vault remove-slot 0f3a9c1e5b7d2468")]
pub(super) struct RemoveSlotArgs {
    /// The slot's ID, from `rejoin vault status`
    slot: String,

    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// Replace the vault's keys
///
/// Takes a moment, whatever the size of the vault; other programs can keep using it. Keyring and file
/// slots get new secrets, which do not unlock older copies of the vault. Passphrases and recovery keys
/// do not change and still unlock older copies.
///
/// Use `--reencrypt` if someone may have had the keys. It also replaces the data keys and re-encrypts
/// every record, which takes as long as reading and writing everything. If it is interrupted, run it
/// again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin vault rotate
  rejoin vault rotate --reencrypt")]
pub(super) struct RotateArgs {
    /// Also re-encrypt every record
    #[arg(long)]
    reencrypt: bool,
}

/// A vault that was made, as programs read it.
#[derive(Serialize)]
struct Made<'a> {
    store: JsonText<&'a StoreUrl>,
    slots: Vec<NewSlotAnswer<'a>>,
}

/// A slot that was made, as programs read it.
#[derive(Serialize)]
pub(super) struct NewSlotAnswer<'a> {
    id: SlotId,
    kind: SlotKind,
    /// It is kept nowhere, so it is told here.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_key: Option<&'a str>,
}

/// Keys that were replaced, as programs read it.
#[derive(Serialize)]
struct ReplacedKeysAnswer<'a> {
    epoch: u64,
    keys: u64,
    unreadable: u64,
    kept: &'a [SlotId],
    unreached: &'a [SlotId],
    #[serde(skip_serializing_if = "Option::is_none")]
    sealed_anew: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    damaged: Option<u64>,
}

/// What changes for exports.
const NOT_EXPORTED: &str = "What you keep in it is not exported, handed off or committed unless you say so: rejoin keep ID --exportable yes";

pub(super) fn init(args: &InitArgs, context: &Context) -> Result<(), Failure> {
    let url = context.store_url()?.sealed();
    if let StoreUrl::Vault(inner) = &url
        && **inner == StoreUrl::Memory
    {
        return Err(Failure::invalid("a store in memory cannot be a vault").hint("name one with `--store`"));
    }
    let mut slots = Vec::new();
    for kind in &args.slot {
        slots.push(new_slot(kind.kind(), || new_passphrase(context))?);
    }
    let access = context.access()?;
    let before = url.pinned(&access).unwrap_or_default();
    let keys = url.keys(&access, Existing::Optional).map_err(|error| explain_keys(&url, error))?;
    let added = keys.create(&slots, Time::now()).map_err(|error| match error.kind() {
        ErrorKind::Conflict => Failure::from(error).hint(
            "run `rejoin vault encrypt` to encrypt a plain store, or `rejoin vault status` to see the slots of a vault",
        ),
        _ => explain_keys(&url, error),
    })?;
    drop(keys);
    // A recovery key is shown before anything else can fail, for it is kept nowhere.
    if context.is_json() {
        let slots = added.iter().map(NewSlotAnswer::from).collect();
        let answered = context.answer_json(&Made { store: JsonText(&url), slots });
        answered.inspect_err(|_| warn_of_keys(&added, context))?;
        return use_store(&url, context).map(drop);
    }
    show_added(&added, context)?;
    context.note(&format!("The vault is {url}"));
    if let Some(before) = before {
        context.note(&format!("It replaces vault {before}, which was missing."));
    }
    use_store(&url, context)?.note(context);
    context.note(NOT_EXPORTED);
    suggest_second(added.iter().map(|slot| slot.kind), context);
    Ok(())
}

/// Suggests a second slot where there is only one.
pub(super) fn suggest_second(mut kinds: impl Iterator<Item = SlotKind>, context: &Context) {
    if let (Some(only), None) = (kinds.next(), kinds.next()) {
        let other = if only == SlotKind::Recovery { "passphrase" } else { "recovery" };
        context.note(&format!("It is the only slot. Add a second one: rejoin vault add-slot {other}"));
    }
}

pub(super) fn add(args: &AddArgs, context: &Context) -> Result<(), Failure> {
    let url = vault_url(context)?;
    let keys = url.keys(&context.access()?, Existing::Needed).map_err(|error| explain_keys(&url, error))?;
    // Whoever cannot open the vault is not asked for a new passphrase first.
    keys.check().map_err(|error| explain_keys(&url, error))?;
    let passphrase = || new_passphrase_from(args.new_passphrase_file.as_deref(), context);
    let new = new_slot(args.slot.kind(), passphrase)?;
    let added = keys.add_slot(&new, Time::now()).map_err(|error| explain_keys(&url, error))?;
    let facts = [("slot", fact(&added.id.to_string())), ("kind", fact(&added.kind.as_str()))];
    audit(&url, AuditAction::SlotAdded, &facts, context);
    if context.is_json() {
        let answered = context.answer_json(&NewSlotAnswer::from(&added));
        return answered.inspect_err(|_| warn_of_keys(&[added], context));
    }
    show_added(&[added], context)
}

pub(super) fn remove(args: &RemoveSlotArgs, context: &Context) -> Result<(), Failure> {
    let url = vault_url(context)?;
    let id: SlotId = args.slot.parse().map_err(|error| {
        Failure::from(error).hint("run `rejoin vault status` to see the ids of the slots")
    })?;
    let explained = |error: rejoin::Error| match error.kind() {
        ErrorKind::NotFound => {
            Failure::from(error).hint("run `rejoin vault status` to see the ids of the slots")
        }
        ErrorKind::Invalid => Failure::from(error).hint("run `rejoin vault add-slot recovery`"),
        _ => explain_keys(&url, error),
    };
    let keys = url.keys(&context.access()?, Existing::Needed).map_err(|error| explain_keys(&url, error))?;
    keys.check_removal(id).map_err(explained)?;
    context
        .confirm(&ConsentText::line(&format!("Remove slot {id} and rotate the keys?")), args.yes.into())?;
    let rotated = keys.remove_slot(id, Time::now()).map_err(explained)?;
    audit(
        &url,
        AuditAction::SlotRemoved,
        &[("slot", fact(&id.to_string())), ("epoch", fact(&rotated.epoch))],
        context,
    );
    answer_rotated(&rotated, None, context)
}

pub(super) fn rotate(args: &RotateArgs, context: &Context) -> Result<(), Failure> {
    let url = vault_url(context)?;
    let keys = url.keys(&context.access()?, Existing::Needed).map_err(|error| explain_keys(&url, error))?;
    let rotated = keys.rotate(Time::now()).map_err(|error| explain_keys(&url, error))?;
    let facts =
        [("epoch", fact(&rotated.epoch)), ("keys", fact(&rotated.keys)), ("kept", fact(&rotated.kept.len()))];
    audit(&url, AuditAction::Rotated, &facts, context);
    let mut sealed = None;
    if args.reencrypt {
        let done = reencrypt(&keys, context)
            .map_err(|error| explain_keys(&url, error).or_hint("run it again to resume"))?;
        let facts = [("conversations", fact(&done.conversations)), ("damaged", fact(&done.damaged))];
        audit(&url, AuditAction::SealedAnew, &facts, context);
        sealed = Some(done);
    }
    answer_rotated(&rotated, sealed.as_ref(), context)
}

fn reencrypt(keys: &Keys, context: &Context) -> rejoin::Result<Reencrypted> {
    let (mut progress, mut last) = (None, 0);
    let sealed = keys.reencrypt(&mut |done, all| {
        let progress =
            progress.get_or_insert_with(|| context.progress("Sealing conversations", Unit::Items, Some(all)));
        progress.advance(done.saturating_sub(last));
        last = done;
    })?;
    if let Some(progress) = progress {
        progress.finish();
    }
    Ok(sealed)
}

fn answer_rotated(rotated: &Rotated, sealed: Option<&Reencrypted>, context: &Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(&ReplacedKeysAnswer {
            epoch: rotated.epoch,
            keys: rotated.keys,
            unreadable: rotated.unreadable,
            kept: &rotated.kept,
            unreached: &rotated.unreached,
            sealed_anew: sealed.map(|sealed| sealed.conversations),
            damaged: sealed.map(|sealed| sealed.damaged),
        });
    }
    let mut answer = context.answer();
    writeln!(
        answer,
        "Replaced the keys of the vault; {} wrapped anew.",
        size::count(rotated.keys, "data key", "data keys")
    )?;
    if let Some(sealed) = sealed {
        writeln!(
            answer,
            "Re-encrypted {}.",
            size::count(sealed.conversations, "conversation", "conversations")
        )?;
    }
    answer.flush()?;
    if let Some(sealed) = sealed.filter(|sealed| sealed.damaged > 0) {
        let what = size::count(
            sealed.damaged,
            "conversation has records that do",
            "conversations have records that do",
        );
        context
            .manner
            .warn(&format!("{what} not open, and keep their keys"), Some("run `rejoin verify` to see which"));
    }
    if rotated.unreadable > 0 {
        let what = size::count(
            rotated.unreadable,
            "conversation has a key that does",
            "conversations have keys that do",
        );
        context.manner.warn(&format!("{what} not open"), Some("run `rejoin verify` to see which"));
    }
    for slot in &rotated.kept {
        let (why, hint) = if rotated.unreached.contains(slot) {
            (
                "its place did not answer",
                "unlock the keyring and run `rejoin vault rotate` again, or remove the slot",
            )
        } else {
            ("it is not on this machine", "rotate there too, or remove the slot")
        };
        context.manner.warn(
            &format!(
                "slot `{slot}` kept its secret, because {why}; an older copy of the vault opens with it"
            ),
            Some(hint),
        );
    }
    Ok(())
}

impl<'a> From<&'a Added> for NewSlotAnswer<'a> {
    fn from(added: &'a Added) -> Self {
        let recovery_key = added.recovery_key.as_ref().and_then(|key| key.as_text());
        Self { id: added.id, kind: added.kind, recovery_key }
    }
}

/// Tells recovery keys that no answer can tell.
pub(super) fn warn_of_keys(added: &[Added], context: &Context) {
    for key in added.iter().filter_map(|slot| slot.recovery_key.as_ref()).filter_map(|key| key.as_text()) {
        context
            .manner
            .warn(&format!("the slot was made; its recovery key is `{key}`"), Some("write it down"));
    }
}

/// Shows slots that were made. A recovery key that cannot be shown is told as a warning.
pub(super) fn show_added(added: &[Added], context: &Context) -> Result<(), Failure> {
    write_added(added, context).inspect_err(|_| warn_of_keys(added, context))
}

fn write_added(added: &[Added], context: &Context) -> Result<(), Failure> {
    let mut answer = context.answer();
    for slot in added {
        writeln!(answer, "Added the {} slot {}", slot.kind, slot.id)?;
        if let Some(key) = slot.recovery_key.as_ref().and_then(|key| key.as_text()) {
            writeln!(answer, "Recovery key, shown only once; write it down:\n\n  {key}\n")?;
        }
    }
    answer.flush()?;
    Ok(())
}
