//! Changes keys in a configuration file and leaves everything else as the user wrote it.

use std::fs;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::config::{Config, ConfigOverrides, file, keys};
use crate::durable;
use crate::error::Failure;
use crate::surroundings::Surroundings;

/// Returns `text` with the key set; comments, order and spacing stay.
pub(crate) fn with_setting(
    path: &Path,
    text: &str,
    segments: &[String],
    value: Value,
) -> Result<String, Failure> {
    let mut document: DocumentMut = text.parse().map_err(|error| file::broken(path, text, &error))?;
    let name = segments.join(".");
    let quoted = keys::quoted(&name).map(|_| vec![name.clone()]);
    let (last, groups) =
        quoted.as_deref().unwrap_or(segments).split_last().expect("a key has at least one part");
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for group in groups {
        let below = table.entry(group).or_insert_with(new_group);
        table = below.as_table_like_mut().ok_or_else(|| {
            Failure::invalid(format!("set `{}` in `{}`", keys::dotted(segments), path.display()))
                .because(format!("`{group}` has a value there, where it should be a group of keys"))
                .hint("run `rejoin config edit`")
        })?;
    }
    match table.get_mut(last) {
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        Some(Item::None | Item::Table(_) | Item::ArrayOfTables(_)) | None => {
            table.insert(last, toml_edit::value(value));
        }
    }
    Ok(document.to_string())
}

/// A group gets a heading only if it holds a value itself: `[mcp.servers.local]` needs none above it.
fn new_group() -> Item {
    let mut group = Table::new();
    group.set_implicit(true);
    Item::Table(group)
}

/// Refuses a change that would leave a configuration that cannot be used, and returns what it would be.
///
/// A configuration that is broken elsewhere must not stand in the way of repairing this file.
pub(crate) fn check(
    path: &Path,
    old: &str,
    new: &str,
    surroundings: &Surroundings,
    project: &Path,
) -> Result<Option<Config>, Failure> {
    if let Err(failure) = file::settings_in(path, new) {
        // Where the fault was there before, its line is told as the user can find it.
        file::settings_in(path, old)?;
        return Err(failure);
    }
    let overrides = ConfigOverrides { project: Some(project.to_owned()), ..ConfigOverrides::default() };
    let read_new = |asked: &Path| if asked == path { Ok(Some(new.to_owned())) } else { file::text_of(asked) };
    match Config::load_from(surroundings, &overrides, &read_new) {
        Ok(config) => Ok(Some(config)),
        Err(failure) => match Config::load(surroundings, &overrides) {
            Ok(_) => Err(failure),
            Err(_) => Ok(None),
        },
    }
}

/// Writes a file that was checked. Many people keep their file elsewhere and link to it; the link stays.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let place: PathBuf = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    durable::replace(&place, text.as_bytes())
        .map_err(|error| Failure::io(format!("write `{}`", place.display()), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, key: &str, value: impl Into<Value>) -> String {
        let segments: Vec<String> = key.split('.').map(str::to_owned).collect();
        with_setting(Path::new("config.toml"), text, &segments, value.into()).unwrap()
    }

    #[test]
    fn comments_and_order_survive() {
        let text = "# mine\nlog = \"off\" # quiet\n\n[retention]\n# a season\ndays = 90 # long\n";

        let changed = set(text, "retention.days", 60);

        assert_eq!(changed, "# mine\nlog = \"off\" # quiet\n\n[retention]\n# a season\ndays = 60 # long\n");
    }

    #[test]
    fn a_new_key_joins_its_group() {
        assert_eq!(
            set("[retention]\ndays = 90\n", "retention.notice_days", 3),
            "[retention]\ndays = 90\nnotice_days = 3\n"
        );
    }

    #[test]
    fn a_dotted_key_stays_dotted() {
        assert_eq!(set("retention.days = 90\n", "retention.days", 60), "retention.days = 60\n");
    }

    #[test]
    fn a_key_below_one_that_has_a_value_stands_in_quotes() {
        let text = set("store = \"jsonl:/a\"\n", "store.strict", true);

        assert_eq!(text, "store = \"jsonl:/a\"\n\"store.strict\" = true\n");
        let names = file::settings_in(Path::new("config.toml"), &text).unwrap().into_iter();
        assert_eq!(names.map(|setting| setting.name()).collect::<Vec<_>>(), ["store", "store.strict"]);
        assert_eq!(set(&text, "store.strict", false), text.replace("true", "false"));
        let alone = file::settings_in(Path::new("config.toml"), "store.strict = true\n").unwrap();
        assert_eq!(alone.into_iter().map(|setting| setting.name()).collect::<Vec<_>>(), ["store.strict"]);
    }

    #[test]
    fn only_the_innermost_new_group_has_a_heading() {
        assert_eq!(
            set("", "mcp.servers.notes.command", "notes"),
            "[mcp.servers.notes]\ncommand = \"notes\"\n"
        );
    }
}
