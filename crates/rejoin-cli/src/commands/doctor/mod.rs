//! `rejoin doctor`: what is wrong, and what to do about it.
//!
//! The library finds out what ails a store; here are the checks of the machine
//! around it, the words and the remedies.

mod attention;
mod configuration;
mod finding;
mod history;
mod layout;
mod machine;
mod mend;
mod quarantine;
mod redaction;
mod remedy;
mod store;

pub(crate) use quarantine::name as quarantined_name;

use rejoin::{Ailment, Time, Viewpoint};
use serde::Serialize;

use crate::commands::doctor::finding::{CheckFinding, CheckState};
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::gauge::Gauge;
use crate::ui::size;

/// Find problems and suggest fixes
///
/// Checks the configuration, the store and its directory, the machine, and the newest conversations, for
/// example for tool calls without a result. Changes nothing unless `--fix` is given. Exits with 1 if
/// there is a problem; warnings alone exit with 0.
///
/// `--fix` tightens permissions, completes the search index, checkpoints the write-ahead log, and moves
/// a redaction key out of the store. It never does anything that could lose data.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin doctor
  rejoin doctor --fix
  rejoin doctor --json | jq '.checks[] | select(.state != \"ok\")'")]
pub(crate) struct Args {
    /// Apply safe fixes
    #[arg(long)]
    fix: bool,
}

/// Every check and how it came out, as programs read it.
#[derive(Serialize)]
struct Checked<'a> {
    checks: &'a [CheckFinding],
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let mut findings = configuration::check(context);
    findings.extend(machine::check_keys(context));
    findings.extend(check_store(context));
    findings.extend(machine::check_tools(context));
    if args.fix {
        for finding in &mut findings {
            mend::mend(finding, context);
        }
    }
    show(&findings, context)?;
    judge(&findings)
}

fn check_store(context: &Context) -> Vec<CheckFinding> {
    let url = match context.store_url() {
        Ok(url) => url,
        Err(failure) => return vec![CheckFinding::failed("store", &failure)],
    };
    let mut gauge = Gauge::new(context);
    let from = Viewpoint {
        user: rustix::process::geteuid().as_raw(),
        now: Time::from_micros(context.clock().now()),
        own_directory: context.surroundings.data_directory().ok(),
    };
    let access = match context.access() {
        Ok(access) => access,
        Err(failure) => return vec![CheckFinding::failed("store", &failure)],
    };
    let diagnosis = url.diagnose_with(&access, &from, &mut |done, all| {
        gauge.report(rejoin::Stage::Checking, done, all);
    });
    drop(gauge);
    let mut findings = store::findings(&url, &diagnosis, from.now);
    if diagnosis.contents.is_some() {
        findings.extend(quarantine::check(context));
        findings.extend(redaction::check(context, &url));
        findings.extend(history::check(context));
        findings.extend(attention::check(context, from.now));
    }
    findings
}

fn show(findings: &[CheckFinding], context: &Context) -> Result<(), Failure> {
    if context.is_json() {
        return context.answer_json(&Checked { checks: findings });
    }
    context.show(|answer| {
        write!(answer, "{}", layout::draw(findings, context.columns(), context.paint()))?;
        if count(findings, CheckState::Problem) == 0 {
            let warnings = count(findings, CheckState::Warning);
            let besides = if warnings == 0 {
                String::new()
            } else {
                format!(", {}", size::count(warnings, "warning", "warnings"))
            };
            writeln!(answer, "No problems{besides}.")?;
        }
        Ok(())
    })
}

fn count(findings: &[CheckFinding], state: CheckState) -> u64 {
    findings.iter().filter(|finding| finding.state == state).count() as u64
}

fn judge(findings: &[CheckFinding]) -> Result<(), Failure> {
    let problems = count(findings, CheckState::Problem);
    if problems == 0 {
        return Ok(());
    }
    let is_damage = |finding: &CheckFinding| {
        matches!(finding.ailment, Some(Ailment::Damaged { .. } | Ailment::BrokenChain { .. }))
    };
    let kind = if findings.iter().any(is_damage) { Kind::Corrupt } else { Kind::Unavailable };
    let failure = Failure::new(kind, size::count(problems, "problem", "problems") + " found");
    let can_mend = findings.iter().any(|finding| finding.state != CheckState::Ok && mend::can_mend(finding));
    Err(if can_mend { failure.hint("run `rejoin doctor --fix` to apply safe fixes") } else { failure })
}
