//! Which process talks, so that another can tell a reply that is still arriving from one that was cut off.
//!
//! A process is named by its number and the moment it started, because numbers are used again.

use std::fs;

use rustix::process::{Pid, test_kill_process};

/// The name of this process.
pub(crate) fn own() -> String {
    let number = std::process::id();
    match started(number) {
        Some(moment) => format!("{number}@{moment}"),
        None => number.to_string(),
    }
}

/// The number of the process with this name, if it lives.
pub(crate) fn living(writer: &str) -> Option<u32> {
    let (number, moment) = match writer.split_once('@') {
        Some((number, moment)) => (number, Some(moment)),
        None => (writer, None),
    };
    let number: u32 = number.parse().ok()?;
    let lives = match moment {
        Some(moment) => started(number).is_some_and(|own| own == moment),
        // A system without `/proc` tells no more than that the number is taken.
        None => i32::try_from(number)
            .ok()
            .and_then(Pid::from_raw)
            .is_some_and(|process| test_kill_process(process).is_ok()),
    };
    lives.then_some(number)
}

/// Whether the process with this name lives.
pub(crate) fn lives(writer: &str) -> bool {
    living(writer).is_some()
}

/// When a process started, in the kernel's own count. One that has ended and was not collected yet is dead.
fn started(number: u32) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold anything, also parentheses.
    let (_, after) = status.rsplit_once(')')?;
    let mut fields = after.split_whitespace();
    let state = fields.next()?;
    let moment = fields.nth(18)?;
    (!matches!(state, "Z" | "X")).then(|| moment.to_owned())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_lives_until_it_ends() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let writer = format!("{}@{}", child.id(), started(child.id()).unwrap());
        let before = living(&writer);

        child.kill().unwrap();
        child.wait().unwrap();

        assert_eq!((before, living(&writer)), (Some(child.id()), None));
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let own = own();
        let (number, _) = own.split_once('@').unwrap();

        let found = [living(&own), living(&format!("{number}@1")), living("elsewhere"), living("")];

        assert_eq!(found, [Some(std::process::id()), None, None, None]);
    }
}
