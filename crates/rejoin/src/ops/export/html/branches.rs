//! Branches on the page: where several ways go on, a row of buttons chooses which one is shown.
//!
//! The buttons are radio inputs, and each stands before what it shows, so that a
//! style sheet alone can do the switching:
//!
//! ```text
//! <div class=fork> <input><label> <div>first way</div> <input><label> <div>second way</div> </div>
//! ```

use std::collections::VecDeque;

use crate::ops::export::html::blocks;
use crate::ops::export::html::writer::Html;
use crate::ops::export::shorten::brief;
use crate::ops::export::story::{Story, count};

/// Forks inside of forks. Those below stand at the end of the page, because a
/// browser flattens what nests too deep.
const DEEPEST: usize = 60;

/// Characters on a button.
const BUTTON: usize = 60;

/// Writes the messages of one conversation.
pub(super) struct Branches<'h, 's, 'a> {
    html: &'h mut Html,
    story: &'s Story<'a>,
    /// Which of the conversations on the page it is.
    number: usize,
    forks: usize,
    /// Branches that are still to be written, by their first message.
    later: VecDeque<usize>,
}

impl<'h, 's, 'a> Branches<'h, 's, 'a> {
    pub(super) fn write(html: &'h mut Html, story: &'s Story<'a>, number: usize) {
        let mut branches = Self { html, story, number, forks: 0, later: VecDeque::new() };
        match story.roots() {
            [] => branches.html.element("p", &[("class", "aside")], "Nothing was said."),
            &[only] => branches.follow(only, 0),
            several => branches.fork(several, 0),
        }
        while let Some(first) = branches.later.pop_front() {
            let name = format!("Branch: {}", brief(&story.branch_name(first), BUTTON));
            let anchor = branches.branch_anchor(first);
            branches.html.open("section", &[("id", &anchor)]);
            branches.html.element("h2", &[("dir", "auto")], &name);
            branches.follow(first, 0);
            branches.html.close("section");
        }
    }

    /// The name of a message on the page.
    pub(super) fn anchor(number: usize, place: usize) -> String {
        format!("m{number}-{place}")
    }

    fn branch_anchor(&self, first: usize) -> String {
        format!("b{}-{first}", self.number)
    }

    fn follow(&mut self, first: usize, depth: usize) {
        let mut first = Some(first);
        while let Some(begin) = first {
            let stretch = self.story.stretch(begin);
            let answers = self.story.answers(&stretch.messages);
            for place in &stretch.messages {
                let anchor = Self::anchor(self.number, *place);
                blocks::message(self.html, self.story, &anchor, *place, &answers);
            }
            if stretch.next.is_empty() {
                return;
            }
            if depth < DEEPEST {
                return self.fork(stretch.next, depth);
            }
            first = self.story.main_of(stretch.next);
            for other in stretch.next.iter().copied().filter(|other| Some(*other) != first) {
                let anchor = format!("#{}", self.branch_anchor(other));
                let name = format!("Another branch: {}", brief(&self.story.branch_name(other), BUTTON));
                self.html.element("a", &[("class", "aside"), ("href", &anchor)], &name);
                self.later.push_back(other);
            }
        }
    }

    fn fork(&mut self, next: &[usize], depth: usize) {
        self.forks += 1;
        let group = format!("f{}-{}", self.number, self.forks);
        let main = self.story.main_of(next);
        let label = count(next.len(), "branch", "branches");
        self.html.open("div", &[("class", "fork"), ("role", "radiogroup"), ("aria-label", &label)]);
        for (place, first) in next.iter().enumerate() {
            let id = format!("{group}-{place}");
            let kind = [("type", "radio"), ("name", group.as_str()), ("id", id.as_str()), ("checked", "")];
            let is_chosen = Some(*first) == main;
            self.html.open("input", if is_chosen { &kind } else { &kind[..3] });
            self.html.open("label", &[("for", &id)]);
            self.html.element("span", &[("class", "number")], &format!("{} of {}", place + 1, next.len()));
            self.html.element("span", &[("dir", "auto")], &brief(&self.story.branch_name(*first), BUTTON));
            self.html.close("label");
            self.html.open("div", &[("class", "way")]);
            self.follow(*first, depth + 1);
            self.html.close("div");
        }
        self.html.close("div");
        self.html.line();
    }
}
