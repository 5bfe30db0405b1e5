//! The key of the hashes in markers: whether it is where it belongs, can be read, and is nobody else's.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rejoin::{Ailment, Archive, Search, StoreUrl};

use crate::commands::doctor::finding::{CheckFinding, CheckState};
use crate::commands::doctor::remedy::{quoted, remedy};
use crate::context::Context;
use crate::error::Failure;
use crate::redaction::{kept_key, key_file};

const NAME: &str = "redaction";

/// How many messages are looked at for a marker: whoever only speaks of redaction has none.
const LOOKED_AT: usize = 100;

/// Looks at the key of a plain store; a vault makes its own.
pub(super) fn check(context: &Context, url: &StoreUrl) -> Vec<CheckFinding> {
    let (StoreUrl::Sqlite(_) | StoreUrl::Jsonl(_)) = url else { return Vec::new() };
    let file = match key_file(context) {
        Ok(file) => file,
        Err(failure) => return vec![CheckFinding::failed(NAME, &failure)],
    };
    let mut findings = Vec::new();
    match kept_key(&file) {
        Ok(Some(_)) => findings.push(check_mode(&file)),
        Ok(None) => findings.push(check_missing(context, &file)),
        Err(error) => {
            let shown = quoted(&file);
            let remedy = format!(
                "run `ls -l {shown}`; put a copy back there, or run `mv {shown} {shown}.old` for a new one"
            );
            let message =
                Failure::from(error).summary() + "; equal secrets get different digits until it can be read";
            findings.push(CheckFinding::problem(NAME, message, remedy));
        }
    }
    // A store in trouble is told elsewhere.
    let is_inside = context.archive_to_read().and_then(|archive| Ok(archive.redaction().holds_key()?));
    if is_inside.unwrap_or(false) {
        findings.push(finding(Ailment::KeyInside, &file));
    }
    findings
}

fn check_mode(file: &Path) -> CheckFinding {
    let mode = fs::metadata(file).map_or(0o600, |metadata| metadata.mode() & 0o777);
    if mode & 0o077 == 0 {
        return CheckFinding::ok(NAME, format!("its key is {}", file.display()));
    }
    finding(Ailment::OpenToOthers { path: file.to_owned(), mode, wanted: 0o600 }, file)
}

fn finding(ailment: Ailment, file: &Path) -> CheckFinding {
    CheckFinding {
        name: NAME,
        state: CheckState::from(ailment.severity()),
        message: ailment.to_string(),
        remedy: remedy(&ailment, file),
        ailment: Some(ailment),
    }
}

/// A key that is missing where nothing was taken out is made when it is needed.
fn check_missing(context: &Context, file: &Path) -> CheckFinding {
    let has_markers = context.archive_to_read().and_then(|archive| has_markers(&archive));
    if !has_markers.unwrap_or(false) {
        return CheckFinding::ok(NAME, "no key yet; the first secret makes one");
    }
    let message = format!(
        "the key `{}` is missing: secrets that were said before get other digits when they are said again",
        file.display()
    );
    CheckFinding::warning(
        NAME,
        message,
        format!("run `cp COPY {}` if there is a copy; else the next secret makes one", quoted(file)),
    )
}

fn has_markers(archive: &Archive) -> Result<bool, Failure> {
    let found =
        archive.search(&Search { text: "redacted".to_owned(), limit: LOOKED_AT, ..Search::default() })?;
    for hit in found.items {
        if hit.read()?.privacy.is_some_and(|notes| !notes.redaction_rules.is_empty()) {
            return Ok(!archive.redaction().holds_key()?);
        }
    }
    Ok(false)
}
