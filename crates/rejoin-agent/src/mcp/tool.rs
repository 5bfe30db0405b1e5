//! A tool of an MCP server, behind the same trait as the others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rejoin::Json;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientRequest,
    RequestId, ServerResult, Tool as Listed,
};
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleClient, ServiceError};
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Result};
use crate::mcp::{names, results};
use crate::providers::ToolSpec;
use crate::tools::{Output, Plan, Prepared, Subject, Tool, clip, object};

/// More tools than this of one server would crowd out the conversation.
const MOST_TOOLS: usize = 200;

/// A longer description is cut.
const LONGEST_DESCRIPTION: usize = 8000;

/// A tool of an MCP server.
#[derive(Debug)]
pub(super) struct McpTool {
    spec: ToolSpec,
    server: String,
    name: String,
    required: Vec<String>,
    peer: Peer<RoleClient>,
    limit: Duration,
}

/// The tools that a server listed, each name once.
pub(super) fn all(
    server: &str,
    listed: Vec<Listed>,
    peer: &Peer<RoleClient>,
    limit: Duration,
) -> Vec<Arc<McpTool>> {
    let mut tools = BTreeMap::new();
    for tool in listed.into_iter().take(MOST_TOOLS) {
        tools.entry(tool.name.to_string()).or_insert(tool);
    }
    let made = tools.into_iter().map(|(name, listed)| {
        let required = listed.input_schema.get("required").and_then(Value::as_array);
        let texts = required.into_iter().flatten().filter_map(Value::as_str);
        Arc::new(McpTool {
            spec: spec(server, &name, &listed),
            server: server.to_owned(),
            required: texts.map(str::to_owned).collect(),
            name,
            peer: peer.clone(),
            limit,
        })
    });
    made.collect()
}

fn spec(server: &str, name: &str, listed: &Listed) -> ToolSpec {
    let mut schema: Map<String, Value> = (*listed.input_schema).clone();
    schema.entry("type").or_insert_with(|| "object".into());
    let description = listed.description.as_deref().or(listed.title.as_deref()).unwrap_or_default();
    ToolSpec {
        name: names::of(server, name),
        description: clip(description, LONGEST_DESCRIPTION),
        input_schema: Json::of(&schema).expect("a schema is JSON"),
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn prepare(&self, input: &Json) -> Result<Prepared> {
        let arguments = object(input)?;
        let missing = self.required.iter().find(|name| !arguments.contains_key(*name));
        if let Some(name) = missing {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!("the input does not fit: `{name}` is missing"),
            ));
        }
        let (server, tool) = (self.server.clone(), self.name.clone());
        let detail = serde_json::to_string_pretty(&arguments).expect("an object is JSON");
        // That a server says of a tool that it only reads is its claim, so it asks like the others.
        let subject = Subject::Mcp { server: server.clone(), tool: tool.clone() };
        let plan = Plan::new(format!("Use `{tool}` of `{server}`"), &subject).with_detail(detail);
        let (peer, limit) = (self.peer.clone(), self.limit);
        Ok(Prepared::new(plan, subject, async move {
            match call(&peer, tool, arguments, limit).await {
                Ok(output) => output,
                Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => {
                    Output::failure(format!("the MCP server `{server}` has ended"))
                }
                Err(ServiceError::Timeout { .. }) => Output::failure(format!(
                    "the MCP server `{server}` did not answer within {} seconds",
                    limit.as_secs()
                )),
                Err(ServiceError::UnexpectedResponse) => Output::failure(format!(
                    "the MCP server `{server}` answered with something that is no result"
                )),
                Err(ServiceError::McpError(error)) => Output::failure(&error.message),
                Err(error) => Output::failure(format!("the MCP server `{server}` failed: {error}")),
            }
        }))
    }
}

async fn call(
    peer: &Peer<RoleClient>,
    tool: String,
    arguments: Map<String, Value>,
    limit: Duration,
) -> Result<Output, ServiceError> {
    let parameters = CallToolRequestParams::new(tool).with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(parameters));
    let handle = peer.send_cancellable_request(request, PeerRequestOptions::with_timeout(limit)).await?;
    let mut cancel = Cancel { peer: peer.clone(), id: Some(handle.id.clone()) };
    let answer = handle.await_response().await;
    cancel.id = None;
    match answer? {
        ServerResult::CallToolResult(result) => Ok(results::output(result)),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// Tells the server when nobody waits for an answer any more.
struct Cancel {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for Cancel {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        let parameters = CancelledNotificationParam::new(Some(id), None);
        runtime.spawn(
            async move { peer.send_notification(CancelledNotification::new(parameters).into()).await },
        );
    }
}
