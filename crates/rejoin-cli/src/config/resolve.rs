//! Makes the paths inside values absolute, so that they mean the same wherever a command is run.

use std::path::Path;

use crate::config::shape::ValueShape;
use crate::config::value::ConfigValue;

/// Completes a path that is relative to `base` or begins with `~/`; other values pass unchanged.
pub(crate) fn absolute(
    value: ConfigValue,
    shape: ValueShape,
    base: &Path,
    home: Option<&Path>,
) -> ConfigValue {
    match (shape, value) {
        (ValueShape::Directory, ConfigValue::Text(path)) => ConfigValue::Text(complete(&path, base, home)),
        (ValueShape::Store, ConfigValue::Text(store)) => {
            ConfigValue::Text(complete_store(&store, base, home))
        }
        (_, value) => value,
    }
}

/// Only stores in files have a path: `sqlite:PATH`, `jsonl:DIR`, and either of them in a vault.
fn complete_store(store: &str, base: &Path, home: Option<&Path>) -> String {
    let Some((scheme, path)) = store.split_once(':') else { return store.to_owned() };
    let kind = scheme.rsplit('+').next().unwrap_or(scheme);
    if !["sqlite", "jsonl"].contains(&kind) || path.is_empty() || path.starts_with(':') {
        return store.to_owned();
    }
    format!("{scheme}:{}", complete(path, base, home))
}

fn complete(path: &str, base: &Path, home: Option<&Path>) -> String {
    let whole = match (path.strip_prefix("~/"), home) {
        (Some(below_home), Some(home)) => home.join(below_home),
        (_, _) => base.join(path),
    };
    // Both parts were text except perhaps the base; a name that is not text is shown as well as it can be.
    whole.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_files_are_completed() {
        let stores = [
            "sqlite:history.db",
            "vault+jsonl:~/talk",
            "sqlite:/srv/history.db",
            "memory:",
            "postgres://localhost/talk",
        ];

        let completed =
            stores.map(|store| complete_store(store, Path::new("/base"), Some(Path::new("/home/ada"))));

        let expected = [
            "sqlite:/base/history.db",
            "vault+jsonl:/home/ada/talk",
            "sqlite:/srv/history.db",
            "memory:",
            "postgres://localhost/talk",
        ];
        assert_eq!(completed, expected);
    }
}
