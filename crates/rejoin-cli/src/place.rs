//! Where this run works: the store it opens and the project it stands in.

use std::path::{Path, PathBuf};

use rejoin::{Archive, ConversationId, Limits, Redaction, StoreUrl, StoredConversation};

use crate::config::origin::ValueOrigin;
use crate::config::{Config, ConfigOverrides};
use crate::context::Context;
use crate::error::{Failure, Kind};
use crate::private;
use crate::project_file::{FileReading, read_if_there};
use crate::redaction;
use crate::session::UnsavedReason;
use crate::vault;

/// Where a project may keep an id of its own, so that it can move.
pub(crate) const IDENTITY: &str = ".rejoin/project";

/// An id has at most 64 characters; the rest is room for line ends.
const LONGEST_IDENTITY: usize = 256;

/// How many of the things that were left out are named to people.
const NAMED: usize = 3;

/// What the store remembers about the first use.
const FIRST_USE: &str = "notice.first-use";

impl Context {
    /// The store's URL, checked.
    pub(crate) fn store_url(&self) -> Result<StoreUrl, Failure> {
        let url = StoreUrl::parse(self.config.store()).map_err(|error| {
            Failure::from(error).or_hint("run `rejoin config get store` to see where this comes from")
        })?;
        let setting = self.config.setting("store");
        if url.has_password() && setting.is_some_and(|setting| matches!(setting.origin, ValueOrigin::Flag(_)))
        {
            return Err(Failure::invalid(
                "other users of this machine can read a password in a command's arguments",
            )
            .hint("put it into `PGPASSWORD`, `~/.pgpass` or the configuration file"));
        }
        let variables = &self.surroundings.variables;
        Ok(url.with_variables(&|name| variables.get(name)?.clone().into_string().ok()))
    }

    /// The archive to write to. The store is created when it is missing, and the user told so once.
    pub(crate) fn archive(&self) -> Result<Archive, Failure> {
        if !self.config.persistence_enabled() {
            return Err(Failure::new(Kind::Unsupported, "saving conversations is turned off")
                .hint("run `rejoin config set persistence.enabled true` to turn it on"));
        }
        let archive = self.open(&self.store_url()?)?;
        // Doctor tells what is in the way; a talk goes on without.
        if let Err(error) = archive.redaction().move_key() {
            tracing::warn!(kind = error.kind().as_str(), "the key of redaction stays in the store");
        }
        if let Some(unsaved) = UnsavedReason::by_store(self)? {
            self.manner.insist(&unsaved.to_string(), None);
            return Ok(archive);
        }
        // A script that came first has not been told on anyone's behalf.
        if self.shows_notes() && archive.state().recall(FIRST_USE)?.is_none() {
            let url = self.store_url()?;
            let place = url.path().map_or_else(|| url.to_string(), |path| path.display().to_string());
            self.note(&format!("Conversations are kept in {place}"));
            self.note("To turn this off: rejoin config set persistence.enabled false");
            // A store that cannot be written to says so when something is to be saved.
            if let Err(error) = archive.state().remember(FIRST_USE, Some(&archive.now().to_string())) {
                tracing::warn!(kind = error.kind().as_str(), "the first use was not noted");
            }
        }
        Ok(archive)
    }

    /// Refuses to say that something is saved if the user's configuration names another store by now: `vault
    /// encrypt` or `decrypt` has copied the store that this went to, perhaps before.
    pub(crate) fn refuse_switched(&self) -> Result<(), Failure> {
        let file = self.surroundings.user_config_file()?;
        let is_of_user = |config: &Config| {
            config.setting("store").is_none_or(|setting| match &setting.origin {
                ValueOrigin::Default => true,
                ValueOrigin::File { path, .. } => *path == file,
                ValueOrigin::Variable(_) | ValueOrigin::Flag(_) => false,
            })
        };
        if !is_of_user(&self.config) {
            return Ok(());
        }
        // A file that cannot be read says nothing of another store.
        let Ok(now) = Config::load(&self.surroundings, &ConfigOverrides::default()) else { return Ok(()) };
        let (before, after) = (self.config.store(), now.store());
        if before == after || !is_of_user(&now) {
            return Ok(());
        }
        Err(Failure::new(
            Kind::Conflict,
            format!("conversations are kept in `{after}` by now, and this went to `{before}`"),
        )
        .hint("run the same command again"))
    }

    /// The archive to read from. A store that does not exist yet reads as an empty one, and is not created.
    pub(crate) fn archive_to_read(&self) -> Result<Archive, Failure> {
        let url = self.store_url()?;
        match (&url, url.path()) {
            // A vault that is not there may be lost, which must not look like an empty one.
            (StoreUrl::Sqlite(_) | StoreUrl::Jsonl(_), Some(path)) if !path.exists() => {
                self.open(&StoreUrl::Memory)
            }
            _ => self.open(&url),
        }
    }

    /// Says what is missing of a conversation that was read past what is damaged.
    pub(crate) fn warn_of_damage(&self, archive: &Archive, id: ConversationId) -> Result<(), Failure> {
        let verify = format!("rejoin verify {}", id.short());
        self.warn_of_missing(&archive.reader().passed_over(), &verify)
    }

    /// Says what was left out because it cannot be read: for programs everything, for people a count and the
    /// first few. With `store.strict` it is an error, so whoever answers calls this first.
    pub(crate) fn warn_of_missing(&self, missing: &[String], verify: &str) -> Result<(), Failure> {
        let hint = format!("run `rejoin doctor` to see what to do, or `{verify}`");
        if self.config.is_strict()
            && let Some(told) = few(missing)
        {
            let told = told.strip_prefix("left out: ").map_or(told.clone(), str::to_owned);
            return Err(Failure::new(Kind::Corrupt, told).hint(hint));
        }
        if self.is_json() {
            missing.iter().for_each(|one| self.manner.warn(&format!("left out: {one}"), Some(&hint)));
        } else if let Some(told) = few(missing) {
            self.manner.warn(&told, Some(&hint));
        }
        Ok(())
    }

    /// Opens the store again, for a talk that outlives a failure of it.
    pub(crate) fn reopener(
        &self,
    ) -> Result<impl FnMut() -> rejoin::Result<Archive> + Send + 'static + use<>, Failure> {
        let (url, limits, access) = (self.store_url()?, self.limits(), self.access()?);
        let (redaction, key) = (redaction::wanted(self)?, redaction::key_file(self)?);
        Ok(move || {
            let archive = Archive::reopen_at(&url, &access)?.with_limits(limits);
            let archive = redaction::keeping_key(archive, key.clone());
            Ok(with_redaction(archive, redaction.clone()))
        })
    }

    fn limits(&self) -> Limits {
        Limits {
            turn_bytes: self.config.turn_bytes(),
            conversation_bytes: self.config.conversation_bytes(),
            attachment_chunk_bytes: self.config.attachment_chunk_bytes(),
        }
    }

    fn open(&self, url: &StoreUrl) -> Result<Archive, Failure> {
        private::keep_store(url, &self.surroundings, self.manner)?;
        let archive = Archive::open_at(url, &self.access()?).map_err(|error| {
            vault::explain(url, error)
                .or_hint("run `rejoin doctor` to see what is wrong, or name another store with `--store`")
        })?;
        let archive = archive.with_limits(self.limits());
        let archive = redaction::keeping_key(archive, redaction::key_file(self)?);
        Ok(with_redaction(archive, redaction::wanted(self)?))
    }

    /// The real directory of the project that a conversation belongs to; none when it is not there.
    pub(crate) fn directory_of(
        &self,
        archive: &Archive,
        stored: &StoredConversation,
    ) -> Result<Option<PathBuf>, Failure> {
        let path = match &stored.conversation.project {
            None => self.config.project().to_owned(),
            Some(key) => {
                archive.projects().get(key)?.map_or_else(|| key.into(), |project| project.path.into())
            }
        };
        Ok(path.canonicalize().ok().filter(|found| path.is_absolute() && found.is_dir()))
    }

    /// The project's active conversation: the one that `new`, `resume` or `append` used last.
    pub(crate) fn active_conversation(&self, archive: &Archive) -> Result<Option<ConversationId>, Failure> {
        active_in(archive, &self.project_key(archive)?)
    }

    /// The same, where some conversations were just read: one of them need not be looked for.
    pub(crate) fn active_among(
        &self,
        read: &[StoredConversation],
        archive: &Archive,
    ) -> Result<Option<ConversationId>, Failure> {
        let named = active_named(archive, &self.project_key(archive)?)?;
        match named.filter(|id| !read.iter().any(|one| one.id == *id)) {
            Some(id) => there(archive, id),
            None => Ok(named),
        }
    }

    /// The project's active conversation, where a command cannot do without one.
    pub(crate) fn needed_conversation(&self, archive: &Archive) -> Result<ConversationId, Failure> {
        self.active_conversation(archive)?.ok_or_else(|| {
            Failure::not_found("no active conversation in this project")
                .hint("run `rejoin list` to see the conversations")
        })
    }

    /// Makes a conversation the project's active one.
    pub(crate) fn set_active(&self, archive: &Archive, id: ConversationId) -> Result<(), Failure> {
        Ok(archive.state().remember(&active_name(&self.project_key(archive)?), Some(&id.to_string()))?)
    }

    /// The same without a sync of its own, because a message is about to be saved.
    pub(crate) fn set_active_unsynced(&self, archive: &Archive, id: ConversationId) -> Result<(), Failure> {
        Ok(archive.state().remember_unsynced(&active_name(&self.project_key(archive)?), &id.to_string())?)
    }
}

/// What was left out, in one line; none when nothing was.
fn few(missing: &[String]) -> Option<String> {
    let named = missing.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join("; ");
    match (missing.len(), missing.len().saturating_sub(NAMED)) {
        (0, _) => None,
        (1, _) => Some(format!("left out: {named}")),
        (all, 0) => Some(format!("left out {all} records: {named}")),
        (all, more) => Some(format!("left out {all} records: {named}; and {more} more")),
    }
}

fn with_redaction(archive: Archive, redaction: Option<Redaction>) -> Archive {
    match redaction {
        Some(redaction) => archive.with_redaction(redaction),
        None => archive,
    }
}

/// Hands a project's active conversation on to the key its conversations go by from now on.
pub(crate) fn carry_active(archive: &Archive, from: &str, to: &str) -> Result<(), Failure> {
    let (from, to) = (active_name(from), active_name(to));
    let Some(active) = archive.state().recall(&from)? else { return Ok(()) };
    if archive.state().recall(&to)?.is_none() {
        archive.state().remember(&to, Some(&active))?;
    }
    Ok(archive.state().remember(&from, None)?)
}

/// What a directory says about its project: the id it carries, or its path. Whether the id
/// counts there is decided in `project_key`.
pub(crate) fn key_of(directory: &Path) -> Result<String, Failure> {
    let identity = directory.join(IDENTITY);
    let unusable = |why: &str| {
        Failure::invalid(format!("`{}` {why}", identity.display()))
            .hint("remove it to use the project's path instead")
    };
    match read_if_there(&identity, directory, LONGEST_IDENTITY) {
        FileReading::Content(content) => check_identity(content.text().trim(), &identity),
        FileReading::Outside => Err(unusable("is a link that leads out of the project")),
        FileReading::Irregular => Err(unusable("is not a regular file")),
        // Nothing in a directory of another user counts, and a file of theirs in one's own is no id.
        FileReading::Foreign(foreign) if foreign.path != directory => {
            Err(private::refusal(format!("read `{}`", identity.display()), &foreign))
        }
        FileReading::Foreign(_) | FileReading::Absent | FileReading::Failed(_) => {
            Ok(directory.to_string_lossy().into_owned())
        }
    }
}

/// The conversation that is active in a project, if there is one.
pub(crate) fn active_in(archive: &Archive, key: &str) -> Result<Option<ConversationId>, Failure> {
    active_named(archive, key)?.map_or(Ok(None), |id| there(archive, id))
}

/// The conversation that was last made the active one, whether or not it is there.
fn active_named(archive: &Archive, key: &str) -> Result<Option<ConversationId>, Failure> {
    Ok(archive.state().recall(&active_name(key))?.and_then(|id| id.parse().ok()))
}

/// A conversation, if it is there.
fn there(archive: &Archive, id: ConversationId) -> Result<Option<ConversationId>, Failure> {
    match archive.conversation(id) {
        Ok(_) => Ok(Some(id)),
        // Whoever reads it is told; a list of the others need not fail for it.
        Err(error) if error.kind() == rejoin::ErrorKind::Corrupt => Ok(Some(id)),
        Err(error) if error.kind() == rejoin::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn active_name(key: &str) -> String {
    format!("active:{key}")
}

/// A cloned repository brings this file along, so it must not be able to name just anything.
fn check_identity(id: &str, file: &Path) -> Result<String, Failure> {
    let is_plain = !id.is_empty()
        && id.len() <= 64
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_plain {
        return Ok(id.to_owned());
    }
    Err(Failure::invalid(format!("`{}` does not hold a project id", file.display()))
        .hint("it can contain up to 64 letters, digits and hyphens; remove the file to use the path instead"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_how_much_is_missing_and_the_first_few() {
        let missing =
            |count: usize| (1..=count).map(|number| format!("message {number}")).collect::<Vec<_>>();

        let told = [0, 1, 3, 5].map(|count| few(&missing(count)));

        let expected = [
            None,
            Some("left out: message 1"),
            Some("left out 3 records: message 1; message 2; message 3"),
            Some("left out 5 records: message 1; message 2; message 3; and 2 more"),
        ];
        assert_eq!(told, expected.map(|told| told.map(str::to_owned)));
    }
}
