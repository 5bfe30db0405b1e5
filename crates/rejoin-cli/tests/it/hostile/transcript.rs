//! Exported Markdown: what was said makes no heading, no tag, no image and no link but to a page.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::hostile::page::tree;
use crate::hostile::payloads;

/// What our own headings begin with.
const HEADINGS: [&str; 6] = ["User", "Assistant", "Tool", "Compaction", "Branch 1: ", "Sub-agent: "];

/// What a text makes of a document that it must not.
fn broken(text: &str) -> Vec<String> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let (mut found, mut quotes, mut heading, mut titles) = (Vec::new(), 0, None, 0);
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Html(tag) | Event::InlineHtml(tag) => found.push(format!("tag {tag}")),
            Event::Start(Tag::Image { dest_url, .. }) => found.push(format!("image {dest_url}")),
            Event::Start(Tag::FootnoteDefinition(name)) => found.push(format!("footnote {name}")),
            Event::Start(Tag::Link { dest_url, .. }) => {
                let is_page =
                    ["http://", "https://", "mailto:"].iter().any(|scheme| dest_url.starts_with(scheme));
                found.extend((!is_page).then(|| format!("link {dest_url}")));
            }
            Event::Start(Tag::BlockQuote(_)) => quotes += 1,
            Event::End(TagEnd::BlockQuote(_)) => quotes -= 1,
            Event::Start(Tag::Heading { .. }) if quotes == 0 => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) if heading.is_some() => {
                heading.as_mut().unwrap().push_str(&text);
            }
            Event::End(TagEnd::Heading(_)) if quotes == 0 => {
                let heading = heading.take().unwrap_or_default();
                titles += 1;
                // The first is the title, whatever it says.
                let is_own = titles == 1 || HEADINGS.iter().any(|own| heading.starts_with(own));
                found.extend((!is_own).then(|| format!("heading {heading}")));
            }
            Event::Start(Tag::List(_) | Tag::Table(_) | Tag::HtmlBlock) if quotes == 0 => {
                found.push("structure".to_owned());
            }
            _ => {}
        }
    }
    found
}

#[test]
fn nothing_that_was_said_becomes_structure_of_the_document() {
    let all: Vec<(String, Vec<String>)> = payloads()
        .into_iter()
        .map(|payload| {
            let text = tree(&payload).to_markdown().unwrap();
            let acts = text.chars().filter(|letter| letter.is_control() && !matches!(letter, '\n' | '\t'));
            let found = broken(&text).into_iter().chain(acts.map(|letter| letter.escape_debug().to_string()));
            (payload, found.collect())
        })
        .collect();

    let wrong: Vec<_> = all.into_iter().filter(|(_, found)| !found.is_empty()).collect();
    assert_eq!(wrong, []);
}

#[test]
fn the_detector_sees_a_document_that_is_broken() {
    let text = "# Title\n\n## Fake\n\n<b>x</b> ![y](z)\n\n[^1]: note\n";

    assert_eq!(broken(text), ["heading Fake", "tag <b>", "tag </b>", "image z", "footnote 1"]);
}
