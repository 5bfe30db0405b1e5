//! What the file system says about the place of a store: whose it is, who may read it and what it lies on.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

use crate::error::{Error, ErrorKind, Result};

/// A file or directory as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Belonging {
    pub(crate) path: PathBuf,
    /// The permission bits.
    pub(crate) mode: u32,
    /// The bits it should have at most.
    pub(crate) wanted: u32,
    /// The owner's number.
    pub(crate) owner: u32,
}

impl Belonging {
    /// Looks at a path without following a link; none when nothing is there.
    pub(crate) fn look(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        let wanted = if metadata.is_dir() { 0o700 } else { 0o600 };
        Some(Self { path: path.to_owned(), mode: metadata.mode() & 0o7777, wanted, owner: metadata.uid() })
    }

    /// True when someone other than the owner may read or change it.
    pub(crate) const fn is_open_to_others(&self) -> bool {
        self.mode & 0o077 != 0
    }
}

/// How many bytes an ordinary user may still write where `path` lies.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let space = statvfs(path)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// Refuses a place on a network file system.
///
/// The write-ahead log needs memory that all processes share and locks that all machines keep. Neither is promised
/// there, and the file would be corrupted without a word (<https://sqlite.org/wal.html>).
pub(crate) fn refuse_network(path: &Path) -> Result<()> {
    match magic(path).and_then(network) {
        None => Ok(()),
        Some(name) => Err(Error::new(
            ErrorKind::Unsupported,
            format!("`{}` lies on {name}, a network file system, where its log is not safe", path.display()),
        )),
    }
}

/// The number that says which file system a path lies on, where the system has such numbers.
#[cfg(target_os = "linux")]
pub(crate) fn magic(path: &Path) -> Option<u32> {
    // The numbers have 32 bits; some kernels extend their sign.
    rustix::fs::statfs(path).ok().map(|system| system.f_type as u32)
}

/// The number that says which file system a path lies on, where the system has such numbers.
#[cfg(not(target_os = "linux"))]
pub(crate) fn magic(_: &Path) -> Option<u32> {
    None
}

/// The name of a file system that is shared between machines; none for any other.
pub(crate) const fn network(magic: u32) -> Option<&'static str> {
    Some(match magic {
        0x0000_6969 => "NFS",
        0x0000_517B | 0xFE53_4D42 => "SMB",
        0xFF53_4D42 => "CIFS",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x0102_1997 => "9p",
        0x7375_7245 => "Coda",
        0x0000_564C => "NCP",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x4750_4653 => "GPFS",
        0xAAD7_AAEA => "PanFS",
        0x786F_4256 => "a VirtualBox shared folder",
        0xBACB_ACBC => "a VMware shared folder",
        0x7C7C_6673 => "a Parallels shared folder",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_number() {
        let names = [0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x5346_414F, 0x0102_1997].map(network);

        assert_eq!(names, ["NFS", "SMB", "SMB", "CIFS", "AFS", "9p"].map(Some));
    }

    #[test]
    fn local_file_systems_are_not_taken_for_network_ones() {
        let ext4_xfs_btrfs_tmpfs_overlay_zfs =
            [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1];

        assert_eq!(ext4_xfs_btrfs_tmpfs_overlay_zfs.map(network), [None; 6]);
    }

    #[test]
    fn a_file_that_others_may_read_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        fs::write(&path, "").unwrap();

        let seen = [0o600, 0o640, 0o602].map(|mode| {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            Belonging::look(&path).unwrap().is_open_to_others()
        });

        assert_eq!(seen, [false, true, true]);
    }
}
