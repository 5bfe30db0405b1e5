//! The end of a conversation, drawn as it looked, for somebody who comes back to it.

use std::time::Duration;

use rejoin::{Block, Message, Role, ToolCall, ToolResult};
use rejoin_agent::Output;

use super::{own_line, tool};
use crate::ui::markdown::Markdown;
use crate::ui::page::ScreenSize;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::{clean, escape, fit, size};

/// About how many columns the lines around the conversation take: what is resumed, whom it is talked with,
/// how much is above.
const AROUND: [usize; 5] = [40, 50, 38, 60, 40];

/// Empty rows around the conversation, and the next line.
const GAPS: usize = 4;

/// The least that is drawn of a conversation, also on a very low screen.
const LEAST: usize = 4;

/// A longer text of a user is folded.
const LONGEST_USER_TEXT: usize = 8;

/// The end of a conversation, as lines of the screen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Redrawn {
    pub(crate) text: String,
    /// How many messages are not shown.
    pub(crate) above: usize,
    /// True when the first message that is shown begins above.
    pub(crate) is_cut: bool,
}

impl Redrawn {
    /// What is not shown, and how to see it.
    pub(crate) fn told(&self) -> Option<String> {
        let more = size::count(self.above as u64, "more message", "more messages");
        match (self.above, self.is_cut) {
            (0, false) => None,
            (0, true) => Some("This message begins above. To see all of it: /show".to_owned()),
            (_, false) => Some(format!("{more} above. To see all: /show")),
            (_, true) => Some(format!("{more} and the beginning of this one above. To see all: /show")),
        }
    }
}

/// Draws the last messages, as many as fit on one screen. `typed` is what a person typed of a message.
pub(crate) fn redraw(
    messages: &[&Message],
    typed: fn(&Message) -> String,
    screen: ScreenSize,
    paint: Paint,
) -> Redrawn {
    let columns = screen.columns.max(1);
    let around: usize = AROUND.iter().map(|line| line.div_ceil(columns)).sum();
    let room = screen.rows.saturating_sub(GAPS + around).max(LEAST);
    let drawing = Redrawing { typed, columns, paint };
    let mut pieces: Vec<Vec<String>> = Vec::new();
    let (mut used, mut above, mut is_cut) = (0, messages.len(), false);
    for (place, message) in messages.iter().enumerate().rev() {
        let mut lines = drawing.message(message, &messages[place + 1..]);
        let height: usize = lines.iter().map(|line| drawing.height(line)).sum();
        if used + height > room {
            // Of a long reply its end is shown, where that says anything.
            let left = room - used;
            if pieces.iter().all(Vec::is_empty) || left >= LEAST {
                pieces.push(drawing.end_of(&mut lines, left));
                (above, is_cut) = (place, true);
            }
            break;
        }
        used += height;
        above = place;
        pieces.push(lines);
    }
    if !is_cut {
        above += drop_lone_replies(&mut pieces, &messages[above..]);
    }
    let lines: Vec<String> = pieces.into_iter().rev().flatten().collect();
    let text = lines.join("\n");
    Redrawn { text: text.trim_start_matches('\n').to_owned() + "\n", above, is_cut }
}

/// Takes a few lines at the top away that answer what is not shown. Returns how many messages that are.
fn drop_lone_replies(pieces: &mut Vec<Vec<String>>, messages: &[&Message]) -> usize {
    let Some(lone) = messages.iter().position(|message| message.role == Role::User) else { return 0 };
    let kept = pieces.len().saturating_sub(lone);
    let lines: usize = pieces[kept..].iter().map(Vec::len).sum();
    if lines >= LEAST {
        return 0;
    }
    pieces.truncate(kept);
    lone
}

struct Redrawing {
    typed: fn(&Message) -> String,
    columns: usize,
    paint: Paint,
}

impl Redrawing {
    /// The lines of a message; `later` is what follows it, where the results of its calls are.
    fn message(&self, message: &Message, later: &[&Message]) -> Vec<String> {
        match message.role {
            Role::User => self.user(message),
            Role::Assistant => self.assistant(message, later),
            // Results stand with their calls, and instructions are not part of what was said.
            Role::Tool | Role::System => Vec::new(),
        }
    }

    fn user(&self, message: &Message) -> Vec<String> {
        if message.blocks.iter().any(|block| matches!(block, Block::Summary(_))) {
            return self.own(Meaning::Dim, "Older messages are summarized from here on.");
        }
        let text = clean::block(&(self.typed)(message));
        let mut lines = fit::wrap(text.trim_end(), self.columns.saturating_sub(2).max(1));
        let folded = lines.len().saturating_sub(LONGEST_USER_TEXT);
        if folded > 1 {
            lines.truncate(LONGEST_USER_TEXT);
            let more = format!("... {}", size::count(folded as u64, "more line", "more lines"));
            lines.push(self.paint.apply(Meaning::Dim, &more));
        }
        let sign = self.paint.apply(Meaning::Success, ">");
        let mut drawn = vec![String::new()];
        for (place, line) in lines.into_iter().enumerate() {
            drawn.push(if place == 0 { format!("{sign} {line}") } else { format!("  {line}") });
        }
        let media = message.blocks.iter().filter_map(|block| match block {
            Block::Media(media) => Some(format!("[{}]", media.mime_type)),
            _ => None,
        });
        for media in media {
            drawn.extend(self.own(Meaning::Dim, &media));
        }
        drawn
    }

    fn assistant(&self, message: &Message, later: &[&Message]) -> Vec<String> {
        let mut drawn = Vec::new();
        for block in &message.blocks {
            match block {
                Block::Text(text) => {
                    let mut markdown = Markdown::new(self.paint);
                    let mut shown = markdown.push(&text.text, self.columns);
                    shown += &markdown.finish(self.columns);
                    drawn.extend(shown.trim_end().lines().map(str::to_owned));
                }
                Block::ToolCall(call) => drawn.push(self.call(call, later)),
                Block::Media(media) => {
                    drawn.extend(self.own(Meaning::Dim, &format!("[{}]", media.mime_type)));
                }
                _ => {}
            }
        }
        if message.was_cut_short() {
            drawn.extend(self.own(Meaning::Warning, &cut_short(message)));
        }
        drawn
    }

    fn call(&self, call: &ToolCall, later: &[&Message]) -> String {
        let results = later.iter().take_while(|message| message.role == Role::Tool);
        let result = results.flat_map(|message| &message.blocks).find_map(|block| match block {
            Block::ToolResult(result) if result.call_id == call.id => Some(result),
            _ => None,
        });
        let output = result.map_or_else(|| Output::failure("no result"), output);
        tool::line(&summary(call), &output, Duration::ZERO, self.columns, self.paint)
    }

    fn own(&self, meaning: Meaning, text: &str) -> Vec<String> {
        own_line(text, meaning, self.paint).lines().map(str::to_owned).collect()
    }

    /// The rows that a line takes on the screen.
    fn height(&self, line: &str) -> usize {
        visible_width(line).div_ceil(self.columns).max(1)
    }

    /// As many of the last lines as there is room for.
    fn end_of(&self, lines: &mut Vec<String>, room: usize) -> Vec<String> {
        let mut taken = 0;
        let mut from = lines.len();
        for (place, line) in lines.iter().enumerate().rev() {
            taken += self.height(line);
            if taken > room {
                break;
            }
            from = place;
        }
        lines.split_off(from)
    }
}

fn cut_short(message: &Message) -> String {
    match message.finish.as_deref() {
        Some("interrupted") | None => "This reply was interrupted.".to_owned(),
        Some(finish) => format!("This reply ended early ({}).", clean::line(finish)),
    }
}

fn output(result: &ToolResult) -> Output {
    Output { output: result.output.clone(), is_error: result.is_error, media: Vec::new() }
}

/// What a call did, as it was told when it ran. Tools of other programs have their own names.
fn summary(call: &ToolCall) -> String {
    let input: serde_json::Value = call.input.to().unwrap_or_default();
    let field = |names: &[&str]| {
        let found = names.iter().find_map(|name| input.get(name)?.as_str());
        found.map(|text| text.trim_start().lines().next().unwrap_or_default().to_owned())
    };
    let (doing, of) = match call.name.as_str() {
        "run" => ("Run", field(&["command"])),
        "read" => ("Read", field(&["path"])),
        "list" => ("List", field(&["path"])),
        "write" => ("Write", field(&["path"])),
        "edit" => ("Edit", field(&["path"])),
        "find" => ("Find", field(&["pattern", "glob"])),
        name => (name, field(&["command", "file_path", "path", "pattern", "query", "url", "description"])),
    };
    of.map_or_else(|| doing.to_owned(), |of| format!("{doing} `{of}`"))
}

/// The columns of a line that may hold sequences for colours.
fn visible_width(line: &str) -> usize {
    let mut width = 0;
    let mut rest = line;
    while let Some(at) = rest.find('\u{1b}') {
        width += fit::width(&rest[..at]);
        rest = &rest[at..];
        rest = escape::skip(rest).unwrap_or(&rest[1..]);
    }
    width + fit::width(rest)
}

#[cfg(test)]
mod tests {
    use rejoin::Json;

    use super::*;

    fn drawn(messages: &[Message], columns: usize, rows: usize) -> Redrawn {
        let messages: Vec<&Message> = messages.iter().collect();
        redraw(&messages, Message::text, ScreenSize { columns, rows }, Paint::Plain)
    }

    fn exchange(number: usize) -> [Message; 2] {
        [Message::user(format!("Question {number}")), Message::assistant(format!("Answer {number}."))]
    }

    #[test]
    fn the_last_exchanges_are_drawn_as_they_looked() {
        let call = Block::tool_call("c1", "run", Json::of(&serde_json::json!({"command": "date"})).unwrap());
        let messages = [
            Message::user("What day is it?\nToday?"),
            Message::new(Role::Assistant, vec![Block::text("Let me look."), call]),
            Message::new(Role::Tool, vec![Block::tool_result("c1", Json::of(&"Mon\n").unwrap())]),
            Message::assistant("It is **Monday**."),
        ];

        let expected =
            "> What day is it?\n  Today?\nLet me look.\n\u{2022} Run `date` \u{b7} Mon\nIt is **Monday**.\n";
        assert_eq!(drawn(&messages, 80, 24), Redrawn { text: expected.to_owned(), above: 0, is_cut: false });
    }

    #[test]
    fn no_more_than_a_screen_is_drawn_and_the_rest_is_counted() {
        let messages: Vec<Message> = (1..=20).flat_map(exchange).collect();

        let redrawn = drawn(&messages, 80, 16);

        // There is room for the answer before them, which says little without its question.
        let expected = "> Question 19\nAnswer 19.\n\n> Question 20\nAnswer 20.\n";
        assert_eq!(redrawn.told().as_deref(), Some("36 more messages above. To see all: /show"));
        assert_eq!(redrawn, Redrawn { text: expected.to_owned(), above: 36, is_cut: false });
    }

    #[test]
    fn of_a_reply_that_is_longer_than_the_screen_the_end_is_drawn() {
        let long: String = (1..=50).map(|line| format!("line {line}\n")).collect();
        let messages = [Message::user("Count."), Message::assistant(long)];

        let redrawn = drawn(&messages, 80, 13);

        let expected = "line 47\nline 48\nline 49\nline 50\n";
        let told = "1 more message and the beginning of this one above. To see all: /show";
        assert_eq!(redrawn.told().as_deref(), Some(told));
        assert_eq!(redrawn, Redrawn { text: expected.to_owned(), above: 1, is_cut: true });
    }

    #[test]
    fn a_reply_that_was_interrupted_says_so() {
        let mut cut = Message::assistant("In Alfama ");
        cut.finish = Some("interrupted".to_owned());

        let expected = "> Where?\nIn Alfama\nThis reply was interrupted.\n";
        assert_eq!(drawn(&[Message::user("Where?"), cut], 80, 24).text, expected);
    }

    #[test]
    fn a_long_text_of_the_user_is_folded() {
        let text: Vec<String> = (1..=30).map(|line| format!("line {line}")).collect();

        let redrawn = drawn(&[Message::user(text.join("\n"))], 80, 40);

        assert_eq!(redrawn.text.lines().last(), Some("  ... 22 more lines"));
    }
}
