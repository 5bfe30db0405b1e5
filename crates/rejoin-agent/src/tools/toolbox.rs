//! The tools of a talk, and the rules for them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::mcp::Servers;
use crate::providers::ToolSpec;
use crate::tools::{Builtin, Rules, Tool};

/// The tools of a talk, and the rules for them. Copies share the rules and the servers.
#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    servers: Servers,
    rules: Arc<Mutex<Rules>>,
    flag: Option<String>,
    /// The names of the tools that are offered; none means all.
    only: Option<Vec<String>>,
}

impl Toolbox {
    /// Sets the rules, which every copy of this toolbox shares.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        *self.lock() = rules;
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds the built-in tools.
    #[must_use]
    pub fn with_builtin(mut self, builtin: &Builtin) -> Self {
        self.tools.extend(builtin.tools(&self.rules));
        self
    }

    /// Adds the tools of MCP servers, which start when the tools are first needed.
    #[must_use]
    pub fn with_servers(mut self, servers: Servers) -> Self {
        self.servers = servers;
        self
    }

    /// Names the flag that allows a rule, such as `--allow`, for a refusal when nobody can be asked.
    #[must_use]
    pub fn with_flag(mut self, flag: impl Into<String>) -> Self {
        self.flag = Some(flag.into());
        self
    }

    /// Offers these tools and no others. A name that no tool has adds nothing.
    #[must_use]
    pub fn only(mut self, names: Vec<String>) -> Self {
        self.only = Some(names);
        self
    }

    /// The tools as a model sees them. Starts MCP servers that are not running, and waits for them a while.
    pub async fn specs(&self) -> Vec<ToolSpec> {
        let mut specs: Vec<ToolSpec> = self.tools.iter().map(|tool| tool.spec().clone()).collect();
        specs.extend(self.servers.tools().await.iter().map(|tool| tool.spec().clone()));
        specs.retain(|spec| self.offers(&spec.name));
        specs
    }

    /// The tool with a name, among those that were last shown to a model.
    pub fn named(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if !self.offers(name) {
            return None;
        }
        let own = self.tools.iter().find(|tool| tool.spec().name == name).cloned();
        own.or_else(|| self.servers.named(name))
    }

    /// The names of all tools that were last shown to a model.
    pub fn names(&self) -> Vec<String> {
        let own = self.tools.iter().map(|tool| tool.spec().name.clone());
        own.chain(self.servers.names()).filter(|name| self.offers(name)).collect()
    }

    /// True when a tool of this name may be offered.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|own| own == name))
    }

    /// MCP servers that do not work, and why, in sentences.
    pub fn troubles(&self) -> Vec<String> {
        self.servers.troubles()
    }

    /// The rules as they are now.
    pub fn rules(&self) -> Rules {
        self.lock().clone()
    }

    /// Changes the rules for every copy of this toolbox.
    pub fn change_rules<T>(&self, change: impl FnOnce(&mut Rules) -> T) -> T {
        change(&mut self.lock())
    }

    /// What a person could add to the command line to allow a rule.
    pub(crate) fn remedy(&self, rule: &str) -> Option<String> {
        let quoted = rule.replace('\'', r"'\''");
        self.flag.as_ref().map(|flag| format!("{flag} '{quoted}'"))
    }

    fn lock(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
