//! Small rules of the contract, in words of the model's own.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;

use rejoin::store::{Change, Cursor, Hit, ListQuery, Page, Row, SearchQuery, Turn};
use rejoin::{Block, Error, ErrorKind, Message, PlainText, Result, Role, Status, Time};

/// Refuses a turn that is wrong in itself.
pub(super) fn check_turn(turn: &Turn<'_>) -> Result<()> {
    if turn.opening.is_none() && turn.entries.is_empty() {
        return Err(Error::new(ErrorKind::Invalid, "append a turn without messages"));
    }
    let mut ids = HashSet::new();
    match turn.entries.iter().find(|entry| !ids.insert(entry.id)) {
        Some(entry) => Err(Error::new(
            ErrorKind::Conflict,
            format!("message id `{}` appears twice in one turn", entry.id),
        )),
        None => Ok(()),
    }
}

/// Refuses a change that is wrong in itself.
pub(super) fn check_change(change: &Change<'_>) -> Result<()> {
    let Change::Rewrite { messages, .. } = change else { return Ok(()) };
    let mut ids = HashSet::new();
    match messages.iter().find(|message| !ids.insert(message.id)) {
        Some(twice) => Err(Error::new(
            ErrorKind::Conflict,
            format!("message id `{}` appears twice in one rewrite", twice.id),
        )),
        None => Ok(()),
    }
}

/// The last activity after a turn: the later one, unless the one before is more than a
/// day ahead of a clock that may be right.
pub(super) fn last_activity(before: Time, turn: &Turn<'_>) -> Time {
    const DAY: i64 = 86_400_000_000;
    const YEAR_2025: i64 = 1_735_689_600_000_000;
    let now = turn.now.as_micros();
    if now >= YEAR_2025 && before.as_micros() > now.saturating_add(DAY) {
        return turn.active;
    }
    if before > turn.active { before } else { turn.active }
}

/// The version after so many messages were removed.
pub(super) fn version_after(before: u64, removed: usize) -> u64 {
    if removed == 0 { before } else { before + 1 + removed as u64 }
}

pub(super) fn left_behind(child: impl fmt::Display) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("message `{child}` is not rewritten with the one that it follows"),
    )
}

/// What a list shows of what a user says first, and of a reply. A program's own
/// words and summaries were not said.
pub(super) fn previews(body: &str) -> (Option<String>, Option<String>) {
    let Ok(message) = Message::from_body(body) else { return (None, None) };
    let shown = Some(PlainText::preview(&message.text())).filter(|shown| !shown.is_empty());
    let is_summary = message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
    match message.role {
        Role::User if !is_summary && message.extra.field("injected").is_none() => (shown, None),
        Role::Assistant if message.finish.as_deref() == Some("interrupted") => {
            (None, shown.map(|shown| format!("{shown} [interrupted]")))
        }
        Role::Assistant => (None, shown),
        _ => (None, None),
    }
}

/// The time of a body that a search finds.
pub(super) fn found_at(query: &SearchQuery<'_>, body: &str) -> Option<Time> {
    let message = Message::from_body(body).ok()?;
    let words: Vec<_> = message.blocks.iter().filter_map(|block| block.words()).collect();
    let is_meant =
        query.words.matches(&words.join("\n")) && query.role.unwrap_or(message.role) == message.role;
    is_meant.then(|| message.created_at.unwrap_or_default())
}

/// The page of a list.
pub(super) fn page_of_rows(query: &ListQuery<'_>, mut rows: Vec<Row>) -> Page<Row> {
    rows.retain(|row| {
        let facets = &row.facets;
        let is_idle =
            facets.status == Status::Active && query.idle_since.is_some_and(|since| row.active <= since);
        let standing = if is_idle { Status::Paused } else { facets.status };
        let has_expired = |now: Time| facets.expires.is_some_and(|expires| expires <= now);
        !(query.project.is_some_and(|project| project != facets.project)
            || query.status.is_some_and(|status| status != standing)
            || query.kind.is_some_and(|kind| kind != facets.kind)
            || query.only.is_some_and(|only| !only.contains(&row.id))
            || query.unexpired_at.is_some_and(has_expired))
    });
    let all = rows.len();
    rows.retain(|row| query.except_kind != Some(row.facets.kind.as_str()));
    let total = query.counts_total.then_some(rows.len() as u64);
    let excepted = query.counts_total.then_some((all - rows.len()) as u64);
    let key = |row: &Row| (row.active, row.id, 0);
    let (items, next) = page(rows, key, query.after, query.limit);
    Page { items, next, total, excepted, damaged: Vec::new() }
}

/// The page of a search.
pub(super) fn page_of_hits(query: &SearchQuery<'_>, mut hits: Vec<Hit>) -> Page<Hit> {
    hits.retain(|hit| query.since.is_none_or(|since| hit.time >= since));
    let key = |hit: &Hit| (hit.time, hit.conversation, hit.seq);
    let (items, next) = page(hits, key, query.after, query.limit);
    Page { items, next, total: None, excepted: None, damaged: Vec::new() }
}

type Key = (Time, rejoin::ConversationId, u32);

/// The greatest keys first, after a cursor; and where the next page begins, if there is one.
fn page<T>(
    mut all: Vec<T>,
    key: fn(&T) -> Key,
    after: Option<Cursor>,
    limit: usize,
) -> (Vec<T>, Option<Cursor>) {
    if let Some(Cursor { time, conversation, seq }) = after {
        all.retain(|item| key(item) < (time, conversation, seq));
    }
    all.sort_by_key(|item| Reverse(key(item)));
    let is_last = all.len() <= limit;
    all.truncate(limit);
    let cursor = |item| {
        let (time, conversation, seq) = key(item);
        Cursor { time, conversation, seq }
    };
    let next = if is_last { None } else { all.last().map(cursor) };
    (all, next)
}
