//! Who takes part: a name and the command that runs it, for stores inside this program and outside it alike.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::contestants::BUILT_IN;
use rejoin_bench::failure::{Context, Result};

#[derive(Debug, Clone)]
pub(crate) struct Entrant {
    pub(crate) name: String,
    command: Vec<OsString>,
}

impl Entrant {
    /// Returns a contestant or a reference that this program itself runs, in a process of its own.
    pub(crate) fn built_in(name: &str) -> Result<Self> {
        let program = std::env::current_exe().context(|| "find this program".into())?;
        Ok(Self { name: name.to_owned(), command: vec![program.into()] })
    }

    /// Reads `NAME=COMMAND`, or a command that is named after its last word.
    pub(crate) fn peer(text: &str) -> Result<Self> {
        let (name, command) = match text.split_once('=') {
            Some((name, command)) if !name.contains(char::is_whitespace) => (Some(name), command),
            Some(_) | None => (None, text),
        };
        let words: Vec<&str> = command.split_whitespace().collect();
        let last = words.last().ok_or("a peer's command is empty")?;
        let stem = Path::new(last).file_stem().map_or(*last, |stem| stem.to_str().unwrap_or(last));
        let name = name.unwrap_or(stem).to_owned();
        Ok(Self { name, command: words.into_iter().map(OsString::from).collect() })
    }

    /// Returns everyone who is measured.
    pub(crate) fn all(peers: &[String]) -> Result<Vec<Self>> {
        let built_in = BUILT_IN.iter().map(|name| Self::built_in(name));
        built_in.chain(peers.iter().map(|peer| Self::peer(peer))).collect()
    }

    /// Returns the command that answers requests about the store in `place`.
    pub(crate) fn run(&self, place: &Path) -> Vec<OsString> {
        let mut words = self.command.clone();
        words.extend(["run".into(), self.name.clone().into(), place.into()]);
        words
    }

    /// Returns the command that prints the newest conversations in `place`, a line each, and ends.
    pub(crate) fn list(&self, place: &Path) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).args(["list", &self.name]).arg(place);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_without_a_name_is_named_after_its_last_word() {
        let peer = Entrant::peer("python3 peers/plain_lines.py").unwrap();

        assert_eq!(peer.name, "plain_lines");
    }

    #[test]
    fn a_peer_may_be_given_a_name() {
        let peer = Entrant::peer("agents=python3 agents.py").unwrap();

        assert_eq!((peer.name.as_str(), peer.command.len()), ("agents", 2));
    }
}
