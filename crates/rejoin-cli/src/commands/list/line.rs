//! Conversations as lines: id, age, source, messages and title in columns, cut to the width of the screen.

use rejoin::{Hold, Status, StoredConversation};

use crate::source;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::when::WallClock;
use crate::ui::{clean, fit, size};

/// The least room for a title. Columns give way before a title gets less.
const NARROWEST_TITLE: usize = 24;

/// The least of a title beside notes. Notes give way before a title gets less.
const LEAST_BESIDE_NOTES: usize = 8;

/// The longest source or model, and the longest project, shown in full on a terminal.
const LONGEST_SOURCE: usize = 20;
const LONGEST_PROJECT: usize = 16;
const LONGEST_NARROW: usize = 11;

/// Below this width columns are one space apart, and counts have no unit.
const NARROW_SCREEN: usize = 70;

/// What a line begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineMark {
    /// The project's active conversation.
    Active,
    None,
}

/// A conversation to be drawn.
#[derive(Clone, Debug)]
pub(super) struct ListedConversation<'a> {
    pub(super) stored: &'a StoredConversation,
    pub(super) mark: LineMark,
    /// The name of its project, where several are listed.
    pub(super) project: Option<&'a str>,
    /// How many runs of sub-agents are folded under it.
    pub(super) runs: u64,
    /// Whether it is a run that stands below what started it.
    pub(super) is_below: bool,
}

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListLines<'a> {
    pub(super) clock: &'a WallClock,
    pub(super) paint: Paint,
    /// The width of the terminal, if there is one; without one nothing is cut.
    pub(super) screen: Option<usize>,
}

/// The columns between the id and the title, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListColumn {
    Age,
    Source,
    Messages,
    Project,
}

/// Columns that give way on a narrow screen, the first one first.
const DISPENSABLE: [ListColumn; 3] = [ListColumn::Messages, ListColumn::Project, ListColumn::Source];

impl ListLines<'_> {
    /// Draws a line for each conversation.
    pub(super) fn draw(&self, entries: &[ListedConversation<'_>]) -> String {
        let mut columns = vec![ListColumn::Age, ListColumn::Source, ListColumn::Messages];
        if entries.iter().any(|entry| entry.project.is_some()) {
            columns.push(ListColumn::Project);
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
    fn widths(&self, columns: &[ListColumn], entries: &[ListedConversation<'_>]) -> Vec<usize> {
        let longest = |column: &ListColumn| {
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

    fn cell(&self, entry: &ListedConversation<'_>, column: ListColumn) -> String {
        let stored = entry.stored;
        let cut = |text: &str, columns: usize| match self.screen {
            Some(_) => fit::snippet(text, columns),
            None => clean::line(text),
        };
        let at_most = |columns: usize| if self.is_narrow() { LONGEST_NARROW } else { columns };
        match column {
            ListColumn::Age => self.clock.age(stored.last_active_at.as_micros()),
            ListColumn::Source => {
                let settings = &stored.conversation.settings;
                // A provider without models is named itself.
                let model = settings.model.as_deref().filter(|model| *model != "none");
                let asked = model.or(settings.provider.as_deref());
                cut(source::program(stored).or(asked).unwrap_or("-"), at_most(LONGEST_SOURCE))
            }
            ListColumn::Messages if self.is_narrow() => size::number(stored.messages),
            ListColumn::Messages => size::count(stored.messages, "msg ", "msgs"),
            ListColumn::Project => cut(entry.project.unwrap_or_default(), at_most(LONGEST_PROJECT)),
        }
    }

    fn line(&self, entry: &ListedConversation<'_>, columns: &[ListColumn], widths: &[usize]) -> String {
        let gap = " ".repeat(self.gap());
        let arrow = match (entry.mark, entry.is_below) {
            (LineMark::Active, _) => self.paint.apply(Meaning::Success, "→"),
            (LineMark::None, true) => self.paint.apply(Meaning::Dim, "└"),
            (LineMark::None, false) => " ".to_owned(),
        };
        let mut line = format!("{arrow} {}", self.paint.apply(Meaning::Id, entry.stored.id.short().as_str()));
        for (column, width) in columns.iter().zip(widths) {
            let cell = self.cell(entry, *column);
            let padded = match column {
                ListColumn::Age | ListColumn::Messages => fit::pad_left(&cell, *width),
                ListColumn::Source | ListColumn::Project => fit::pad_right(&cell, *width),
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
    fn title(&self, entry: &ListedConversation<'_>, room: usize) -> (String, String) {
        let mut notes = self.notes(entry);
        let told = |notes: &[String]| match notes {
            [] => String::new(),
            notes => format!("({})", notes.join(", ")),
        };
        // The least important note stands last, and goes first.
        while !notes.is_empty() && fit::width(&told(&notes)) + 1 + LEAST_BESIDE_NOTES > room {
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
    fn notes(&self, entry: &ListedConversation<'_>) -> Vec<String> {
        let header = &entry.stored.conversation;
        let mut notes = Vec::new();
        match (header.hold, header.expires_at.map(|time| time.as_micros())) {
            (Hold::None, Some(time)) if time <= self.clock.now() => notes.push("expired".to_owned()),
            (Hold::None, Some(time)) => {
                // As long ago as it is ahead.
                let mirrored = self.clock.now().saturating_mul(2).saturating_sub(time);
                notes.push(format!("expires in {}", self.clock.age(mirrored).replace("now", "1m")));
            }
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

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use rejoin::{Conversation, ConversationId, Origin, Time};

    use super::*;

    /// 2024-01-15 10:30:00 UTC.
    const NOW: i64 = 1_705_314_600_000_000;
    const HOUR: i64 = 3_600_000_000;

    fn stored(title: &str, hours: i64) -> StoredConversation {
        StoredConversation {
            id: ConversationId::from_bytes([7; 16]),
            version: 1,
            conversation: Conversation::titled(title),
            head: None,
            branches: Vec::new(),
            created_at: Time::from_micros(NOW),
            last_active_at: Time::from_micros(NOW - hours * HOUR),
            messages: 1_234,
            bytes: 34_567,
            first: String::new(),
            last: String::new(),
        }
    }

    /// One that began here and expires soon, an import with runs, and one that was interrupted.
    fn drawn(screen: Option<usize>) -> String {
        let mut own = stored("Where to eat in Lisbon\u{1b}[2J, on a \u{202e}budget", 3);
        own.conversation.settings.model = Some("opus".to_owned());
        own.conversation.expires_at = Some(Time::from_micros(NOW + 50 * HOUR));
        let mut imported = stored("日本語 by train", 50);
        imported.conversation.origin = Some(Origin {
            format: "claude".to_owned(),
            read_as: None,
            source_id: "1".to_owned(),
            source_path: None,
            imported_at: Time::from_micros(NOW),
        });
        let mut cut = stored("Taxes", 9_000);
        cut.messages = 1;
        cut.last = "They are due [interrupted]".to_owned();
        let entry =
            |stored, mark, project, runs| ListedConversation { stored, mark, project, runs, is_below: false };
        let entries = [
            entry(&own, LineMark::Active, Some("trip"), 0),
            entry(&imported, LineMark::None, Some("a-project-with-a-name"), 3),
            entry(&cut, LineMark::None, Some("trip"), 0),
        ];
        let clock = WallClock::new(NOW, TimeZone::UTC);
        ListLines { clock: &clock, paint: Paint::Plain, screen }.draw(&entries)
    }

    #[test]
    fn columns_are_aligned_and_cut_to_the_screen() {
        let expected = "\
→ AU4eqF  3h  opus         1,234 msgs  trip              Where to eat in Lisbon,... (expires in 2d)
  AU4eqF  2d  Claude Code  1,234 msgs  a-project-wit...  日本語 by train (+3 runs)
  AU4eqF  1y  -                1 msg   trip              Taxes (interrupted)
";

        assert_eq!(drawn(Some(100)), expected);
    }

    #[test]
    fn a_narrow_screen_keeps_the_title_and_gives_up_columns() {
        let sixty = "\
→ AU4eqF 3h opus        trip        Where... (expires in 2d)
  AU4eqF 2d Claude Code a-projec... 日本語 by t... (+3 runs)
  AU4eqF 1y -           trip        Taxes (interrupted)
";
        let forty = "\
→ AU4eqF 3h Where to... (expires in 2d)
  AU4eqF 2d 日本語 by train (+3 runs)
  AU4eqF 1y Taxes (interrupted)
";

        assert_eq!([drawn(Some(60)), drawn(Some(40))], [sixty, forty]);
    }

    #[test]
    fn nothing_is_cut_where_there_is_no_screen() {
        let drawn = drawn(None);

        assert!(drawn.contains("  a-project-with-a-name  "), "{drawn}");
        assert!(drawn.contains("  Where to eat in Lisbon, on a budget (expires in 2d)\n"), "{drawn}");
    }

    #[test]
    fn no_line_is_longer_than_the_screen() {
        let widths = [100, 60, 40, 30, 20].map(|columns| {
            let drawn = drawn(Some(columns));
            drawn.lines().map(fit::width).max().unwrap() <= columns
        });

        assert_eq!(widths, [true; 5]);
    }
}
