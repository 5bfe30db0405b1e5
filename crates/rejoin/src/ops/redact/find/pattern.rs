//! Regular expressions of the tables, made ready when they are first needed.

use std::sync::OnceLock;

use regex::{Captures, Regex};

/// What stands for parts that many patterns have. Words and digits are those of ASCII: others
/// take more time, above all to make ready.
#[rustfmt::skip]
const PARTS: [(&str, &str); 10] = [
    (r"\b", r"(?-u:\b)"),
    (r"\d", "[0-9]"),
    (r"\w", "[0-9A-Za-z_]"),
    ("{text}", r#"(?:"([^"\n]+)"|'([^'\n]+)')"#),
    ("{arg}", r#"(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"'`|;]+))"#),
    ("{gap}", r#"["'`\\\] \t*]{0,24}"#),
    ("{apart}", r#"["'`\\\] \t*]{1,24}"#),
    ("{aside}", r"(?: [\[(][^\])\n]{0,22}[\])])?"),
    ("{base64}", "[A-Za-z0-9_+/=.~-]"),
    ("{word}", "[A-Za-z0-9_-]"),
];

/// A pattern of a table.
#[derive(Debug)]
pub(super) struct Pattern {
    source: &'static str,
    ready: OnceLock<Regex>,
}

impl Pattern {
    pub(super) const fn new(source: &'static str) -> Self {
        Self { source, ready: OnceLock::new() }
    }

    /// True when it fits somewhere in a text; one that says nothing fits everything.
    pub(super) fn fits(&self, text: &str) -> bool {
        self.source.is_empty() || self.ready().is_match(text)
    }

    pub(super) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        // Groups take memory, and most patterns do not fit.
        if self.ready().is_match(text) { self.ready().captures(text) } else { None }
    }

    /// Every place where it fits: one at most for a pattern that is bound to the beginning.
    pub(super) fn each<'t>(&self, text: &'t str, visit: impl FnMut(Captures<'t>)) {
        if self.ready().is_match(text) {
            self.ready().captures_iter(text).for_each(visit);
        }
    }

    fn ready(&self) -> &Regex {
        self.ready.get_or_init(|| {
            let source =
                PARTS.iter().fold(self.source.to_owned(), |source, (name, part)| source.replace(name, part));
            Regex::new(&source).expect("a test makes every pattern of the tables ready")
        })
    }
}
