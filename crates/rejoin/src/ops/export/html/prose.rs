//! Markdown that somebody wrote, as elements of ours. Tags in it are text, and images are links.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::model::visible;
use crate::ops::export::html::writer::Html;
use crate::ops::export::markdown::is_page;

/// Deeper elements are not opened; their text is still shown. A browser gives up at five hundred.
const DEEPEST: usize = 30;

/// Characters of the name of a language.
const LANGUAGE: usize = 30;

/// Writes Markdown.
pub(super) fn write(html: &mut Html, text: &str) {
    let text = visible(text);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut prose = Prose { html, open: Vec::new(), alignments: Vec::new(), cell: 0, dead: Vec::new() };
    Parser::new_ext(&text, options).for_each(|event| prose.take(event));
    prose.finish();
}

struct Prose<'h> {
    html: &'h mut Html,
    /// What is open; none where an element was left out.
    open: Vec<Option<&'static str>>,
    alignments: Vec<Alignment>,
    cell: usize,
    /// Addresses that are shown instead of being linked to, innermost last.
    dead: Vec<String>,
}

impl Prose<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.html.text(&text),
            Event::Code(code) => self.html.element("code", &[], &code),
            Event::SoftBreak => self.html.text("\n"),
            Event::HardBreak => self.html.ours("<br>"),
            Event::Rule => self.html.ours("<hr>"),
            Event::TaskListMarker(is_done) => self.html.text(if is_done { "☑ " } else { "☐ " }),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.html.text(&text);
            }
        }
    }

    fn open(&mut self, element: &'static str, attributes: &[(&'static str, &str)]) {
        let is_shown = self.open.len() < DEEPEST;
        if is_shown {
            self.html.open(element, attributes);
        }
        self.open.push(is_shown.then_some(element));
    }

    fn skip(&mut self) {
        self.open.push(None);
    }

    fn close(&mut self) {
        if let Some(Some(element)) = self.open.pop() {
            self.html.close(element);
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.open("p", &[]),
            Tag::Heading { level, .. } => self.open(heading(level), &[]),
            Tag::BlockQuote(_) => self.open("blockquote", &[]),
            Tag::CodeBlock(kind) => self.start_code(&kind),
            Tag::HtmlBlock => self.open("p", &[("class", "typed")]),
            Tag::List(None) => self.open("ul", &[]),
            Tag::List(Some(1)) => self.open("ol", &[]),
            Tag::List(Some(start)) => self.open("ol", &[("start", &start.to_string())]),
            Tag::Item => self.open("li", &[]),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.open("table", &[]);
            }
            Tag::TableHead => {
                self.cell = 0;
                self.open("thead", &[]);
                self.open("tr", &[]);
            }
            Tag::TableRow => {
                self.cell = 0;
                self.open("tr", &[]);
            }
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.open("em", &[]),
            Tag::Strong => self.open("strong", &[]),
            Tag::Strikethrough => self.open("del", &[]),
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.link(&dest_url);
                self.html.text("[image] ");
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => self.skip(),
        }
    }

    /// Code, with the name of its language above it.
    fn start_code(&mut self, kind: &CodeBlockKind<'_>) {
        self.open("div", &[("class", "code")]);
        if let CodeBlockKind::Fenced(info) = kind
            && let Some(language) = language(info)
        {
            self.html.element("span", &[("class", "language")], language);
        }
        self.open("pre", &[("tabindex", "0")]);
    }

    fn start_cell(&mut self) {
        let class = match self.alignments.get(self.cell) {
            Some(Alignment::Right) => "right",
            Some(Alignment::Center) => "center",
            _ => "left",
        };
        self.cell += 1;
        let is_head = self.open.iter().rev().take(2).any(|open| *open == Some("thead"));
        self.open(if is_head { "th" } else { "td" }, &[("class", class)]);
    }

    /// A link to a page; of any other address the text is shown, and the address after it.
    fn link(&mut self, address: &str) {
        if is_page(address) {
            self.open("a", &[("href", address), ("rel", "noreferrer noopener nofollow")]);
            self.dead.push(String::new());
        } else {
            self.open("span", &[("class", "dead")]);
            self.dead.push(address.to_owned());
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Link | TagEnd::Image => {
                if let Some(address) = self.dead.pop().filter(|address| !address.is_empty()) {
                    self.html.text(&format!(" ({address})"));
                }
                self.close();
            }
            TagEnd::TableHead | TagEnd::CodeBlock => {
                self.close();
                self.close();
            }
            _ => self.close(),
        }
    }

    /// A parser closes what it opens; a page must not depend on it.
    fn finish(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }
}

/// The language in the line that opens a block of code, such as `rust,ignore`.
fn language(info: &str) -> Option<&str> {
    let name = info.trim().split([' ', '\t', ',', '{', '}']).next().unwrap_or_default();
    let end = name.char_indices().nth(LANGUAGE).map_or(name.len(), |(end, _)| end);
    (!name.is_empty()).then_some(&name[..end])
}

/// The page has three levels of headings of its own.
const fn heading(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "h4",
        HeadingLevel::H2 => "h5",
        _ => "h6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut html = Html::default();
        write(&mut html, text);
        html.finish()
    }

    #[test]
    fn markdown_becomes_elements_and_tags_become_text() {
        let cases = [
            ("# a *b*\n\nc", "<h4>a <em>b</em></h4><p>c</p>"),
            ("<b onclick=x>y</b>", "<p>&lt;b onclick=x&gt;y&lt;/b&gt;</p>"),
            ("<div>\n*x*", "<p class=\"typed\">&lt;div&gt;\n*x*</p>"),
            (
                "[a](https://x/?a=1&b=2)",
                "<p><a href=\"https://x/?a=1&amp;b=2\" rel=\"noreferrer noopener nofollow\">a</a></p>",
            ),
            ("[a](javascript:x)", "<p><span class=\"dead\">a (javascript:x)</span></p>"),
            (
                "![p](data:image/svg+xml,x)",
                "<p><span class=\"dead\">[image] p (data:image/svg+xml,x)</span></p>",
            ),
            (
                "|a|b|\n|-|-:|\n|1|2|",
                "<table><thead><tr><th class=\"left\">a</th><th class=\"right\">b</th></tr></thead>\
                 <tr><td class=\"left\">1</td><td class=\"right\">2</td></tr></table>",
            ),
            ("    <x>", "<div class=\"code\"><pre tabindex=\"0\">&lt;x&gt;</pre></div>"),
            ("```\n<x>\n```", "<div class=\"code\"><pre tabindex=\"0\">&lt;x&gt;\n</pre></div>"),
            (
                "```rust,ignore\n<x>\n```",
                "<div class=\"code\"><span class=\"language\">rust</span><pre tabindex=\"0\">&lt;x&gt;\n</pre></div>",
            ),
            (
                "```<b>\ny\n```",
                "<div class=\"code\"><span class=\"language\">&lt;b&gt;</span><pre tabindex=\"0\">y\n</pre></div>",
            ),
        ];

        for (text, expected) in cases {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_has_an_end() {
        let deep = format!("{}x", "> ".repeat(2_000));

        assert_eq!(shown(&deep).matches("<blockquote>").count(), DEEPEST);
    }
}
