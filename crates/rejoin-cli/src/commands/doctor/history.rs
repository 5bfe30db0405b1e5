//! Conversations whose history is mended in what a model is sent: calls without
//! a result, results without a call.

use std::collections::BTreeMap;

use rejoin::view::{PathMessage, Recipient, Repair, View};
use rejoin::{Archive, List, StoredConversation};

use crate::commands::doctor::finding::CheckFinding;
use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::ui::size;

/// Messages that are looked through, the newest conversations first: enough for
/// months of talk, and done in a second.
const BUDGET: u64 = 20_000;

/// Conversations that are named before the rest is only counted.
const SHOWN: usize = 5;

/// What was looked at, and what was found there.
#[derive(Debug, Default)]
struct HistoryCheck {
    conversations: u64,
    all: u64,
    damaged: Vec<String>,
}

/// Looks through the newest conversations; a store in trouble is told elsewhere.
pub(super) fn check(context: &Context) -> Option<CheckFinding> {
    let looked = look(context).ok()?;
    let HistoryCheck { conversations, all, damaged } = looked;
    let among = match conversations {
        looked if looked == all => String::new(),
        looked => format!(" among the newest {}", size::number(looked)),
    };
    if damaged.is_empty() {
        return Some(CheckFinding::ok("history", format!("no conversation needs mending{among}")));
    }
    let count = damaged.len() as u64;
    let mut told: Vec<String> = damaged.iter().take(SHOWN).cloned().collect();
    if damaged.len() > SHOWN {
        told.push(format!("and {} more", damaged.len() - SHOWN));
    }
    let needs = if count == 1 { "needs" } else { "need" };
    let message = format!(
        "{}{among} {needs} mending: {}",
        size::count(count, "conversation", "conversations"),
        told.join("; ")
    );
    let remedy = "nothing to do: what a model is sent is mended, what is stored stays as it is; \
                  `rejoin show ID --view chat` shows how";
    Some(CheckFinding { remedy: Some(remedy.to_owned()), ..CheckFinding::ok("history", message) })
}

fn look(context: &Context) -> Result<HistoryCheck, Failure> {
    let archive = context.archive_to_read()?;
    let mut newest: Vec<StoredConversation> = Vec::new();
    let mut looked = HistoryCheck::default();
    let mut left = BUDGET;
    let list = List { includes_expired: true, ..List::default() };
    archive.reader().each_conversation(&list, &mut |stored| {
        looked.all += 1;
        if left > 0 {
            left = left.saturating_sub(stored.messages);
            newest.push(stored);
        }
        Ok(())
    })?;
    looked.conversations = newest.len() as u64;
    for stored in &newest {
        // One that cannot be read is told by the check of the messages.
        let repairs = damage(&archive, stored).unwrap_or_default();
        if !repairs.is_empty() {
            looked.damaged.push(told(stored, &repairs));
        }
    }
    Ok(looked)
}

/// What is wrong with the history itself, whoever is sent it.
fn damage(archive: &Archive, stored: &StoredConversation) -> Result<Vec<Repair>, Failure> {
    let path = archive.path(stored.id, None)?;
    let ignored = &stored.conversation.ignored_summaries;
    let repairs = View::of(&PathMessage::all(&path), ignored, &Recipient::new("")).repairs;
    Ok(repairs.into_iter().filter(Repair::is_damage).collect())
}

fn told(stored: &StoredConversation, repairs: &[Repair]) -> String {
    let mut kinds: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for repair in repairs {
        *kinds.entry(word(repair)).or_default() += 1;
    }
    let kinds: Vec<String> =
        kinds.into_iter().map(|((one, many), count)| size::count(count, one, many)).collect();
    format!("{} \"{}\" ({})", stored.id.short(), named::title(stored), kinds.join(", "))
}

/// What is wrong, in the words for one and for several.
const fn word(repair: &Repair) -> (&'static str, &'static str) {
    match repair {
        Repair::MissingResult { .. } | Repair::AbandonedTool { .. } => {
            ("call without a result", "calls without a result")
        }
        Repair::OrphanResult { .. } => ("result without a call", "results without a call"),
        Repair::LateResult { .. } => ("late result", "late results"),
        Repair::MisplacedCall { .. } => ("misplaced call", "misplaced calls"),
        Repair::RepeatedCall { .. } => ("repeated call", "repeated calls"),
        Repair::RepeatedReply { .. } => ("repeated reply", "repeated replies"),
        Repair::Empty { .. } => ("empty message", "empty messages"),
        Repair::UnreadableCompaction { .. } => ("unreadable compaction", "unreadable compactions"),
        // The library's list of repairs is open-ended.
        _ => ("other fault", "other faults"),
    }
}
