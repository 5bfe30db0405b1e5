//! One conversation with one provider: ask, stream, run tools, record.
//!
//! A talk can be stopped at any moment by dropping the future of [`Talk::turn`]; [`Talk::interrupt`] then keeps what
//! had arrived. A message of the user is on disk before the request leaves. A reply that asks for tools is appended
//! together with their results, so that history never holds a call without an answer.

mod calls;
mod draft;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::{Message, Receipt};
use tokio::sync::{mpsc, oneshot};

use crate::error::Result;
use crate::providers::{Piece, Provider, Request, Stop};
use crate::recording::{Recording, Urgency};
use crate::talk::calls::calls_of;
use crate::talk::draft::Draft;
use crate::tools::{Decision, Output, Plan, Toolbox};

/// One conversation with one provider.
#[derive(Debug)]
pub struct Talk {
    provider: Arc<dyn Provider>,
    model: String,
    system: String,
    toolbox: Toolbox,
    recording: Recording,
    history: Vec<Message>,
    draft: Draft,
}

/// What happens during a turn, in order.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// Something of the reply arrived.
    Piece(Piece),
    /// A tool needs a decision. Not answering means no.
    Approve {
        /// Which tool.
        tool: String,
        /// What it would do.
        plan: Plan,
        /// Where the decision goes.
        answer: oneshot::Sender<Decision>,
    },
    /// A tool started.
    ToolStarted {
        /// The call's id.
        call: String,
        /// What it does, in one line.
        summary: String,
    },
    /// A tool ended.
    ToolEnded {
        /// The call's id.
        call: String,
        /// What came back.
        output: Output,
        /// How long it took.
        took: Duration,
    },
    /// Messages are on disk.
    Saved(Receipt),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Why the model stopped.
    pub stop: Stop,
    /// Tokens of all requests of the turn.
    pub input_tokens: u64,
    /// Tokens of all replies of the turn.
    pub output_tokens: u64,
    /// How long it took.
    pub took: Duration,
}

impl Talk {
    /// A talk that goes on from `history`, which is what the recording's conversation holds.
    pub fn new(
        provider: Arc<dyn Provider>,
        model: impl Into<String>,
        recording: Recording,
        history: Vec<Message>,
    ) -> Self {
        Self {
            provider,
            model: model.into(),
            system: String::new(),
            toolbox: Toolbox::default(),
            recording,
            history,
            draft: Draft::default(),
        }
    }

    /// Sets the initial context.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(mut self, toolbox: Toolbox) -> Self {
        self.toolbox = toolbox;
        self
    }

    /// The messages so far, oldest first.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// What records the talk.
    pub const fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Says something and returns when the reply, with every tool it asked for, is complete.
    pub async fn turn(&mut self, message: Message, events: &mpsc::UnboundedSender<Event>) -> Result<Ended> {
        let started = Instant::now();
        self.keep(vec![message], events).await?;
        let mut ended = Ended { stop: Stop::Done, input_tokens: 0, output_tokens: 0, took: Duration::ZERO };
        loop {
            let reply = self.ask(events).await?;
            if let Some(usage) = &reply.message.usage {
                ended.input_tokens += usage.input_tokens;
                ended.output_tokens += usage.output_tokens;
            }
            ended.stop = reply.stop;
            let calls = calls_of(&reply.message);
            let mut messages = vec![reply.message];
            if !calls.is_empty() {
                self.recording.save_open(messages[0].clone(), Vec::new(), Urgency::Now);
                messages.extend(self.run_all(&calls, events).await);
            }
            self.keep(messages, events).await?;
            self.draft = Draft::default();
            if calls.is_empty() && reply.stop != Stop::Paused {
                ended.took = started.elapsed();
                return Ok(ended);
            }
        }
    }

    /// Keeps what had arrived when a turn was stopped, marked as interrupted. Returns whether there was anything.
    pub async fn interrupt(&mut self, events: &mpsc::UnboundedSender<Event>) -> Result<bool> {
        let messages = std::mem::take(&mut self.draft).into_interrupted();
        let is_something = !messages.is_empty();
        if is_something {
            self.keep(messages, events).await?;
        }
        Ok(is_something)
    }

    async fn keep(&mut self, messages: Vec<Message>, events: &mpsc::UnboundedSender<Event>) -> Result<()> {
        self.history.extend(messages.iter().cloned());
        if let Some(receipt) = self.recording.append(messages).await? {
            let _ = events.send(Event::Saved(receipt));
        }
        Ok(())
    }

    async fn ask(&mut self, events: &mpsc::UnboundedSender<Event>) -> Result<crate::providers::Reply> {
        let specs = self.toolbox.specs().await;
        let request = Request {
            model: &self.model,
            system: &self.system,
            messages: &self.history,
            tools: &specs,
            max_tokens: None,
        };
        let (draft, recording) = (&mut self.draft, &self.recording);
        let mut listen = |piece: Piece| {
            draft.add(&piece);
            recording.save_open(draft.to_message(), Vec::new(), Urgency::Soon);
            let _ = events.send(Event::Piece(piece));
        };
        self.provider.reply(request, &mut listen).await
    }
}
