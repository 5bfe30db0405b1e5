//! MCP servers: programs that bring tools of their own.
//!
//! They start together when tools are first needed. Whatever one of them does, the talk goes on: a server
//! that dies, hangs or talks nonsense has no tools, and a call that fails is a result that the model is told.

mod connection;
mod names;
mod results;
mod tool;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;

use crate::environment::Environment;
use crate::mcp::connection::{Connection, ServerSurroundings};
use crate::mcp::tool::McpTool;
use crate::tools::Tool;

/// How often a server is started before it is given up.
const MOST_STARTS: u32 = 3;

/// A server as it is configured.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerSpec {
    /// The name in rules and in the names of its tools.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables it is started with, besides those of this process.
    pub environment: Vec<(String, String)>,
}

/// Variables often hold secrets, so only their names are shown.
impl fmt::Debug for ServerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("ServerSpec")
            .field("name", &self.name)
            .field("command", &self.command)
            .field("arguments", &self.arguments)
            .field("environment", &names)
            .finish()
    }
}

/// MCP servers. Copies share them; the last copy ends them.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    servers: Vec<Arc<Server>>,
    limits: ServerLimits,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
struct ServerLimits {
    /// Until a server has told its tools.
    start: Duration,
    /// A request to the model waits this long for servers that start.
    patience: Duration,
    /// One call.
    call: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            // A server may be fetched and built by its package runner the first time.
            start: Duration::from_secs(60),
            patience: Duration::from_secs(10),
            call: Duration::from_secs(600),
        }
    }
}

impl Servers {
    /// Servers that are started in a directory and an environment when their tools are first needed.
    pub fn new(specs: Vec<ServerSpec>, directory: impl Into<PathBuf>, environment: Environment) -> Self {
        let surroundings = Arc::new(ServerSurroundings::new(directory.into(), environment));
        let server = |spec| Arc::new(Server::new(spec, Arc::clone(&surroundings)));
        Self { servers: specs.into_iter().map(server).collect(), limits: ServerLimits::default() }
    }

    /// Sets how long a server may take to start, how long a request waits for
    /// that, and how long a call may take.
    #[must_use]
    pub const fn with_limits(mut self, start: Duration, patience: Duration, call: Duration) -> Self {
        self.limits = ServerLimits { start, patience, call };
        self
    }

    /// Makes the servers ready, waits for them a while, and returns the tools there are then.
    pub(crate) async fn tools(&self) -> Vec<Arc<dyn Tool>> {
        // On tasks of their own, so that starting goes on when the turn that waits is given up.
        let starts =
            self.servers.iter().map(|server| tokio::spawn(Arc::clone(server).make_ready(self.limits)));
        let _ = tokio::time::timeout(self.limits.patience, join_all(starts.collect::<Vec<_>>())).await;
        self.shown()
    }

    pub(crate) fn named(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.shown().into_iter().find(|tool| tool.spec().name == name)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.shown().iter().map(|tool| tool.spec().name.clone()).collect()
    }

    pub(crate) fn troubles(&self) -> Vec<String> {
        self.servers.iter().filter_map(|server| server.shown().trouble.clone()).collect()
    }

    fn shown(&self) -> Vec<Arc<dyn Tool>> {
        let tools = self.servers.iter().flat_map(|server| server.shown().tools.clone());
        tools.map(|tool| tool as Arc<dyn Tool>).collect()
    }
}

/// One server, running or not.
#[derive(Debug)]
struct Server {
    spec: ServerSpec,
    surroundings: Arc<ServerSurroundings>,
    state: tokio::sync::Mutex<ServerState>,
    shown: Mutex<ServerSnapshot>,
}

#[derive(Debug, Default)]
struct ServerState {
    connection: Option<Connection>,
    starts: u32,
}

/// What is known of a server without waiting.
#[derive(Debug, Default)]
struct ServerSnapshot {
    tools: Vec<Arc<McpTool>>,
    trouble: Option<String>,
}

impl Server {
    fn new(spec: ServerSpec, surroundings: Arc<ServerSurroundings>) -> Self {
        Self { spec, surroundings, state: tokio::sync::Mutex::default(), shown: Mutex::default() }
    }

    fn shown(&self) -> MutexGuard<'_, ServerSnapshot> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the server unless it runs, and asks for its tools unless they are known.
    async fn make_ready(self: Arc<Self>, limits: ServerLimits) {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.take_if(|connection| connection.is_closed()) {
            drop(connection);
            self.give_up(format!("The MCP server `{}` has ended.", self.spec.name));
        }
        if state.connection.is_none() {
            if state.starts == MOST_STARTS {
                return;
            }
            state.starts += 1;
            match self.start(limits).await {
                Ok(connection) => state.connection = Some(connection),
                Err(reason) => {
                    self.give_up(format!("The MCP server `{}` did not start: {reason}.", self.spec.name));
                    return;
                }
            }
        }
        let Some(connection) = state.connection.as_ref().filter(|connection| connection.has_news()) else {
            return;
        };
        match tokio::time::timeout(limits.start, connection.list()).await {
            Ok(Ok(tools)) => {
                let tools = tool::all(&self.spec.name, tools, connection.peer(), limits.call);
                *self.shown() = ServerSnapshot { tools, trouble: None };
            }
            Ok(Err(reason)) => {
                self.give_up(format!(
                    "The MCP server `{}` did not tell its tools: {reason}.",
                    self.spec.name
                ));
                state.connection = None;
            }
            Err(_) => {
                let seconds = limits.start.as_secs();
                self.give_up(format!(
                    "The MCP server `{}` did not tell its tools within {seconds} seconds.",
                    self.spec.name
                ));
                state.connection = None;
            }
        }
    }

    async fn start(&self, limits: ServerLimits) -> Result<Connection, String> {
        let starting = Connection::start(&self.spec, &self.surroundings);
        match tokio::time::timeout(limits.start, starting).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("it did not answer within {} seconds", limits.start.as_secs())),
        }
    }

    fn give_up(&self, trouble: String) {
        tracing::warn!(server = self.spec.name, "an MCP server does not work");
        *self.shown() = ServerSnapshot { tools: Vec::new(), trouble: Some(trouble) };
    }
}
