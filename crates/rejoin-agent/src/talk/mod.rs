//! One conversation with one provider: ask, stream, run tools, record.
//!
//! A talk can be stopped at any moment by dropping the future of [`Talk::turn`]; [`Talk::interrupt`] then
//! keeps what had arrived. A message of the user is on disk before the request leaves. A reply that asks for
//! tools is appended together with their results, so that history never holds a call without an answer.

mod calls;
mod cut_short;
mod draft;
mod files;
mod history;
mod last_request;
mod memory;
mod next;
mod note;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin::{Archive, AsyncRecorder, BegunAgain, Json, Message, Receipt, Unsaved, Usage};
use tokio::sync::{mpsc, oneshot};

use crate::compact::{Compacted, CompactionMoment, Compactor};
use crate::error::{ErrorKind, Result};
use crate::file_snapshots::FileSnapshots;
use crate::providers::{Piece, Provider, Reply, Stop, ToolSpec};
use crate::summarise::Summariser;
use crate::talk::calls::calls_of;
use crate::talk::draft::DraftReply;
pub use crate::talk::history::History;
pub(crate) use crate::talk::history::{CountedBy, KnownTokens};
use crate::talk::memory::RequestMemory;
pub use crate::talk::next::NextRequest;
use crate::tools::{Decision, Output, Plan, Toolbox, recall};

/// One conversation with one provider.
#[derive(Debug)]
pub struct Talk {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) model: String,
    pub(crate) system: String,
    /// What is told beside the next message of the user.
    note: Option<String>,
    toolbox: Toolbox,
    summariser: Option<Summariser>,
    pub(crate) compactor: Compactor,
    pub(crate) recorder: AsyncRecorder,
    pub(crate) history: History,
    draft: DraftReply,
    memory: Option<RequestMemory>,
    /// The names of the tools that were offered last.
    offered: Vec<String>,
    /// What keeps the project's files before a turn writes.
    files: Option<FileSnapshots>,
    /// True once this turn has its snapshot of them.
    has_snapshot: bool,
}

/// What happens during a turn, in order.
#[derive(Debug)]
#[non_exhaustive]
pub enum TurnEvent {
    /// Something of the reply arrived.
    Piece(Piece),
    /// A tool needs a decision. Not answering means no.
    Approve {
        /// Which tool.
        tool: String,
        /// What it would do.
        plan: Plan,
        /// The input of the call, exactly as the model wrote it.
        input: Json,
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
    /// The conversation was deleted, and the talk goes on in a new one.
    BegunAgain(BegunAgain),
    /// A summary is being written; this takes as long as a reply.
    Compacting,
    /// From now on the summary stands for what it is about.
    Compacted(Compacted),
    /// Something that a person should know, in a sentence.
    Warning(String),
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

impl Ended {
    fn add(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        self.input_tokens = self.input_tokens.saturating_add(usage.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(usage.output_tokens);
    }
}

impl Talk {
    /// A talk that goes on from `history`, which is what the recorder's conversation holds.
    pub fn new(
        provider: Arc<dyn Provider>,
        model: impl Into<String>,
        recorder: AsyncRecorder,
        history: History,
    ) -> Self {
        Self {
            provider,
            model: model.into(),
            system: String::new(),
            note: None,
            toolbox: Toolbox::default(),
            summariser: None,
            compactor: Compactor::default(),
            draft: DraftReply::new(recorder.open_reply()),
            recorder,
            history,
            memory: None,
            offered: Vec::new(),
            files: None,
            has_snapshot: false,
        }
    }

    /// Sets the initial context.
    #[must_use]
    pub fn with_system(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// Sets what the model is told beside the next message of the user. It is kept with that message, so that
    /// later requests say the same.
    #[must_use]
    pub fn with_note(mut self, note: Option<String>) -> Self {
        self.note = note;
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(mut self, toolbox: Toolbox) -> Self {
        self.toolbox = toolbox;
        self
    }

    /// Remembers each request in an archive, as hashes, and tells when the next one does not repeat it.
    #[must_use]
    pub fn with_request_memory(mut self, archive: Archive) -> Self {
        self.memory = Some(RequestMemory::new(archive));
        self
    }

    /// Keeps the project's files before the first tool of a turn runs that may change something.
    #[must_use]
    pub fn with_file_snapshots(mut self, files: FileSnapshots) -> Self {
        self.files = Some(files);
        self
    }

    /// The names of the tools that were offered with the last request, those of MCP servers too.
    pub fn offered(&self) -> &[String] {
        &self.offered
    }

    /// The initial context.
    pub fn system(&self) -> &str {
        &self.system
    }

    /// Sets what keeps the title and the synopsis up to date after each turn.
    #[must_use]
    pub fn with_summariser(mut self, summariser: Summariser) -> Self {
        self.summariser = Some(summariser);
        self
    }

    /// Gives a synopsis that is under way so long to arrive, before the talk is left.
    pub async fn finish(&self, grace: Duration) {
        if let Some(summariser) = &self.summariser {
            summariser.finish(grace).await;
        }
    }

    /// Everything said so far.
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Goes on from another path, after the recorder went to another message.
    pub fn go_on_from(&mut self, history: History) {
        self.history = history;
        self.compactor.change_path();
        self.draft.clear();
    }

    /// Asks another provider, or for another model, from the next turn on.
    pub fn ask_instead(&mut self, provider: Arc<dyn Provider>, model: impl Into<String>) {
        self.provider = provider;
        self.model = model.into();
        self.compactor.forget_model();
        self.history.forget_tokens();
    }

    /// Whom it talks to.
    pub fn provider(&self) -> &dyn Provider {
        self.provider.as_ref()
    }

    /// The model it asks for.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The tools it offers.
    pub const fn tools(&self) -> &Toolbox {
        &self.toolbox
    }

    /// What records the talk.
    pub const fn recorder(&self) -> &AsyncRecorder {
        &self.recorder
    }

    /// Says something and returns when the reply, with every tool it asked for, is complete.
    ///
    /// When the provider fails, what had arrived is kept like that of an interrupted reply. A
    /// turn that the archive refuses, such as one that is too large, is an error, is not part of
    /// the history, and the talk can go on.
    pub async fn turn(
        &mut self,
        message: Message,
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) -> Result<Ended> {
        let started = Instant::now();
        // An earlier turn may have been dropped without a word.
        self.interrupt(events).await?;
        // It stays whole while it is not answered.
        let pending = self.history.len();
        let mut message = message;
        if let Some(note) = &self.note {
            note::attach(&mut message, note);
        }
        self.keep(vec![message], events).await?;
        self.note = None;
        self.compactor.begin_turn();
        self.has_snapshot = false;
        let mut ended = Ended { stop: Stop::Done, input_tokens: 0, output_tokens: 0, took: Duration::ZERO };
        loop {
            // A reply that was paused has to be continued as it is.
            if ended.stop != Stop::Paused {
                ended.add(
                    self.compact_when_full(CompactionMoment::BeforeRequest { pending }, events)
                        .await
                        .as_ref(),
                );
            }
            let reply = match self.ask(events).await {
                Err(error) if error.kind() == ErrorKind::TooLong => {
                    let usage = self.compact_after(error, pending, events).await?;
                    ended.add(usage.as_ref());
                    self.ask(events).await?
                }
                other => other?,
            };
            self.compactor.learn_model(&reply.message);
            ended.add(reply.message.usage.as_ref());
            ended.stop = reply.stop;
            let is_pause = reply.stop == Stop::Paused && !reply.message.blocks.is_empty();
            let calls = calls_of(&reply.message);
            let goes_on = is_pause || !calls.is_empty() && reply.stop != Stop::Refused;
            let messages = if calls.is_empty() {
                vec![reply.message]
            } else if goes_on {
                self.draft.complete(&reply.message);
                let mut message = reply.message;
                let results = self.run_all(&mut message, &calls, events).await;
                [vec![message], results].concat()
            } else {
                // What the provider itself stopped is not carried out.
                reply.message.interrupted(Vec::new())
            };
            self.draft.clear();
            self.keep(messages, events).await?;
            if !goes_on {
                if let Some(summariser) = &self.summariser {
                    summariser.refresh(self.history.messages());
                }
                ended.add(self.compact_when_full(CompactionMoment::AfterTurn, events).await.as_ref());
                ended.took = started.elapsed();
                return Ok(ended);
            }
        }
    }

    /// Keeps what had arrived when a turn was stopped, marked as interrupted.
    /// Returns whether there was anything.
    pub async fn interrupt(&mut self, events: &mpsc::UnboundedSender<TurnEvent>) -> Result<bool> {
        let messages = self.draft.take_interrupted();
        let is_something = !messages.is_empty();
        if is_something {
            self.keep(messages, events).await?;
        }
        Ok(is_something)
    }

    /// Ends the talk: saves what is not saved yet, and gives back what cannot be.
    ///
    /// What had arrived of a reply that was dropped stays an open turn, to be kept or discarded later.
    pub async fn close(self) -> std::result::Result<(), Unsaved> {
        self.recorder.close().await
    }

    pub(crate) async fn keep(
        &mut self,
        messages: Vec<Message>,
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) -> Result<()> {
        // The history comes first: when this future is dropped, the recorder saves the messages all the same.
        let added = self.history.extend(&messages);
        let appended = self.recorder.append(messages).await;
        for strain in self.recorder.take_strains() {
            let _ = events.send(TurnEvent::Warning(strain.to_string()));
        }
        for begun_again in self.recorder.take_begun_again() {
            if let Some(summariser) = &self.summariser {
                summariser.describe_instead(begun_again.conversation);
            }
            let _ = events.send(TurnEvent::BegunAgain(begun_again));
        }
        match appended {
            Ok(Some(receipt)) => {
                self.history.name(&receipt);
                let _ = events.send(TurnEvent::Saved(receipt));
            }
            Ok(None) => {}
            Err(error) => {
                self.history.take_back(added);
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// The tools as the model sees them now: the same for a reply and for a summary.
    pub(crate) async fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.toolbox.specs().await;
        // A model that is offered no tools may not take any.
        if !specs.is_empty() && self.can_recall() {
            specs.push(recall::spec());
        }
        specs
    }

    /// True when the model may fetch what a summary stands for. A tool that
    /// someone else named so comes first.
    pub(crate) fn can_recall(&self) -> bool {
        self.history.is_compacted()
            && self.toolbox.offers(recall::NAME)
            && self.toolbox.named(recall::NAME).is_none()
    }

    async fn ask(&mut self, events: &mpsc::UnboundedSender<TurnEvent>) -> Result<Reply> {
        let specs = self.specs().await;
        let view = self.history.view(&self.provider.recipient());
        let request = self.request(&view, &specs);
        let conversation = self.recorder.conversation();
        tracing::info!(%conversation, provider = self.provider.name(), "a reply is asked for");
        if let Some(memory) = &self.memory
            && let Some(body) = self.provider.written(&request)
            && let Some(told) =
                memory.remember(conversation, self.provider.name(), &body, &self.history).await
        {
            let _ = events.send(TurnEvent::Warning(told));
        }
        self.draft.begin(self.provider.as_ref(), &self.model);
        let draft = &self.draft;
        let mut listen = |piece: Piece| {
            draft.add(&piece);
            let _ = events.send(TurnEvent::Piece(piece));
        };
        let replied = self.provider.reply(request, &mut listen).await;
        self.offered = specs.iter().map(|spec| spec.name.clone()).collect();
        if replied.is_err()
            && let Err(error) = self.interrupt(events).await
        {
            tracing::warn!(?error, "what had arrived of a failed reply was not kept");
        }
        replied
    }
}
