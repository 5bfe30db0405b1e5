//! One message on the page: a heading, and what was said below it.

use crate::model::{Block, Json, Media, Message, Role, Snapshot, ToolCall, ToolResult};
use crate::ops::export::html::image;
use crate::ops::export::html::prose;
use crate::ops::export::html::writer::Html;
use crate::ops::export::markdown::is_page;
use crate::ops::export::shorten::{SHORT_ARGUMENTS, brief};
use crate::ops::export::story::{CallAnswers, Story, count, describe, heading_of, minute, size, tokens};
use crate::ops::view::Compaction;

/// Characters of a tool's arguments or answer on the page. The complete text is in the JSON.
const LONGEST: usize = 20_000;

/// Longer instructions to the model are folded.
const LONGEST_INSTRUCTION: usize = 1_000;

/// Writes a message, unless everything in it is shown with the calls that it answers.
pub(super) fn message(html: &mut Html, story: &Story<'_>, anchor: &str, place: usize, answers: &CallAnswers) {
    let found = story.messages[place];
    let message = &found.message;
    let is_shown = |block: usize| !answers.is_given(place, block);
    if !message.blocks.is_empty() && !(0..message.blocks.len()).any(is_shown) {
        return;
    }
    let is_summary = message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
    let class = if is_summary { "compaction" } else { message.role.as_str() };
    html.open("article", &[("class", class), ("id", anchor)]);
    html.open("header", &[]);
    html.element("h3", &[], heading_of(message));
    if let Some(label) = &message.label {
        html.element("span", &[("class", "label"), ("dir", "auto")], label);
    }
    if story.is_pinned(place) {
        html.element("span", &[("class", "mark")], "pinned");
    }
    if message.is_error {
        html.element("span", &[("class", "mark bad")], "failed");
    }
    if let Some(finish) = message.finish.as_deref().filter(|_| message.was_cut_short()) {
        html.element("span", &[("class", "mark bad")], finish);
    }
    if let Some(time) = message.created_at {
        html.element("time", &[("datetime", &time.to_string())], &minute(time));
    }
    html.element("a", &[("class", "id"), ("href", &format!("#{anchor}"))], &found.id);
    html.close("header");
    for (number, block) in message.blocks.iter().enumerate().filter(|(number, _)| is_shown(*number)) {
        match block {
            Block::ToolCall(call) => {
                let result = answers.result_of(place, number);
                let result = result.map(|(place, number)| &story.messages[place].message.blocks[number]);
                tool(html, call, result);
            }
            block => one(html, message, block),
        }
    }
    html.close("article");
    html.line();
}

fn one(html: &mut Html, message: &Message, block: &Block) {
    match block {
        Block::Text(text) => {
            for (name, piece) in message.pieces(&text.text) {
                match name {
                    None => said(html, message.role, piece),
                    Some(name) => added(html, name, piece),
                }
            }
        }
        Block::Thinking(thinking) if thinking.text.trim().is_empty() => {
            html.element("p", &[("class", "aside")], "Thinking, hidden by the provider");
        }
        Block::Thinking(thinking) => {
            html.open("details", &[("class", "thinking")]);
            html.element("summary", &[], "Thinking");
            marked(html, &thinking.text);
            html.close("details");
        }
        Block::ToolCall(call) => tool(html, call, None),
        Block::ToolResult(result) => {
            html.open("details", &[("class", if result.is_error { "tool bad" } else { "tool" })]);
            html.open("summary", &[]);
            html.element("span", &[("class", "name")], "Result");
            html.element("span", &[("class", "brief")], &brief(&answer(result), SHORT_ARGUMENTS));
            html.close("summary");
            code(html, &answer(result));
            html.close("details");
        }
        Block::Media(media) => attachment(html, media),
        Block::Snapshot(snapshot) if snapshot.is_of_files() => {}
        Block::Snapshot(Snapshot { data, .. }) => folded(html, "State", data),
        Block::Summary(summary) => {
            html.element("p", &[("class", "aside")], &compacted(message));
            html.open("details", &[("class", "thinking")]);
            html.element("summary", &[], "Summary");
            marked(html, &summary.text);
            html.close("details");
        }
        Block::Other(other) => {
            let name = if other.kind.is_empty() { "unknown" } else { &other.kind };
            folded(html, name, &Json::of(&other.fields).unwrap_or_default());
        }
    }
}

/// What a model says is Markdown; what others say is shown as they typed it.
fn said(html: &mut Html, role: Role, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    match role {
        Role::Assistant => marked(html, text),
        Role::System if text.len() > LONGEST_INSTRUCTION => {
            html.open("details", &[("class", "thinking")]);
            let length = count(text.chars().count(), "character", "characters");
            html.element("summary", &[], &format!("Instructions · {length}"));
            marked(html, text);
            html.close("details");
        }
        Role::System | Role::User | Role::Tool => {
            html.element(
                "div",
                &[("class", "prose typed"), ("dir", "auto"), ("lang", "und")],
                text.trim_matches('\n'),
            );
        }
    }
}

/// What a program added in the name of the author.
fn added(html: &mut Html, name: &str, text: &str) {
    html.open("details", &[("class", "thinking")]);
    html.element("summary", &[], &format!("{name} · {}", size(text.len() as u64)));
    html.element("div", &[("class", "prose typed"), ("dir", "auto"), ("lang", "und")], text.trim());
    html.close("details");
}

fn marked(html: &mut Html, text: &str) {
    html.open("div", &[("class", "prose"), ("dir", "auto"), ("lang", "und")]);
    prose::write(html, text);
    html.close("div");
}

fn tool(html: &mut Html, call: &ToolCall, result: Option<&Block>) {
    let result = match result {
        Some(Block::ToolResult(result)) => Some(result),
        _ => None,
    };
    let is_bad = result.is_some_and(|result| result.is_error);
    html.open("details", &[("class", if is_bad { "tool bad" } else { "tool" })]);
    html.open("summary", &[]);
    html.element("span", &[("class", "name")], &brief(&call.name, SHORT_ARGUMENTS));
    html.element("span", &[("class", "brief")], &brief(call.input.as_str(), SHORT_ARGUMENTS));
    let outcome = match result {
        None => "no result",
        Some(_) if is_bad => "failed",
        Some(_) => "",
    };
    if !outcome.is_empty() {
        html.element("span", &[("class", "mark bad")], outcome);
    }
    html.close("summary");
    html.element("h4", &[], "Arguments");
    code(html, &call.input.pretty());
    if let Some(result) = result {
        html.element("h4", &[], if is_bad { "Result, failed" } else { "Result" });
        code(html, &answer(result));
    }
    html.close("details");
}

/// What a tool answered, as text where it is text.
fn answer(result: &ToolResult) -> String {
    result.output.to::<String>().unwrap_or_else(|_| result.output.pretty())
}

fn folded(html: &mut Html, name: &str, json: &Json) {
    html.open("details", &[("class", "tool")]);
    html.open("summary", &[]);
    html.element("span", &[("class", "name")], &brief(name, SHORT_ARGUMENTS));
    html.element("span", &[("class", "brief")], &brief(json.as_str(), SHORT_ARGUMENTS));
    html.close("summary");
    code(html, &json.pretty());
    html.close("details");
}

/// A text to the letter; of a huge one the beginning.
fn code(html: &mut Html, text: &str) {
    if text.is_empty() {
        return html.element("p", &[("class", "aside")], "empty");
    }
    let end = text.char_indices().nth(LONGEST).map(|(end, _)| end);
    // A line feed at the very beginning of the element would be dropped.
    html.open("div", &[("class", "code")]);
    html.open("pre", &[("tabindex", "0")]);
    html.line();
    html.text(&text[..end.unwrap_or(text.len())]);
    html.close("pre");
    html.close("div");
    if let Some(end) = end {
        let more = count(text[end..].chars().count(), "more character", "more characters");
        html.element("p", &[("class", "aside")], &format!("… {more}. An export as JSON has all of it."));
    }
}

fn attachment(html: &mut Html, media: &Media) {
    let what = describe(media);
    html.open("figure", &[]);
    if let Some(address) = media.data.as_deref().and_then(image::address) {
        html.open("img", &[("src", &address), ("alt", &what)]);
    }
    html.open("figcaption", &[("dir", "auto")]);
    html.text(&what);
    if let Some(uri) = &media.uri {
        html.text(" · ");
        if is_page(uri) {
            html.element("a", &[("href", uri), ("rel", "noreferrer noopener nofollow")], uri);
        } else {
            html.element("code", &[], &brief(uri, 10 * SHORT_ARGUMENTS));
        }
    }
    html.close("figcaption");
    html.close("figure");
}

/// What a summary stands for.
fn compacted(message: &Message) -> String {
    match Compaction::from_message(message) {
        Some(Ok(compaction)) if compaction.tokens_before > 0 => {
            format!("What came before was summarised for the model: {}.", tokens(&compaction))
        }
        _ => "What came before was summarised for the model.".to_owned(),
    }
}
