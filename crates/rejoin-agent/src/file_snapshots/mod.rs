//! Snapshots of a project's files: taken before a turn writes, and restored when a person asks for it.
//!
//! Nothing is started and nothing outside the project is read. What is taken is kept in the archive; see
//! `rejoin::files`.

mod beneath;
mod note;
mod restore;
mod take;
mod walk;

pub use restore::{FileChange, FileChangeKind, FileOutcome, NewFiles, RestorePlan};
pub use take::FileSnapshots;
pub(crate) use take::TakenSnapshot;

/// Larger files are listed, and their content is not kept.
pub(crate) const LARGEST_FILE: u64 = 10_000_000;

/// How the name of a copy ends that a restore kept. More have a number behind it.
const COPY: &str = ".before-restore";

/// True for the name of a copy that a restore kept. Such files are passed over: they are nobody's work, and
/// would be copied again and again.
fn is_copy(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once(COPY) else { return false };
    end.is_empty()
        || end
            .strip_prefix('-')
            .is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_known_by_its_name() {
        let names =
            ["a.before-restore", "a.before-restore-12", "a.before-restore-", "a.before-restore.rs", "a"];

        assert_eq!(names.map(is_copy), [true, true, false, false, false]);
    }
}
