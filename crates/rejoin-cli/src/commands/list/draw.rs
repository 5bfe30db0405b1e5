//! One conversation in a list with its details, drawn for the width of the screen.

use rejoin::{Hold, StoredConversation};

use super::line::{LineMark, ListedConversation};
use crate::source;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::when::WallClock;
use crate::ui::{clean, fit, size};

/// Spaces before what stands under a heading.
const INDENTATION: usize = 4;

/// The least room for a title beside its id; below that, it goes under it.
const NARROWEST_TITLE: usize = 16;

/// The longest kind shown in full; it is a word, and the title matters more.
const LONGEST_KIND: usize = 20;

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListLook<'a> {
    pub(super) clock: &'a WallClock,
    pub(super) paint: Paint,
    /// The width of the terminal, if there is one.
    pub(super) screen: Option<usize>,
}

impl ListLook<'_> {
    /// Draws a conversation: a heading, facts, and the beginnings of its first message and its last answer.
    pub(super) fn entry(&self, entry: &ListedConversation<'_>) -> String {
        let ListedConversation { stored, mark, project, runs, .. } = *entry;
        let mut drawn = self.heading(stored, mark);
        let settings = &stored.conversation.settings;
        let known = |name: &Option<String>| name.as_deref().map_or("unknown".to_owned(), clean::line);
        let active = stored.last_active_at.as_micros();
        let mut facts = vec![
            format!("Last active: {}", self.clock.relative(active)),
            format!("Status: {}", stored.conversation.status.as_str()),
            format!("Messages: {}", size::number(stored.messages)),
            format!("Size: {}", size::bytes(stored.bytes)),
        ];
        facts.extend(self.expiry(stored));
        drawn += &self.facts(&facts);
        drawn += &self.facts(&[
            format!("Provider: {} ({})", known(&settings.provider), known(&settings.model)),
            format!("Updated: {}", self.clock.minute(active)),
        ]);
        let program = source::program(stored).map(|program| format!("Source: {}", clean::line(program)));
        let runs = (runs > 0).then(|| format!("Sub-agent runs: {}", size::number(runs)));
        let more: Vec<String> = program.into_iter().chain(runs).collect();
        if !more.is_empty() {
            drawn += &self.facts(&more);
        }
        if let Some(project) = project {
            drawn += &self.facts(&[format!("Project: {}", clean::line(project))]);
        }
        // Without a title of its own, the heading has shown the first message already.
        if has_title(stored) {
            drawn += &self.preview("First: ", &stored.first);
        }
        drawn + &self.preview("Last: ", &stored.last)
    }

    fn heading(&self, stored: &StoredConversation, mark: LineMark) -> String {
        let arrow = match mark {
            LineMark::Active => "→",
            LineMark::None => " ",
        };
        let id = stored.id.short().to_string();
        let kind = format!("[{}]", fit::snippet(&stored.conversation.kind, LONGEST_KIND));
        let start = fit::width(&format!("{arrow} {id} {kind} "));
        let title = clean::line(stored.title());
        let beside = self.room().saturating_sub(start);
        let (indentation, room) = if beside >= NARROWEST_TITLE {
            (start, beside)
        } else {
            (INDENTATION, self.room().saturating_sub(INDENTATION))
        };
        let mut lines = fit::wrap(&title, room).into_iter();
        let mut drawn = format!(
            "{} {} {}",
            self.paint.apply(Meaning::Success, arrow),
            self.paint.apply(Meaning::Id, &id),
            self.paint.apply(Meaning::Dim, &kind)
        );
        if indentation == start
            && let Some(line) = lines.next()
        {
            drawn += &format!(" {}", self.paint.apply(Meaning::Title, &line));
        }
        drawn.push('\n');
        for line in lines {
            drawn += &format!("{:indentation$}{}\n", "", self.paint.apply(Meaning::Title, &line));
        }
        drawn
    }

    /// Says until when it stays.
    fn expiry(&self, stored: &StoredConversation) -> Option<String> {
        match (stored.conversation.hold, stored.conversation.expires_at) {
            (Hold::User, _) => Some("Kept".to_owned()),
            (Hold::Import, _) => Some("Kept since its import".to_owned()),
            (Hold::None, Some(time)) if time.as_micros() <= self.clock.now() => Some("Expired".to_owned()),
            (Hold::None, Some(time)) => Some(format!("Expires: {}", self.clock.relative(time.as_micros()))),
            (Hold::None, None) => None,
        }
    }

    /// Sets facts side by side as far as they fit.
    fn facts(&self, facts: &[String]) -> String {
        let room = self.room().saturating_sub(INDENTATION);
        let mut lines: Vec<String> = Vec::new();
        for fact in facts {
            match lines.last_mut() {
                Some(line) if fit::width(line) + 3 + fit::width(fact) <= room => {
                    line.push_str(" | ");
                    line.push_str(fact);
                }
                _ => lines.push(fact.clone()),
            }
        }
        let wrapped = lines.iter().flat_map(|line| fit::wrap(line, room));
        wrapped
            .map(|line| format!("{:INDENTATION$}{}\n", "", self.paint.apply(Meaning::Dim, &line)))
            .collect()
    }

    fn preview(&self, label: &str, text: &str) -> String {
        let text = fit::preview(text);
        if text.is_empty() {
            return String::new();
        }
        let indentation = INDENTATION + label.len();
        let mut start = format!("{:INDENTATION$}{}", "", self.paint.apply(Meaning::Dim, label));
        let mut drawn = String::new();
        for line in fit::wrap(&text, self.room().saturating_sub(indentation)) {
            drawn += &format!("{start}{line}\n");
            start = " ".repeat(indentation);
        }
        drawn
    }

    fn room(&self) -> usize {
        self.screen.unwrap_or(usize::MAX)
    }
}

fn has_title(stored: &StoredConversation) -> bool {
    stored.conversation.title.as_deref().is_some_and(|title| !title.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use rejoin::{Conversation, ConversationId, Time};

    use super::*;

    /// 2024-01-15 10:30:00 UTC.
    const NOW: i64 = 1_705_314_600_000_000;
    const HOUR: i64 = 3_600_000_000;

    fn stored() -> StoredConversation {
        let mut conversation = Conversation::titled("Lisbon\u{1b}[2J, on a \u{202e}budget");
        conversation.settings.provider = Some("anthropic\u{7}".to_owned());
        conversation.settings.model = Some("opus".to_owned());
        conversation.expires_at = Some(Time::from_micros(NOW + 50 * HOUR));
        StoredConversation {
            id: ConversationId::from_bytes([7; 16]),
            version: 1,
            conversation,
            head: None,
            branches: Vec::new(),
            created_at: Time::from_micros(NOW),
            last_active_at: Time::from_micros(NOW - 2 * HOUR),
            messages: 1_234,
            bytes: 34_567,
            first: "Where should we eat? Somewhere with a view of the river, if there is such a place."
                .to_owned(),
            last: "In Alfama.".to_owned(),
        }
    }

    fn drawn(stored: &StoredConversation, mark: LineMark, screen: Option<usize>) -> String {
        let clock = WallClock::new(NOW, TimeZone::UTC);
        let look = ListLook { clock: &clock, paint: Paint::Plain, screen };
        let project = Some("/home/ada/trip");
        look.entry(&ListedConversation { stored, mark, project, runs: 0, is_below: false })
    }

    #[test]
    fn an_entry_tells_everything_on_an_ordinary_screen() {
        let expected = "\
→ AU4eqF [chat] Lisbon, on a budget
    Last active: 2 hours ago | Status: active | Messages: 1,234 | Size: 35 kB
    Expires: in 2 days
    Provider: anthropic␇ (opus) | Updated: 2024-01-15 08:30
    Project: /home/ada/trip
    First: Where should we eat? Somewhere with a view of the river, if there is
           such a place.
    Last: In Alfama.
";

        assert_eq!(drawn(&stored(), LineMark::Active, Some(80)), expected);
    }

    #[test]
    fn an_entry_fits_a_narrow_screen() {
        let drawn = drawn(&stored(), LineMark::None, Some(40));

        let expected = "  AU4eqF [chat] Lisbon, on a budget
    Last active: 2 hours ago
    Status: active | Messages: 1,234
    Size: 35 kB | Expires: in 2 days
    Provider: anthropic␇ (opus)
    Updated: 2024-01-15 08:30
    Project: /home/ada/trip
    First: Where should we eat?
           Somewhere with a view of the
           river, if there is such a
           place.
    Last: In Alfama.
";
        assert_eq!(drawn, expected);
    }

    #[test]
    fn a_conversation_without_a_title_is_known_by_its_first_message() {
        let untitled = StoredConversation {
            conversation: Conversation { hold: Hold::User, ..Conversation::new() },
            messages: 0,
            bytes: 0,
            ..stored()
        };

        let expected = "  AU4eqF [chat] Where should we eat? Somewhere with a view of the river, if there is \
                        such a place.\n    \
                        Last active: 2 hours ago | Status: active | Messages: 0 | Size: 0 B | Kept\n    \
                        Provider: unknown (unknown) | Updated: 2024-01-15 08:30\n    \
                        Project: /home/ada/trip\n    \
                        Last: In Alfama.\n";
        assert_eq!(drawn(&untitled, LineMark::None, None), expected);
    }
}
