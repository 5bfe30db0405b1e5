//! What to do about each ailment, with the exact command.

use std::path::Path;

use rejoin::{Ailment, ErrorKind};

const BACKUP: &str =
    "run `rejoin verify` to see what can be read, and put a backup back with `rejoin restore PATH`";

/// A store of plain files goes on without a line; what is wrong is named with its place.
const LINES: &str =
    "run `rejoin verify` to see what can be read; mend the line, or put a copy of the file back";

/// What to do about what the library found in the store at `store`; none when there is nothing to do.
pub(super) fn remedy(ailment: &Ailment, store: &Path) -> Option<String> {
    let remedy = match ailment {
        Ailment::OpenToOthers { path, wanted, .. } => {
            format!("run `chmod {wanted:o} {}`, or `rejoin doctor --fix`", quoted(path))
        }
        Ailment::WrongOwner { path, expected, .. } => {
            format!("run `sudo chown {expected} {}`", quoted(path))
        }
        Ailment::NetworkFileSystem { .. } => {
            "move the store to a local disk, then run `rejoin config set store sqlite:PATH`".to_owned()
        }
        Ailment::LittleSpace { .. } => {
            "free some space; `rejoin clean --dry-run` shows what could go".to_owned()
        }
        Ailment::Held { process: Some(process) } => {
            format!("wait for it to end, or see what it is with `ps -p {process}`")
        }
        Ailment::Held { process: None } => {
            format!("wait for it to end, or find it with `fuser {}`", quoted(store))
        }
        Ailment::Leftover { path } => format!("run `rm {}`; the store does not need it", quoted(path)),
        Ailment::KeptCopy { path } => format!("run `rm {}` once you are sure of the new one", quoted(path)),
        Ailment::LogWithoutStore { .. } => {
            "keep the log: put the store back beside it, or a backup with `rejoin restore PATH`".to_owned()
        }
        Ailment::LongLog { .. } => {
            "run `rejoin doctor --fix`; if it stays, a program that is open holds it".to_owned()
        }
        Ailment::NewerSchema { .. } => {
            "use the newer rejoin, or another store with `--store sqlite:PATH`".to_owned()
        }
        Ailment::OlderSchema { .. } => return None,
        Ailment::Unusable { kind: ErrorKind::Unavailable, .. } => {
            format!("see whose it is with `ls -la {}`", quoted(store.parent().unwrap_or(store)))
        }
        Ailment::Unusable { kind: ErrorKind::Invalid, .. } => {
            "name another store with `--store`, or put a backup there with `rejoin restore PATH`".to_owned()
        }
        Ailment::Damaged { .. } | Ailment::BrokenChain { .. } if store.is_dir() => LINES.to_owned(),
        Ailment::Unusable { .. } | Ailment::Damaged { .. } | Ailment::BrokenChain { .. } => BACKUP.to_owned(),
        Ailment::ClockBehindStore { .. } | Ailment::ClockWrong { .. } => {
            "look at the clock with `date`, and set it if it is wrong".to_owned()
        }
        Ailment::IndexBehind { .. } | Ailment::KeyInside => "run `rejoin doctor --fix`".to_owned(),
        // The library may learn to find more before this table does.
        _ => return None,
    };
    Some(remedy)
}

/// What to do about what was found in a store on a server. An error of the server says so itself.
pub(super) fn remedy_on_a_server(ailment: &Ailment) -> Option<String> {
    match ailment {
        Ailment::Damaged { .. } | Ailment::BrokenChain { .. } => Some(
            "run `rejoin verify` to see what can be read, and restore a backup of the database".to_owned(),
        ),
        Ailment::ClockBehindStore { .. } | Ailment::ClockWrong { .. } => remedy(ailment, Path::new("")),
        _ => None,
    }
}

/// A path as the shell takes it.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = text
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '/' | '.' | '_' | '-' | '+'));
    if is_plain { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_when_the_shell_would_take_it_apart() {
        let quoted = ["/a/b-c.db", "/a b", "/it's"].map(|path| quoted(Path::new(path)));

        assert_eq!(quoted, ["/a/b-c.db", "'/a b'", r"'/it'\''s'"]);
    }

    #[test]
    fn a_network_file_system_has_a_remedy() {
        let ailment = Ailment::NetworkFileSystem { path: "/mnt/share".into(), name: "NFS" };

        let told = (ailment.to_string(), remedy(&ailment, Path::new("/mnt/share/rejoin.db")).unwrap());

        let expected = (
            "`/mnt/share` lies on NFS, a network file system".to_owned(),
            "move the store to a local disk, then run `rejoin config set store sqlite:PATH`".to_owned(),
        );
        assert_eq!(told, expected);
    }
}
