//! A running server and the line to it.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion, Tool};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, NotificationContext, RunningService,
    serve_client_with_lifecycle,
};
use rmcp::{ClientHandler, Peer, RoleClient};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, Command};

use crate::directory_identity::directory_identity;
use crate::environment::Environment;
use crate::mcp::ServerSpec;
use crate::tools::group::{Endings, ProcessGroup};

/// A line of a server's stderr is cut after so many bytes.
const LONGEST_LINE: u64 = 1000;

/// Where servers run.
#[derive(Debug)]
pub(super) struct ServerSurroundings {
    directory: PathBuf,
    /// Tells the directory from another that has its path later.
    identity: Option<String>,
    environment: Environment,
    endings: Endings,
}

impl ServerSurroundings {
    pub(super) fn new(directory: PathBuf, environment: Environment) -> Self {
        let identity = directory_identity(&directory);
        Self { directory, identity, environment, endings: Endings::default() }
    }
}

/// A running server and the line to it. Dropping it ends the server with everything it started.
#[derive(Debug)]
pub(super) struct Connection {
    // In this order: the line is closed before the server is asked to end.
    service: RunningService<RoleClient, ToolNews>,
    _group: ProcessGroup,
    news: Arc<AtomicBool>,
}

impl Connection {
    /// Starts the program and greets it. The error is a reason for people.
    pub(super) async fn start(spec: &ServerSpec, surroundings: &ServerSurroundings) -> Result<Self, String> {
        match Self::greet(spec, surroundings, ClientLifecycleMode::Initialize).await {
            // The newest servers know no such greeting.
            Err(StartFailure::Greeting(error))
                if matches!(*error, ClientInitializeError::JsonRpcError(_)) =>
            {
                let preferred_versions = vec![ProtocolVersion::LATEST];
                let discover = ClientLifecycleMode::Discover { preferred_versions };
                Self::greet(spec, surroundings, discover).await.map_err(StartFailure::into_reason)
            }
            outcome => outcome.map_err(StartFailure::into_reason),
        }
    }

    async fn greet(
        spec: &ServerSpec,
        surroundings: &ServerSurroundings,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, StartFailure> {
        if directory_identity(&surroundings.directory) != surroundings.identity {
            let shown = surroundings.directory.display();
            return Err(StartFailure::Start(format!("the directory `{shown}` was replaced or is gone")));
        }
        let mut command = Command::from(surroundings.environment.command(&spec.command));
        command.args(&spec.arguments).current_dir(&surroundings.directory);
        command.envs(spec.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = ProcessGroup::start(&mut command, &surroundings.endings)
            .map_err(|error| StartFailure::Start(format!("cannot run `{}`: {error}", spec.command)))?;
        let child = group.child();
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(StartFailure::Start("it has no input or output".to_owned()));
        };
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(log(spec.name.clone(), stderr));
        }
        // The first list is news, too.
        let news = Arc::new(AtomicBool::new(true));
        let listener = ToolNews { news: Arc::clone(&news) };
        let service = serve_client_with_lifecycle(listener, (stdout, stdin), lifecycle)
            .await
            .map_err(|error| StartFailure::Greeting(Box::new(error)))?;
        Ok(Self { service, _group: group, news })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.is_transport_closed()
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// Whether the tools may have changed since they were last asked for.
    pub(super) fn has_news(&self) -> bool {
        self.news.load(Ordering::Acquire)
    }

    /// Asks for all tools.
    pub(super) async fn list(&self) -> Result<Vec<Tool>, String> {
        // Before asking: a change that comes while the answer is under way counts for the next time.
        self.news.store(false, Ordering::Release);
        let tools = self.service.peer().list_all_tools().await;
        if tools.is_err() {
            self.news.store(true, Ordering::Release);
        }
        tools.map_err(|error| error.to_string())
    }
}

/// Why a server did not start.
enum StartFailure {
    Start(String),
    Greeting(Box<ClientInitializeError>),
}

impl StartFailure {
    fn into_reason(self) -> String {
        match self {
            Self::Start(reason) => reason,
            Self::Greeting(error) => match *error {
                ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
                    "it ended before it answered".to_owned()
                }
                error => error.to_string(),
            },
        }
    }
}

/// Hears when a server's tools change.
#[derive(Debug)]
struct ToolNews {
    news: Arc<AtomicBool>,
}

impl ClientHandler for ToolNews {
    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.news.store(true, Ordering::Release);
    }

    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("rejoin", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
    }
}

/// What a server says on stderr goes to the log: the terminal belongs to the talk.
async fn log(server: String, stderr: ChildStderr) {
    let mut reader = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                tracing::debug!(server, line = %String::from_utf8_lossy(&line).trim_end(), "said on stderr");
            }
        }
    }
}
