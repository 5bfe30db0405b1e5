//! What is taken out before anything is stored: as the configuration says, and as a person is told.

use std::io;
use std::path::{Path, PathBuf};

use rejoin::{Archive, ErrorKind, Personal, Redacted, Redaction};

use crate::context::Context;
use crate::durable::{self, ExistingFile};
use crate::error::Failure;
use crate::project_file::{FileReading, read_own};
use crate::ui::size;

/// What the configuration wants to be taken out; none when it wants nothing.
pub(crate) fn wanted(context: &Context) -> Result<Option<Redaction>, Failure> {
    if !context.config.redact_enabled() {
        return Ok(None);
    }
    let kinds = context.config.redact_personal().iter().map(|kind| kind.parse::<Personal>());
    let mut redaction = Redaction::new().with_personal(kinds.collect::<rejoin::Result<Vec<_>>>()?);
    for pattern in context.config.redact_patterns() {
        redaction = redaction.with_pattern(pattern)?;
    }
    Ok(Some(redaction))
}

/// Where the key of the hashes in markers is kept: not beside the store, so that its files alone
/// do not tell whether a guess is right.
pub(crate) fn key_file(context: &Context) -> Result<PathBuf, Failure> {
    Ok(context.surroundings.state_directory()?.join("redact.key"))
}

/// Lets an archive keep that key in a file that only its owner can read. It is made when it is first needed;
/// of two who make it at once, both use that of the first.
pub(crate) fn keeping_key(archive: Archive, file: PathBuf) -> Archive {
    archive.keeping_redaction_key(move |given| match kept_key(&file)? {
        Some(kept) => Ok(kept),
        None => match durable::place(&file, &given, ExistingFile::Stays) {
            Ok(()) => Ok(given),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                kept_key(&file)?.ok_or_else(|| unavailable("the key of redaction was there and is gone"))
            }
            Err(error) => Err(unavailable("keep the key of redaction").because(error)),
        },
    })
}

/// The key in a file; none when there is no file.
pub(crate) fn kept_key(file: &Path) -> rejoin::Result<Option<[u8; 32]>> {
    let invalid = || {
        let message = format!("the key of redaction `{}` does not have 32 bytes", file.display());
        rejoin::Error::new(ErrorKind::Invalid, message)
    };
    match read_own(file, 32) {
        FileReading::Absent => Ok(None),
        FileReading::Content(content) if content.is_whole => {
            content.bytes.try_into().map(Some).map_err(|_| invalid())
        }
        FileReading::Content(_) | FileReading::Irregular | FileReading::Outside => Err(invalid()),
        FileReading::Foreign(foreign) => Err(unavailable("read the key of redaction").because(foreign)),
        FileReading::Failed(error) => Err(unavailable("read the key of redaction").because(error)),
    }
}

fn unavailable(attempt: &str) -> rejoin::Error {
    rejoin::Error::new(ErrorKind::Unavailable, attempt)
}

/// What was taken out during a turn.
#[derive(Debug, Default)]
pub(crate) struct TakenSecrets(Vec<Redacted>);

impl TakenSecrets {
    /// Adds what was taken out of one append.
    pub(crate) fn add(&mut self, more: &[Redacted]) {
        for one in more {
            match self.0.iter_mut().find(|own| own.rule == one.rule) {
                Some(own) => own.count += one.count,
                None => self.0.push(one.clone()),
            }
        }
    }

    /// The sentence that tells it; none when there is nothing to tell.
    pub(crate) fn told(&self) -> Option<String> {
        told(&self.0)
    }
}

/// The sentence that tells what was taken out; none when nothing was.
pub(crate) fn told(redacted: &[Redacted]) -> Option<String> {
    let count: u64 = redacted.iter().map(|one| one.count).sum();
    let rules: Vec<String> = redacted
        .iter()
        .map(|one| match one.count {
            1 => one.rule.clone(),
            count => format!("{} ({count})", one.rule),
        })
        .collect();
    let values = size::count(count, "secret is", "secrets are");
    (count > 0).then(|| format!("{values} not stored; a marker stands there instead: {}.", rules.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_out_is_told_once_with_its_rules() {
        let one = |rule: &str, count| Redacted { rule: rule.to_owned(), count };
        let mut taken = TakenSecrets::default();

        let before = taken.told();
        taken.add(&[one("github-token", 1)]);
        taken.add(&[one("github-token", 1), one("env-line", 1)]);

        assert_eq!(before, None);
        let expected = "3 secrets are not stored; a marker stands there instead: github-token (2), env-line.";
        assert_eq!(taken.told().as_deref(), Some(expected));
    }
}
