//! What the program says, word for word, so that a change of wording is seen as one.
//!
//! After a change that is meant: `INSTA_UPDATE=always cargo test -p rejoin-cli --test it screens::`, then
//! read the diff.

mod answers;
mod completion;
mod errors;
mod help;
mod picture;

use crate::world::{Outcome, World};

/// A command line and all that it says.
fn screen(line: &str, outcome: &Outcome) -> String {
    let code = if outcome.code == 0 { String::new() } else { format!("[exit code {}]\n", outcome.code) };
    format!("$ rejoin {line}\n{}{}{code}", outcome.stdout, outcome.stderr)
}

/// Runs the words of a line, which has no quotes.
fn run(world: &World, line: &str) -> Outcome {
    let program = world.program(&line.split(' ').collect::<Vec<_>>()).output().unwrap();
    let root = world.path("").display().to_string();
    let told = |bytes| String::from_utf8(bytes).unwrap().replace(root.trim_end_matches('/'), "[world]");
    Outcome {
        stdout: told(program.stdout),
        stderr: told(program.stderr),
        code: program.status.code().unwrap(),
    }
}
