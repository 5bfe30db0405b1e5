//! The picture: what is typed, the list, and beside it what was said last, where there is room.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use rejoin::StoredConversation;

use super::preview::PreviewMessage;
use super::state::{PickerRow, PickerState};
use crate::project_names::ProjectNames;
use crate::session::banner;
use crate::session::reach::Reach;
use crate::session::stop::summary_in_list;
use crate::ui::paint::Paint;
use crate::ui::when::WallClock;
use crate::ui::{clean, fit};

/// From this width on there is room for what was said beside the list.
const WITH_PREVIEW: u16 = 80;

const PROMPT: &str = "Resume: ";

/// How to draw.
#[derive(Debug)]
pub(super) struct PickerLook {
    pub(super) clock: WallClock,
    pub(super) paint: Paint,
    pub(super) names: ProjectNames,
}

impl PickerLook {
    pub(super) fn draw(
        &self,
        frame: &mut Frame<'_>,
        state: &mut PickerState,
        said: &mut impl FnMut(&PickerState) -> Result<Vec<PreviewMessage>, String>,
    ) {
        let rows = Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)]);
        let [top, middle, bottom] = frame.area().layout(&rows);
        self.draw_query(frame, top, state);
        if middle.width >= WITH_PREVIEW {
            let columns = [Constraint::Percentage(45), Constraint::Length(3), Constraint::Min(1)];
            let [left, between, right] = middle.layout(&Layout::horizontal(columns));
            self.draw_list(frame, left, state);
            let wall = vec![Line::styled(" │", self.dim()); between.height.into()];
            frame.render_widget(Paragraph::new(wall), between);
            self.draw_preview(frame, right, state, said(state));
        } else {
            self.draw_list(frame, middle, state);
        }
        self.draw_help(frame, bottom, state);
    }

    fn draw_query(&self, frame: &mut Frame<'_>, area: Rect, state: &PickerState) {
        let (matching, all) = state.counts();
        let count = format!(" {matching}/{all}");
        let room = usize::from(area.width).saturating_sub(PROMPT.len() + count.len() + 1);
        // The end of what is typed is where the eye is.
        let mut query = clean::line(state.query());
        if state.query().ends_with(' ') {
            query.push(' ');
        }
        while fit::width(&query) > room && !query.is_empty() {
            query.remove(0);
        }
        let cursor = PROMPT.len() + fit::width(&query);
        let line = Line::from(vec![
            Span::styled(PROMPT, self.bold()),
            Span::raw(fit::pad_right(&query, room + 1)),
            Span::styled(count, self.dim()),
        ]);
        frame.render_widget(Paragraph::new(line), area);
        let column = area.x.saturating_add(u16::try_from(cursor).unwrap_or(u16::MAX));
        frame.set_cursor_position(Position::new(column.min(area.right().saturating_sub(1)), area.y));
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, state: &mut PickerState) {
        let height = usize::from(area.height).max(1);
        let place = state.place();
        state.top = state.top.min(place).max((place + 1).saturating_sub(height));
        let visible = state.rows().iter().enumerate().skip(state.top).take(height);
        let lines: Vec<Line<'_>> =
            visible.map(|(at, row)| self.row(state, row, at == place, area.width.into())).collect();
        let lines = match (lines.is_empty(), state.counts().1) {
            (false, _) => lines,
            (true, 0) => vec![Line::raw("There is nothing to resume.")],
            (true, _) => vec![Line::raw("Nothing matches.")],
        };
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn row(&self, state: &PickerState, row: &PickerRow, is_selected: bool, columns: usize) -> Line<'static> {
        let mark = if is_selected { "> " } else { "  " };
        let style = if is_selected { self.bold() } else { Style::new() };
        let stored = state.conversation_of(row);
        match row {
            PickerRow::Branch(_, branch) => {
                let title = fit::snippet(&branch.title, columns.saturating_sub(6));
                Line::from(vec![Span::styled(format!("{mark}  └ {title}"), style)])
            }
            PickerRow::Conversation(_) => {
                let when = self.clock.relative(stored.last_active_at.as_micros());
                let kind = match stored.conversation.kind.as_str() {
                    "chat" => String::new(),
                    kind => format!("[{}] ", fit::snippet(kind, 12)),
                };
                let room = columns.saturating_sub(mark.len() + fit::width(&when) + 1);
                let title = fit::snippet(&format!("{kind}{}", stored.title()), room);
                Line::from(vec![
                    Span::styled(format!("{mark}{}", fit::pad_right(&title, room)), style),
                    Span::styled(format!(" {when}"), self.dim()),
                ])
            }
        }
    }

    fn draw_preview(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        state: &PickerState,
        said: Result<Vec<PreviewMessage>, String>,
    ) {
        let Some(stored) = state.selected_conversation() else { return };
        let columns = usize::from(area.width);
        let mut lines = self.facts(stored, state.reach(), columns);
        let room = usize::from(area.height).saturating_sub(lines.len());
        let mut talk = match said {
            Ok(said) => said.iter().flat_map(|said| self.said(said, columns)).collect::<Vec<_>>(),
            Err(reason) => vec![Line::raw(fit::snippet(&format!("It cannot be read: {reason}"), columns))],
        };
        talk.pop_if(|line| line.width() == 0);
        // What was said last is what people recognise.
        let hidden = talk.len().saturating_sub(room);
        lines.extend(talk.drain(hidden..));
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn facts(&self, stored: &StoredConversation, reach: Reach, columns: usize) -> Vec<Line<'static>> {
        let title = Line::styled(fit::snippet(stored.title(), columns), self.bold());
        let interrupted = if stored.is_interrupted() { ", interrupted" } else { "" };
        let mut facts = vec![
            format!(
                "{} | {}{interrupted} | {} messages",
                stored.id.short(),
                stored.conversation.status.as_str(),
                stored.messages
            ),
            banner::talked_with(&stored.conversation.settings),
        ];
        if reach == Reach::Everything {
            facts.push(self.names.path_of(stored).to_owned());
        }
        if stored.conversation.synopsis.is_some() {
            facts.push(summary_in_list(stored));
        }
        let wrapped = facts.iter().flat_map(|fact| fit::wrap(&clean::line(fact), columns));
        let mut lines: Vec<Line<'_>> = vec![title];
        lines.extend(wrapped.map(|line| Line::styled(line, self.dim())));
        lines.push(Line::raw(""));
        lines
    }

    fn said(&self, said: &PreviewMessage, columns: usize) -> Vec<Line<'static>> {
        let mut lines = vec![Line::styled(said.role, self.role(said.role))];
        lines.extend(fit::wrap(&clean::block(&said.text), columns).into_iter().map(Line::raw));
        lines.push(Line::raw(""));
        lines
    }

    fn draw_help(&self, frame: &mut Frame<'_>, area: Rect, state: &PickerState) {
        let reach = match state.reach() {
            Reach::Project => "Tab all projects",
            Reach::Everything => "Tab this project",
        };
        let help = match state.said() {
            Some(said) => clean::line(said),
            None => format!("Enter resume  Esc leave  {reach}  → branches"),
        };
        let help = fit::truncate(&help, area.width.into());
        frame.render_widget(Paragraph::new(Line::styled(help, self.dim())), area);
    }

    fn bold(&self) -> Style {
        self.colored(Style::new().add_modifier(Modifier::BOLD))
    }

    fn dim(&self) -> Style {
        self.colored(Style::new().add_modifier(Modifier::DIM))
    }

    fn role(&self, role: &str) -> Style {
        let color = match role {
            "user" => Color::Green,
            "assistant" => Color::Cyan,
            "tool" => Color::Magenta,
            _ => Color::Blue,
        };
        self.colored(Style::new().fg(color))
    }

    fn colored(&self, style: Style) -> Style {
        match self.paint {
            Paint::Colored => style,
            Paint::Plain => Style::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use rejoin::{Archive, Conversation, List, Message};

    use super::*;
    use crate::picker::preview::PreviewCache;

    fn archive() -> Archive {
        let archive = Archive::open("memory:").unwrap();
        let mut lisbon = archive.start(Conversation::titled("Lisbon\u{1b}[2J, 日本語 on a budget")).unwrap();
        lisbon.append(Message::user("Where to eat?")).unwrap();
        lisbon.append(Message::assistant("In Alfama.\u{9b}2J\nTry a tasca.")).unwrap();
        let brainstorm = Conversation { kind: "brainstorm".to_owned(), ..Conversation::titled("Names") };
        archive.start(brainstorm).unwrap();
        archive
    }

    fn drawn(archive: &Archive, columns: u16, rows: u16) -> String {
        let mut state = PickerState::new(archive.list(&List::default()).unwrap().items, Reach::Project);
        state.go(1);
        let clock = WallClock::new(archive.now().as_micros(), TimeZone::UTC);
        let look = PickerLook { clock, paint: Paint::Plain, names: ProjectNames::default() };
        let mut previews = PreviewCache::default();
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| look.draw(frame, &mut state, &mut previews.of(archive))).unwrap();
        let short = state.selected_conversation().unwrap().id.short().to_string();
        let picture = terminal.backend().to_string().replace(&short, "[id]..");
        // What stands after the quotes tells which cells lie under a wide character.
        let lines = picture.lines().map(|line| line.split('"').nth(1).unwrap_or_default().trim_end());
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_narrow_screen_shows_the_list_alone() {
        let picture = drawn(&archive(), 40, 5);

        let expected = "\
Resume:                              2/2
  [brainstorm] Names            just now
> Lisbon, 日本語 on a budget    just now

Enter resume  Esc leave  Tab all proj...";
        assert_eq!(picture, expected);
    }

    #[test]
    fn a_wide_screen_shows_what_was_said_last_beside_it() {
        let picture = drawn(&archive(), 80, 9);

        let expected = "\
Resume:                                                                      2/2
  [brainstorm] Names        just now │ Lisbon, 日本語 on a budget
> Lisbon, 日本語 on a bu... just now │ [id].. | active | 2 messages
                                     │ unknown (unknown)
                                     │
                                     │ assistant
                                     │ In Alfama.
                                     │ Try a tasca.
Enter resume  Esc leave  Tab all projects  → branches";
        assert_eq!(picture, expected);
    }

    #[test]
    fn the_smallest_screen_is_no_trouble() {
        let pictures =
            [(1, 1), (2, 3), (9, 2), (200, 1)].map(|(columns, rows)| drawn(&archive(), columns, rows));

        assert_eq!(pictures.len(), 4);
    }
}
