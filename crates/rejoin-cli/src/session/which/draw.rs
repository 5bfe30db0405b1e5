//! The numbered list of what can be resumed.

use rejoin::StoredConversation;

use crate::context::Context;
use crate::session::stop::summary_in_list;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::when::WallClock;
use crate::ui::{clean, fit};

/// Lines without a terminal may have any length, but a summary should stay one.
const WIDE: usize = 400;

/// How to draw.
#[derive(Debug)]
pub(crate) struct MatchLook {
    clock: WallClock,
    paint: Paint,
    columns: usize,
}

impl MatchLook {
    pub(crate) fn of(context: &Context) -> Self {
        Self { clock: context.clock(), paint: context.paint(), columns: context.columns().unwrap_or(WIDE) }
    }

    /// Each conversation with a number, a blank line after each.
    pub(crate) fn list(&self, items: &[StoredConversation]) -> String {
        items.iter().enumerate().map(|(place, stored)| self.entry(place + 1, stored)).collect()
    }

    fn entry(&self, number: usize, stored: &StoredConversation) -> String {
        let head = format!("{number}. ");
        let indentation = " ".repeat(head.len());
        let room = self.columns.saturating_sub(head.len()).max(10);
        let heading = format!("[{}] {}", clean::line(&stored.conversation.kind), clean::line(stored.title()));
        let mut drawn =
            format!("{head}{}\n", self.paint.apply(Meaning::Title, &fit::truncate(&heading, room)));
        let facts = format!(
            "{} | Last active: {} | Status: {}",
            stored.id.short(),
            self.clock.relative(stored.last_active_at.as_micros()),
            stored.conversation.status.as_str()
        );
        let mut lines = fit::wrap(&facts, room);
        let summary = summary_in_list(stored);
        if !summary.is_empty() {
            lines.extend(fit::wrap(&format!("Summary: {summary}"), room));
        }
        for line in lines {
            drawn += &format!("{indentation}{}\n", self.paint.apply(Meaning::Dim, &line));
        }
        drawn + "\n"
    }
}
