//! What the library found out about the store, as findings: what ails it, and what is in order.

use std::path::Path;

use rejoin::{Ailment, Diagnosis, StoreUrl, Time};

use crate::commands::backup::told;
use crate::commands::doctor::finding::{CheckFinding, CheckState};
use crate::commands::doctor::remedy::{remedy, remedy_on_a_server};
use crate::ui::size;

/// More faults of one check than this say nothing new.
const SHOWN: usize = 10;

/// The checks of a store, in the order shown.
const CHECKS: [&str; 13] = [
    "store",
    "schema",
    "permissions",
    "owner",
    "file system",
    "space",
    "lock",
    "log",
    "copies",
    "structure",
    "messages",
    "search index",
    "clock",
];

/// Those of a store on a server, whose files are not here.
const REMOTE_CHECKS: [&str; 5] = ["store", "structure", "messages", "search index", "clock"];

pub(super) fn findings(url: &StoreUrl, diagnosis: &Diagnosis, now: Time) -> Vec<CheckFinding> {
    if is_memory(url) {
        return vec![CheckFinding::ok("store", "in memory; nothing is kept")];
    }
    let path = url.path();
    let checks: &[&str] = if path.is_some() { &CHECKS } else { &REMOTE_CHECKS };
    let mut findings = Vec::new();
    for &check in checks {
        let ailments: Vec<&Ailment> =
            diagnosis.ailments.iter().filter(|ailment| check_of(ailment) == check).collect();
        if ailments.is_empty() {
            findings
                .extend(in_order(check, url, diagnosis, now).map(|message| CheckFinding::ok(check, message)));
            continue;
        }
        findings.extend(ailments.iter().take(SHOWN).map(|ailment| finding(check, ailment, path)));
        let more = ailments.len().saturating_sub(SHOWN) as u64;
        if more > 0 {
            let message = format!("and {}", size::count(more, "more fault", "more faults"));
            findings.push(CheckFinding::problem(check, message, "run `rejoin verify` to see all of them"));
        }
    }
    findings
}

fn is_memory(url: &StoreUrl) -> bool {
    match url {
        StoreUrl::Memory => true,
        StoreUrl::Vault(inner) => is_memory(inner),
        _ => false,
    }
}

fn finding(check: &'static str, ailment: &Ailment, path: Option<&Path>) -> CheckFinding {
    CheckFinding {
        name: check,
        state: CheckState::from(ailment.severity()),
        message: ailment.to_string(),
        remedy: path.map_or_else(|| remedy_on_a_server(ailment), |path| remedy(ailment, path)),
        ailment: Some(ailment.clone()),
    }
}

fn check_of(ailment: &Ailment) -> &'static str {
    match ailment {
        Ailment::OpenToOthers { .. } => "permissions",
        Ailment::WrongOwner { .. } => "owner",
        Ailment::NetworkFileSystem { .. } => "file system",
        Ailment::LittleSpace { .. } => "space",
        Ailment::Held { .. } => "lock",
        Ailment::LongLog { .. } | Ailment::LogWithoutStore { .. } => "log",
        Ailment::Leftover { .. } | Ailment::KeptCopy { .. } => "copies",
        Ailment::NewerSchema { .. } | Ailment::OlderSchema { .. } => "schema",
        Ailment::Damaged { .. } => "structure",
        Ailment::BrokenChain { .. } => "messages",
        Ailment::ClockBehindStore { .. } | Ailment::ClockWrong { .. } => "clock",
        Ailment::IndexBehind { .. } => "search index",
        Ailment::KeyInside => "redaction",
        // What the library learns to find later is told about the store.
        Ailment::Unusable { .. } | _ => "store",
    }
}

/// What a check of a store on a server says when nothing is wrong; none when it could not be made.
fn in_order_on_a_server(check: &str, url: &StoreUrl, diagnosis: &Diagnosis, now: Time) -> Option<String> {
    Some(match check {
        "store" => url.to_string(),
        "clock" => clock(now)?,
        "structure" => diagnosis.contents.map(|_| "sound".to_owned())?,
        "messages" => told(&diagnosis.contents?) + ", as written",
        "search index" => diagnosis.contents.map(|_| "complete".to_owned())?,
        _ => return None,
    })
}

fn clock(now: Time) -> Option<String> {
    Some(now.to_string().split('.').next()?.replace('T', " ") + " UTC")
}

/// What a check says when nothing is wrong; none when it could not be made.
fn in_order(check: &str, url: &StoreUrl, diagnosis: &Diagnosis, now: Time) -> Option<String> {
    let Some(path) = url.path() else {
        return in_order_on_a_server(check, url, diagnosis, now);
    };
    if check == "clock" {
        return clock(now);
    }
    if check == "space" {
        return Some(size::bytes(diagnosis.free_bytes?) + " free");
    }
    if !diagnosis.is_present {
        return (check == "store").then(|| format!("none yet; the first use makes {}", path.display()));
    }
    Some(match check {
        "store" => format!("{}, {}", path.display(), size::bytes(diagnosis.bytes + diagnosis.log_bytes)),
        "schema" => format!("{}, {}", diagnosis.schema?, diagnosis.engine),
        "permissions" => "nobody else can read it".to_owned(),
        "owner" => "you".to_owned(),
        "file system" => "local".to_owned(),
        "lock" if diagnosis.users.is_empty() => "free".to_owned(),
        "lock" => {
            let users: Vec<String> = diagnosis.users.iter().map(u32::to_string).collect();
            format!("open in process {}, which is fine", users.join(", "))
        }
        "copies" => "none beside the store".to_owned(),
        "log" => size::bytes(diagnosis.log_bytes),
        "structure" => diagnosis.contents.map(|_| "sound".to_owned())?,
        "messages" => told(&diagnosis.contents?) + ", as written",
        "search index" if diagnosis.unindexed > 0 => {
            format!("{} to be added as you go", size::count(diagnosis.unindexed, "message", "messages"))
        }
        "search index" => diagnosis.contents.map(|_| "complete".to_owned())?,
        _ => return None,
    })
}
