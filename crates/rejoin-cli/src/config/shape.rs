//! What a value of a key must look like.

use std::net::SocketAddr;
use std::str::FromStr;

use rejoin::Redaction;

use crate::config::size;
use crate::config::value::{ConfigValue, Variables};

/// The type and range of a key's values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueShape {
    Boolean,
    Integer { least: u64, most: u64 },
    Fraction { least: f64, most: f64 },
    Bytes { least: u64, most: u64 },
    DaysOrForever { least: u64, most: u64 },
    Text,
    Texts,
    Patterns,
    Choice(&'static [&'static str]),
    Choices(&'static [&'static str]),
    Variables,
    Directory,
    Address,
    Store,
}

/// The word that turns retention off.
pub(crate) const FOREVER: &str = "forever";

impl ValueShape {
    /// The same, with nothing compiled to check it: some regular expressions take long to compile.
    pub(crate) const fn uncompiled(self) -> Self {
        match self {
            ValueShape::Patterns => ValueShape::Texts,
            other => other,
        }
    }

    /// Says what is accepted, to follow "must be".
    pub(crate) fn expectation(&self) -> String {
        match self {
            ValueShape::Boolean => "`true` or `false`".to_owned(),
            ValueShape::Integer { least, most } => format!("a whole number from {least} to {most}"),
            ValueShape::Fraction { least, most } => format!("a number from {least} to {most}"),
            ValueShape::Bytes { least, most } => {
                format!("a size from {} to {}, such as `10 MB`", size::write(*least), size::write(*most))
            }
            ValueShape::DaysOrForever { least, most } => {
                format!("a whole number from {least} to {most}, or \"{FOREVER}\"")
            }
            ValueShape::Text => "a text of one line".to_owned(),
            ValueShape::Texts => "a list of texts".to_owned(),
            ValueShape::Patterns => {
                "a list of regular expressions, none of which fits the empty text".to_owned()
            }
            ValueShape::Choice(choices) => format!("one of {}", choices.join(", ")),
            ValueShape::Choices(choices) => format!("a list out of {}", choices.join(", ")),
            ValueShape::Variables => "a table of names and texts".to_owned(),
            ValueShape::Directory => "the path of a directory".to_owned(),
            ValueShape::Address => "an address and a port, such as `127.0.0.1:7171`".to_owned(),
            ValueShape::Store => "a store, such as `sqlite:history.db` or `jsonl:conversations`".to_owned(),
        }
    }

    /// Says why a value was refused.
    pub(crate) fn complaint(&self, given: &toml_edit::Value) -> String {
        match hidden_in(given) {
            Some(letter) => {
                format!(
                    "it contains the character U+{:04X}, which a terminal would act on",
                    u32::from(letter)
                )
            }
            None => format!("it must be {}", self.expectation()),
        }
    }

    /// Says why a text was refused.
    pub(crate) fn complaint_about(&self, text: &str) -> String {
        self.complaint(&toml_edit::Value::from(text))
    }

    /// Checks a value from a file. `None` means that it does not fit.
    pub(crate) fn read(&self, given: &toml_edit::Value) -> Option<ConfigValue> {
        match self {
            ValueShape::Boolean => given.as_bool().map(ConfigValue::Boolean),
            ValueShape::Integer { least, most } => integer(given, *least, *most).map(ConfigValue::Integer),
            ValueShape::Fraction { least, most } => {
                let number = given.as_float().or_else(|| given.as_integer().map(|number| number as f64))?;
                (*least..=*most).contains(&number).then_some(ConfigValue::Fraction(number))
            }
            ValueShape::Bytes { least, most } => {
                let bytes = match given.as_str() {
                    Some(text) => size::read(text)?,
                    None => u64::try_from(given.as_integer()?).ok()?,
                };
                (*least..=*most).contains(&bytes).then_some(ConfigValue::Bytes(bytes))
            }
            ValueShape::DaysOrForever { .. } if given.as_str() == Some(FOREVER) => {
                Some(ConfigValue::Text(FOREVER.to_owned()))
            }
            ValueShape::DaysOrForever { least, most } => {
                integer(given, *least, *most).map(ConfigValue::Integer)
            }
            ValueShape::Text | ValueShape::Directory => line(given).map(ConfigValue::Text),
            ValueShape::Texts => lines(given).map(ConfigValue::Texts),
            ValueShape::Patterns => {
                let patterns = lines(given)?;
                let is_good = |pattern: &String| Redaction::new().with_pattern(pattern).is_ok();
                patterns.iter().all(is_good).then_some(ConfigValue::Texts(patterns))
            }
            ValueShape::Choice(choices) => {
                line(given).filter(|text| choices.contains(&text.as_str())).map(ConfigValue::Text)
            }
            ValueShape::Choices(choices) => {
                let chosen = lines(given)?;
                chosen
                    .iter()
                    .all(|text| choices.contains(&text.as_str()))
                    .then_some(ConfigValue::Texts(chosen))
            }
            ValueShape::Variables => {
                let table = given.as_inline_table()?;
                let read = table.iter().map(|(name, value)| Some((variable_name(name)?, line(value)?)));
                read.collect::<Option<_>>().map(|values| ConfigValue::Variables(Variables(values)))
            }
            ValueShape::Address => {
                line(given).filter(|text| SocketAddr::from_str(text).is_ok()).map(ConfigValue::Text)
            }
            ValueShape::Store => line(given).filter(|text| names_a_store(text)).map(ConfigValue::Text),
        }
    }

    /// Checks a value from a variable, a flag or `config set`, where everything is text.
    ///
    /// A list may be written `a, b` or `["a", "b"]`; a table as `{ name = "value" }`.
    pub(crate) fn read_text(&self, text: &str) -> Option<ConfigValue> {
        let literal = || toml_edit::Value::from_str(text.trim()).ok();
        match self {
            ValueShape::Boolean
            | ValueShape::Integer { .. }
            | ValueShape::Fraction { .. }
            | ValueShape::Variables => self.read(&literal()?),
            ValueShape::DaysOrForever { .. } => {
                self.read(&literal().unwrap_or_else(|| toml_edit::Value::from(text.trim())))
            }
            ValueShape::Texts | ValueShape::Choices(_) if text.trim_start().starts_with('[') => {
                self.read(&literal()?)
            }
            ValueShape::Texts | ValueShape::Choices(_) => {
                self.read(&text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect())
            }
            // A pattern may hold a comma or begin with a bracket, so one that is no list stands alone.
            ValueShape::Patterns => {
                let list = literal().filter(toml_edit::Value::is_array);
                let alone = || Some(text.trim()).filter(|text| !text.is_empty()).into_iter().collect();
                self.read(&list.unwrap_or_else(alone))
            }
            ValueShape::Bytes { .. }
            | ValueShape::Text
            | ValueShape::Choice(_)
            | ValueShape::Directory
            | ValueShape::Address
            | ValueShape::Store => self.read(&toml_edit::Value::from(text)),
        }
    }
}

fn integer(given: &toml_edit::Value, least: u64, most: u64) -> Option<u64> {
    let number = u64::try_from(given.as_integer()?).ok()?;
    (least..=most).contains(&number).then_some(number)
}

/// Values are shown on terminals, so what could drive one or reorder its text has no place in them.
fn line(given: &toml_edit::Value) -> Option<String> {
    given.as_str().filter(|text| !text.is_empty() && !text.chars().any(is_hidden)).map(str::to_owned)
}

fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first character in a value, or in a value within it, that has no place there.
fn hidden_in(given: &toml_edit::Value) -> Option<char> {
    let in_text = given.as_str().and_then(|text| text.chars().find(|letter| is_hidden(*letter)));
    let in_list = || given.as_array()?.iter().find_map(hidden_in);
    let in_table = || given.as_inline_table()?.iter().find_map(|(_, value)| hidden_in(value));
    in_text.or_else(in_list).or_else(in_table)
}

fn variable_name(name: &str) -> Option<String> {
    let is_usable = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_graphic() && letter != '=');
    is_usable.then(|| name.to_owned())
}

fn lines(given: &toml_edit::Value) -> Option<Vec<String>> {
    given.as_array()?.iter().map(line).collect()
}

/// Only the form is checked; which stores exist is known to the library that opens them.
fn names_a_store(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    scheme.len() > 1 && scheme.chars().all(|letter| letter.is_ascii_lowercase() || letter == '+')
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAYS: ValueShape = ValueShape::DaysOrForever { least: 7, most: 180 };

    #[test]
    fn retention_is_a_number_of_days_or_forever() {
        let read =
            ["7", "180", "forever", "\"forever\"", "6", "181", "ever"].map(|text| DAYS.read_text(text));

        let forever = Some(ConfigValue::Text("forever".into()));
        let expected = [
            Some(ConfigValue::Integer(7)),
            Some(ConfigValue::Integer(180)),
            forever.clone(),
            forever,
            None,
            None,
            None,
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_list_may_be_written_with_commas_or_brackets() {
        let kinds = ValueShape::Choices(&["email", "phone", "card"]);

        let read = ["email, card", "[\"email\", \"card\"]", "", "fax"].map(|text| kinds.read_text(text));

        let both = Some(ConfigValue::Texts(vec!["email".into(), "card".into()]));
        assert_eq!(read, [both.clone(), both, Some(ConfigValue::Texts(vec![])), None]);
    }

    #[test]
    fn a_pattern_alone_or_in_a_list_is_checked() {
        let given = ["[A-Z]{3,4}", r#"["a,b", 'x\d']"#, "(", r#"["a*"]"#, ""];

        let read = given.map(|text| ValueShape::Patterns.read_text(text));

        let texts =
            |texts: &[&str]| Some(ConfigValue::Texts(texts.iter().map(ToString::to_string).collect()));
        assert_eq!(read, [texts(&["[A-Z]{3,4}"]), texts(&["a,b", r"x\d"]), None, None, texts(&[])]);
    }

    #[test]
    fn a_refused_value_is_told_what_is_wrong_with_it() {
        let list = toml_edit::Value::from_iter(["run(ls)", "run(\u{1b}[2J)"]);
        let table = toml_edit::Value::from_str("{ A = 'x', B = \"\\u202e\" }").unwrap();

        let told = [
            ValueShape::Texts.complaint(&list),
            ValueShape::Variables.complaint(&table),
            ValueShape::Text.complaint_about("two\nlines"),
            ValueShape::Texts.complaint(&toml_edit::Value::from(1)),
        ];

        let act = |letter| format!("it contains the character {letter}, which a terminal would act on");
        let expected = [act("U+001B"), act("U+202E"), act("U+000A"), "it must be a list of texts".to_owned()];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_text_cannot_drive_the_terminal() {
        assert_eq!(ValueShape::Text.read(&toml_edit::Value::from("gpt\u{1b}[2J")), None);
    }

    #[test]
    fn a_number_does_not_stand_for_another_type() {
        let one = toml_edit::Value::from(1);

        let read = [ValueShape::Boolean, ValueShape::Text, ValueShape::Texts, ValueShape::Directory]
            .map(|shape| shape.read(&one));

        assert_eq!(read, [None, None, None, None]);
    }
}
