//! Messages as a person reads them: a heading each, and what was said under it.
//!
//! Stored text is indented and headings are not, so that no text can pass for a heading.

use std::io::{self, Write};

use rejoin::view::Compaction;
use rejoin::{
    Block, FileSnapshot, Json, Media, Message, MessageId, PathReader, PlainText, Role, StoredConversation,
    StoredMessage,
};

use crate::compaction::{LossesExtent, facts, losses};
use crate::error::Failure;
use crate::prompt::attached_as;
use crate::session::banner;
use crate::ui::cluster::clusters;
use crate::ui::markdown::Markdown;
use crate::ui::paint::{Meaning, Paint};
use crate::ui::when::WallClock;
use crate::ui::{clean, fit, size};

/// Spaces before what was said.
const INDENTATION: usize = 2;

/// How much of a tool's answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultLength {
    Short,
    Whole,
}

/// How to write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transcript<'a> {
    pub(super) clock: &'a WallClock,
    pub(super) paint: Paint,
    /// The width of the terminal, if there is one.
    pub(super) screen: Option<usize>,
    pub(super) length: ResultLength,
}

impl Transcript<'_> {
    /// Writes what the conversation is, then the messages in order.
    pub(super) fn write(
        &self,
        stored: &StoredConversation,
        path: PathReader,
        output: &mut dyn Write,
    ) -> Result<(), Failure> {
        for line in fit::wrap(&clean::line(stored.title()), self.screen.unwrap_or(usize::MAX)) {
            writeln!(output, "{}", self.paint.apply(Meaning::Title, &line))?;
        }
        let id = self.paint.apply(Meaning::Id, stored.id.short().as_str());
        let count = size::count(stored.messages, "message", "messages");
        let count = match path.len() as u64 {
            shown if shown == stored.messages => count,
            shown => format!("{} of {count}", size::number(shown)),
        };
        let facts = format!("Status: {} | {count}", stored.conversation.status.as_str());
        writeln!(output, "{id} {}", self.paint.apply(Meaning::Dim, &facts))?;
        if path.is_empty() {
            let id = stored.id.short();
            writeln!(
                output,
                "\n{}. Add one: rejoin append {id} \"your message\"",
                banner::no_turns(stored.id)
            )?;
        }
        let ignored = &stored.conversation.ignored_summaries;
        path.visit(|message| Ok(self.write_message(message, ignored, output)?))
    }

    fn write_message(
        &self,
        stored: &StoredMessage,
        ignored: &[MessageId],
        output: &mut dyn Write,
    ) -> io::Result<()> {
        let message = &stored.message;
        let role = message.role.as_str();
        let mut parts = vec![self.paint.apply(Meaning::Id, stored.id.as_str())];
        if let Some(time) = message.created_at {
            parts.push(self.paint.apply(Meaning::Dim, &format!("({})", self.clock.minute(time.as_micros()))));
        }
        parts.push(self.paint.apply(Meaning::of_role(role), &format!("[{}]", role.to_uppercase())));
        if let Some(label) = &message.label {
            parts.push(self.paint.apply(Meaning::Title, &format!("({})", clean::line(label))));
        }
        if stored.is_pinned {
            parts.push(self.paint.apply(Meaning::Dim, "pinned"));
        }
        if ignored.contains(&stored.id) {
            parts.push(self.paint.apply(Meaning::Dim, "undone"));
        }
        if message.is_error {
            parts.push(self.paint.apply(Meaning::Error, "failed"));
        }
        if let Some(finish) = message.finish.as_deref().filter(|_| message.was_cut_short()) {
            parts.push(self.paint.apply(Meaning::Warning, &clean::line(finish)));
        }
        writeln!(output, "\n{}", parts.join(" "))?;
        for block in &message.blocks {
            match block {
                Block::Text(text) if message.role == Role::Assistant => {
                    self.write_reply(&text.text, output)?;
                }
                Block::Text(text) if self.length == ResultLength::Short && attached_as(text).is_none() => {
                    self.write_said(message, &text.text, output)?;
                }
                block => self.write_block(block, output)?,
            }
        }
        match Compaction::from_message(message) {
            Some(Ok(compaction)) if compaction.tokens_before > 0 => {
                self.write_compaction(&compaction, output)
            }
            _ => Ok(()),
        }
    }

    /// What a summary stands for, and what it no longer mentions.
    fn write_compaction(&self, compaction: &Compaction, output: &mut dyn Write) -> io::Result<()> {
        let (before, after) = (size::number(compaction.tokens_before), size::number(compaction.tokens_after));
        let kept =
            size::count((compaction.kept.len() + compaction.unsaved.len()) as u64, "message", "messages");
        let lost = match compaction.lost.len() {
            0 => "everything that was named is still mentioned".to_owned(),
            1 => "1 fact is no longer mentioned".to_owned(),
            lost => format!("{} are no longer mentioned", facts(lost)),
        };
        let told = format!("[compaction] {before} → {after} tokens, {kept} of the user kept; {lost}");
        self.write_text(Meaning::Dim, &told, output)?;
        let extent = match self.length {
            ResultLength::Short => LossesExtent::Short,
            ResultLength::Whole => LossesExtent::All,
        };
        let screen = self.screen.map(|columns| columns.saturating_sub(INDENTATION));
        for line in losses(&compaction.lost, extent, screen) {
            writeln!(output, "{:INDENTATION$}{}", "", self.paint.apply(Meaning::Dim, &line))?;
        }
        Ok(())
    }

    /// What somebody said. What a program added to it is folded.
    fn write_said(&self, message: &Message, text: &str, output: &mut dyn Write) -> io::Result<()> {
        for (name, piece) in message.pieces(text) {
            match name {
                None => self.write_text(Meaning::Plain, piece, output)?,
                Some(name) => {
                    let size = size::bytes(piece.len() as u64);
                    self.write_text(Meaning::Dim, &format!("[{name}, {size}; --full shows it]"), output)?;
                }
            }
        }
        Ok(())
    }

    /// What a model wrote: drawn as the prompt draws it on a terminal with colours, and as it is elsewhere.
    fn write_reply(&self, text: &str, output: &mut dyn Write) -> io::Result<()> {
        let room = self.screen.map(|columns| columns.saturating_sub(INDENTATION));
        let Some(room) = room.filter(|_| self.paint == Paint::Colored) else {
            return self.write_text(Meaning::Plain, text, output);
        };
        let mut markdown = Markdown::new(self.paint);
        let drawn = markdown.push(text, room) + &markdown.finish(room);
        for line in drawn.lines().flat_map(|line| pieces(line, room)) {
            match line.is_empty() {
                true => writeln!(output)?,
                false => writeln!(output, "{:INDENTATION$}{line}", "")?,
            }
        }
        Ok(())
    }

    fn write_block(&self, block: &Block, output: &mut dyn Write) -> io::Result<()> {
        match block {
            Block::Text(text) => match attached_as(text).filter(|_| self.length == ResultLength::Short) {
                Some(name) => self.write_tag(&format!("{name}; to see all: --full"), output),
                None => self.write_text(Meaning::Plain, &text.text, output),
            },
            Block::Summary(summary) => {
                self.write_text(Meaning::Plain, &format!("[summary] {}", summary.text), output)
            }
            Block::Thinking(thinking) if thinking.text.is_empty() => {
                self.write_tag("thinking, hidden", output)
            }
            Block::Thinking(thinking) => {
                self.write_text(Meaning::Dim, &format!("[thinking] {}", thinking.text), output)
            }
            Block::ToolCall(call) => {
                let call = format!("[tool call] {} {}", clean::line(&call.name), self.brief(&call.input));
                self.write_text(Meaning::Tool, &call, output)
            }
            Block::ToolResult(result) => {
                self.write_tag(if result.is_error { "tool result, failed" } else { "tool result" }, output)?;
                self.write_answer(&block.words().unwrap_or_default(), output)
            }
            Block::Media(media) => self.write_tag(&describe(media), output),
            Block::Snapshot(snapshot) if snapshot.is_of_files() => {
                let files = FileSnapshot::of(block).map_or(0, |snapshot| snapshot.files);
                let files = size::count(files, "file", "files");
                self.write_tag(&format!("snapshot of {files}; `rejoin restore-files` restores it"), output)
            }
            Block::Snapshot(snapshot) => {
                self.write_text(Meaning::Dim, &format!("[snapshot] {}", self.brief(&snapshot.data)), output)
            }
            // The library's list of kinds is open-ended.
            _ => self.write_tag(block.kind(), output),
        }
    }

    /// What a tool answered, cut to its beginning unless all of it was asked for.
    fn write_answer(&self, text: &str, output: &mut dyn Write) -> io::Result<()> {
        if self.length == ResultLength::Whole {
            return self.write_text(Meaning::Tool, text, output);
        }
        let (lines, more) = PlainText::beginning(text);
        for line in lines {
            self.write_text(Meaning::Tool, &line, output)?;
        }
        if more > 0 {
            let more = size::count(more, "more line", "more lines");
            self.write_text(Meaning::Dim, &format!("... {more}; to see all: --full"), output)?;
        }
        Ok(())
    }

    fn brief(&self, json: &Json) -> String {
        match self.length {
            ResultLength::Whole => json.as_str().to_owned(),
            ResultLength::Short => fit::snippet(json.as_str(), PlainText::SHORT_ARGUMENTS),
        }
    }

    fn write_tag(&self, tag: &str, output: &mut dyn Write) -> io::Result<()> {
        let tag = format!("[{}]", clean::line(tag));
        writeln!(output, "{:INDENTATION$}{}", "", self.paint.apply(Meaning::Dim, &tag))
    }

    fn write_text(&self, meaning: Meaning, text: &str, output: &mut dyn Write) -> io::Result<()> {
        let room = self.screen.map_or(usize::MAX, |columns| columns.saturating_sub(INDENTATION));
        for line in fit::wrap(&clean::block(text), room) {
            let painted = self.paint.apply(meaning, &line);
            match painted.is_empty() {
                true => writeln!(output)?,
                false => writeln!(output, "{:INDENTATION$}{painted}", "")?,
            }
        }
        Ok(())
    }
}

/// Cuts a drawn line where the screen ends. The terminal would go on at its left edge, where headings stand.
fn pieces(line: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut taken = 0;
    for part in line.split_inclusive('m').flat_map(|part| {
        let (text, style) = part.split_at(part.find('\u{1b}').unwrap_or(part.len()));
        [(text, true), (style, false)]
    }) {
        if !part.1 {
            pieces.last_mut().expect("there is always one").push_str(part.0);
            continue;
        }
        for (cluster, columns) in clusters(part.0) {
            if taken + columns > room.max(columns) {
                pieces.push(String::new());
                taken = 0;
            }
            taken += columns;
            pieces.last_mut().expect("there is always one").push_str(cluster);
        }
    }
    pieces
}

/// Says what a file is, since a terminal cannot show it.
fn describe(media: &Media) -> String {
    let mut words = vec![media.kind.as_str().to_owned(), media.mime_type.clone()];
    if let Some(data) = &media.data {
        words.push(size::bytes(data.len() as u64 / 4 * 3));
    }
    words.extend(media.uri.clone());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use rejoin::{Archive, Conversation};

    use super::*;

    #[test]
    fn a_drawn_line_is_cut_where_the_screen_ends() {
        let cut = pieces("\u{1b}[1mone two\u{1b}[0m three", 5);

        assert_eq!(cut, ["\u{1b}[1mone t", "wo\u{1b}[0m th", "ree"]);
        assert_eq!(pieces("", 5), [""]);
        assert_eq!(pieces("日本", 1), ["日", "本"]);
    }

    /// A conversation of one message with these blocks, as it is shown.
    fn shown(blocks: &str, screen: Option<usize>, length: ResultLength) -> String {
        let blocks: Vec<Block> = serde_json::from_str(blocks).unwrap();
        let archive = Archive::open("memory:").unwrap();
        let mut trip = archive.start(Conversation::titled("Lisbon\u{1b}[2J")).unwrap();
        let time = "2024-01-15T10:30:00Z".parse().unwrap();
        let receipt =
            trip.append(Message::new(Role::Assistant, blocks).at(time).labelled("a\u{7}b")).unwrap();
        let clock = WallClock::new(0, TimeZone::UTC);
        let transcript = Transcript { clock: &clock, paint: Paint::Plain, screen, length };
        let mut output = Vec::new();
        let path = archive.reader().path(trip.id(), None).unwrap();
        assert!(transcript.write(&trip.conversation().unwrap(), path, &mut output).is_ok());
        let text = String::from_utf8(output).unwrap();
        text.replace(receipt.head.as_str(), "k3f9aB").replace(trip.id().short().as_str(), "Qx7d2M")
    }

    const BLOCKS: &str = r#"[
        {"type":"thinking","text":"They like fish, so the river it is."},
        {"type":"thinking","text":"","signature":"s"},
        {"type":"text","text":"In Alfama:\r\n\r\n\t- a tasca\u001b]0;x\u0007 with a view of the river\u202e\u0000"},
        {"type":"tool_call","id":"c1","name":"map","input":{"zoom": 1.50}},
        {"type":"tool_result","call_id":"c1","output":"1\n2\n3\n4\n5\n6\n7\n8\n9\n10","is_error":true},
        {"type":"image","mime_type":"image/png","data":"AAAAAAAA"},
        {"type":"file","mime_type":"text/plain","uri":"a.txt"},
        {"type":"snapshot","data":{"commit":"abc"}},
        {"type":"summary","text":"so far"},
        {"type":"from_the_future","text":5}]"#;

    #[test]
    fn every_kind_of_block_is_shown_or_named_on_a_narrow_screen() {
        let expected = "\
Lisbon
Qx7d2M Status: active | 1 message

k3f9aB (2024-01-15 10:30) [ASSISTANT] (a␇b)
  [thinking] They like fish, so the
  river it is.
  [thinking, hidden]
  In Alfama:

      - a tasca with a view of the
      river␀
  [tool call] map {\"zoom\": 1.50}
  [tool result, failed]
  1
  2
  3
  4
  5
  6
  7
  8
  ... 2 more lines; to see all: --full
  [image image/png 6 B]
  [file text/plain a.txt]
  [snapshot] {\"commit\":\"abc\"}
  [summary] so far
  [from_the_future]
";

        assert_eq!(shown(BLOCKS, Some(40), ResultLength::Short), expected);
    }

    #[test]
    fn the_answer_of_a_tool_is_shown_whole_when_asked_for() {
        let long = "x".repeat(400);
        let blocks =
            format!(r#"[{{"type":"tool_result","call_id":"c","output":"{long}\n2\n3\n4\n5\n6\n7\n8\n9"}}]"#);

        let shown = [ResultLength::Short, ResultLength::Whole].map(|length| {
            let shown = shown(&blocks, None, length);
            shown.lines().skip(5).map(str::to_owned).collect::<Vec<_>>().join("")
        });

        let short =
            format!("  {}...  2  3  4  5  6  7  8  ... 1 more line; to see all: --full", "x".repeat(300));
        assert_eq!(shown, [short, format!("  {long}  2  3  4  5  6  7  8  9")]);
    }
}
