//! Which projects the directories of imported conversations belong to.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use rejoin::{Archive, Project};

use crate::config::project::directory_of;
use crate::context::Context;
use crate::error::Failure;
use crate::project_key::project_at;

/// Directories that were met, with their projects.
#[derive(Debug)]
pub(super) struct MetProjects<'a> {
    context: &'a Context,
    archive: Archive,
    met: RefCell<BTreeMap<String, Met>>,
}

/// A project, and whether the archive has been told of it.
#[derive(Debug)]
struct Met {
    project: Project,
    is_remembered: bool,
}

impl<'a> MetProjects<'a> {
    pub(super) fn new(context: &'a Context, archive: Archive) -> Self {
        Self { context, archive, met: RefCell::new(BTreeMap::new()) }
    }

    /// The key of the project that a directory belongs to. One that is gone is a project by its path.
    pub(super) fn key_of(&self, directory: &str) -> String {
        let mut met = self.met.borrow_mut();
        let met = met.entry(directory.to_owned()).or_insert_with(|| {
            let found = directory_of(Path::new(directory), self.context.config.project_scope())
                .and_then(|directory| project_at(&self.archive, &directory));
            let project = found.unwrap_or_else(|_| Project {
                key: directory.to_owned(),
                path: directory.to_owned(),
                first_commit: None,
            });
            Met { project, is_remembered: false }
        });
        met.project.key.clone()
    }

    /// Remembers the projects, so that they can be listed and moved.
    ///
    /// One that is known stays where it is: an imported file must not be able to say that it moved.
    pub(super) fn remember(&self) -> Result<(), Failure> {
        for met in self.met.borrow_mut().values_mut().filter(|met| !met.is_remembered) {
            if self.archive.projects().get(&met.project.key)?.is_none() {
                self.archive.projects().remember(&met.project)?;
            }
            met.is_remembered = true;
        }
        Ok(())
    }
}
