//! `!command`: a command of the user's own, whose output goes along with the next message.

use std::io::{self, BufRead, BufReader, Write};
use std::process::Stdio;

use tokio::signal::unix::{SignalKind, signal};

use super::Prompt;
use super::attach::{delimited, folded};
use crate::error::Failure;
use crate::ui::{clean, size};

/// The most that is kept of an output.
const MOST_KEPT: usize = 64 << 10;

impl Prompt<'_> {
    /// Runs a command in the user's shell and shows its output. Without a command, forgets the output of
    /// those before.
    pub(super) fn shell(&mut self, command: &str) -> Result<(), Failure> {
        if command.is_empty() {
            let forgotten = std::mem::take(&mut self.command_output).len() as u64;
            return self.dim(&match forgotten {
                0 => "Type a command after the exclamation mark.".to_owned(),
                _ => "The next message does not include the output.".to_owned(),
            });
        }
        let output = self.run_in_shell(command)?;
        self.command_output
            .push(folded(&format!("!{command}"), delimited("command-output", command, &output)));
        self.dim("The next message includes this output. To leave it out, type ! alone.")
    }

    fn run_in_shell(&self, command: &str) -> Result<String, Failure> {
        let shell = self.context.surroundings.variable("SHELL").unwrap_or("sh".as_ref()).to_owned();
        let attempt = || format!("run `{}`", clean::line(command));
        let failed = |error| Failure::io(attempt(), error);
        // Ctrl+C is for the command, which gets it from the terminal.
        let _guard = self.runtime.enter();
        let _interrupts = signal(SignalKind::interrupt()).map_err(failed)?;
        let (reader, writer) = io::pipe().map_err(failed)?;
        let mut child = {
            let mut process = self.context.environment().command(&shell);
            process.arg("-c").arg(command).stdin(Stdio::null());
            process.stdout(writer.try_clone().map_err(failed)?).stderr(writer);
            process.spawn().map_err(failed)?
        };
        let output = show_lines(BufReader::new(reader)).map_err(failed)?;
        let status = child.wait().map_err(failed)?;
        if !status.success() {
            self.dim(&format!("The command ended with {status}."))?;
        }
        Ok(format!("{output}\n[{status}]"))
    }
}

/// Shows each line as it arrives. Returns the beginning of them all.
fn show_lines(mut lines: impl BufRead) -> io::Result<String> {
    let mut kept = String::new();
    let mut left_out = 0;
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let text = clean::block(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()?;
        if kept.len() + text.len() < MOST_KEPT {
            kept += &text;
            kept.push('\n');
        } else {
            left_out += 1;
        }
        line.clear();
    }
    if left_out > 0 {
        kept += &format!("[{} left out]\n", size::count(left_out, "line", "lines"));
    }
    Ok(kept)
}
