//! What tells a directory from another one that has the same path later.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::UNIX_EPOCH;

/// The identity of a directory: it stays when the directory is renamed, and a copy or a replacement has
/// another. None where there is no directory.
///
/// File systems use inode numbers again, so the time of creation belongs to it where the file system keeps
/// one. The device does not: its number may change when the machine starts.
pub fn directory_identity(directory: &Path) -> Option<String> {
    let metadata = fs::metadata(directory).ok().filter(fs::Metadata::is_dir)?;
    let created = metadata.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Some(match created {
        Some(created) => format!("{}@{}", metadata.ino(), created.as_nanos()),
        None => metadata.ino().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_follows_a_rename_and_does_not_pass_to_a_replacement() {
        let root = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| root.path().join(name));
        fs::create_dir(&first).unwrap();
        let own = directory_identity(&first);

        fs::rename(&first, &second).unwrap();
        fs::create_dir(&first).unwrap();

        assert!(own.is_some());
        assert_eq!(directory_identity(&second), own);
        assert_ne!(directory_identity(&first), own);
        assert_eq!(directory_identity(&root.path().join("none")), None);
    }
}
