//! `rejoin vault`: who can open what is kept, and sealing what is not.

mod beside;
mod convert;
mod noted;
mod slots;
mod status;
mod switch;
mod unfinished;

use clap::{Subcommand, ValueEnum};
use rejoin::vault::{Cost, NewSlot, SlotKind, VaultId};
use rejoin::{AuditAction, ErrorKind, StoreUrl};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::ui::consent::ConsentText;
use crate::ui::json::JsonText;
use crate::vault::{explain, new_passphrase_from};

/// Encrypt conversations and manage their keys
///
/// A vault encrypts everything: text, titles, projects, labels. A slot unlocks it: the system keyring, a
/// passphrase, a recovery key or a key file. Add at least two slots: if none works any more, the
/// conversations are lost.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin vault init                      A new vault, unlocked by the keyring
  rejoin vault add-slot recovery         A second slot: a key to write down
  rejoin vault encrypt                   Encrypt the existing conversations")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Init(slots::InitArgs),
    Status(status::Args),
    AddSlot(slots::AddArgs),
    RemoveSlot(slots::RemoveSlotArgs),
    Rotate(slots::RotateArgs),
    Accept(AcceptArgs),
    Encrypt(convert::EncryptArgs),
    Decrypt(convert::DecryptArgs),
}

/// Accept a vault that is older than expected or was replaced
///
/// Rejoin refuses a vault that is older than at its last use, and another vault or a plain store in its
/// place, because someone may have put it there. Run this if it was you. Shows the IDs of both vaults
/// and asks.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin vault accept")]
struct AcceptArgs {
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

/// What can open a vault, as it is typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kinds {
    /// The system keyring
    Keyring,
    /// A passphrase
    Passphrase,
    /// A recovery key, printed once
    Recovery,
    /// A key file; anyone who copies your disk has it too
    File,
}

impl Kinds {
    const fn kind(self) -> SlotKind {
        match self {
            Self::Keyring => SlotKind::Keyring,
            Self::Passphrase => SlotKind::Passphrase,
            Self::Recovery => SlotKind::Recovery,
            Self::File => SlotKind::File,
        }
    }
}

/// What is accepted and what was used before, as programs read it.
#[derive(Serialize)]
struct Accepted<'a> {
    accepted: JsonText<&'a StoreUrl>,
    vault: Option<VaultId>,
    before: Option<VaultId>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    match args.action {
        Action::Init(args) => slots::init(&args, context),
        Action::Status(args) => status::run(args, context),
        Action::AddSlot(args) => slots::add(&args, context),
        Action::RemoveSlot(args) => slots::remove(&args, context),
        Action::Rotate(args) => slots::rotate(&args, context),
        Action::Accept(args) => accept(&args, context),
        Action::Encrypt(args) => convert::encrypt(&args, context),
        Action::Decrypt(args) => convert::decrypt(&args, context),
    }
}

fn accept(args: &AcceptArgs, context: &Context) -> Result<(), Failure> {
    let (url, access) = (context.store_url()?, context.access()?);
    // A pin that does not read is replaced as well.
    let before = url.pinned(&access).unwrap_or_default();
    if before.is_none() {
        vault_url(context)?;
    }
    let found = url.path().filter(|path| path.exists()).and_then(|_| url.sealed().vault_status(&access).ok());
    let found = found.map(|status| status.vault);
    let (told, question) = told_to_accept(before, found);
    told.into_iter().for_each(|line| context.note(&line));
    context.confirm(&ConsentText::line(question), args.yes.into())?;
    url.accept(&access).map_err(|error| explain_keys(&url, error))?;
    if found.is_some() {
        let ids = [("vault", found), ("before", before)];
        let facts: Vec<_> =
            ids.iter().filter_map(|(name, id)| Some((*name, noted::fact(id.as_ref()?)))).collect();
        noted::audit(&url, AuditAction::Accepted, &facts, context);
    }
    if context.is_json() {
        return context.answer_json(&Accepted { accepted: JsonText(&url), vault: found, before });
    }
    context.note(if found.is_some() {
        "The vault is accepted as it is."
    } else {
        "No vault is expected here any more."
    });
    Ok(())
}

/// What is said of the vault that was used, by its id, and of the one that is there, and what is asked.
fn told_to_accept(before: Option<VaultId>, found: Option<VaultId>) -> (Vec<String>, &'static str) {
    let used = before.map(|before| format!("Vault used here before: {before}"));
    match (before, found) {
        (Some(before), Some(found)) if before != found => (
            used.into_iter().chain([format!("Vault that is here now: {found}")]).collect(),
            "It is another vault. Use it from now on?",
        ),
        (Some(_), None) => (
            used.into_iter().chain(["There is no vault here now.".to_owned()]).collect(),
            "Use what is here from now on?",
        ),
        (_, found) => (
            found.map(|found| format!("Vault: {found}")).into_iter().collect(),
            "Take the vault as it is, without what may be missing?",
        ),
    }
}

/// The vault of this run.
fn vault_url(context: &Context) -> Result<StoreUrl, Failure> {
    match context.store_url()? {
        url @ StoreUrl::Vault(_) => Ok(url),
        url => {
            let begin =
                "run `rejoin vault init` to make one, or `rejoin vault encrypt` to seal what is there";
            let hint = beside::hint(&url, context).unwrap_or_else(|| begin.to_owned());
            Err(Failure::invalid(format!("`{url}` is not a vault")).hint(hint))
        }
    }
}

/// A failure of keys, with what to do about it.
fn explain_keys(url: &StoreUrl, error: rejoin::Error) -> Failure {
    match error.kind() {
        ErrorKind::Unavailable => Failure::from(error).or_hint(
            "unlock the system keyring, or use another kind of slot: `passphrase`, `recovery` or `file`",
        ),
        ErrorKind::Invalid => Failure::from(error),
        _ => explain(url, error),
    }
}

/// What a slot of a kind is made of; a passphrase is asked for.
fn new_slot(
    kind: SlotKind,
    passphrase: impl FnOnce() -> Result<rejoin::vault::Secret, Failure>,
) -> Result<NewSlot, Failure> {
    match kind {
        SlotKind::Keyring => Ok(NewSlot::Keyring),
        SlotKind::Passphrase => Ok(NewSlot::Passphrase(passphrase()?, Cost::default())),
        SlotKind::Recovery => Ok(NewSlot::Recovery),
        SlotKind::File => Ok(NewSlot::File),
    }
}
