//! Conversations as lines: id, age, source, messages and title in columns, cut to the width of the screen.

use rejoin::{Hold, Status, StoredConversation};

use crate::source;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::when::Clock;
use crate::ui::{clean, fit, size};

/// The least room for a title. Columns give way before a title gets less.
const NARROWEST_TITLE: usize = 14;

/// The longest source or model, and the longest project, shown in full on a terminal.
const LONGEST_SOURCE: usize = 20;
const LONGEST_PROJECT: usize = 16;
const LONGEST_NARROW: usize = 11;

/// Below this width columns are one space apart, and counts have no unit.
const NARROW_SCREEN: usize = 70;

/// What a line begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// The project's active conversation.
    Active,
    None,
}

/// A conversation to be drawn.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub(super) stored: &'a StoredConversation,
    pub(super) mark: Mark,
    /// The name of its project, where several are listed.
    pub(super) project: Option<&'a str>,
    /// How many runs of sub-agents are folded under it.
    pub(super) runs: u64,
    /// Whether it is a run that stands below what started it.
    pub(super) is_below: bool,
}

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lines<'a> {
    pub(super) clock: &'a Clock,
    pub(super) paint: Paint,
    /// The width of the terminal, if there is one; without one nothing is cut.
    pub(super) screen: Option<usize>,
}

/// The columns between the id and the title, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Age,
    Source,
    Messages,
    Project,
}

/// Columns that give way on a narrow screen, the first one first.
const DISPENSABLE: [Column; 3] = [Column::Messages, Column::Project, Column::Source];

impl Lines<'_> {
    /// Draws a line for each conversation.
    pub(super) fn draw(&self, entries: &[Entry<'_>]) -> String {
        let mut columns = vec![Column::Age, Column::Source, Column::Messages];
        if entries.iter().any(|entry| entry.project.is_some()) {
            columns.push(Column::Project);
        }
        let mut widths = self.widths(&columns, entries);
        for given_up in DISPENSABLE {
            if self.room(&widths) >= NARROWEST_TITLE {
                break;
            }
            columns.retain(|column| *column != given_up);
            widths = self.widths(&columns, entries);
        }
        entries.iter().map(|entry| self.line(entry, &columns, &widths)).collect()
    }

    /// The width of each column: that of its longest cell, up to a limit.
    fn widths(&self, columns: &[Column], entries: &[Entry<'_>]) -> Vec<usize> {
        let longest = |column: &Column| {
            entries.iter().map(|entry| fit::width(&self.cell(entry, *column))).max().unwrap_or(0)
        };
        columns.iter().map(longest).collect()
    }

    /// What is left for the title and what stands behind it.
    fn room(&self, widths: &[usize]) -> usize {
        let taken: usize = widths.iter().map(|width| width + self.gap()).sum();
        // The mark, the id, and the gap behind it.
        let start = 2 + 6 + self.gap();
        self.screen.map_or(usize::MAX, |screen| screen.saturating_sub(start + taken))
    }

    const fn is_narrow(&self) -> bool {
        matches!(self.screen, Some(columns) if columns < NARROW_SCREEN)
    }

    const fn gap(&self) -> usize {
        if self.is_narrow() { 1 } else { 2 }
    }

    fn cell(&self, entry: &Entry<'_>, column: Column) -> String {
        let stored = entry.stored;
        let cut = |text: &str, columns: usize| match self.screen {
            Some(_) => fit::snippet(text, columns),
            None => clean::line(text),
        };
        let at_most = |columns: usize| if self.is_narrow() { LONGEST_NARROW } else { columns };
        match column {
            Column::Age => self.clock.age(stored.last_active_at.as_micros()),
            Column::Source => {
                let model = stored.conversation.settings.model.as_deref();
                cut(source::program(stored).or(model).unwrap_or("-"), at_most(LONGEST_SOURCE))
            }
            Column::Messages if self.is_narrow() => size::number(stored.messages),
            Column::Messages => size::count(stored.messages, "msg ", "msgs"),
            Column::Project => cut(entry.project.unwrap_or_default(), at_most(LONGEST_PROJECT)),
        }
    }

    fn line(&self, entry: &Entry<'_>, columns: &[Column], widths: &[usize]) -> String {
        let gap = " ".repeat(self.gap());
        let arrow = match (entry.mark, entry.is_below) {
            (Mark::Active, _) => self.paint.apply(Meaning::Success, "→"),
            (Mark::None, true) => self.paint.apply(Meaning::Dim, "└"),
            (Mark::None, false) => " ".to_owned(),
        };
        let mut line = format!("{arrow} {}", self.paint.apply(Meaning::Id, entry.stored.id.short().as_str()));
        for (column, width) in columns.iter().zip(widths) {
            let cell = self.cell(entry, *column);
            let padded = match column {
                Column::Age | Column::Messages => fit::pad_left(&cell, *width),
                Column::Source | Column::Project => fit::pad_right(&cell, *width),
            };
            line += &format!("{gap}{}", self.paint.apply(Meaning::Dim, &padded));
        }
        let (title, notes) = self.title(entry, self.room(widths));
        let meaning = if entry.is_below { Meaning::Plain } else { Meaning::Title };
        line += &format!("{gap}{}", self.paint.apply(meaning, &title));
        if !notes.is_empty() {
            line += &format!(" {}", self.paint.apply(Meaning::Dim, &notes));
        }
        line.trim_end().to_owned() + "\n"
    }

    /// The title, and what must not be missed of the conversation, within the room there is.
    fn title(&self, entry: &Entry<'_>, room: usize) -> (String, String) {
        let mut notes = self.notes(entry);
        let told = |notes: &[String]| match notes {
            [] => String::new(),
            notes => format!("({})", notes.join(", ")),
        };
        // The least important note stands last, and goes first.
        while !notes.is_empty() && fit::width(&told(&notes)) + 1 + NARROWEST_TITLE > room {
            notes.pop();
        }
        let notes = told(&notes);
        let beside = if notes.is_empty() { 0 } else { fit::width(&notes) + 1 };
        let title = match self.screen {
            Some(_) => fit::snippet(entry.stored.title(), room - beside),
            None => clean::line(entry.stored.title()),
        };
        (title, notes)
    }

    /// What must not be missed, the most important first.
    fn notes(&self, entry: &Entry<'_>) -> Vec<String> {
        let header = &entry.stored.conversation;
        let mut notes = Vec::new();
        match (header.hold, header.expires_at.map(|time| time.as_micros())) {
            (Hold::None, Some(time)) if time <= self.clock.now() => notes.push("expired".to_owned()),
            (Hold::None, Some(time)) => notes.push(format!("expires {}", self.clock.relative(time))),
            (Hold::User, _) => notes.push("kept".to_owned()),
            // Everything that is imported is held, which its source tells.
            (Hold::Import, _) | (Hold::None, None) => {}
        }
        if entry.stored.is_interrupted() {
            notes.push("interrupted".to_owned());
        }
        if entry.runs > 0 {
            notes.push(format!("+{}", size::count(entry.runs, "run", "runs")));
        }
        if header.status == Status::Completed {
            notes.push("completed".to_owned());
        }
        notes
    }
}
