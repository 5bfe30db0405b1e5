//! `rejoin vault encrypt` and `decrypt`: everything into another store, compared, and the old one erased.

use std::io::Write;
use std::path::Path;

use rejoin::vault::Added;
use rejoin::{AuditAction, Converted, ErrorKind, Existing, Leftover, StoreUrl, Time};
use serde::Serialize;

use crate::commands::backup;
use crate::commands::vault::noted::{audit, fact};
use crate::commands::vault::switch::use_store;
use crate::commands::vault::unfinished::Unfinished;
use crate::commands::vault::{Kinds, beside, explain_keys, new_slot, slots, vault_url};
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::ui::consent::ConsentText;
use crate::ui::json::JsonText;
use crate::ui::progress::Unit;
use crate::vault::{explain, new_passphrase};

/// Encrypt the existing conversations
///
/// Copies everything to a vault next to the store, checks every digest and compares the two. Then asks
/// whether to erase the plain store. If it is interrupted, run the same command again to resume. Erasing
/// a file gives no guarantee on an SSD or on a file system that keeps old versions.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin vault encrypt
  rejoin vault encrypt --slot passphrase --slot recovery
  rejoin --store sqlite:old.db vault encrypt --to vault+jsonl:sealed")]
pub(super) struct EncryptArgs {
    /// The vault to create or resume
    #[arg(long, value_name = "URL")]
    to: Option<String>,

    /// What unlocks the vault; can be repeated
    #[arg(long, value_name = "KIND", value_enum, default_value = "keyring")]
    slot: Vec<Kinds>,

    /// Erase the plain store without asking
    #[arg(long, conflicts_with = "keep")]
    yes: bool,

    /// Keep the plain store
    #[arg(long)]
    keep: bool,
}

/// Copy the conversations of a vault to a plain store
///
/// Checks and compares the copy, then asks whether to erase the vault. If it is interrupted, run the
/// same command again to resume.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin vault decrypt
  rejoin vault decrypt --to jsonl:notes --keep")]
pub(super) struct DecryptArgs {
    /// The plain store to create or resume
    #[arg(long, value_name = "URL")]
    to: Option<String>,

    /// Erase the vault without asking
    #[arg(long, conflicts_with = "keep")]
    yes: bool,

    /// Keep the vault
    #[arg(long)]
    keep: bool,
}

/// What was copied, and where conversations are kept now, as programs read it.
#[derive(Serialize)]
struct Moved<'a> {
    #[serde(flatten)]
    held: backup::BackupContents,
    #[serde(flatten)]
    now: ConvertAnswer<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slots: Vec<slots::NewSlotAnswer<'a>>,
}

/// Where conversations are kept, and whether the old store is erased.
#[derive(Serialize)]
struct ConvertAnswer<'a> {
    store: JsonText<&'a StoreUrl>,
    erased: bool,
}

/// How often a store that is written to meanwhile is copied on before it is not erased.
const ATTEMPTS: usize = 3;

/// What becomes of the store that was copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Old {
    Ask,
    Erase,
    Keep,
}

impl Old {
    const fn of(yes: bool, keep: bool) -> Self {
        match (yes, keep) {
            (_, true) => Self::Keep,
            (true, false) => Self::Erase,
            (false, false) => Self::Ask,
        }
    }
}

pub(super) fn encrypt(args: &EncryptArgs, context: &Context) -> Result<(), Failure> {
    let used = absolute(&context.store_url()?, context);
    let (from, to) = match interrupted(args.to.as_deref(), &used, context)? {
        Some(ends) => ends,
        None => (used.clone(), target(args.to.as_deref(), &used, context)?),
    };
    if let StoreUrl::Vault(_) = &from {
        return Err(sealed_already(&from, context));
    }
    if !matches!(to, StoreUrl::Vault(_)) {
        return Err(Failure::invalid(format!("`{to}` is not a vault")).hint(format!("use `{}`", to.sealed())));
    }
    if is_erased(&from, &to, context)? {
        return erase_rest(&from, &to, context);
    }
    if !from.path().is_some_and(Path::exists) {
        return Err(Failure::not_found(format!("no store at `{from}`"))
            .hint("run `rejoin vault init` to create a vault"));
    }
    let mut noted = Unfinished::begin(&from, &to, context)?;
    let added = make_vault(args, &to, &mut noted, context)?;
    let moved = move_all(&from, &to, Old::of(args.yes, args.keep), &added, noted, context);
    if context.is_json() {
        // What the answer would have had is shown nowhere else.
        return moved.inspect_err(|_| slots::warn_of_keys(&added, context));
    }
    moved?;
    let status = to.vault_status(&context.access()?).map_err(|error| explain_keys(&to, error))?;
    slots::suggest_second(status.slots.iter().map(|slot| slot.kind), context);
    Ok(())
}

pub(super) fn decrypt(args: &DecryptArgs, context: &Context) -> Result<(), Failure> {
    let used = absolute(&context.store_url()?, context);
    let (from, to) = match interrupted(args.to.as_deref(), &used, context)? {
        Some(ends) => ends,
        None => {
            let from = absolute(&vault_url(context)?, context);
            let to = target(args.to.as_deref(), &from, context)?;
            (from, to)
        }
    };
    if matches!(to, StoreUrl::Vault(_)) {
        return Err(Failure::invalid(format!("`{to}` is a vault")));
    }
    if is_erased(&from, &to, context)? {
        return erase_rest(&from, &to, context);
    }
    let noted = Unfinished::begin(&from, &to, context)?;
    move_all(&from, &to, Old::of(args.yes, args.keep), &[], noted, context)
}

/// The conversion that was interrupted after the configuration had named the new
/// store, by its old store and its new one.
fn interrupted(
    named: Option<&str>,
    used: &StoreUrl,
    context: &Context,
) -> Result<Option<(StoreUrl, StoreUrl)>, Failure> {
    let to = match named {
        Some(_) => target(named, used, context)?,
        None => used.clone(),
    };
    if to != *used {
        return Ok(None);
    }
    let noted = Unfinished::into(&to, context)?;
    noted.map(|noted| Ok((noted.from()?, to))).transpose()
}

/// Refuses to seal a vault, with what to do about the store that it was made of.
fn sealed_already(vault: &StoreUrl, context: &Context) -> Failure {
    let failure = Failure::invalid(format!("`{vault}` is a vault already"));
    match beside::source_of(vault, context) {
        Some(plain) => failure.hint(format!(
            "the store it was made of is still there in the clear; run `rejoin --store {plain} vault encrypt` to copy \
             what it holds and erase it"
        )),
        None => failure,
    }
}

/// Makes the vault, unless an earlier attempt made it, and tells its slots.
/// With JSON they are part of the answer.
fn make_vault(
    args: &EncryptArgs,
    url: &StoreUrl,
    noted: &mut Unfinished,
    context: &Context,
) -> Result<Vec<Added>, Failure> {
    let access = context.access()?;
    // One that is half erased is not opened: that could make an empty store of it.
    if url.path().is_some_and(Path::exists) && !url.is_half_erased() {
        let status = url.vault_status(&access);
        let is_empty = url.contents().is_ok_and(|held| held.is_some_and(|held| held.conversations == 0));
        match status {
            Ok(status) => {
                if !noted.is_told && !is_empty {
                    context.manner.warn(
                        "an earlier attempt made the vault, and may not have told what opens it",
                        Some("run `rejoin vault status`, and add a slot whose secret you have"),
                    );
                }
                if noted.is_told || !is_empty {
                    noted.note_vault(None, context)?;
                    return Ok(Vec::new());
                }
                // An earlier attempt ended before it could tell what opens the vault, so perhaps nobody can.
                // What is kept elsewhere for it is noted first: soon its record cannot be read any more.
                noted.note_vault(Some(status), context)?;
                url.erase()?;
            }
            // Another command has opened what was left, and made an empty store of it.
            Err(_) if noted.vault.is_some() && is_empty => url.erase()?,
            Err(_) => {}
        }
    }
    if noted.vault.is_some() {
        url.erase_rest(noted.vault.as_ref(), &access)?;
        noted.note_vault(None, context)?;
    }
    let mut wanted = Vec::new();
    for kind in &args.slot {
        wanted.push(new_slot(kind.kind(), || new_passphrase(context))?);
    }
    let keys = url.keys(&access, Existing::Optional).map_err(|error| explain_keys(url, error))?;
    let added = keys.create(&wanted, Time::now()).map_err(|error| match error.kind() {
        ErrorKind::Conflict => Failure::from(error).hint("name another place with `--to`"),
        _ => explain_keys(url, error),
    })?;
    if !context.is_json() {
        slots::show_added(&added, context)?;
        noted.is_told = true;
        noted.write(context)?;
    }
    Ok(added)
}

fn move_all(
    from: &StoreUrl,
    to: &StoreUrl,
    old: Old,
    added: &[Added],
    mut noted: Unfinished,
    context: &Context,
) -> Result<(), Failure> {
    let mut converted = copy_all(from, to, context)?;
    let switched = use_store(to, context)?;
    catch_up(from, to, &mut converted, context)?;
    if !context.is_json() {
        // Whoever is asked about the old store knows by then that nothing in it is lost.
        let mut answer = context.answer();
        writeln!(
            answer,
            "Copied {}, and compared every one of them with the original: the copy is complete.",
            backup::told(&converted.contents)
        )?;
        answer.flush()?;
    }
    let erased = old != Old::Keep && is_wanted(from, old, context) && {
        if matches!(from, StoreUrl::Vault(_)) {
            noted.vault = Some(from.vault_status(&context.access()?)?);
        }
        noted.is_copied = true;
        noted.write(context)?;
        erase(from, to, &mut converted, context)?;
        true
    };
    audit(to, action(to), &[("conversations", fact(&converted.contents.conversations))], context);
    noted.end(context)?;
    if context.is_json() {
        return context.answer_json(&Moved {
            held: backup::BackupContents::from(&converted.contents),
            now: ConvertAnswer { store: JsonText(to), erased },
            slots: added.iter().map(slots::NewSlotAnswer::from).collect(),
        });
    }
    context.note(&format!("Conversations are kept in {to}"));
    switched.note(context);
    context.note(&match erased {
        true => format!("Erased the old store: {from}"),
        false => format!("The old store still exists: {from}"),
    });
    Ok(())
}

/// Copies and compares, and shows how far it is.
fn copy_all(from: &StoreUrl, to: &StoreUrl, context: &Context) -> Result<Converted, Failure> {
    let mut progress = None;
    let mut last = (None, 0);
    let access = context.access()?;
    let converted = from.convert(to, &access, &mut |stage, done, all| {
        if last.0 != Some(stage) || done < last.1 {
            drop(progress.take());
            let doing = if stage == rejoin::Stage::Copying { "Copying" } else { "Checking" };
            progress = Some(context.progress(doing, Unit::Items, Some(all)));
            last = (Some(stage), 0);
        }
        if let Some(progress) = &mut progress {
            progress.advance(done.saturating_sub(last.1));
        }
        last.1 = done;
    });
    drop(progress);
    converted.map_err(|error| match error.kind() {
        ErrorKind::Conflict => explain(to, error).or_hint("name another place with `--to`"),
        _ => explain(to, error).or_hint("run it again to resume"),
    })
}

/// Copies what was written to the old store until the configuration named the new one. Whoever wrote to it
/// later is not told that it is saved ([`Context::refuse_switched`]).
fn catch_up(
    from: &StoreUrl,
    to: &StoreUrl,
    converted: &mut Converted,
    context: &Context,
) -> Result<(), Failure> {
    let access = context.access()?;
    for _ in 0..ATTEMPTS {
        if from.is_as_converted(converted, &access)? {
            return Ok(());
        }
        *converted = copy_all(from, to, context)?;
    }
    Err(Failure::new(Kind::Conflict, format!("`{from}` is still written to"))
        .hint("stop the programs that write to it and run the same command again"))
}

fn is_wanted(from: &StoreUrl, old: Old, context: &Context) -> bool {
    old != Old::Ask
        || context.confirm(&ConsentText::line(&format!("Erase the old store {from}?")), false.into()).is_ok()
}

/// Erases the old store, after what was written to it meanwhile was copied as well.
fn erase(
    from: &StoreUrl,
    to: &StoreUrl,
    converted: &mut Converted,
    context: &Context,
) -> Result<(), Failure> {
    let access = context.access()?;
    let mut attempt = 1;
    let left = loop {
        match from.erase_converted(converted, &access) {
            Ok(left) => break left,
            Err(error) if error.kind() == ErrorKind::Conflict && attempt < ATTEMPTS => {
                *converted = copy_all(from, to, context)?;
                attempt += 1;
            }
            Err(error) => {
                return Err(match error.kind() {
                    ErrorKind::Locked => Failure::from(error).hint(
                        "everything was copied; stop that program and run the same command again to erase the old store",
                    ),
                    ErrorKind::Conflict => Failure::from(error)
                        .hint("stop the programs that write to it and run the same command again"),
                    _ => Failure::from(error),
                });
            }
        }
    };
    left.map_or(Ok(()), |left| tell_leftover(&left, context))
}

/// What a conversion into a store is called in the audit log.
fn action(to: &StoreUrl) -> AuditAction {
    if matches!(to, StoreUrl::Vault(_)) { AuditAction::Encrypted } else { AuditAction::Decrypted }
}

/// True when everything was copied, and erasing the old store was begun.
fn is_erased(from: &StoreUrl, to: &StoreUrl, context: &Context) -> Result<bool, Failure> {
    if !to.path().is_some_and(Path::exists) {
        return Ok(false);
    }
    let noted = Unfinished::into(to, context)?;
    let is_gone = !from.path().is_some_and(Path::exists);
    Ok(match noted {
        Some(noted) => noted.is_copied && (is_gone || from.is_half_erased()),
        // One that was begun without a note.
        None => !is_gone && from.is_half_erased(),
    })
}

/// Goes on with erasing an old store, and with what follows.
fn erase_rest(from: &StoreUrl, to: &StoreUrl, context: &Context) -> Result<(), Failure> {
    let noted = Unfinished::into(to, context)?;
    let vault = noted.as_ref().and_then(|noted| noted.vault.as_ref());
    if let Some(left) = from.erase_rest(vault, &context.access()?)? {
        tell_leftover(&left, context)?;
    }
    use_store(to, context)?.note(context);
    audit(to, action(to), &[], context);
    noted.map_or(Ok(()), |noted| noted.end(context))?;
    if context.is_json() {
        return context.answer_json(&ConvertAnswer { store: JsonText(to), erased: true });
    }
    let mut answer = context.answer();
    writeln!(answer, "Erased what was left of {from}.")?;
    answer.flush()?;
    context.note(&format!("Conversations are kept in {to}"));
    Ok(())
}

/// Says what is left of a vault outside of its store, that opens nothing but copies of it.
fn tell_leftover(left: &Leftover, context: &Context) -> Result<(), Failure> {
    let keys = context.surroundings.state_directory()?.join("keys");
    for slot in &left.key_files {
        let file = keys.join(format!("{}-{slot}.key", left.vault));
        context.note(&format!(
            "Its key file opens copies of the vault; remove it when there are none: {}",
            file.display()
        ));
    }
    for slot in &left.secrets {
        context.manner.warn(
            &format!("the secret of slot `{slot}` is still in the keyring, which did not answer"),
            Some("remove it there; it opens nothing but copies of the vault"),
        );
    }
    Ok(())
}

/// The same store, wherever it is named from.
fn absolute(url: &StoreUrl, context: &Context) -> StoreUrl {
    let here = &context.surroundings.working_directory;
    match url {
        StoreUrl::Sqlite(path) => StoreUrl::Sqlite(here.join(path)),
        StoreUrl::Jsonl(path) => StoreUrl::Jsonl(here.join(path)),
        StoreUrl::Vault(inner) => absolute(inner, context).sealed(),
        other => other.clone(),
    }
}

/// The store to copy to: the one that was named, or one beside the old one.
fn target(named: Option<&str>, from: &StoreUrl, context: &Context) -> Result<StoreUrl, Failure> {
    if let Some(named) = named {
        return Ok(absolute(&StoreUrl::parse(named)?, context));
    }
    match from {
        StoreUrl::Sqlite(path) => Ok(StoreUrl::Sqlite(beside::sealed(path)).sealed()),
        StoreUrl::Jsonl(root) => Ok(StoreUrl::Jsonl(beside::sealed(root)).sealed()),
        StoreUrl::Vault(inner) => match inner.as_ref() {
            StoreUrl::Sqlite(path) => Ok(StoreUrl::Sqlite(beside::plain(path))),
            StoreUrl::Jsonl(root) => Ok(StoreUrl::Jsonl(beside::plain(root))),
            other => {
                Err(Failure::invalid(format!("`{other}` cannot be copied")).hint("name a store with `--to`"))
            }
        },
        other => {
            Err(Failure::invalid(format!("`{other}` cannot be copied")).hint("name a store with `--to`"))
        }
    }
}
