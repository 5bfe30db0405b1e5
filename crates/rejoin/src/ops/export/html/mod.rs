//! A conversation as one page: nothing from elsewhere, everything that was said.
//!
//! Two things keep what was said from acting. The writer knows no way to write text of others other than
//! escaped; and the page forbids itself everything but its own style sheet, the script that copies code, and
//! the images inside of it.

mod blocks;
mod branches;
mod image;
mod prose;
mod writer;

use branches::Branches;
use sha2::{Digest as _, Sha256};
use writer::Html;

use crate::error::Result;
use crate::formats::{SourceConversation, Tree};
use crate::model::{Block, Role};
use crate::ops::export::shorten::brief;
use crate::ops::export::story::{Story, count, minute};

const STYLE: &str = include_str!("style.css");

/// Gives every piece of code a button that copies it. Without scripts a page lacks only these buttons.
const SCRIPT: &str = include_str!("copy.js");

/// Characters of a title, and of a message in the list of contents.
const TITLE: usize = 200;
const ENTRY: usize = 70;

/// From so many messages of the user on there is a list of them.
const CONTENTS: usize = 3;

impl Tree {
    /// Writes its conversations as one page of HTML, complete in itself.
    ///
    /// A tree without conversations is an error.
    pub fn to_html(&self) -> Result<String> {
        html(self)
    }

    /// Takes out where things lie on this machine: the directory of the project and of attached files, but
    /// not their names. What was said stays as it is.
    pub fn hide_paths(&mut self) {
        for conversation in &mut self.conversations {
            conversation.header.project = None;
        }
        let blocks = self.messages.iter_mut().flat_map(|found| &mut found.message.blocks);
        for block in blocks {
            if let Block::Media(media) = block
                && let Some(uri) = media.uri.as_mut().filter(|uri| is_local(uri))
            {
                *uri = uri.rsplit('/').next().unwrap_or_default().to_owned();
            }
        }
    }
}

fn is_local(uri: &str) -> bool {
    uri.starts_with('/') || uri.starts_with("~/") || uri.starts_with("file:")
}

fn html(tree: &Tree) -> Result<String> {
    let main = tree.main()?;
    let story = Story::of(tree, main);
    let title = brief(&story.title(), TITLE);
    let mut html = Html::default();
    head(&mut html, &title);
    html.ours("<body>\n<a class=\"skip\" href=\"#talk\">Skip to the conversation</a>\n");
    html.open("header", &[("class", "page")]);
    html.element("h1", &[("dir", "auto")], &title);
    facts(&mut html, &story);
    html.close("header");
    html.line();
    contents(&mut html, &story);
    html.open("main", &[("id", "talk")]);
    html.ours("<h2 class=\"hidden\">Conversation</h2>\n");
    Branches::write(&mut html, &story, 0);
    let runs = tree.conversations.iter().filter(|conversation| conversation.id != main.id);
    for (place, run) in runs.enumerate() {
        sub_agent(&mut html, tree, run, place + 1);
    }
    html.close("main");
    html.ours("\n<footer>Exported by Rejoin. Times are in UTC.</footer>\n<script>");
    html.ours(SCRIPT);
    html.ours("</script>\n</body>\n</html>\n");
    Ok(html.finish())
}

/// The browser applies the style sheet and runs the script whose hashes are named, shows images that are in
/// the page, and does nothing else.
fn head(html: &mut Html, title: &str) {
    let hash = |text: &str| image::base64(&Sha256::digest(text.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    );
    html.ours("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy)]);
    html.ours("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.ours("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.element("title", &[], title);
    html.ours("\n<style>");
    html.ours(STYLE);
    html.ours("</style>\n</head>\n");
}

fn facts(html: &mut Html, story: &Story<'_>) {
    let header = &story.conversation.header;
    let began = story.messages.iter().filter_map(|found| found.message.created_at).min();
    let facts = [
        ("Project", header.project.clone()),
        ("Model", header.settings.model.clone().or(header.settings.provider.clone())),
        ("Began", Some(minute(began.unwrap_or(story.conversation.created_at)))),
        ("Last message", story.last_time().map(minute)),
        ("Messages", Some(story.messages.len().to_string())),
        ("Id", Some(story.conversation.id.clone())),
    ];
    html.open("dl", &[]);
    for (name, value) in facts {
        if let Some(value) = value {
            html.open("div", &[]);
            html.element("dt", &[], name);
            html.element("dd", &[("dir", "auto")], &brief(&value, TITLE));
            html.close("div");
        }
    }
    html.close("dl");
}

/// What the user said on the way to the head, to jump to.
fn contents(html: &mut Html, story: &Story<'_>) {
    let is_asked = |place: &usize| {
        let found = &story.messages[*place].message;
        found.role == Role::User && story.is_current(*place) && !found.said().trim().is_empty()
    };
    let asked: Vec<usize> = (0..story.messages.len()).filter(is_asked).collect();
    if asked.len() < CONTENTS {
        return;
    }
    html.open("nav", &[("aria-label", "Contents")]);
    html.open("details", &[]);
    html.element("summary", &[], &format!("Contents · {}", count(asked.len(), "question", "questions")));
    html.open("ol", &[]);
    for place in asked {
        let anchor = format!("#{}", Branches::anchor(0, place));
        html.open("li", &[]);
        let said = brief(&story.messages[place].message.said(), ENTRY);
        html.element("a", &[("href", &anchor), ("dir", "auto")], &said);
        html.close("li");
    }
    html.close("ol");
    html.close("details");
    html.close("nav");
    html.line();
}

fn sub_agent(html: &mut Html, tree: &Tree, run: &SourceConversation, number: usize) {
    let story = Story::of(tree, run);
    let name = run.parent.as_ref().map(|parent| format!("{} {}", parent.name, parent.run));
    let name = brief(&name.unwrap_or_else(|| story.title()), TITLE);
    html.open("section", &[("class", "run")]);
    html.open("details", &[]);
    html.open("summary", &[]);
    html.element("h2", &[("dir", "auto")], &format!("Sub-agent: {name}"));
    html.element("span", &[("class", "mark")], &count(story.messages.len(), "message", "messages"));
    html.close("summary");
    if let Some(parent) = run.parent.as_ref().and_then(|parent| parent.message.as_deref()) {
        html.element("p", &[("class", "aside")], &format!("Started by message {parent}"));
    }
    Branches::write(html, &story, number);
    html.close("details");
    html.close("section");
    html.line();
}
