//! Asking for what opens a vault: at the terminal without showing it, or from a file. Never from the
//! command line, which other programs can see.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rejoin::store::Foreign;
use rejoin::vault::{Cost, NewSlot, Secret, SlotKind, UnlockRequest, UnlockResponse};
use rejoin::{Error, ErrorKind, Result};

use crate::context::{Context, Manner, Notes};
use crate::error::{Failure, Kind};
use crate::private;
use crate::surroundings::Surroundings;
use crate::ui::{clean, secret};

/// Longer than any passphrase; more is a file that was given by mistake.
const LONGEST: u64 = 16 * 1024;

/// How many letters and digits a recovery key has.
const RECOVERY_LENGTH: usize = 56;

/// Asks for what opens a vault.
#[derive(Clone, Debug)]
pub(super) struct SecretAsker {
    file: Option<PathBuf>,
    is_attended: bool,
    notes: Notes,
    /// What was typed for a vault that this run made.
    new_passphrase: Arc<OnceLock<Secret>>,
}

impl SecretAsker {
    pub(super) fn new(
        surroundings: &Surroundings,
        manner: Manner,
        new_passphrase: Arc<OnceLock<Secret>>,
    ) -> Self {
        let is_attended = surroundings.terminal.stdin && surroundings.terminal.stderr;
        Self { file: surroundings.passphrase_file(), is_attended, notes: manner.notes, new_passphrase }
    }

    pub(super) fn ask(&self, wanted: &UnlockRequest) -> Result<Option<UnlockResponse>> {
        if let Some(path) = &self.file {
            // What did not fit does not fit the second time either.
            let given = (wanted.attempt == 1).then(|| read_file(path)).transpose();
            return Ok(given.map_err(as_error)?.map(|given| answer(given, wanted)));
        }
        let typed = self.new_passphrase.get().filter(|_| wanted.attempt == 1);
        if let Some(typed) = typed.filter(|_| wanted.kinds.contains(&SlotKind::Passphrase)) {
            return Ok(Some(UnlockResponse::Passphrase(typed.clone())));
        }
        if !self.is_attended {
            return Ok(None);
        }
        if self.notes == Notes::Shown {
            let told = match wanted.attempt {
                1 => wanted.obstacles.join("; "),
                _ => "That did not open it.".to_owned(),
            };
            if !told.is_empty() {
                let _ = writeln!(io::stderr(), "{}", clean::block(&told));
            }
        }
        match secret::ask(&prompt(wanted)) {
            Ok(typed) => Ok(Some(answer(typed, wanted))),
            // Nothing was typed: whoever was asked gave up.
            Err(_) => Ok(None),
        }
    }
}

fn prompt(wanted: &UnlockRequest) -> String {
    match wanted.kinds.as_slice() {
        [SlotKind::Recovery] => "Recovery key of the vault: ".to_owned(),
        [SlotKind::Passphrase] => "Passphrase of the vault: ".to_owned(),
        _ => "Passphrase or recovery key of the vault: ".to_owned(),
    }
}

/// What was given is taken for a recovery key where it looks like one, or nothing else would open the vault.
fn answer(given: Secret, wanted: &UnlockRequest) -> UnlockResponse {
    let has = |kind| wanted.kinds.contains(&kind);
    let letters = given.as_text().map_or(0, |text| text.chars().filter(char::is_ascii_alphanumeric).count());
    let is_recovery = has(SlotKind::Recovery) && (letters == RECOVERY_LENGTH || !has(SlotKind::Passphrase));
    if is_recovery { UnlockResponse::Recovery(given) } else { UnlockResponse::Passphrase(given) }
}

/// Asks for a new passphrase twice, or takes it from the file that was named to open the vault with.
pub(crate) fn new_passphrase(context: &Context) -> std::result::Result<Secret, Failure> {
    if let Some(path) = context.surroundings.passphrase_file() {
        return read_file(&path);
    }
    ask_new(context)
}

/// The same, from a file of its own.
pub(crate) fn new_passphrase_from(
    file: Option<&Path>,
    context: &Context,
) -> std::result::Result<Secret, Failure> {
    match file {
        Some(path) => read_file(&context.surroundings.working_directory.join(path)),
        None => ask_new(context),
    }
}

fn ask_new(context: &Context) -> std::result::Result<Secret, Failure> {
    let terminal = context.surroundings.terminal;
    if !terminal.stdin || !terminal.stderr {
        return Err(Failure::new(
            Kind::NotConfirmed,
            "cannot ask for a passphrase: not running in a terminal",
        )
        .hint("write it to a file that only you can read, and pass that with `--passphrase-file`"));
    }
    let first = secret::ask("New passphrase: ")?;
    NewSlot::Passphrase(first.clone(), Cost::default()).check()?;
    let second = secret::ask("Once more: ")?;
    if first.as_bytes() != second.as_bytes() {
        return Err(Failure::invalid("the two are not the same, so nothing was changed"));
    }
    // A second one is for another slot of the same vault, which the first one opens.
    let _ = context.new_passphrase.set(first.clone());
    Ok(first)
}

/// The first line of a file that only its owner can read.
fn read_file(path: &Path) -> std::result::Result<Secret, Failure> {
    let attempt = || format!("read the passphrase from `{}`", path.display());
    let file = File::open(path).map_err(|error| Failure::io(attempt(), error))?;
    let metadata = file.metadata().map_err(|error| Failure::io(attempt(), error))?;
    // A pipe of a shell has neither an owner nor permissions that would say anything.
    let foreign =
        Foreign::check(path, &metadata).filter(|foreign| metadata.is_file() && foreign.is_of_another());
    if let Some(foreign) = foreign {
        return Err(private::refusal(attempt(), &foreign));
    }
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        return Err(Failure::new(Kind::Denied, attempt())
            .because("others can read it")
            .hint(format!("run `chmod 600 {}`", path.display())));
    }
    let mut bytes = Vec::with_capacity(LONGEST as usize + 1);
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| Failure::io(attempt(), error))?;
    let bytes = Secret::new(bytes);
    if bytes.as_bytes().len() as u64 > LONGEST {
        return Err(Failure::invalid(attempt()).because("it is too long for a passphrase"));
    }
    let line = bytes.as_bytes().split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
    if line.is_empty() {
        return Err(Failure::invalid(attempt()).because("its first line is empty"));
    }
    Ok(Secret::new(line.to_vec()))
}

fn as_error(failure: Failure) -> Error {
    Error::new(ErrorKind::Denied, failure.summary())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(kinds: &[SlotKind], given: &str) -> &'static str {
        let vault = serde_json::from_str("\"00000000000000000000000000000000\"").unwrap();
        let wanted = UnlockRequest { vault, kinds: kinds.to_vec(), obstacles: Vec::new(), attempt: 1 };
        match answer(Secret::from(given.to_owned()), &wanted) {
            UnlockResponse::Passphrase(_) => "passphrase",
            UnlockResponse::Recovery(_) => "recovery",
        }
    }

    #[test]
    fn a_recovery_key_is_recognised_where_there_is_a_slot_for_one() {
        let key = "0000-".repeat(14);
        let both = [SlotKind::Passphrase, SlotKind::Recovery];

        let taken = [
            taken(&both, &key),
            taken(&both, "correct horse"),
            taken(&[SlotKind::Passphrase], &key),
            taken(&[SlotKind::Recovery], "0000"),
        ];

        assert_eq!(taken, ["recovery", "passphrase", "passphrase", "recovery"]);
    }
}
