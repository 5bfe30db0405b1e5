//! The environment of child processes. This is the one place that starts a program.
//!
//! A child gets the variables of this process, except those that hold what only this process may
//! know, such as the keys of providers.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::process::Command;

/// What child processes see of the environment: every variable but the hidden ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    hidden: BTreeSet<OsString>,
}

impl Environment {
    /// The environment without these variables.
    pub fn without(names: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { hidden: names.into_iter().map(Into::into).collect() }
    }

    /// A program to start in this environment.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        for name in &self.hidden {
            command.env_remove(name);
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_sees_every_variable_but_the_hidden_ones() {
        let seen = |environment: Environment| {
            let output = environment.command("sh").args(["-c", "echo ${PATH+path} ${HOME+home}"]).output();
            String::from_utf8(output.unwrap().stdout).unwrap()
        };

        assert_eq!(seen(Environment::default()), "path home\n");
        assert_eq!(seen(Environment::without(["HOME", "NOT_SET"])), "path\n");
    }
}
