//! Text of others inside of Markdown: it keeps its looks and cannot leave its place.
//!
//! What was said stands in a quotation, every line of it marked, so that nothing in it can pass
//! for what stands around it. Tags, images and links that do more than lead to a page are turned
//! into text. What was made of a text is parsed again, and if anything got through, the text is
//! shown as it was typed, between fences.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::model::visible;
use crate::ops::export::shorten::brief;

/// Text on one line, with every sign that means something written so that it means nothing.
pub(super) fn inline(text: &str, characters: usize) -> String {
    let line = brief(&visible(text), characters);
    let mut escaped = String::with_capacity(line.len() + 8);
    for letter in line.chars() {
        if matches!(
            letter,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' | '&' | '^' | '$'
        ) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// A text in front matter, which is YAML, of which JSON is a part.
pub(super) fn yaml(text: &str) -> String {
    serde_json::Value::from(visible(text).into_owned()).to_string()
}

/// Text on one line as code.
pub(super) fn code(text: &str, characters: usize) -> String {
    let line = brief(&visible(text), characters);
    let marks = "`".repeat(longest_run(&line, '`') + 1);
    // A mark at either end would join the fence, and spaces there are taken away again.
    let space = if line.starts_with('`') || line.ends_with('`') || line.is_empty() { " " } else { "" };
    format!("{marks}{space}{line}{space}{marks}")
}

/// Text as it is, between fences that are longer than any in it.
pub(super) fn fenced(language: &'static str, text: &str) -> String {
    let text = visible(text);
    let fence = "`".repeat((longest_run(&text, '`') + 1).max(3));
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}\n")
}

/// Markdown that somebody wrote, as a quotation.
pub(super) fn quoted(text: &str) -> String {
    let text = visible(text);
    let text = text.trim_matches('\n');
    let mut quotation = String::with_capacity(text.len() + 64);
    for line in without_tags(&spaced(text)).lines() {
        quotation.push_str(if line.is_empty() { ">" } else { "> " });
        quotation.push_str(line);
        quotation.push('\n');
    }
    if is_harmless(&quotation) { quotation } else { fenced("text", text) }
}

/// Tabs at the beginning of lines as spaces: behind the mark of a quotation they would be narrower.
fn spaced(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return Cow::Borrowed(text);
    }
    let mut spaced = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let rest = line.trim_start_matches(['\t', ' ']);
        let indentation = &line[..line.len() - rest.len()];
        spaced.push_str(&indentation.replace('\t', "    "));
        spaced.push_str(rest);
    }
    Cow::Owned(spaced)
}

fn longest_run(text: &str, mark: char) -> usize {
    text.split(|letter| letter != mark).map(str::len).max().unwrap_or(0)
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Takes the meaning from tags, images, footnotes, definitions and links that lead elsewhere than to a page.
fn without_tags(text: &str) -> String {
    let mut parser = Parser::new_ext(text, options()).into_offset_iter();
    let definitions: Vec<usize> =
        parser.reference_definitions().iter().map(|(_, definition)| definition.span.start).collect();
    let mut code: Vec<Range<usize>> = Vec::new();
    let mut marked = definitions;
    for (event, range) in &mut parser {
        match event {
            Event::Code(_) | Event::Start(Tag::CodeBlock(_)) => code.push(range),
            Event::Start(Tag::Image { .. }) => marked.push(range.start),
            Event::Start(Tag::Link { dest_url, .. }) if !is_page(&dest_url) => marked.push(range.start),
            _ => {}
        }
    }
    marked.sort_unstable();
    // They come in order and do not nest.
    let is_code = |place: usize| {
        let after = code.partition_point(|range| range.start <= place);
        after.checked_sub(1).is_some_and(|last| code[last].contains(&place))
    };
    let mut written = String::with_capacity(text.len() + 16);
    for (place, letter) in text.char_indices() {
        let is_note = letter == '[' && text[place + 1..].starts_with('^');
        match letter {
            '<' if !is_code(place) => {
                written.push_str("&lt;");
                continue;
            }
            '[' | '!' if marked.binary_search(&place).is_ok() || (is_note && !is_code(place)) => {
                written.push('\\');
            }
            _ => {}
        }
        written.push(letter);
    }
    written
}

/// True when nothing but quotations is at the top, and nothing in them acts.
fn is_harmless(quotation: &str) -> bool {
    let mut depth = 0usize;
    let mut parser = Parser::new_ext(quotation, options() | Options::ENABLE_FOOTNOTES);
    let is_quiet = parser.all(|event| match event {
        Event::Html(_) | Event::InlineHtml(_) | Event::FootnoteReference(_) => false,
        Event::Start(Tag::HtmlBlock | Tag::Image { .. } | Tag::FootnoteDefinition(_)) => false,
        Event::Start(Tag::Link { dest_url, .. }) => depth > 0 && is_page(&dest_url),
        Event::Start(Tag::BlockQuote(_)) => {
            depth += 1;
            true
        }
        Event::End(TagEnd::BlockQuote(_)) => {
            depth = depth.saturating_sub(1);
            true
        }
        _ => depth > 0,
    });
    let has_definitions =
        Parser::new_ext(quotation, options()).reference_definitions().iter().next().is_some();
    is_quiet && !has_definitions
}

/// True for an address that a reader can follow without harm: a page or a mailbox.
pub(in crate::ops::export) fn is_page(address: &str) -> bool {
    let has_scheme = ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| address.get(..scheme.len()).is_some_and(|own| own.eq_ignore_ascii_case(scheme)));
    has_scheme && !address.contains(|letter: char| letter.is_whitespace() || letter.is_control())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_stays_and_tags_become_text() {
        let cases = [
            ("# One\n\n- *two* `<b>`\n", "> # One\n>\n> - *two* `<b>`\n"),
            ("<script>x</script> a < b", "> &lt;script>x&lt;/script> a &lt; b\n"),
            ("![p](http://x/y.png)", "> \\![p](http://x/y.png)\n"),
            ("[a](https://x) [b](javascript:x)", "> [a](https://x) \\[b](javascript:x)\n"),
            ("```html\n<b>\n```", "> ```html\n> <b>\n> ```\n"),
            ("[x]: http://y\n\n[x] [^1]", "> \\[x]: http://y\n>\n> [x] \\[^1]\n"),
            ("\t<b>", ">     <b>\n"),
        ];

        for (text, expected) in cases {
            assert_eq!(quoted(text), expected, "{text}");
        }
    }

    #[test]
    fn code_and_fences_outgrow_what_is_in_them() {
        assert_eq!(code("a``b`", 100), "``` a``b` ```");
        assert_eq!(fenced("text", "````\nx"), "`````text\n````\nx\n`````\n");
        assert_eq!(inline("# a\n[b](c) <d>", 100), r"\# a \[b\](c) \<d\>");
    }

    proptest! {
        #[test]
        fn nothing_gets_out_of_a_quotation(text in "[\\[\\]()<>!`~#>*_:^'\"=|/ \\t\\n\\\\a-c0-1-]{0,60}") {
            let written = quoted(&text);

            let is_fenced = written.starts_with("```");
            prop_assert!(is_fenced || is_harmless(&written), "{text:?} became {written:?}");
        }
    }
}
