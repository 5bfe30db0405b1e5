//! Where to look: the paths that were named, or the places where programs keep their files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rejoin::formats::{FORMATS, Finder, Format, Key, Source, Sources};
use rejoin::{Archive, DeletedHere, ErrorKind, Imports};

use crate::context::Context;
use crate::error::Failure;
use crate::surroundings::Surroundings;
use crate::ui::quote;

/// Where to look.
#[derive(Clone, Debug)]
pub(super) struct ImportScope {
    roots: Vec<Root>,
    only: Option<&'static Format>,
    /// What opens sources that their program sealed.
    key: Option<Key>,
    is_scan: bool,
}

/// One path to look at.
#[derive(Clone, Debug)]
struct Root {
    path: PathBuf,
    /// The program whose place it is.
    format: Option<&'static Format>,
}

/// What was found at one path.
#[derive(Debug)]
pub(super) struct ImportPlace {
    pub(super) path: PathBuf,
    pub(super) format: Option<&'static Format>,
    /// What was not imported as it is now.
    pub(super) fresh: Vec<FoundSource>,
    pub(super) unchanged: Vec<FoundSource>,
    pub(super) others: u64,
    pub(super) unreadable: Vec<(PathBuf, String)>,
}

/// A source that was found.
#[derive(Clone, Debug)]
pub(super) struct FoundSource {
    pub(super) source: Source,
    pub(super) format: &'static Format,
    /// Whoever names a file itself wants it, whether or not it was deleted here.
    pub(super) deleted: DeletedHere,
}

impl FoundSource {
    /// All bytes of it, with those of what belongs to it.
    pub(super) fn bytes(&self) -> u64 {
        self.source.fingerprint().map_or_else(|_| self.source.bytes(), |look| look.bytes())
    }
}

impl ImportScope {
    /// The paths that were named.
    pub(super) fn named(paths: &[PathBuf], only: Option<&'static Format>, context: &Context) -> Self {
        let root = |path: &PathBuf| {
            let path = context.surroundings.working_directory.join(path);
            // One name for one place, because it is kept with the conversation.
            Root { path: path.canonicalize().unwrap_or(path), format: None }
        };
        Self { roots: paths.iter().map(root).collect(), only, key: None, is_scan: false }
    }

    /// Every place of every program, or of one.
    pub(super) fn places(
        only: Option<&'static Format>,
        archive: &Archive,
        context: &Context,
    ) -> Result<Self, Failure> {
        let mut projects = vec![context.config.project().to_owned()];
        projects.extend(archive.projects().list()?.into_iter().map(|project| PathBuf::from(project.path)));
        let mut roots = Vec::new();
        let mut seen = HashSet::new();
        for format in FORMATS.iter().copied().filter(|own| only.is_none_or(|only| only.name == own.name)) {
            for place in format.places {
                for path in resolve(place, &context.surroundings, &projects) {
                    // The same place may have two names, and a home may be reached in two ways.
                    let path = path.canonicalize().unwrap_or(path);
                    if seen.insert((format.name, path.clone())) {
                        roots.push(Root { path, format: Some(format) });
                    }
                }
            }
        }
        Ok(Self { roots, only, key: None, is_scan: true })
    }

    /// The same with what opens sources that their program sealed.
    pub(super) fn with_key(self, key: Option<Key>) -> Self {
        Self { key, ..self }
    }

    /// True when programs are looked for, and not paths that were named.
    pub(super) const fn is_scan(&self) -> bool {
        self.is_scan
    }

    /// Looks. A place of a program that is missing is left out; a path that was named has to be there.
    pub(super) fn look(&self, finder: &mut Finder, imports: &Imports) -> Result<Vec<ImportPlace>, Failure> {
        let mut places = Vec::new();
        let mut seen = HashSet::new();
        for root in &self.roots {
            let found = match finder.find(&root.path, root.format.or(self.only)) {
                Err(_) if self.is_scan && !root.path.exists() => continue,
                Err(error) if self.is_scan => {
                    Sources { unreadable: vec![(root.path.clone(), error.to_string())], ..Sources::default() }
                }
                Err(error) => return Err(told(error, &root.path)),
                Ok(found) => found,
            };
            places.push(self.sorted(root, found, imports, &mut seen));
        }
        Ok(places)
    }

    /// Looks without minding what is missing: it may come back.
    pub(super) fn look_leniently(&self, finder: &mut Finder, imports: &Imports) -> Vec<ImportPlace> {
        let mut places = Vec::new();
        let mut seen = HashSet::new();
        for root in &self.roots {
            if let Ok(found) = finder.find(&root.path, root.format.or(self.only)) {
                places.push(self.sorted(root, found, imports, &mut seen));
            }
        }
        places
    }

    /// What was found at a path, told apart by whether it is new.
    fn sorted(
        &self,
        root: &Root,
        found: Sources,
        imports: &Imports,
        seen: &mut HashSet<PathBuf>,
    ) -> ImportPlace {
        let mut place = ImportPlace {
            path: root.path.clone(),
            format: root.format,
            fresh: Vec::new(),
            unchanged: Vec::new(),
            others: found.others,
            unreadable: found.unreadable,
        };
        for (source, format) in found.found {
            if !seen.insert(source.path().to_owned()) {
                continue;
            }
            let is_named = root.format.is_none() && source.path() == root.path;
            let deleted = if is_named { DeletedHere::ComeBack } else { DeletedHere::StayDeleted };
            let is_unchanged = !is_named && imports.is_unchanged(&source, format);
            let source = match &self.key {
                Some(key) => source.with_key(key.clone()),
                None => source,
            };
            let item = FoundSource { source, format, deleted };
            if is_unchanged { place.unchanged.push(item) } else { place.fresh.push(item) }
        }
        place
    }
}

impl ImportPlace {
    pub(super) fn items(&self) -> impl Iterator<Item = &FoundSource> {
        self.fresh.iter().chain(&self.unchanged)
    }
}

/// What is wrong with a path that was named, and what to do next.
fn told(error: rejoin::Error, path: &Path) -> Failure {
    let (kind, shown) = (error.kind(), quote::path(path));
    Failure::from(error).hint(match kind {
        ErrorKind::NotFound => {
            "check the path, or run `rejoin import --scan` to find the history of other programs".to_owned()
        }
        ErrorKind::Unavailable => format!("run `ls -ld {shown}` to see who may read it"),
        _ => format!("choose another file, or name its format: `rejoin import --from FORMAT {shown}`"),
    })
}

/// The paths that a place of a format stands for on this machine.
fn resolve(place: &str, here: &Surroundings, projects: &[PathBuf]) -> Vec<PathBuf> {
    if let Some(below) = place.strip_prefix("~/") {
        return here.home.iter().map(|home| home.join(below)).collect();
    }
    let Some(named) = place.strip_prefix('$') else {
        return projects.iter().map(|project| project.join(place)).collect();
    };
    let (name, below) = named.split_once('/').unwrap_or((named, ""));
    let base = here.variable(name).map(Path::new).filter(|base| base.is_absolute());
    base.map(|base| if below.is_empty() { base.to_owned() } else { base.join(below) }).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_below_home_a_variable_or_each_project() {
        let here = Surroundings::imagined(&[("CODEX_HOME", "/data/codex"), ("XDG_DATA_HOME", "relative")]);
        let projects = ["/home/ada/a".into(), "/home/ada/b".into()];

        let resolved =
            ["~/.codex", "$CODEX_HOME/sessions", "$CODEX_HOME", "$XDG_DATA_HOME/x", "$OTHER/x", ".s"]
                .map(|place| resolve(place, &here, &projects));

        let expected: [&[&str]; 6] = [
            &["/home/ada/.codex"],
            &["/data/codex/sessions"],
            &["/data/codex"],
            &[],
            &[],
            &["/home/ada/a/.s", "/home/ada/b/.s"],
        ];
        assert_eq!(resolved, expected.map(|paths| paths.iter().map(PathBuf::from).collect::<Vec<_>>()));
    }
}
