//! `rejoin verify`: is everything still as it was written?

use rejoin::store::Fault;
use rejoin::vault::Quarantined;
use rejoin::{Archive, ConversationId, ErrorKind, ShortId, Stage, StoreUrl, Time};
use serde::Serialize;

use crate::commands::doctor::quarantined_name;
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::gauge::Gauge;
use crate::named;
use crate::session::banner;
use crate::ui::json::JsonText;
use crate::ui::paint::Meaning;
use crate::ui::progress::Unit;
use crate::ui::table::{Column, Table};
use crate::ui::{fit, size};

/// Check the store for damage
///
/// Checks the structure of the store and the digest of every message, which covers the message and
/// everything before it. Reports all damage and continues with the rest. Changes nothing, except that
/// vault records that cannot be decrypted are copied to quarantine.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin verify
  rejoin verify a3f9c1         One conversation
  rejoin verify --json")]
pub(crate) struct Args {
    /// Only this conversation
    #[arg(value_name = "ID")]
    conversation: Option<String>,
}

/// What was checked, and what is wrong.
#[derive(Debug, Default)]
struct VerifyFindings {
    conversations: u64,
    messages: u64,
    bytes: u64,
    faults: Vec<Fault>,
    /// Ends of files that were never acknowledged.
    unfinished: Vec<Fault>,
    /// Records that did not open, now or before.
    quarantined: Vec<Quarantined>,
}

/// What was checked and what is wrong, as programs read it.
#[derive(Serialize)]
struct VerifyAnswer<'a> {
    conversations: u64,
    messages: u64,
    bytes: u64,
    faults: Vec<FaultShape<'a>>,
    unfinished: Vec<FaultShape<'a>>,
    quarantined: Vec<Unopened<'a>>,
}

/// A fault, and where it is.
#[derive(Serialize)]
struct FaultShape<'a> {
    conversation: Option<ConversationId>,
    short: Option<JsonText<ShortId>>,
    what: &'a str,
}

/// A record that did not open.
#[derive(Serialize)]
struct Unopened<'a> {
    at: Time,
    what: &'a str,
    why: &'a str,
    conversation: Option<ConversationId>,
    lost: bool,
}

impl<'a> From<&'a VerifyFindings> for VerifyAnswer<'a> {
    fn from(findings: &'a VerifyFindings) -> Self {
        Self {
            conversations: findings.conversations,
            messages: findings.messages,
            bytes: findings.bytes,
            faults: findings.faults.iter().map(FaultShape::from).collect(),
            unfinished: findings.unfinished.iter().map(FaultShape::from).collect(),
            quarantined: findings.quarantined.iter().map(Unopened::from).collect(),
        }
    }
}

impl<'a> From<&'a Fault> for FaultShape<'a> {
    fn from(fault: &'a Fault) -> Self {
        let short = fault.conversation.map(|id| JsonText(id.short()));
        Self { conversation: fault.conversation, short, what: &fault.what }
    }
}

impl<'a> From<&'a Quarantined> for Unopened<'a> {
    fn from(record: &'a Quarantined) -> Self {
        let Quarantined { at, what, why, conversation, is_lost, .. } = record;
        Self { at: *at, what, why, conversation: *conversation, lost: *is_lost }
    }
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?;
    let mut findings = match args.conversation {
        None => check_everything(&archive, context)?,
        Some(name) => {
            let id = find(&archive, &name)?;
            let findings = check_one(&archive, id)?;
            if findings.messages == 0 && findings.faults.is_empty() {
                context.note(&banner::no_turns(id));
            }
            findings
        }
    };
    // A quarantine that cannot be read is a fault that the check of the structure found.
    findings.quarantined = archive.vault().quarantined().unwrap_or_default();
    findings.show(context)?;
    findings.judge(context)
}

fn find(archive: &Archive, name: &str) -> Result<ConversationId, Failure> {
    named::find_conversation(archive, name).map_err(|error| named::explain(archive, name, error))
}

fn check_one(archive: &Archive, id: ConversationId) -> Result<VerifyFindings, Failure> {
    let mut findings = VerifyFindings::default();
    findings.add(archive, id)?;
    Ok(findings)
}

fn check_everything(archive: &Archive, context: &Context) -> Result<VerifyFindings, Failure> {
    let whole = context.progress("Checking the structure", Unit::Items, None);
    let checked = archive.maintenance().check()?;
    let mut findings = VerifyFindings {
        faults: checked.faults,
        unfinished: checked.unfinished,
        ..VerifyFindings::default()
    };
    let survey = archive.maintenance().survey()?;
    drop(whole);
    let unlisted = survey.faults.into_iter().map(|what| Fault { conversation: None, what });
    findings.faults.extend(unlisted);
    let mut gauge = Gauge::new(context);
    let all = survey.conversations.len() as u64;
    for (done, id) in survey.conversations.into_iter().enumerate() {
        findings.add(archive, id)?;
        gauge.report(Stage::Checking, done as u64 + 1, all);
    }
    Ok(findings)
}

impl VerifyFindings {
    fn add(&mut self, archive: &Archive, id: ConversationId) -> Result<(), Failure> {
        let verdict = match archive.maintenance().verify(id) {
            Ok(verdict) => verdict,
            // It was deleted while others were checked.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.conversations += 1;
        self.messages += verdict.messages;
        self.bytes += verdict.bytes;
        for what in verdict.faults {
            let fault = Fault { conversation: Some(id), what };
            // What the check of the structure named is not named twice.
            if !self.faults.contains(&fault) {
                self.faults.push(fault);
            }
        }
        Ok(())
    }

    fn show(&self, context: &Context) -> Result<(), Failure> {
        if context.is_json() {
            return context.answer_json(&VerifyAnswer::from(self));
        }
        let mut table =
            Table::new([Column::text("conversation").meaning(Meaning::Id), Column::text("what is wrong")]);
        for fault in &self.faults {
            let place = fault.conversation.map_or_else(|| "-".to_owned(), |id| id.short().to_string());
            table.push([place, fault.what.clone()]);
        }
        let checked = [
            size::count(self.conversations, "conversation", "conversations"),
            size::count(self.messages, "message", "messages"),
            size::bytes(self.bytes),
        ];
        context.show(|answer| {
            write!(answer, "{}", table.draw(context.columns(), context.paint()))?;
            let verdict = if self.faults.is_empty() { "\nNo damage found." } else { "" };
            let told = format!("Checked {}.{verdict}", checked.join(", "));
            for line in fit::wrap(&told, context.columns().unwrap_or(usize::MAX)) {
                writeln!(answer, "{line}")?;
            }
            for left in &self.unfinished {
                writeln!(answer, "Nothing is lost: {}.", left.what)?;
            }
            for record in &self.quarantined {
                writeln!(answer, "In quarantine: {}.", quarantined_name(record, context))?;
            }
            Ok(())
        })
    }

    fn judge(&self, context: &Context) -> Result<(), Failure> {
        let hint = match context.store_url()? {
            StoreUrl::Jsonl(_) => {
                "mend the lines that are named, or put a copy of the file back; \
                 `rejoin delete ID` gives up a conversation whose file is gone"
            }
            _ => "put a backup back with `rejoin restore PATH`; what it replaces is kept",
        };
        match self.faults.len() as u64 {
            0 => Ok(()),
            faults => {
                Err(Failure::new(Kind::Corrupt, size::count(faults, "fault", "faults") + " found").hint(hint))
            }
        }
    }
}
