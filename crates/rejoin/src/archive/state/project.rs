//! Projects: which directories conversations belong to, and what to do when one moved.

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, ArchiveProjects, List};
use crate::error::{Error, Result};
use crate::store::{BlobNames, Put, Safety, Space};

/// A directory that conversations belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// What identifies it: the id in its `.rejoin/project` file, or its path.
    pub key: String,
    /// Where it was when it was last used.
    pub path: String,
    /// The repository's first commit, which a copy or a moved project shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_commit: Option<String>,
}

impl ArchiveProjects<'_> {
    /// Remembers a project; writes nothing when it is known as it is.
    pub fn remember(&self, project: &Project) -> Result<()> {
        let [key, path] = [&project.key, &project.path].map(|text| self.key_as_kept(text));
        let project = &Project { key, path, ..project.clone() };
        if self.get(&project.key)?.as_ref() == Some(project) {
            return Ok(());
        }
        let bytes = serde_json::to_vec(project).expect("a project is plain data");
        self.archive.put_project(&project.key, Some(&bytes))
    }

    /// The key of a project as it is stored: without a secret that stands in its path.
    pub fn key_as_kept(&self, key: &str) -> String {
        self.archive.redacted_name(key).into_owned()
    }

    /// A known project.
    pub fn get(&self, key: &str) -> Result<Option<Project>> {
        let key = self.key_as_kept(key);
        Ok(self.list()?.into_iter().find(|project| project.key == key))
    }

    /// Every project that was remembered, in order of key.
    pub fn list(&self) -> Result<Vec<Project>> {
        let mut projects = Vec::new();
        self.archive.store().get(Space::Project, None, BlobNames::ALL, &mut |_, bytes| {
            let project = serde_json::from_slice(bytes);
            projects.push(project.map_err(|cause| Error::corrupt("read a known project").because(cause))?);
            Ok(())
        })?;
        Ok(projects)
    }

    /// Gives every conversation of one project to another; returns how many. The first is forgotten.
    pub fn move_to(&self, from: &str, to: &Project) -> Result<u64> {
        self.remember(to)?;
        let list = List { project: Some(from.to_owned()), includes_expired: true, ..List::default() };
        let mut ids = Vec::new();
        self.archive.reader().each_conversation(&list, &mut |stored| {
            ids.push(stored.id);
            Ok(())
        })?;
        for id in &ids {
            self.archive.update(*id, |conversation| conversation.project = Some(to.key.clone()))?;
        }
        if from != to.key {
            self.archive.put_project(from, None)?;
        }
        Ok(ids.len() as u64)
    }
}

impl Archive {
    fn put_project(&self, key: &str, bytes: Option<&[u8]>) -> Result<()> {
        self.store().put(
            &[Put {
                space: Space::Project,
                owner: None,
                name: self.projects().key_as_kept(key).as_bytes(),
                bytes,
            }],
            Safety::Synced,
        )
    }
}
