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
    pub(crate) is_directory: bool,
    /// The permission bits.
    pub(crate) mode: u32,
    /// The owner's number.
    pub(crate) owner: u32,
}

impl Belonging {
    /// Looks at a path without following a link; none when nothing is there.
    pub(crate) fn look(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok()?;
        Some(Self {
            path: path.to_owned(),
            is_directory: metadata.is_dir(),
            mode: metadata.mode() & 0o7777,
            owner: metadata.uid(),
        })
    }

    /// The permissions it should have, if others may do more with it than they should.
    ///
    /// Nobody else may read a store, nor change the directory it lies in: they could put another file in its
    /// place. Whether others may look into a directory matters only in the program's own.
    pub(crate) fn tighter(&self, own_directory: Option<&Path>) -> Option<u32> {
        const STICKY: u32 = 0o1000;
        let wanted = match (self.is_directory, own_directory == Some(&self.path)) {
            (false, _) => self.mode & 0o600,
            (true, true) => self.mode & 0o700,
            // In a directory such as /tmp everyone can remove their own files only.
            (true, false) if self.mode & STICKY != 0 => self.mode,
            (true, false) => self.mode & !0o022,
        };
        (wanted != self.mode).then_some(wanted)
    }
}

/// How many bytes an ordinary user may still write where `path` lies.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let space = statvfs(path)?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// The room that opening a database takes: the shared index of its log, 32 KiB, and some of the log.
const OPENING: u64 = 256 << 10;

/// True when there may be no room to open a database in the usual way where `path` lies.
pub(crate) fn is_full(path: &Path) -> bool {
    free_bytes(path).is_ok_and(|free| free < OPENING)
}

/// The bytes of a block of the file system that `path` lies on.
pub(crate) fn block_bytes(path: &Path) -> io::Result<u64> {
    Ok(statvfs(path)?.f_frsize)
}

/// Refuses a place on a network file system.
///
/// The write-ahead log needs memory that all processes share and locks that all machines keep. Neither is
/// promised there, and the file would be corrupted without a word (<https://sqlite.org/wal.html>).
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

    fn tighter(is_directory: bool, mode: u32, own: Option<&str>) -> Option<u32> {
        Belonging { path: "/data".into(), is_directory, mode, owner: 0 }.tighter(own.map(Path::new))
    }

    #[test]
    fn a_file_is_for_its_owner_only() {
        let wanted = [0o600, 0o400, 0o644, 0o666].map(|mode| tighter(false, mode, None));

        assert_eq!(wanted, [None, None, Some(0o600), Some(0o600)]);
    }

    #[test]
    fn a_directory_may_be_read_unless_it_is_our_own_but_not_changed() {
        let elsewhere = [0o755, 0o777, 0o1777].map(|mode| tighter(true, mode, Some("/other")));
        let own = [0o700, 0o755].map(|mode| tighter(true, mode, Some("/data")));

        assert_eq!(elsewhere, [None, Some(0o755), None]);
        assert_eq!(own, [None, Some(0o700)]);
    }
}
