//! The configuration: whether it can be read, who may change it, and what of it counts.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rejoin::Ailment;

use crate::commands::doctor::finding::{CheckFinding, CheckState};
use crate::commands::doctor::remedy::remedy;
use crate::config::{Config, ConfigOverrides};
use crate::context::Context;

pub(super) fn check(context: &Context) -> Vec<CheckFinding> {
    // It is read again: the one this run has may be the built-in one that stands in for a broken one.
    let project = Some(context.config.project().to_owned());
    let loaded =
        Config::load(&context.surroundings, &ConfigOverrides { project, ..ConfigOverrides::default() });
    let mut findings = vec![match &loaded {
        Ok(_) => describe(context),
        Err(failure) => CheckFinding::failed("configuration", failure),
    }];
    if let Ok(path) = context.surroundings.user_config_file() {
        findings.extend(check_permissions(&path));
    }
    findings.extend(loaded.iter().filter_map(check_persistence));
    findings.extend(loaded.iter().flat_map(check_trust));
    findings
}

fn describe(context: &Context) -> CheckFinding {
    match context.surroundings.user_config_file() {
        Ok(path) if path.exists() => CheckFinding::ok("configuration", path.display().to_string()),
        _ => CheckFinding::ok("configuration", "no file of your own; the defaults apply"),
    }
}

/// Others may see what is configured, though it is better if not. They must not be able to change it.
fn check_permissions(path: &Path) -> Option<CheckFinding> {
    let mode = fs::metadata(path).ok()?.mode() & 0o777;
    if mode & 0o077 == 0 {
        return None;
    }
    let ailment = Ailment::OpenToOthers { path: path.to_owned(), mode, wanted: mode & 0o700 };
    let state = if mode & 0o022 == 0 { CheckState::Warning } else { CheckState::Problem };
    Some(CheckFinding {
        name: "permissions",
        state,
        message: ailment.to_string(),
        remedy: remedy(&ailment, path),
        ailment: Some(ailment),
    })
}

fn check_persistence(config: &Config) -> Option<CheckFinding> {
    let finding = || {
        let remedy = "run `rejoin config set persistence.enabled true` to turn it on";
        CheckFinding::warning("configuration", "saving conversations is turned off", remedy)
    };
    (!config.persistence_enabled()).then(finding)
}

fn check_trust(config: &Config) -> Vec<CheckFinding> {
    let ignored: Vec<CheckFinding> = config
        .warnings()
        .into_iter()
        .map(|warning| {
            let finding = CheckFinding::warning("trust", warning.message, "");
            CheckFinding { remedy: warning.hint, ..finding }
        })
        .collect();
    if ignored.is_empty() && config.project_file().exists() {
        return vec![CheckFinding::ok("trust", "everything in the project's own file counts")];
    }
    ignored
}
