//! One rule: which calls it means.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind};
use crate::tools::Subject;
use crate::tools::rules::command::{self, Star, Word};
use crate::tools::rules::glob::{Glob, GlobPiece, PatternReach, is_guarded, name_matches};

/// The tools that take a path.
const PATH_TOOLS: [&str; 5] = ["read", "list", "find", "write", "edit"];

/// A rule such as `write(src/**)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolRule {
    text: String,
    meaning: RuleMeaning,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RuleMeaning {
    Everything,
    Paths {
        tool: &'static str,
        pattern: Option<Glob>,
        is_absolute: bool,
    },
    Commands(Option<Vec<Word>>),
    /// One command, by the letter.
    Command(String),
    Mcp(Option<Glob>),
    Tool(Glob),
}

impl ToolRule {
    /// Whether it allows a call. In doubt it does not.
    pub(super) fn allows(&self, subject: &Subject) -> bool {
        match (&self.meaning, subject) {
            (RuleMeaning::Commands(Some(pattern)), Subject::Command(text)) => {
                command::simple(text).is_some_and(|words| covers(pattern, &words))
            }
            _ => self.matches(subject, PatternReach::Narrow),
        }
    }

    /// Whether it holds a call back. In doubt it does.
    pub(super) fn holds_back(&self, subject: &Subject) -> bool {
        match (&self.meaning, subject) {
            (RuleMeaning::Commands(Some(pattern)), Subject::Command(text)) => {
                command::parts(text).iter().any(|words| begins(pattern, words))
            }
            _ => self.matches(subject, PatternReach::Wide),
        }
    }

    fn matches(&self, subject: &Subject, reach: PatternReach) -> bool {
        match (&self.meaning, subject) {
            (RuleMeaning::Everything, _) | (RuleMeaning::Commands(None), Subject::Command(_)) => true,
            (RuleMeaning::Mcp(None), Subject::Mcp { .. }) => true,
            (RuleMeaning::Command(wanted), Subject::Command(text)) => wanted == text,
            (RuleMeaning::Mcp(Some(pattern)), Subject::Mcp { server, tool }) => {
                // In `a/b/c` the server is `a`, so nothing allows a server that has a slash in its name.
                (reach == PatternReach::Wide || !server.contains('/'))
                    && pattern.matches(&format!("{server}/{tool}"), reach)
            }
            (RuleMeaning::Tool(pattern), Subject::Tool(name)) => pattern.matches(name, reach),
            (
                RuleMeaning::Paths { tool, pattern, is_absolute },
                Subject::Path { tool: asked, absolute, relative },
            ) => {
                let path = if *is_absolute { Some(absolute) } else { relative.as_ref() };
                includes(tool, asked, reach)
                    && match (pattern, path) {
                        (Some(pattern), Some(path)) => pattern.matches(path, reach),
                        (Some(_), None) => false,
                        (None, path) => {
                            reach == PatternReach::Wide || path.is_some_and(|path| !is_guarded(path))
                        }
                    }
            }
            (
                RuleMeaning::Commands(_)
                | RuleMeaning::Command(_)
                | RuleMeaning::Mcp(_)
                | RuleMeaning::Tool(_)
                | RuleMeaning::Paths { .. },
                _,
            ) => false,
        }
    }
}

/// Who may read a file may find it and list it; who may write it may edit it;
/// who may not read it may not edit it.
fn includes(rule: &str, tool: &str, reach: PatternReach) -> bool {
    rule == tool
        || match rule {
            "read" => ["list", "find"].contains(&tool) || reach == PatternReach::Wide && tool == "edit",
            "write" => tool == "edit",
            _ => false,
        }
}

/// Whether these are the words of the pattern, and no others. A last `*` stands for any further words.
fn covers(pattern: &[Word], words: &[String]) -> bool {
    match pattern.split_last() {
        Some((last, fixed)) if is_star(last) => fixed.len() <= words.len() && agree(fixed, words),
        _ => pattern.len() == words.len() && agree(pattern, words),
    }
}

/// Whether the words begin as the pattern does. A program is known by its name, wherever it lies.
fn begins(pattern: &[Word], words: &[String]) -> bool {
    let mut words = words.to_vec();
    if let (Some(first), Some(program)) = (pattern.first(), words.first_mut())
        && !first.contains(&GlobPiece::Is('/'))
    {
        *program = command::base(program).to_owned();
    }
    let pattern = if pattern.last().is_some_and(is_star) { &pattern[..pattern.len() - 1] } else { pattern };
    pattern.len() <= words.len() && agree(pattern, &words)
}

fn is_star(word: &Word) -> bool {
    word[..] == [GlobPiece::Any]
}

fn agree(pattern: &[Word], words: &[String]) -> bool {
    let letters = |word: &String| word.chars().collect::<Vec<char>>();
    pattern.iter().zip(words).all(|(wanted, word)| name_matches(wanted, &letters(word)))
}

impl FromStr for ToolRule {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: &str| Error::new(ErrorKind::Invalid, format!("read the rule `{text}`: {why}"));
        let trimmed = text.trim();
        let (name, argument) = match trimmed.split_once('(') {
            None => (trimmed, None),
            Some((name, rest)) => {
                let argument = rest.strip_suffix(')').ok_or_else(|| wrong("the last `)` is missing"))?;
                if argument.trim().is_empty() {
                    return Err(wrong("there is nothing between the brackets"));
                }
                (name.trim_end(), Some(argument))
            }
        };
        let path_tool = PATH_TOOLS.iter().find(|tool| **tool == name);
        let meaning = match (name, path_tool, argument) {
            ("*", _, None) => RuleMeaning::Everything,
            (_, Some(tool), argument) => RuleMeaning::Paths {
                tool,
                pattern: argument.map(Glob::parse),
                is_absolute: argument.is_some_and(|argument| argument.starts_with('/')),
            },
            ("run", _, None) => RuleMeaning::Commands(None),
            ("run", _, Some(argument)) => match argument.strip_prefix('=') {
                Some(exactly) => RuleMeaning::Command(exactly.to_owned()),
                None => RuleMeaning::Commands(Some(command::words(argument, Star::Anything).ok_or_else(
                    || wrong("a rule names one plain command; `run(=…)` takes a text by the letter"),
                )?)),
            },
            ("mcp", _, None) => RuleMeaning::Mcp(None),
            ("mcp", _, Some(argument)) if names_tool(argument) => {
                RuleMeaning::Mcp(Some(Glob::parse(argument)))
            }
            ("mcp", _, Some(_)) => return Err(wrong("write `mcp(server/tool)`")),
            ("tool", _, Some(argument)) => RuleMeaning::Tool(Glob::parse(argument)),
            _ => return Err(wrong("a rule begins with read, list, find, write, edit, run, mcp, or is `*`")),
        };
        Ok(Self { text: trimmed.to_owned(), meaning })
    }
}

impl fmt::Display for ToolRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether there is a server and a tool. The name of a tool may have slashes in it.
fn names_tool(argument: &str) -> bool {
    argument.split_once('/').is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty())
}

/// The rule that allows exactly this.
pub(crate) fn rule_for(subject: &Subject) -> String {
    match subject {
        Subject::Path { tool, absolute, relative } => {
            format!("{tool}({})", Glob::escape(relative.as_ref().unwrap_or(absolute)))
        }
        Subject::Command(text) => match command::simple(text).as_deref().and_then(command::join) {
            Some(words) => format!("run({words})"),
            None => format!("run(={text})"),
        },
        Subject::Mcp { server, tool } => format!("mcp({}/{})", Glob::escape(server), Glob::escape(tool)),
        Subject::Tool(name) => format!("tool({})", Glob::escape(name)),
    }
}
