//! A talk made ready: its conversation, its provider, its initial context.

use rejoin::{
    Archive, AsyncRecorder, Conversation, ConversationId, ErrorKind, Handle, Json, Status, StoredConversation,
};
use rejoin_agent::{History, Summariser, Talk};

use crate::compaction;
use crate::context::{Consent, Context};
use crate::error::Failure;
use crate::git::head_of;
use crate::named;
use crate::session::choose::{self, ResumedConversation};
use crate::session::command_file::{self, CommandFile};
use crate::session::initial::{ContinuedConversation, InitialContext, initial};
use crate::session::leftover::{self, Partial};
use crate::session::partner::{Partner, partner, partner_of, settings, with_command};
use crate::session::summary::{Describing, Occasion, note_base_url};
use crate::session::tools::{self, ToolFlags};
use crate::session::{UnsavedReason, banner, state, writer};
use crate::ui::clean;
use crate::ui::consent::ConsentText;

/// The field of a header with what the model is told in place of Rejoin's own words.
const SYSTEM: &str = "system";

/// The field of a header that names the project's files a model was given.
const CONTEXT_FILES: &str = "context_files";

/// Where a talk begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// In a new conversation.
    New,
    /// In the newest conversation of the project, or a new one when there is none.
    Latest,
    /// In the conversation with this name.
    Conversation(String),
    /// At the message with this name; a branch begins when it has children.
    Message(String),
    /// At the newest assistant or tool message of the project.
    LatestMessage,
    /// Nowhere: nothing is written.
    Incognito,
}

/// When a new conversation is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstSave {
    /// When the talk begins, so that a command at the prompt can change it.
    AtOnce,
    /// Together with the first message.
    WithFirstMessage,
}

/// Where a hint is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HintPlace {
    #[default]
    Shell,
    Prompt,
}

/// What this run asks for in place of what is configured or was used before.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionOverrides {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) command: Option<String>,
    /// What the model is told in place of Rejoin's own words.
    pub(crate) system: Option<String>,
    pub(crate) title: Option<String>,
    /// Who reads what there is to do when nothing is chosen.
    pub(crate) asker: HintPlace,
    /// What to do with a reply that was cut off.
    pub(crate) partial: Partial,
    /// Whether a completed conversation may be opened again without asking.
    pub(crate) reopen: Consent,
    /// Which tools run without asking.
    pub(crate) tools: ToolFlags,
}

/// A talk made ready.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) talk: Talk,
    pub(crate) archive: Archive,
    /// The conversation that had what was said when it was last asked.
    recorded_in: ConversationId,
    /// Why nothing is saved; none when it is.
    pub(crate) unsaved: Option<UnsavedReason>,
    /// True when this talk began the conversation.
    is_new: bool,
    /// Where a flag says that the provider is reached.
    base_url: Option<String>,
    /// How the conversation is described by a model, if it is.
    pub(crate) describing: Option<Describing>,
}

impl Session {
    /// The conversation that has what is said: another one after the first was deleted.
    pub(crate) fn conversation(&self) -> ConversationId {
        self.talk.recorder().conversation()
    }

    /// Whether this talk goes on in a conversation that was there before.
    pub(crate) const fn is_resumed(&self) -> bool {
        !self.is_new
    }

    /// Makes a conversation that this talk began the active one, because something is said in it.
    pub(crate) fn make_active(&self, context: &Context) {
        if self.is_new
            && let Err(failure) = context.set_active_unsynced(&self.archive, self.conversation())
        {
            // A store that fails does not end a talk; the recorder tells of it.
            tracing::warn!(kind = failure.kind(), "the active conversation was not remembered");
        }
    }

    /// Keeps whom it is talked with in the conversation, so that resuming it asks the same.
    pub(crate) fn remember_partner(&self) {
        let (provider, model) = (self.talk.provider().name().to_owned(), self.talk.model().to_owned());
        let kept = self.archive.update(self.conversation(), |header| {
            header.settings.provider = Some(provider.clone());
            header.settings.model = Some(model.clone());
        });
        if let Err(error) = kept {
            // Nothing that was said is lost; the next run asks whom it asked before.
            tracing::warn!(kind = error.kind().as_str(), "the model of the conversation was not remembered");
        }
    }

    /// Looks after the conversation when a turn has ended: it becomes the active one if the talk goes on
    /// there because another was deleted, and gets its title.
    pub(crate) fn follow(&mut self, context: &Context) {
        let conversation = self.conversation();
        if std::mem::replace(&mut self.recorded_in, conversation) != conversation {
            self.is_new = true;
            self.make_active(context);
        }
        if let Some(base_url) = &self.base_url {
            note_base_url(&self.archive, conversation, self.talk.provider().name(), base_url);
        }
        state::note(&self.archive, conversation, &self.talk);
        self.describe(Occasion::Turn);
    }

    /// Has a model describe the conversation, if one is to be asked and it is due. Nobody waits for it.
    pub(crate) fn describe(&self, occasion: Occasion) {
        if let Some(describing) = &self.describing {
            describing.start_if_due(&self.archive, self.conversation(), occasion);
        }
    }

    /// Takes away the conversation that this talk began, if nothing was ever said in it.
    pub(crate) fn forget_if_empty(&self) {
        if self.is_new && self.talk.history().is_empty() {
            // Failing to is not worth a word: an empty conversation takes no room.
            let _ = self.archive.removal().delete_empty(self.conversation());
        }
    }

    /// Finds or starts the conversation, and tells the user which it is.
    pub(crate) fn begin(
        context: &Context,
        start: &Start,
        overrides: &SessionOverrides,
        first_save: FirstSave,
    ) -> Result<Self, Failure> {
        // A rule that cannot be understood is told before anything is written.
        let mut toolbox = tools::toolbox(context, &overrides.tools, context.config.project())?;
        let unsaved = UnsavedReason::of(context, start)?;
        let is_kept = !matches!(unsaved, Some(UnsavedReason::Incognito | UnsavedReason::Disabled { .. }));
        if let Some(unsaved) = unsaved.as_ref().filter(|_| !is_kept) {
            // A store in memory says so itself when it is opened.
            context.manner.insist(&unsaved.to_string(), None);
        }
        let archive = if is_kept { open(context)?.passing_over_damage() } else { Archive::open("memory:")? };
        let found = if is_kept { choose::choose(context, &archive, start)? } else { None };
        if found.is_none() {
            tell_new(context, start);
        }
        let ready = match found {
            Some(found) => resume(context, &archive, found, overrides)?,
            None => begin_new(context, &archive, overrides, first_save)?,
        };
        let conversation = ready.handle.id();
        if ready.is_resumed
            && let Err(failure) = context.set_active(&archive, conversation)
        {
            // A store that cannot be written to does not end a talk; the recorder tells of it.
            tracing::warn!(kind = failure.kind(), "the active conversation was not remembered");
        }
        // A new conversation may not be stored yet.
        let history = match ready.is_resumed {
            true => History::load(&ready.handle).map_err(|error| choose::damaged(conversation, error))?,
            false => History::default(),
        };
        context.warn_of_damage(&archive, conversation)?;
        if ready.is_resumed {
            context.note(&banner::came_back(conversation, history.len()));
        }
        if let Some(names) = ready.tools {
            toolbox = toolbox.only(names);
        }
        tools::recall(context, &toolbox, &archive, conversation)?;
        let mut recorder = archive.record(ready.handle, writer::own());
        if is_kept {
            let url = context.store_url()?;
            recorder = recorder.reopening(context.reopener()?).watching_room(move || url.free_bytes());
        }
        let recording = AsyncRecorder::start(recorder);
        let Partner { provider, model } = ready.partner;
        let summariser = Summariser::new(archive.clone(), conversation);
        let describing = Describing::of(context).filter(|_| is_kept);
        let base_url = overrides.base_url.clone().filter(|_| is_kept);
        let compaction = compaction::settings(&context.config, provider.as_ref(), &model);
        let mut talk = Talk::new(provider, model, recording, history)
            .with_system(ready.system)
            .with_note(ready.note)
            .with_tools(toolbox)
            .with_compaction(compaction);
        if is_kept {
            talk = talk.with_summariser(summariser).with_request_memory(archive.clone());
            if let Some(files) = tools::file_snapshots(context, &archive)? {
                talk = talk.with_file_snapshots(files);
            }
        }
        let is_new = !ready.is_resumed;
        Ok(Self { talk, archive, recorded_in: conversation, unsaved, is_new, base_url, describing })
    }
}

/// A conversation with all that talking in it needs.
struct ReadySession {
    handle: Handle,
    partner: Partner,
    system: String,
    /// What the model is told beside the first message.
    note: Option<String>,
    /// The tools to offer; none means all that the configuration gives.
    tools: Option<Vec<String>>,
    is_resumed: bool,
}

/// A store that cannot be opened ends the talk before it begins; later nothing does.
fn open(context: &Context) -> Result<Archive, Failure> {
    context.archive().map_err(|failure| {
        let hint = match failure.next_step() {
            Some(hint) => format!("{hint}; to talk without keeping anything: `rejoin --incognito`"),
            None => "to talk without keeping anything: `rejoin --incognito`".to_owned(),
        };
        failure.hint(hint)
    })
}

fn tell_new(context: &Context, start: &Start) {
    match start {
        Start::New | Start::Incognito => {}
        _ if !context.config.persistence_enabled() => {
            context.note("Keeping conversations is turned off, so there is nothing to resume.");
        }
        Start::Latest | Start::LatestMessage | Start::Conversation(_) | Start::Message(_) => {
            context.note("There is nothing to resume in this project, so a new conversation starts.");
        }
    }
}

fn begin_new(
    context: &Context,
    archive: &Archive,
    overrides: &SessionOverrides,
    first_save: FirstSave,
) -> Result<ReadySession, Failure> {
    let command = match &overrides.command {
        Some(name) => Some(command_file::required(context, name)?),
        None => None,
    };
    let partner = partner(context, &with_command(context, overrides.clone(), command.as_ref()))?;
    let InitialContext { system, note, hash, files } =
        initial(context, command.as_ref(), overrides.system.as_deref(), None);
    let project = context.project(archive)?;
    let mut conversation = Conversation {
        title: overrides.title.clone(),
        project: Some(project.key),
        settings: settings(&partner, command.as_ref(), hash),
        git_commit: head_of(context.config.project()),
        follows_retention: true,
        ..Conversation::default()
    };
    if let Some(command) = &command {
        conversation.kind.clone_from(&command.name);
    }
    name_files(&mut conversation, &files);
    name_system(&mut conversation, overrides);
    let handle = match first_save {
        FirstSave::AtOnce => archive.start(conversation)?,
        FirstSave::WithFirstMessage => archive.draft(conversation)?,
    };
    let tools = command.and_then(|command| command.tools);
    Ok(ReadySession { handle, partner, system, note, tools, is_resumed: false })
}

fn resume(
    context: &Context,
    archive: &Archive,
    found: ResumedConversation,
    overrides: &SessionOverrides,
) -> Result<ReadySession, Failure> {
    let stored = context.as_of(archive.now(), found.stored);
    context.note(&banner::resuming(&stored));
    may_go_on(context, archive, &stored, overrides.reopen)?;
    let command = command_of(context, &stored, overrides)?;
    let partner = partner_of(context, &stored, command.as_ref(), overrides)?;
    let InitialContext { system, note, hash, files } =
        initial_of(context, &stored, command.as_ref(), overrides);
    let handle = leftover::settle(context, found.handle, overrides.partial)?;
    tell_changed_prompt(context, &stored, command.as_ref(), hash.as_deref());
    let mut settings = settings(&partner, command.as_ref(), hash);
    let before = &stored.conversation.settings;
    // A command whose file is gone is still the conversation's: the file may come back.
    if command.is_none() && overrides.command.is_none() && before.command.is_some() {
        settings.command.clone_from(&before.command);
        settings.prompt_hash.clone_from(&before.prompt_hash);
    }
    if command.is_none() {
        settings.tools.clone_from(&before.tools);
    }
    let header = archive.conversation(stored.id)?.conversation;
    let mut changed = header.clone();
    changed.settings = settings;
    if overrides.title.is_some() {
        changed.title.clone_from(&overrides.title);
    }
    name_files(&mut changed, &files);
    name_system(&mut changed, overrides);
    if changed != header {
        let updated = archive.update(stored.id, |header| {
            header.settings.clone_from(&changed.settings);
            header.title.clone_from(&changed.title);
            name_files(header, &files);
            name_system(header, overrides);
        });
        go_on_unwritten(updated.map(drop))?;
    }
    if header.status == Status::Paused {
        go_on_unwritten(archive.status().activate(stored.id).map(drop))?;
    }
    let tools = tools_of(command, &stored);
    Ok(ReadySession { handle, partner, system, note, tools, is_resumed: true })
}

/// A store that cannot be written to, or not now, does not end a talk; the recorder tells of it.
fn go_on_unwritten(written: rejoin::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error)
            if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Locked | ErrorKind::Denied) =>
        {
            tracing::warn!(kind = error.kind().as_str(), "what a conversation is held with was not stored");
            Ok(())
        }
        outcome => Ok(outcome?),
    }
}

/// The initial context of a conversation that goes on; after a pause it says where that stood.
pub(super) fn initial_of(
    context: &Context,
    stored: &StoredConversation,
    command: Option<&CommandFile>,
    overrides: &SessionOverrides,
) -> InitialContext {
    let was_left = stored.conversation.status != Status::Active || command.is_some();
    let is_after_a_pause = was_left && stored.messages > 0;
    let kept: Option<String> = stored.conversation.extra.field(SYSTEM).and_then(|text| text.to().ok());
    let own = overrides.system.clone().or(kept);
    initial(context, command, own.as_deref(), Some(&ContinuedConversation { stored, is_after_a_pause }))
}

/// The tools of a conversation that goes on. A command whose file is gone still
/// may use no more than it could before.
pub(super) fn tools_of(command: Option<CommandFile>, stored: &StoredConversation) -> Option<Vec<String>> {
    let before = Some(&stored.conversation.settings.tools).filter(|tools| !tools.is_empty());
    command.map_or_else(|| before.cloned(), |command| command.tools)
}

/// A completed conversation goes on only when somebody says so.
fn may_go_on(
    context: &Context,
    archive: &Archive,
    stored: &StoredConversation,
    reopen: Consent,
) -> Result<(), Failure> {
    if stored.conversation.status != Status::Completed {
        return Ok(());
    }
    let title = named::title(stored);
    context.manner.warn(&format!("\"{title}\" was marked as completed"), None);
    context.confirm(&ConsentText::line(&format!("Open \"{}\" again?", stored.title())), reopen)?;
    archive.status().reopen(stored.id)?;
    Ok(())
}

/// The command file a conversation goes on with: the one this run names, or the current version of its own.
pub(super) fn command_of(
    context: &Context,
    stored: &StoredConversation,
    overrides: &SessionOverrides,
) -> Result<Option<CommandFile>, Failure> {
    let own = stored.conversation.settings.command.as_deref();
    if let Some(name) = &overrides.command {
        let command = command_file::required(context, name)?;
        if let Some(own) = own.filter(|own| own != name) {
            context.note(&format!(
                "The conversation was held with the command `{own}`; it goes on with `{name}`."
            ));
        }
        return Ok(Some(command));
    }
    let Some(name) = own else { return Ok(None) };
    // A conversation that was imported may name anything, such as `/workspace.brainstorm`.
    let command = if command_file::is_name(name) { command_file::find(context, name)? } else { None };
    if command.is_none() {
        let name = clean::line(name);
        context.manner.warn(
            &format!(
                "there is no file for the command `{name}`; the conversation goes on without its instructions"
            ),
            None,
        );
    }
    Ok(command)
}

fn tell_changed_prompt(
    context: &Context,
    stored: &StoredConversation,
    command: Option<&CommandFile>,
    hash: Option<&str>,
) {
    let before = &stored.conversation.settings;
    if before.prompt_hash.is_none() || before.prompt_hash.as_deref() == hash {
        return;
    }
    match command {
        Some(command) if before.command.as_deref() == Some(&command.name) => context.manner.warn(
            &format!(
                "the instructions of the command `{}` have changed since; the new ones apply",
                command.name
            ),
            None,
        ),
        None if before.command.is_none() => {
            context.note("The project's instructions have changed since; the new ones apply.");
        }
        Some(_) | None => {}
    }
}

fn name_system(conversation: &mut Conversation, overrides: &SessionOverrides) {
    if let Some(system) = &overrides.system {
        conversation.extra.set(SYSTEM, Json::of(system).expect("a string is JSON"));
    }
}

fn name_files(conversation: &mut Conversation, files: &[String]) {
    let is_known = conversation.extra.field(CONTEXT_FILES).is_some();
    if is_known || !files.is_empty() {
        conversation.extra.set(CONTEXT_FILES, Json::of(&files).expect("names are JSON"));
    }
}
