//! The configuration: whether it can be read, who may change it, and what of it counts.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rejoin::Ailment;

use crate::commands::doctor::finding::{Finding, State};
use crate::commands::doctor::remedy::remedy;
use crate::config::{Config, Overrides};
use crate::context::Context;

pub(super) fn check(context: &Context) -> Vec<Finding> {
    // It is read again: the one this run has may be the built-in one that stands in for a broken one.
    let project = Some(context.config.project().to_owned());
    let loaded = Config::load(&context.surroundings, &Overrides { project, ..Overrides::default() });
    let mut findings = vec![match &loaded {
        Ok(_) => describe(context),
        Err(failure) => Finding::failed("configuration", failure),
    }];
    if let Ok(path) = context.surroundings.user_config_file() {
        findings.extend(check_permissions(&path));
    }
    findings.extend(loaded.iter().filter_map(check_persistence));
    findings.extend(loaded.iter().flat_map(check_trust));
    findings
}

fn describe(context: &Context) -> Finding {
    match context.surroundings.user_config_file() {
        Ok(path) if path.exists() => Finding::ok("configuration", path.display().to_string()),
        _ => Finding::ok("configuration", "no file of your own; the defaults apply"),
    }
}

/// Others may see what is configured, though it is better if not. They must not be able to change it.
fn check_permissions(path: &Path) -> Option<Finding> {
    let mode = fs::metadata(path).ok()?.mode() & 0o777;
    if mode & 0o077 == 0 {
        return None;
    }
    let ailment = Ailment::OpenToOthers { path: path.to_owned(), mode, wanted: mode & 0o700 };
    let state = if mode & 0o022 == 0 { State::Warning } else { State::Problem };
    Some(Finding {
        name: "permissions",
        state,
        message: ailment.to_string(),
        remedy: remedy(&ailment, path),
        ailment: Some(ailment),
    })
}

fn check_persistence(config: &Config) -> Option<Finding> {
    let finding = || {
        let remedy = "run `rejoin config set persistence.enabled true` to turn it on";
        Finding::warning("configuration", "saving conversations is turned off", remedy)
    };
    (!config.persistence_enabled()).then(finding)
}

fn check_trust(config: &Config) -> Vec<Finding> {
    let ignored: Vec<Finding> = config
        .warnings()
        .into_iter()
        .map(|warning| {
            let finding = Finding::warning("trust", warning.message, "");
            Finding { remedy: warning.hint, ..finding }
        })
        .collect();
    if ignored.is_empty() && config.project_file().exists() {
        return vec![Finding::ok("trust", "everything in the project's own file counts")];
    }
    ignored
}
