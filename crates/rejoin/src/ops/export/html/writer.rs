//! HTML that is safe by type: names of elements and attributes are ours, everything else is escaped.

use crate::model::visible;

/// A page under construction.
#[derive(Default)]
pub(super) struct Html(String);

/// Attributes: names of ours, values of anybody.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Html {
    /// Opens an element.
    pub(super) fn open(&mut self, element: &'static str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(element);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            if !value.is_empty() {
                self.0.push_str("=\"");
                self.escape(value);
                self.0.push('"');
            }
        }
        self.0.push('>');
    }

    /// Closes an element.
    pub(super) fn close(&mut self, element: &'static str) {
        self.0.push_str("</");
        self.0.push_str(element);
        self.0.push('>');
    }

    /// Writes text. What would act or could not be seen is shown as a sign.
    pub(super) fn text(&mut self, text: &str) {
        self.escape(text);
    }

    /// An element with nothing but text in it.
    pub(super) fn element(&mut self, element: &'static str, attributes: Attributes<'_>, text: &str) {
        self.open(element, attributes);
        self.text(text);
        self.close(element);
    }

    /// What is ours, as it is.
    pub(super) fn ours(&mut self, html: &'static str) {
        self.0.push_str(html);
    }

    /// A line feed between elements, where white space means nothing.
    pub(super) fn line(&mut self) {
        self.0.push('\n');
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    fn escape(&mut self, text: &str) {
        for letter in visible(text).chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                letter => self.0.push(letter),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_written_is_text() {
        let mut html = Html::default();

        html.element("p", &[("title", "\"><script>")], "</p><b>'&\u{202e}\u{1b}");

        assert_eq!(
            html.finish(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;/p&gt;&lt;b&gt;&#39;&amp;⟨U+202E⟩␛</p>"
        );
    }
}
