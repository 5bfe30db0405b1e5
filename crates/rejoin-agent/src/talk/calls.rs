//! Runs the tools that a reply asks for, when they may.
//!
//! Calls that only look run side by side; every other call waits for those before it. Each result is part of
//! the open turn as soon as it is there. Results stand in the order of the calls.

use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rejoin::{Block, Message, Role, ToolCall, ToolResult};
use tokio::sync::{mpsc, oneshot};

use crate::providers::Future;
use crate::talk::{Talk, TurnEvent};
use crate::tools::{Decision, Output, Plan, Prepared, Rules, Verdict, recall};

/// Calls under way: the number of the call, when it began, and what comes of it.
type UnderWay = FuturesUnordered<Future<'static, (usize, Instant, Output)>>;

impl Talk {
    pub(super) async fn run_all(
        &mut self,
        reply: &mut Message,
        calls: &[ToolCall],
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) -> Vec<Message> {
        let mut batch = CallBatch { calls, results: vec![None; calls.len()], events };
        let mut under_way = UnderWay::new();
        for (number, call) in calls.iter().enumerate() {
            let begun = Instant::now();
            let prepared = match self.prepare(call) {
                Ok(prepared) => prepared,
                Err(output) => {
                    self.settle((number, begun, output), &mut batch);
                    continue;
                }
            };
            let verdict = self.toolbox.rules().judge(&prepared);
            if verdict == Verdict::Allow && prepared.plan.is_harmless {
                under_way.push(start(number, call, prepared, events));
                continue;
            }
            self.settle_all(&mut under_way, &mut batch).await;
            match self.may(call, &prepared.plan, verdict, events).await {
                Err(refusal) => self.settle((number, begun, refusal), &mut batch),
                Ok(()) => {
                    if !prepared.plan.is_harmless {
                        self.snapshot_files(reply, events).await;
                    }
                    let done = start(number, call, prepared, events).await;
                    self.settle(done, &mut batch);
                }
            }
        }
        self.settle_all(&mut under_way, &mut batch).await;
        batch.results.into_iter().flatten().collect()
    }

    fn prepare(&self, call: &ToolCall) -> Result<Prepared, Output> {
        if call.name == recall::NAME && self.can_recall() {
            let handle = self.recorder.with(|recorder| recorder.handle().clone());
            return recall::prepare(&call.input, Box::pin(handle)).map_err(|error| Output::error(&error));
        }
        let Some(tool) = self.toolbox.named(&call.name) else {
            let names = self.toolbox.names().join(", ");
            let known = if names.is_empty() {
                "there are no tools".to_owned()
            } else {
                format!("there are: {names}")
            };
            return Err(Output::failure(format!("there is no tool `{}`; {known}", call.name)));
        };
        tool.prepare(&call.input).map_err(|error| Output::error(&error))
    }

    /// Whether a call may run, which may take a person to decide. The refusal is what the model is told.
    async fn may(
        &self,
        call: &ToolCall,
        plan: &Plan,
        verdict: Verdict,
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) -> Result<(), Output> {
        match verdict {
            Verdict::Allow => return Ok(()),
            Verdict::Deny(rule) => {
                return Err(Output::failure(format!(
                    "not allowed: the rule `{rule}` denies it; do not try again"
                )));
            }
            Verdict::Ask => {}
        }
        let (answer, answered) = oneshot::channel();
        let (tool, plan_shown, input) = (call.name.clone(), plan.clone(), call.input.clone());
        let _ = events.send(TurnEvent::Approve { tool, plan: plan_shown, input, answer });
        match answered.await {
            Ok(Decision::Once) => Ok(()),
            Ok(Decision::Always) => {
                self.remember(plan, |rules, rule| rules.always(rule)).await;
                Ok(())
            }
            Ok(Decision::No(None)) => Err(Output::failure("the user did not allow this")),
            Ok(Decision::No(Some(why))) => {
                Err(Output::failure(format!("the user did not allow this: {why}")))
            }
            Ok(Decision::Never) => {
                self.remember(plan, |rules, rule| rules.never(rule)).await;
                Err(Output::failure("the user did not allow this, nor anything like it in this conversation"))
            }
            Err(_) => Err(Output::failure(self.unanswered(plan))),
        }
    }

    /// Nobody was there to decide, so the answer is no, with the way to a yes.
    fn unanswered(&self, plan: &Plan) -> String {
        let start = "this needs approval, and nobody was there to give it";
        match self.toolbox.remedy(&plan.rule) {
            Some(flag) => format!("{start}; the user can allow it with {flag}"),
            None => format!("{start}; the rule `{}` would allow it", plan.rule),
        }
    }

    async fn remember(&self, plan: &Plan, change: impl FnOnce(&mut Rules, &str) -> crate::error::Result<()>) {
        let text = self.toolbox.change_rules(|rules| change(rules, &plan.rule).map(|()| rules.to_text()));
        let text = match text {
            Ok(text) => text,
            Err(error) => return tracing::warn!(%error, "a rule could not be remembered"),
        };
        let stored = self.recorder.with(move |recorder| {
            let archive = recorder.handle().archive();
            archive.state().remember_for(recorder.conversation(), Rules::NAME, Some(&text))
        });
        // The rule holds for this run in any case.
        if let Ok(Err(error)) = stored.await {
            tracing::warn!(%error, "the rules of the conversation were not saved");
        }
    }

    async fn settle_all(&mut self, under_way: &mut UnderWay, batch: &mut CallBatch<'_>) {
        while let Some(done) = under_way.next().await {
            self.settle(done, batch);
        }
    }

    fn settle(&mut self, (number, begun, output): (usize, Instant, Output), batch: &mut CallBatch<'_>) {
        let call = &batch.calls[number];
        let ended =
            TurnEvent::ToolEnded { call: call.id.clone(), output: output.clone(), took: begun.elapsed() };
        let _ = batch.events.send(ended);
        batch.results[number] = Some(result_of(call, output));
        let so_far: Vec<Message> = batch.results.iter().flatten().cloned().collect();
        self.draft.results.clone_from(&so_far);
    }
}

/// The calls of one reply, and their results so far.
struct CallBatch<'a> {
    calls: &'a [ToolCall],
    results: Vec<Option<Message>>,
    events: &'a mpsc::UnboundedSender<TurnEvent>,
}

fn start(
    number: usize,
    call: &ToolCall,
    prepared: Prepared,
    events: &mpsc::UnboundedSender<TurnEvent>,
) -> Future<'static, (usize, Instant, Output)> {
    let _ =
        events.send(TurnEvent::ToolStarted { call: call.id.clone(), summary: prepared.plan.summary.clone() });
    let begun = Instant::now();
    let work = prepared.run();
    Box::pin(async move { (number, begun, work.await) })
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
    let blocks = std::iter::once(block).chain(output.media).collect();
    let mut message = Message::new(Role::Tool, blocks);
    message.is_error = output.is_error;
    message
}
