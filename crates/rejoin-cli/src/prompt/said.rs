//! Lines of the past that go with the conversations they were said in.
//!
//! The lines are in memory, some hundred of each project, and messages are gone over one by one: a conversation may be as
//! large as the disk allows.

use std::collections::{BTreeMap, BTreeSet};

use rejoin::store::{Named, Space};
use rejoin::{Archive, ConversationId, ErrorKind};

use super::history::{NAME, recall};

/// The lines of every project, of which some are said in what goes.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    archive: &'a Archive,
    /// Those that are not found yet, by the name they are kept under; none before they were needed.
    sought: Option<BTreeMap<String, Vec<Line>>>,
}

/// A line, and what of it would be said in a conversation.
#[derive(Debug)]
struct Line {
    typed: String,
    meant: String,
}

impl<'a> Lines<'a> {
    pub(crate) const fn of(archive: &'a Archive) -> Self {
        Self { archive, sought: None }
    }

    /// Takes away the lines that say what was said in a conversation that is about to go: its title and its messages.
    ///
    /// What cannot be read of it says nothing.
    pub(crate) fn forget_said_in(&mut self, id: ConversationId) -> rejoin::Result<()> {
        let mut sought = match self.sought.take() {
            Some(sought) => sought,
            None => all_lines(self.archive)?,
        };
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        if sought.values().any(|lines| !lines.is_empty()) {
            each_text(self.archive, id, &mut |text| {
                for (name, lines) in &mut sought {
                    lines.retain(|line| {
                        let is_said = text.contains(&line.meant);
                        if is_said {
                            found.entry(name.clone()).or_default().insert(line.typed.clone());
                        }
                        !is_said
                    });
                }
            });
        }
        for (name, said) in found {
            // Another prompt may have kept lines meanwhile, so they are read again.
            let mut lines = recall(self.archive, &name);
            lines.retain(|line| !said.contains(line));
            let text = serde_json::to_string(&lines).expect("lines are plain data");
            self.archive.remember(&name, Some(&text))?;
        }
        self.sought = Some(sought);
        Ok(())
    }
}

impl Line {
    /// None for a line that means nothing, such as a command without a text.
    fn of(typed: String) -> Option<Self> {
        let line = typed.trim();
        let meant = match line.strip_prefix('/') {
            Some(message) if message.starts_with('/') => message,
            Some(command) => command.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim()),
            None => line,
        };
        let meant = meant.to_owned();
        (!meant.is_empty()).then_some(Self { typed, meant })
    }
}

/// What is kept, by its name.
fn all_lines(archive: &Archive) -> rejoin::Result<BTreeMap<String, Vec<Line>>> {
    let mut names = Vec::new();
    let read = archive.store().get(Space::State, None, Named::Beginning(NAME.as_bytes()), &mut |name, _| {
        names.extend(str::from_utf8(name).map(str::to_owned));
        Ok(())
    });
    match read {
        // Lines that do not open say nothing.
        Err(error) if error.kind() == ErrorKind::Corrupt => {}
        other => other?,
    }
    let with_lines = |name: String| {
        let lines = recall(archive, &name).into_iter().filter_map(Line::of).collect();
        (name, lines)
    };
    Ok(names.into_iter().map(with_lines).collect())
}

/// Visits the title and the texts of a conversation, as far as they can be read.
fn each_text(archive: &Archive, id: ConversationId, visit: &mut dyn FnMut(&str)) {
    if let Some(title) = archive.conversation(id).ok().and_then(|stored| stored.conversation.title) {
        visit(&title);
    }
    let read = archive.each_message(id, &mut |stored| {
        visit(&stored.message.text());
        Ok(())
    });
    if let Err(error) = read {
        tracing::debug!(kind = error.kind().as_str(), "a conversation that goes was not read to its end");
    }
}

#[cfg(test)]
mod tests {
    use rejoin::{Conversation, Message};

    use super::super::Keeping;
    use super::super::history::Past;
    use super::*;
    use crate::context::Context;

    fn typed(archive: &Archive, lines: &[&str]) {
        let mut past = Past::open(&Context::imagined(), archive, Keeping::Kept);
        lines.iter().for_each(|line| past.keep(line));
        past.finish();
    }

    fn left(archive: &Archive) -> Vec<String> {
        Past::open(&Context::imagined(), archive, Keeping::Kept).take_lines()
    }

    fn said(archive: &Archive, title: &str, messages: Vec<Message>) -> ConversationId {
        let mut handle = archive.start(Conversation::titled(title)).unwrap();
        handle.append_turn(messages).unwrap();
        handle.id()
    }

    #[test]
    fn lines_that_say_what_is_purged_are_forgotten() {
        let archive = Archive::open("memory:").unwrap();
        typed(
            &archive,
            &["my bicycle is green", "/tree", "//etc is full", "/title Green bicycle", "and in Lisbon?"],
        );
        let first = said(&archive, "Green bicycle", vec![Message::user("my bicycle is green")]);
        let second = said(&archive, "Disk", vec![Message::user("/etc is full")]);

        let mut lines = Lines::of(&archive);
        lines.forget_said_in(first).unwrap();
        typed(&archive, &["my bicycle is red"]);
        lines.forget_said_in(second).unwrap();

        assert_eq!(left(&archive), ["/tree", "and in Lisbon?", "my bicycle is red"]);
    }
}
