//! Runs the tools that a reply asks for, when they may.

use std::time::Instant;

use rejoin::{Block, Message, Role, ToolCall, ToolResult};
use tokio::sync::{mpsc, oneshot};

use crate::talk::{Event, Talk};
use crate::tools::{Decision, Output};

impl Talk {
    pub(super) async fn run_all(
        &mut self,
        calls: &[ToolCall],
        events: &mpsc::UnboundedSender<Event>,
    ) -> Vec<Message> {
        let mut results = Vec::new();
        for call in calls {
            let started = Instant::now();
            let output = self.run(call, events).await;
            let _ = events.send(Event::ToolEnded {
                call: call.id.clone(),
                output: output.clone(),
                took: started.elapsed(),
            });
            results.push(result_of(call, output));
            self.draft.results.clone_from(&results);
        }
        results
    }

    async fn run(&self, call: &ToolCall, events: &mpsc::UnboundedSender<Event>) -> Output {
        let Some(tool) = self.toolbox.named(&call.name) else {
            return Output::failure(format!("there is no tool `{}`", call.name));
        };
        let plan = match tool.plan(&call.input) {
            Ok(plan) => plan,
            Err(error) => return Output::failure(error.to_string()),
        };
        let (answer, answered) = oneshot::channel();
        if !plan.is_harmless {
            let _ = events.send(Event::Approve { tool: call.name.clone(), plan: plan.clone(), answer });
            match answered.await.unwrap_or(Decision::No(None)) {
                Decision::Once | Decision::Always => {}
                Decision::No(_) | Decision::Never => return Output::failure("the user did not allow this"),
            }
        }
        let _ = events.send(Event::ToolStarted { call: call.id.clone(), summary: plan.summary });
        tool.run(&call.input).await
    }
}

pub(super) fn calls_of(message: &Message) -> Vec<ToolCall> {
    let calls = message.blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.clone()),
        _ => None,
    });
    calls.collect()
}

pub(super) fn result_of(call: &ToolCall, output: Output) -> Message {
    let block = Block::ToolResult(ToolResult {
        call_id: call.id.clone(),
        output: output.output,
        is_error: output.is_error,
        ..ToolResult::default()
    });
    let mut message = Message::new(Role::Tool, vec![block]);
    message.is_error = output.is_error;
    message
}
