//! Puts the layers on top of each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::choices::{NamedChoice, ProjectScope};
use crate::config::keys::{ConfigKey, KEYS};
use crate::config::origin::{Setting, ValueOrigin};
use crate::config::trust::{Register, TrustStanding};
use crate::config::value::ConfigValue;
use crate::config::variables::FromVariables;
use crate::config::{Config, ConfigOverrides, IgnoredConfig, file, project, resolve, variables};
use crate::error::Failure;
use crate::surroundings::Surroundings;

type LayerSettings = BTreeMap<String, Setting>;

impl Config {
    /// Reads and checks every layer. The first thing wrong is the error.
    pub(crate) fn load(surroundings: &Surroundings, overrides: &ConfigOverrides) -> Result<Self, Failure> {
        Self::load_from(surroundings, overrides, &file::text_of)
    }

    /// As `load`, with the text of each file from `read`: what would be, if a file read differently.
    pub(crate) fn load_from(
        surroundings: &Surroundings,
        overrides: &ConfigOverrides,
        read: &dyn Fn(&Path) -> Result<Option<String>, Failure>,
    ) -> Result<Self, Failure> {
        let user = surroundings.user_config_file()?;
        let user_settings = match read(&user)? {
            Some(text) => file::settings_in(&user, &text)?,
            None => Vec::new(),
        };
        // Which file is the project's depends on `project.scope`, so the other layers settle that first.
        let members = members_in(&user_settings);
        let from_variables = variables::read(surroundings, &members)?;
        let mut base = defaults(surroundings)?;
        put_on_top(&mut base, surroundings, surroundings.home.as_deref(), user_settings);
        let mut below_project = base.clone();
        put_on_top(&mut below_project, surroundings, None, from_variables.settings);
        let start = start_of(surroundings, overrides)?;
        let scope = scope_in(&below_project);
        let found = project::around(surroundings.user, &start, scope);
        let root = found.directory;

        let of_project = project_settings(surroundings, root, read)?;
        put_on_top(&mut base, surroundings, Some(root), of_project.settings);
        // Names that only the project's file uses can be meant by a variable too.
        let members = members_in(base.values());
        let FromVariables { settings, unknown } = variables::read(surroundings, &members)?;
        put_on_top(&mut base, surroundings, None, settings);
        put_on_top(&mut base, surroundings, None, flags(overrides)?);
        let project = match scope_in(&base) {
            same if same == scope => found,
            other => project::around(surroundings.user, &start, other),
        };
        let config = Self {
            project: project.directory.to_owned(),
            is_own_project: project.is_own,
            project_file: root.join(project::FILE),
            start,
            settings: base,
            ignored: of_project.ignored,
            lapsed: of_project.lapsed,
            unknown_variables: unknown,
        };
        config.check_families()?;
        Ok(config)
    }

    /// The defaults and the flags, for commands that repair a configuration or do not need one.
    pub(crate) fn built_in(
        surroundings: &Surroundings,
        overrides: &ConfigOverrides,
    ) -> Result<Self, Failure> {
        let mut settings = defaults(surroundings)?;
        put_on_top(&mut settings, surroundings, None, flags(overrides)?);
        let start = start_of(surroundings, overrides)?;
        let found = project::around(surroundings.user, &start, scope_in(&settings));
        let (project, is_own_project) = (found.directory.to_owned(), found.is_own);
        Ok(Self {
            settings,
            project_file: project.join(project::FILE),
            project,
            is_own_project,
            start,
            ignored: Vec::new(),
            lapsed: None,
            unknown_variables: Vec::new(),
        })
    }
}

fn defaults(surroundings: &Surroundings) -> Result<LayerSettings, Failure> {
    let data = surroundings.data_directory()?.to_string_lossy().into_owned();
    let downloads = surroundings.downloads_directory()?.to_string_lossy().into_owned();
    let setting = |key: &'static ConfigKey| {
        let text = key.default?.replace("<data>", &data).replace("<downloads>", &downloads);
        // A machine whose directories cannot be written as values has no default for those keys.
        let value = key.shape.read_text(&text)?;
        Some((key.name.to_owned(), Setting { key, member: None, value, origin: ValueOrigin::Default }))
    };
    Ok(KEYS.iter().filter_map(setting).collect())
}

/// Adds a layer. Relative paths in it are meant from `base`, or from the working directory.
fn put_on_top(
    settings: &mut LayerSettings,
    surroundings: &Surroundings,
    base: Option<&Path>,
    layer: Vec<Setting>,
) {
    let base = base.unwrap_or(&surroundings.working_directory);
    for mut setting in layer {
        setting.value =
            resolve::absolute(setting.value, setting.key.shape, base, surroundings.home.as_deref());
        settings.insert(setting.name(), setting);
    }
}

/// What the project's own file sets, what of it does not count, and whether it counted before.
#[derive(Default)]
struct OfProject {
    settings: Vec<Setting>,
    ignored: Vec<IgnoredConfig>,
    lapsed: Option<TrustStanding>,
}

/// Reads the project's own file and sets aside what the user has not allowed it to set.
fn project_settings(
    surroundings: &Surroundings,
    directory: &Path,
    read: &dyn Fn(&Path) -> Result<Option<String>, Failure>,
) -> Result<OfProject, Failure> {
    let path = directory.join(project::FILE);
    let register = Register::read(surroundings);
    let text = match read(&path) {
        Ok(Some(text)) => text,
        Ok(None) => {
            let lapsed = register.ok().and_then(|register| register.standing_without_file(directory));
            return Ok(OfProject { lapsed, ..OfProject::default() });
        }
        Err(failure) => return without_file(path, failure, register?.standing_unread(directory)),
    };
    // The standing is that of the very text that was read, whatever becomes of the file meanwhile.
    let standing = register.map(|register| register.standing(directory, &text));
    let is_trusted = matches!(standing, Ok(TrustStanding::Trusted));
    let read = if is_trusted { file::settings_in } else { file::settings_in_untrusted };
    let settings = match read(&path, &text) {
        Ok(settings) => settings,
        Err(failure) => return without_file(path, failure, standing?),
    };
    let (harmless, guarded): (Vec<_>, Vec<_>) =
        settings.into_iter().partition(|setting| setting.key.is_harmless());
    if guarded.is_empty() {
        let lapsed = standing.ok().filter(|standing| standing.has_lapsed());
        return Ok(OfProject { settings: harmless, lapsed, ..OfProject::default() });
    }
    match standing? {
        TrustStanding::Trusted => {
            Ok(OfProject { settings: harmless.into_iter().chain(guarded).collect(), ..OfProject::default() })
        }
        standing @ (TrustStanding::Unknown
        | TrustStanding::Changed
        | TrustStanding::Replaced
        | TrustStanding::Outdated
        | TrustStanding::Linked) => {
            let ignored =
                guarded.into_iter().map(|setting| IgnoredConfig::Setting { setting, standing }).collect();
            let lapsed = Some(standing).filter(|standing| standing.has_lapsed());
            Ok(OfProject { settings: harmless, ignored, lapsed })
        }
    }
}

/// A file that cannot be used is an error where the user relies on it. Elsewhere it
/// must not be able to stop every command.
fn without_file(path: PathBuf, failure: Failure, standing: TrustStanding) -> Result<OfProject, Failure> {
    if standing == TrustStanding::Trusted {
        return Err(failure);
    }
    let hint = failure.next_step().map(str::to_owned);
    let ignored = vec![IgnoredConfig::File { path, fault: failure.summary(), hint }];
    let lapsed = Some(standing).filter(|standing| standing.has_lapsed());
    Ok(OfProject { ignored, lapsed, ..OfProject::default() })
}

fn flags(overrides: &ConfigOverrides) -> Result<Vec<Setting>, Failure> {
    let (flag, text) = match (&overrides.store, &overrides.conversation_directory) {
        (Some(store), _) => ("--store", store.clone()),
        (None, Some(directory)) => ("--conversation-dir", format!("jsonl:{}", directory.display())),
        (None, None) => return Ok(Vec::new()),
    };
    let key = KEYS.iter().find(|key| key.name == "store").expect("the table has the key `store`");
    let value = key.shape.read_text(&text).ok_or_else(|| {
        Failure::usage(format!("read the flag `{flag}`")).because(key.shape.complaint_about(&text))
    })?;
    Ok(vec![Setting { key, member: None, value, origin: ValueOrigin::Flag(flag) }])
}

/// Where the project is looked for from, with symbolic links resolved. The system
/// names the working directory without any.
fn start_of(surroundings: &Surroundings, overrides: &ConfigOverrides) -> Result<PathBuf, Failure> {
    match &overrides.project {
        Some(directory) => project::real(&surroundings.working_directory.join(directory)),
        None => Ok(surroundings.working_directory.clone()),
    }
}

fn scope_in(settings: &LayerSettings) -> ProjectScope {
    match settings.get("project.scope").map(|setting| &setting.value) {
        Some(ConfigValue::Text(text)) => ProjectScope::named(text).unwrap_or(ProjectScope::Repository),
        _ => ProjectScope::Repository,
    }
}

fn members_in<'a>(settings: impl IntoIterator<Item = &'a Setting>) -> Vec<String> {
    settings.into_iter().filter_map(|setting| setting.member.clone()).collect()
}
