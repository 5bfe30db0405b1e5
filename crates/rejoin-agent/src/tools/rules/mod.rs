//! Rules: which calls run without asking, which ask, and which never run.
//!
//! What holds a call back is stronger than what lets it through: deny, then ask, then allow, then the default, by which
//! a call that only looks inside the project runs and everything else asks.

mod command;
mod glob;
mod rule;
#[cfg(test)]
mod tests;

pub(crate) use rule::rule_for;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::tools::{Prepared, Subject};
use rule::Rule;

/// The version of the text that remembered rules are kept in.
const VERSION: u32 = 1;

/// Which calls run without asking, which ask, and which never run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
    /// What was decided for the rest of the conversation.
    remembered: Remembered,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Remembered {
    allow: Vec<Rule>,
    deny: Vec<Rule>,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

/// What the rules say about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// A person decides.
    Ask,
    /// It does not run, because of this rule.
    Deny(String),
}

impl Rules {
    /// What remembered rules are stored under, with the conversation.
    pub const NAME: &str = "tool-rules";

    /// Rules from configuration.
    pub fn new<T: AsRef<str>>(allow: &[T], ask: &[T], deny: &[T]) -> Result<Self> {
        Ok(Self {
            allow: parse(allow)?,
            ask: parse(ask)?,
            deny: parse(deny)?,
            remembered: Remembered::default(),
        })
    }

    /// Adds a rule that allows.
    #[must_use = "the rules are returned"]
    pub fn allowing(mut self, rule: &str) -> Result<Self> {
        self.allow.push(rule.parse()?);
        Ok(self)
    }

    /// What to do about a call.
    pub fn judge(&self, call: &Prepared) -> Verdict {
        let subject = &call.subject;
        let denied = self.deny.iter().chain(&self.remembered.deny).find(|rule| rule.holds_back(subject));
        if let Some(rule) = denied {
            return Verdict::Deny(rule.to_string());
        }
        if self.ask.iter().any(|rule| rule.holds_back(subject)) {
            return Verdict::Ask;
        }
        let is_allowed = self.allow.iter().chain(&self.remembered.allow).any(|rule| rule.allows(subject));
        if is_allowed || call.plan.is_harmless { Verdict::Allow } else { Verdict::Ask }
    }

    /// True when no tool may look at this.
    pub(crate) fn hides(&self, subject: &Subject) -> bool {
        self.deny.iter().chain(&self.remembered.deny).any(|rule| rule.holds_back(subject))
    }

    /// Allows a rule for the rest of the conversation.
    pub fn always(&mut self, rule: &str) -> Result<()> {
        remember(&mut self.remembered.allow, rule.parse()?);
        Ok(())
    }

    /// Refuses a rule for the rest of the conversation.
    pub fn never(&mut self, rule: &str) -> Result<()> {
        remember(&mut self.remembered.deny, rule.parse()?);
        Ok(())
    }

    /// What was remembered for the conversation, as a text to keep with it.
    pub fn to_text(&self) -> String {
        let texts = |rules: &[Rule]| rules.iter().map(ToString::to_string).collect();
        let Remembered { allow, deny } = &self.remembered;
        let stored = Stored { version: VERSION, allow: texts(allow), deny: texts(deny) };
        serde_json::to_string(&stored).expect("rules are plain data")
    }

    /// Takes up what was remembered for the conversation, in place of what is remembered now.
    pub fn recall(&mut self, text: &str) -> Result<()> {
        let attempt = || Error::new(ErrorKind::Invalid, "read the remembered rules for tools");
        let stored: Stored = serde_json::from_str(text).map_err(|cause| attempt().because(cause))?;
        if stored.version != VERSION {
            return Err(attempt().because(format!("their version is {}", stored.version)));
        }
        self.remembered = Remembered { allow: parse(&stored.allow)?, deny: parse(&stored.deny)? };
        Ok(())
    }

    /// Every rule as a word and its text, strongest first: for a list that people read.
    pub fn list(&self) -> Vec<(&'static str, String)> {
        let named = |word: &'static str, rules: &[Rule]| {
            rules.iter().map(|rule| (word, rule.to_string())).collect::<Vec<_>>()
        };
        [
            named("deny", &self.deny),
            named("never", &self.remembered.deny),
            named("ask", &self.ask),
            named("allow", &self.allow),
            named("always", &self.remembered.allow),
        ]
        .concat()
    }
}

fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Vec<Rule>> {
    texts.iter().map(|text| text.as_ref().parse()).collect()
}

fn remember(rules: &mut Vec<Rule>, rule: Rule) {
    if !rules.contains(&rule) {
        rules.push(rule);
    }
}
