//! Rules: which calls run without asking, which ask, and which never run.
//!
//! What holds a call back is stronger than what lets it through: deny, then ask, then allow, then the
//! default, by which a call that only looks inside the project runs and everything else asks.
//!
//! What a person allowed for the rest of a conversation holds in the directory it was allowed in: the same
//! command does something else in another. What a person refused holds wherever the conversation goes on.

mod command;
mod glob;
mod rule;
#[cfg(test)]
mod tests;

pub(crate) use rule::rule_for;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::tools::{Prepared, Subject};
use rule::ToolRule;

/// The version of the text that remembered rules are kept in.
const VERSION: u32 = 2;

/// The version that did not say where a rule was allowed. Such rules are asked for again.
const VERSION_WITHOUT_PLACE: u32 = 1;

/// Which calls run without asking, which ask, and which never run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    allow: Vec<ToolRule>,
    ask: Vec<ToolRule>,
    deny: Vec<ToolRule>,
    /// What was decided for the rest of the conversation, as far as it holds here.
    remembered: RememberedRules,
    place: RuleDirectory,
    /// What was allowed for the rest of the conversation in other places.
    elsewhere: Vec<Allowed>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RememberedRules {
    allow: Vec<ToolRule>,
    deny: Vec<ToolRule>,
}

/// Where a remembered rule allows something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RuleDirectory {
    directory: String,
    /// Tells the directory from another that has its path later.
    identity: String,
}

/// As it is stored.
#[derive(Serialize, Deserialize)]
struct StoredRules {
    version: u32,
    #[serde(default)]
    places: Vec<Allowed>,
    #[serde(default)]
    deny: Vec<String>,
}

/// What was allowed in one place, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Allowed {
    #[serde(flatten)]
    place: RuleDirectory,
    #[serde(default)]
    allow: Vec<String>,
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
        Ok(Self { allow: parse(allow)?, ask: parse(ask)?, deny: parse(deny)?, ..Self::default() })
    }

    /// Says where remembered rules allow something: in the directory with this canonical path,
    /// as long as it is the same directory.
    #[must_use = "the rules are returned"]
    pub fn bound_to(mut self, directory: impl Into<String>, identity: impl Into<String>) -> Self {
        self.place = RuleDirectory { directory: directory.into(), identity: identity.into() };
        self
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
        let texts = |rules: &[ToolRule]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
        let here = Allowed { place: self.place.clone(), allow: texts(&self.remembered.allow) };
        let places = self.elsewhere.iter().cloned().chain([here]).filter(|place| !place.allow.is_empty());
        StoredRules { version: VERSION, places: places.collect(), deny: texts(&self.remembered.deny) }
            .to_text()
    }

    /// Takes up what was remembered for the conversation, as far as it holds
    /// here, in place of what is remembered now.
    pub fn recall(&mut self, text: &str) -> Result<()> {
        let StoredRules { places, deny, .. } = StoredRules::read(text)?;
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            places.into_iter().partition(|allowed| allowed.place.directory == self.place.directory);
        // What was allowed in another directory that had this path holds nowhere any more.
        let here = here.into_iter().find(|allowed| allowed.place == self.place);
        let allow = here.map(|allowed| allowed.allow).unwrap_or_default();
        self.remembered = RememberedRules { allow: parse(&allow)?, deny: parse(&deny)? };
        self.elsewhere = elsewhere;
        Ok(())
    }

    /// The text of remembered rules after the user has said that a directory moved: what was
    /// allowed in it is allowed at its new path.
    pub fn move_remembered(text: &str, from: &str, to: &str, identity: &str) -> Result<String> {
        let mut stored = StoredRules::read(text)?;
        if stored.places.iter().any(|allowed| allowed.place.directory == from) {
            stored.places.retain(|allowed| allowed.place.directory != to);
        }
        for allowed in stored.places.iter_mut().filter(|allowed| allowed.place.directory == from) {
            allowed.place = RuleDirectory { directory: to.to_owned(), identity: identity.to_owned() };
        }
        Ok(stored.to_text())
    }

    /// Every rule as a word and its text, strongest first: for a list that people read.
    pub fn list(&self) -> Vec<(&'static str, String)> {
        let named = |word: &'static str, rules: &[ToolRule]| {
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

impl StoredRules {
    fn read(text: &str) -> Result<Self> {
        let attempt = || Error::new(ErrorKind::Invalid, "read the remembered rules for tools");
        let stored: Self = serde_json::from_str(text).map_err(|cause| attempt().because(cause))?;
        match stored.version {
            VERSION => Ok(stored),
            VERSION_WITHOUT_PLACE => Ok(Self { version: VERSION, places: Vec::new(), deny: stored.deny }),
            other => Err(attempt().because(format!("their version is {other}"))),
        }
    }

    fn to_text(&self) -> String {
        serde_json::to_string(self).expect("rules are plain data")
    }
}

fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Vec<ToolRule>> {
    texts.iter().map(|text| text.as_ref().parse()).collect()
}

fn remember(rules: &mut Vec<ToolRule>, rule: ToolRule) {
    if !rules.contains(&rule) {
        rules.push(rule);
    }
}
