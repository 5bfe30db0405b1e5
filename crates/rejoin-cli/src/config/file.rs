//! Reads a configuration file into settings, each with its line.

use std::fs;
use std::ops::Range;
use std::path::Path;

use toml_edit::{Document, Item, TableLike, TomlError};

use crate::config::keys::{self, ConfigKey, KeyMeaning};
use crate::config::origin::{FileLine, Setting, ValueOrigin};
use crate::config::project;
use crate::config::shape::ValueShape;
use crate::error::{Failure, Kind};
use crate::private;
use crate::project_file::{FileReading, read_if_there, read_own};

/// Far above any real configuration, and small enough to read without a thought.
const LARGEST_FILE: usize = 1 << 20;

/// Reads a file's text; `None` if there is no such file. A project's own file that leads elsewhere, or
/// that another user owns or can write, counts as none;
/// [`Config::warnings`](crate::config::Config::warnings) says so.
pub(crate) fn text_of(path: &Path) -> Result<Option<String>, Failure> {
    let attempt = || format!("read `{}`", path.display());
    let project = project::of_file(path);
    let reading = match project {
        Some(project) => read_if_there(path, project, LARGEST_FILE),
        None => read_own(path, LARGEST_FILE),
    };
    match reading {
        FileReading::Content(content) if content.is_whole => match String::from_utf8(content.bytes) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(Failure::new(Kind::Corrupt, attempt()).because("it is not valid UTF-8")),
        },
        FileReading::Content(_) => {
            Err(Failure::new(Kind::TooLarge, attempt()).because("it is larger than 1 MiB"))
        }
        FileReading::Foreign(foreign) if project.is_none() => Err(private::refusal(attempt(), &foreign)),
        FileReading::Absent | FileReading::Outside | FileReading::Foreign(_) => Ok(None),
        FileReading::Irregular => Err(Failure::invalid(attempt()).because("it is not a regular file")),
        FileReading::Failed(error) => Err(Failure::io(attempt(), error)),
    }
}

/// Checks the text of a file, key by key, in the order written.
pub(crate) fn settings_in(path: &Path, text: &str) -> Result<Vec<Setting>, Failure> {
    read_settings(path, text, |key| key.shape)
}

/// The same for a file that the user does not trust: what would take long to check
/// is not checked, as it does not count.
pub(crate) fn settings_in_untrusted(path: &Path, text: &str) -> Result<Vec<Setting>, Failure> {
    read_settings(path, text, |key| key.shape.uncompiled())
}

fn read_settings(
    path: &Path,
    text: &str,
    shape_of: fn(&ConfigKey) -> ValueShape,
) -> Result<Vec<Setting>, Failure> {
    let document = Document::parse(text).map_err(|error| broken(path, text, &error))?;
    let lines = LineEnds::of(text);
    let mut reader = ConfigReader { path, lines, shape_of, segments: Vec::new(), settings: Vec::new() };
    reader.read_table(document.as_table())?;
    Ok(reader.settings)
}

/// Describes text that is not TOML.
pub(crate) fn broken(path: &Path, text: &str, error: &TomlError) -> Failure {
    let place = FileLine { path, line: LineEnds::of(text).at(error.span()) };
    Failure::invalid(format!("read `{place}`")).because(error.message().to_owned()).hint(edit_hint(path))
}

/// Whether `path` itself is a symbolic link.
pub(crate) fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

struct ConfigReader<'a> {
    path: &'a Path,
    lines: LineEnds,
    shape_of: fn(&ConfigKey) -> ValueShape,
    segments: Vec<String>,
    settings: Vec<Setting>,
}

impl ConfigReader<'_> {
    fn read_table(&mut self, table: &dyn TableLike) -> Result<(), Failure> {
        for (name, item) in table.iter() {
            let line = self.lines.at(table.key(name).and_then(toml_edit::Key::span));
            let depth = self.segments.len();
            match keys::quoted(name).filter(|_| depth == 0) {
                Some(segments) => self.segments.extend(segments.map(str::to_owned)),
                None => self.segments.push(name.to_owned()),
            }
            self.read_item(item, line)?;
            self.segments.truncate(depth);
        }
        Ok(())
    }

    fn read_item(&mut self, item: &Item, line: usize) -> Result<(), Failure> {
        let place = FileLine { path: self.path, line };
        let name = shortened(keys::dotted(&self.segments));
        // Without a value of its own, `store` can be a group, too.
        if let Some(group) = item.as_table_like().filter(|_| keys::is_above_others(&name)) {
            return self.read_table(group);
        }
        match keys::meaning_of(&self.segments) {
            KeyMeaning::Key { key, member } => {
                let given = item.clone().into_value().ok();
                let value = given.as_ref().and_then(|value| (self.shape_of)(key).read(value));
                let value = value.ok_or_else(|| {
                    let expected = || format!("it must be {}", key.shape.expectation());
                    Failure::invalid(format!("read `{name}` in `{place}`"))
                        .because(given.map_or_else(expected, |value| key.shape.complaint(&value)))
                        .hint(edit_hint(self.path))
                })?;
                let origin = ValueOrigin::File { path: self.path.to_owned(), line };
                self.settings.push(Setting { key, member, value, origin });
                Ok(())
            }
            KeyMeaning::Group => match item.as_table_like() {
                Some(table) => self.read_table(table),
                None => Err(Failure::invalid(format!("read `{name}` in `{place}`"))
                    .because("it is a group of keys and has no value of its own")
                    .hint(edit_hint(self.path))),
            },
            KeyMeaning::Unknown => Err(Failure::invalid(format!("read `{place}`"))
                .because(format!("unknown key `{name}`"))
                .hint(unknown_hint(&self.segments))),
        }
    }
}

/// A name for a message. Nobody can read one that is longer than any key.
fn shortened(name: String) -> String {
    const LONGEST: usize = 200;
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// What to do about a key that does not exist.
pub(crate) fn unknown_hint<S: AsRef<str>>(segments: &[S]) -> String {
    match keys::suggestion_for(segments) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "run `rejoin config list` to see every key".to_owned(),
    }
}

fn edit_hint(path: &Path) -> &'static str {
    if path.ends_with(project::FILE) {
        "correct the line, or run `rejoin config edit --local`"
    } else {
        "correct the line, or run `rejoin config edit`"
    }
}

/// Where the lines of a text end. A file can hold many keys, so they are counted once.
struct LineEnds {
    ends: Vec<usize>,
}

impl LineEnds {
    fn of(text: &str) -> Self {
        Self { ends: text.match_indices('\n').map(|(offset, _)| offset).collect() }
    }

    /// The number of the line in which something begins.
    fn at(&self, span: Option<Range<usize>>) -> usize {
        let start = span.map_or(0, |span| span.start);
        self.ends.partition_point(|end| *end < start) + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        settings_in(Path::new("config.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn tables_and_dotted_keys_mean_the_same() {
        let text = "retention.days = 60\n[limits]\nturn_bytes = \"5 MB\"\n\n[providers.\"lo.cal\"]\nkind = \"offline\"\n";

        let settings = settings_in(Path::new("c.toml"), text).unwrap();

        let shown: Vec<String> = settings
            .iter()
            .map(|setting| format!("{} = {} ({})", setting.name(), setting.value, setting.origin))
            .collect();
        let expected = [
            "retention.days = 60 (c.toml:1)",
            "limits.turn_bytes = 5 MB (c.toml:3)",
            "providers.\"lo.cal\".kind = offline (c.toml:6)",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_unknown_key_names_its_line_and_the_likely_one() {
        let expected = "error: could not read `config.toml:3`: unknown key `retention.dais`\n\
                        hint: did you mean `retention.days`?";

        assert_eq!(refusal("# mine\n[retention]\ndais = 30\n"), expected);
    }

    #[test]
    fn a_value_out_of_range_names_its_line_and_the_range() {
        let expected = "error: could not read `retention.days` in `config.toml:1`: it must be a whole number from 7 to 180, or \"forever\"\n\
                        hint: correct the line, or run `rejoin config edit`";

        assert_eq!(refusal("retention.days = 3\n"), expected);
    }

    #[test]
    fn a_group_is_not_a_value() {
        let expected = "error: could not read `retention` in `config.toml:1`: it is a group of keys and has no value of its own\n\
                        hint: correct the line, or run `rejoin config edit`";

        assert_eq!(refusal("retention = 30\n"), expected);
    }

    #[test]
    fn broken_toml_names_its_line() {
        let shown = refusal("log = \"off\"\nretention = [\n");

        assert!(shown.starts_with("error: could not read `config.toml:"), "{shown}");
    }
}
