//! A conversation as Markdown: the path to the head first, then each branch
//! that leaves it, then runs of sub-agents.
//!
//! Headings are ours, and what was said stands below them in quotations, so that no text can pass for a
//! heading. Tool calls are shortened as on a screen.

mod harmless;

use std::collections::VecDeque;
use std::fmt::Write;

pub(super) use harmless::is_page;
use harmless::{code, fenced, inline, quoted, yaml};

use crate::error::Result;
use crate::formats::{SourceMessage, Tree};
use crate::model::beginning;
use crate::model::{Block, Json, Media, ToolCall, ToolResult, visible};
use crate::ops::export::shorten::SHORT_ARGUMENTS;
use crate::ops::export::story::{CallAnswers, Story, count, describe, heading_of, minute, size, tokens};
use crate::ops::view::Compaction;

/// Characters of a title, a label or an address.
const TITLE: usize = 200;

impl Tree {
    /// Writes its conversations as a transcript in Markdown.
    ///
    /// It holds no control characters but line feeds and tabs. A tree without conversations is an error.
    pub fn to_markdown(&self) -> Result<String> {
        markdown(self)
    }
}

fn markdown(tree: &Tree) -> Result<String> {
    let main = tree.main()?;
    let mut page = MarkdownPage::default();
    let story = Story::of(tree, main);
    page.front_matter(&story);
    page.heading(1, &inline(&story.title(), TITLE));
    page.story(&story);
    for run in tree.conversations.iter().filter(|conversation| conversation.id != main.id) {
        let story = Story::of(tree, run);
        let name = run.parent.as_ref().map(|parent| format!("{} {}", parent.name, parent.run));
        page.heading(1, &format!("Sub-agent: {}", inline(&name.unwrap_or_else(|| story.title()), TITLE)));
        if let Some(message) = run.parent.as_ref().and_then(|parent| parent.message.as_deref()) {
            page.line(&format!("*Started by message {}.*", code(message, TITLE)));
        }
        page.story(&story);
    }
    Ok(page.text)
}

#[derive(Default)]
struct MarkdownPage {
    text: String,
    branches: usize,
}

impl MarkdownPage {
    fn front_matter(&mut self, story: &Story<'_>) {
        let header = &story.conversation.header;
        let mut facts = vec![
            ("title", Some(story.title())),
            ("id", Some(story.conversation.id.clone())),
            ("project", header.project.clone()),
            ("status", Some(header.status.as_str().to_owned())),
            ("provider", header.settings.provider.clone()),
            ("model", header.settings.model.clone()),
            ("created", Some(story.conversation.created_at.to_string())),
            ("last_message", story.last_time().map(|time| time.to_string())),
        ];
        self.text.push_str("---\n");
        for (name, value) in facts.drain(..) {
            if let Some(value) = value {
                let _ = writeln!(self.text, "{name}: {}", yaml(&value));
            }
        }
        let _ = writeln!(self.text, "messages: {}\n---", story.messages.len());
    }

    /// The path to the head, and then what leaves it.
    fn story(&mut self, story: &Story<'_>) {
        let Some(first) = story.main_of(story.roots()) else {
            return self.line("*Nothing was said.*");
        };
        let mut others = VecDeque::new();
        self.leave(story, story.roots(), first, None, &mut others);
        self.follow(story, first, &mut others);
        while let Some((first, number, after)) = others.pop_front() {
            self.heading(1, &format!("Branch {number}: {}", inline(&story.branch_name(first), TITLE)));
            self.line(&match after {
                Some(after) => format!("*Leaves after message {}.*", code(&story.messages[after].id, TITLE)),
                None => "*Leaves at the beginning.*".to_owned(),
            });
            self.follow(story, first, &mut others);
        }
    }

    fn follow(
        &mut self,
        story: &Story<'_>,
        first: usize,
        others: &mut VecDeque<(usize, usize, Option<usize>)>,
    ) {
        let mut first = Some(first);
        while let Some(begin) = first {
            let stretch = story.stretch(begin);
            let answers = story.answers(&stretch.messages);
            for place in &stretch.messages {
                self.message(story, *place, &answers);
            }
            first = story.main_of(stretch.next);
            if let Some(main) = first {
                self.leave(story, stretch.next, main, stretch.messages.last().copied(), others);
            }
        }
    }

    /// Says which branches leave here.
    fn leave(
        &mut self,
        story: &Story<'_>,
        next: &[usize],
        main: usize,
        after: Option<usize>,
        others: &mut VecDeque<(usize, usize, Option<usize>)>,
    ) {
        for place in next.iter().copied().filter(|place| *place != main) {
            self.branches += 1;
            others.push_back((place, self.branches, after));
            let name = inline(&story.branch_name(place), TITLE);
            self.line(&format!("*Branch {} leaves here: {name}*", self.branches));
        }
    }

    fn message(&mut self, story: &Story<'_>, place: usize, answers: &CallAnswers) {
        let found = story.messages[place];
        let message = &found.message;
        let is_shown = |block: usize| !answers.is_given(place, block);
        if !message.blocks.is_empty() && !(0..message.blocks.len()).any(is_shown) {
            return;
        }
        let mut facts = vec![heading_of(message).to_owned()];
        facts.extend(message.created_at.map(minute));
        facts.push(code(&found.id, TITLE));
        facts.extend(message.label.as_deref().map(|label| inline(label, TITLE)));
        if story.is_pinned(place) {
            facts.push("pinned".to_owned());
        }
        if message.is_error {
            facts.push("failed".to_owned());
        }
        facts.extend(
            message.finish.as_deref().filter(|_| message.was_cut_short()).map(|own| inline(own, TITLE)),
        );
        self.heading(2, &facts.join(" · "));
        for (number, block) in message.blocks.iter().enumerate().filter(|(number, _)| is_shown(*number)) {
            match block {
                Block::ToolCall(call) => self.call(story, call, answers.result_of(place, number)),
                block => self.block(found, block),
            }
        }
    }

    fn block(&mut self, found: &SourceMessage, block: &Block) {
        match block {
            Block::Text(text) => {
                for (name, piece) in found.message.pieces(&text.text) {
                    match name {
                        None => self.quote(piece),
                        Some(name) => self.line(&format!("*{name}, {}*", size(piece.len() as u64))),
                    }
                }
            }
            Block::Thinking(thinking) if thinking.text.trim().is_empty() => self.line("*Thinking, hidden*"),
            Block::Thinking(thinking) => {
                self.line("*Thinking*");
                self.quote(&thinking.text);
            }
            Block::ToolCall(call) => self.line(&called(call)),
            Block::ToolResult(result) => {
                self.line(if result.is_error { "**Result**, failed" } else { "**Result**" });
                self.answer(result);
            }
            Block::Media(media) => self.line(&attachment(media)),
            Block::Snapshot(snapshot) if snapshot.is_of_files() => {}
            Block::Snapshot(snapshot) => self.line(&format!("*State* {}", arguments(&snapshot.data))),
            Block::Summary(summary) => {
                self.line(&compacted(found));
                self.quote(&summary.text);
            }
            Block::Other(other) => {
                let fields = Json::of(&other.fields).unwrap_or_default();
                self.line(&format!("*{}* {}", inline(&other.kind, TITLE), arguments(&fields)));
            }
        }
    }

    fn call(&mut self, story: &Story<'_>, call: &ToolCall, result: Option<(usize, usize)>) {
        let result = result.map(|(place, number)| &story.messages[place].message.blocks[number]);
        let Some(Block::ToolResult(result)) = result else {
            return self.line(&format!("{}, no result", called(call)));
        };
        self.line(&if result.is_error { format!("{}, failed", called(call)) } else { called(call) });
        self.answer(result);
    }

    /// What a tool answered, shortened as on a screen.
    fn answer(&mut self, result: &ToolResult) {
        let block = Block::ToolResult(result.clone());
        let words = block.words().unwrap_or_default();
        let words = visible(&words);
        let (lines, more) = beginning(&words);
        if lines.is_empty() {
            return;
        }
        self.gap();
        self.text.push_str(&fenced("text", &lines.join("\n")));
        if more > 0 {
            self.line(&format!("*... {}*", count(more as usize, "more line", "more lines")));
        }
    }

    fn quote(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.gap();
            self.text.push_str(&quoted(text));
        }
    }

    fn heading(&mut self, level: usize, text: &str) {
        self.line(&format!("{} {text}", "#".repeat(level)));
    }

    fn line(&mut self, line: &str) {
        self.gap();
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A blank line between any two things.
    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}

fn called(call: &ToolCall) -> String {
    format!("**Tool call** {} {}", code(&call.name, TITLE), arguments(&call.input))
}

fn arguments(json: &Json) -> String {
    code(json.as_str(), SHORT_ARGUMENTS)
}

fn attachment(media: &Media) -> String {
    let what = inline(&describe(media), TITLE);
    match &media.uri {
        Some(uri) => format!("*Attachment: {what}* {}", code(uri, TITLE)),
        None => format!("*Attachment: {what}*"),
    }
}

/// What a summary stands for.
fn compacted(found: &SourceMessage) -> String {
    match Compaction::from_message(&found.message) {
        Some(Ok(compaction)) if compaction.tokens_before > 0 => {
            format!("*What came before was summarised for the model: {}.*", tokens(&compaction))
        }
        _ => "*What came before was summarised for the model.*".to_owned(),
    }
}
