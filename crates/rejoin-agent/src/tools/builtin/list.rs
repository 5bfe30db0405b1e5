//! Lists a directory.

use std::io;
use std::path::Path;

use rejoin::Json;
use rustix::fs::{AtFlags, Dir, FileType};
use serde::Deserialize;
use serde_json::json;

use super::off_thread;
use crate::error::Result;
use crate::providers::ToolSpec;
use crate::tools::input;
use crate::tools::place::ProjectDirectory;
use crate::tools::{Output, Plan, Prepared, Tool, files};

/// Entries that are shown; the rest is counted.
const MOST_ENTRIES: usize = 500;

/// Lists a directory.
#[derive(Debug)]
pub(super) struct ListTool {
    spec: ToolSpec,
    project: ProjectDirectory,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListInput {
    #[serde(default)]
    path: String,
    #[serde(default)]
    hidden: bool,
}

/// Whether entries that begin with a dot are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HiddenEntries {
    Shown,
    LeftOut,
}

impl ListTool {
    pub(super) fn new(project: ProjectDirectory) -> Self {
        let spec = input::spec(
            "list",
            "Lists a directory: directories end with `/`, files have their size, links show where they lead.",
            json!({
                "path": {"type": "string", "description": "The directory; the project's when left out."},
                "hidden": {"type": "boolean", "description": "Whether names that begin with a dot are shown; false when left out."},
            }),
            &[],
        );
        Self { spec, project }
    }
}

impl Tool for ListTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: &Json) -> Result<Prepared> {
        let ListInput { path, hidden } = input::read(input)?;
        let hidden = if hidden { HiddenEntries::Shown } else { HiddenEntries::LeftOut };
        let place = self.project.resolve(&path)?;
        let subject = place.subject("list");
        let mut plan = Plan::new(format!("List `{}`", place.shown()), &subject);
        if place.is_inside() {
            plan = plan.harmless();
        }
        Ok(Prepared::new(
            plan,
            subject,
            off_thread(move || match list(&place.path, hidden) {
                Ok(text) => Output::text(text),
                Err(error) => Output::failure(format!("cannot list `{}`: {error}", place.shown())),
            }),
        ))
    }
}

fn list(path: &Path, hidden: HiddenEntries) -> io::Result<String> {
    let directory = files::open_directory(path)?;
    let mut names = Vec::new();
    let mut left_out = 0;
    for entry in Dir::read_from(&directory)? {
        let name = entry?.file_name().to_owned();
        match name.to_bytes() {
            b"." | b".." => {}
            [b'.', ..] if hidden == HiddenEntries::LeftOut => left_out += 1,
            _ => names.push(name),
        }
    }
    names.sort();
    let total = names.len();
    let mut text = String::new();
    for name in names.into_iter().take(MOST_ENTRIES) {
        let shown = name.to_string_lossy();
        let line = match rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(_) => shown.into_owned(),
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => format!("{shown}/"),
                FileType::Symlink => {
                    let target = rustix::fs::readlinkat(&directory, &name, Vec::new());
                    let target =
                        target.map(|target| target.to_string_lossy().into_owned()).unwrap_or_default();
                    format!("{shown} -> {target}")
                }
                FileType::RegularFile => format!("{shown} ({} bytes)", stat.st_size),
                _ => format!("{shown} (special)"),
            },
        };
        text.push_str(&line);
        text.push('\n');
    }
    if total > MOST_ENTRIES {
        text.push_str(&format!("[{} more entries]\n", total - MOST_ENTRIES));
    }
    if left_out > 0 {
        text.push_str(&format!("[{left_out} hidden entries]\n"));
    }
    Ok(if text.is_empty() { "(the directory is empty)".to_owned() } else { text })
}
