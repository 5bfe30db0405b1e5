//! The paths at which the program looks for its files.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Longer names are cut and made unique with a hash.
const LENGTH: usize = 200;

/// Returns the directory name of a project: every character that is neither letter nor digit becomes a
/// hyphen.
pub(super) fn directory(project: &str) -> PathBuf {
    Path::new("projects").join(name(project))
}

fn name(project: &str) -> String {
    // The program counts UTF-16 code units.
    let units: Vec<u16> = project.encode_utf16().collect();
    let letter = |unit: &u16| u8::try_from(*unit).ok().map(char::from).filter(char::is_ascii_alphanumeric);
    let name: String = units.iter().map(|unit| letter(unit).unwrap_or('-')).collect();
    if name.len() <= LENGTH {
        return name;
    }
    let hash = units.iter().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(*unit)));
    format!("{}-{}", &name[..LENGTH], base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).expect("a remainder of 36 is a digit"));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Returns the name of a run in its file name. A name that could lead outside the directory becomes a hash.
pub(super) fn run_name(run: &str) -> String {
    let is_plain = !run.is_empty()
        && run.len() <= 64
        && run.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_plain {
        return run.to_owned();
    }
    let hash: [u8; 32] = Sha256::digest(run.as_bytes()).into();
    hash[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_named_as_the_program_names_them() {
        let long = format!("/{}", "x".repeat(229));

        let names = ["/tmp/x/my app_v1.2", "/tmp/при/ü", &long].map(name);

        let cut = format!("-{}-", "x".repeat(199));
        assert_eq!(names[..2], ["-tmp-x-my-app-v1-2", "-tmp------"]);
        assert!(names[2].starts_with(&cut), "{}", names[2]);
    }

    #[test]
    fn a_run_cannot_leave_its_directory() {
        let names = ["a92545b2", "../../x", ""].map(run_name);

        assert_eq!(names[0], "a92545b2");
        assert!(names[1..].iter().all(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit())), "{names:?}");
    }
}
