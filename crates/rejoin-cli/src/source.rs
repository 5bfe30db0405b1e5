//! The programs that conversations come from: the value of `--source`, and the name that lists show.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use rejoin::StoredConversation;
use rejoin::formats::FORMATS;

/// The value of `--source` for conversations that began here.
const HERE: &str = "rejoin";

/// What `--source` takes: the names of all formats, which the shell completes and an error lists.
pub(crate) fn parser() -> impl TypedValueParser<Value = String> {
    let formats = FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.program));
    let here = PossibleValue::new(HERE).help("Not imported");
    PossibleValuesParser::new(formats.chain([here]))
}

/// The source as the library takes it: the name of a format, and no name for what began here.
pub(crate) fn key(typed: &str) -> String {
    if typed == HERE { String::new() } else { typed.to_owned() }
}

/// The program that an imported conversation comes from; none for one that began here.
pub(crate) fn program(stored: &StoredConversation) -> Option<&str> {
    let format = stored.conversation.origin.as_ref()?.format.as_str();
    let known = FORMATS.iter().find(|known| known.name == format);
    Some(known.map_or(format, |known| known.program))
}
