//! Scripts from elsewhere that start the real programs, asked about the same conversations.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::formats::accept::{Case, ask};
use crate::formats::round::written;
use crate::real_agent::Agent;

/// The script that starts a program, if the tests were told where it is.
fn script(agent: Agent) -> Option<PathBuf> {
    let directory = PathBuf::from(std::env::var_os("REJOIN_ACCEPT")?);
    Some(directory.join(format!("accept-{}/accept.sh", agent.command())))
}

/// The cases that a script refuses, with what it said.
pub(super) fn refused(agent: Agent, before: &[&str], cases: &[Case]) -> Vec<String> {
    let Some(script) = script(agent) else { return Vec::new() };
    let Some(commands) = agent.installed() else { return Vec::new() };
    // Where the script would look for the package: two directories above the command.
    let place = commands.ancestors().nth(2).unwrap();
    ask(cases, |case| {
        let (_directory, path) = written(agent.command(), &case.tree);
        let mut expected = Vec::new();
        texts(&case.expected, &mut expected);
        // What stands before the prompt; an argument cannot hold a zero byte.
        expected.pop();
        let words = expected.iter().filter_map(|text| text.split('\0').next());
        let gone = case.tree.messages.iter().map(|found| found.message.text());
        let gone = gone.filter(|text| !text.is_empty() && !expected.iter().any(|sent| sent.contains(text)));
        let output = Command::new(&script)
            .env("AGENTS_NPM", place)
            .args(before)
            .arg(&path)
            .args(words.flat_map(|word| ["--expect", word]))
            .args(gone.flat_map(|text| ["--forbid".to_owned(), text]))
            .output()
            .unwrap();
        let (told, more) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (!output.status.success()).then(|| format!("{}: {told}{more}", case.name))
    })
}

/// Every text that is sent, in order.
fn texts<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| texts(value, into)),
        Value::Object(object) => {
            for name in ["text", "thinking", "content", "output"] {
                match object.get(name) {
                    Some(Value::String(text)) => into.push(text),
                    Some(value) => texts(value, into),
                    None => {}
                }
            }
        }
        _ => {}
    }
}
