//! Which project a directory is: what its conversations, its active conversation, its
//! policy and its prompt history go by.
//!
//! A project goes by the id in its `.rejoin/project`, or by its path. A clone or a download can carry the id
//! of another project. So an id counts in the directory where it was first used; in any other it counts once
//! the user has said that this is the same project. An id that nobody knows, in a directory that has
//! conversations, counts once the user has said so with `rejoin project id`: a pull must not hide them. For
//! the same reason, a directory whose id is gone, or does not count, goes by what its conversations went by
//! so far. Everything that needs a key asks here.

use std::io;
use std::path::Path;

use rejoin::{Archive, List, Project};

use crate::config::trust::is_trusted;
use crate::context::Context;
use crate::error::Failure;
use crate::git::first_commit;
use crate::place::{IDENTITY, carry_active, key_of};
use crate::ui::consent::{self, ConsentLine, ConsentText, Paged};
use crate::ui::paint::Meaning;
use crate::ui::{ask, quote, size};

/// What an answer is remembered under, with the id and the path.
const ANSWER: &str = "project-answer:";

/// What the user said about a directory that carries the id of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SameProjectAnswer {
    /// It is the same project: it moved, or it is a second work tree.
    Same,
    /// It is a project of its own, by its path.
    Separate,
}

/// What is known about the project in a directory, before anybody is asked.
#[derive(Debug)]
enum Claim {
    /// It goes by this key.
    Settled(String),
    /// It carries the id of a project that is known elsewhere, and the user has not said what it is.
    Unanswered(Project),
    /// It carries an id that nobody knows, and has conversations that go by `key`.
    New { id: String, key: String },
    /// It carries no id any more, and has conversations that go by one. It goes by `key`.
    Removed { id: String, key: String },
    /// It carries something that cannot be an id.
    Unreadable(Failure),
}

impl Context {
    /// What identifies the project of this run. Asks once, where only the user can tell.
    pub(crate) fn project_key(&self, archive: &Archive) -> Result<String, Failure> {
        if let Some(key) = self.settled_project.get() {
            return Ok(key.clone());
        }
        let key = self.settle_project(archive)?;
        Ok(self.settled_project.get_or_init(|| key).clone())
    }

    /// The project of this run. One that is new to the archive is remembered,
    /// and a guess that it moved is told.
    pub(crate) fn project(&self, archive: &Archive) -> Result<Project, Failure> {
        let (key, directory) = (self.project_key(archive)?, self.config.project());
        if let Some(project) = archive.projects().get(&key)? {
            return Ok(Project { key, ..project });
        }
        let project = Project { key, path: text_of(directory), first_commit: first_commit(directory) };
        // Who carries an id was asked already.
        if carried_id(directory).is_none() {
            self.guess_move(archive, &project)?;
        }
        archive.projects().remember(&project)?;
        Ok(project)
    }

    fn settle_project(&self, archive: &Archive) -> Result<String, Failure> {
        let directory = self.config.project();
        let path = text_of(directory);
        self.tell_of_scope(archive)?;
        let known = match claim_of(archive, directory)? {
            Claim::Settled(key) => return Ok(key),
            Claim::Removed { id, key } => {
                self.tell_of_removed(archive, &id, &key)?;
                return Ok(key);
            }
            Claim::Unreadable(failure) => {
                let key = key_without_id(archive, &path)?;
                let by = if key == path { "its path".to_owned() } else { format!("the id `{key}`") };
                let told = format!("{}, so the project goes by {by}", failure.summary());
                self.manner.warn(&told, failure.next_step());
                return Ok(key);
            }
            Claim::New { id, key } => {
                let told = format!(
                    "`{}` holds the new id `{id}`, which may have come with a pull; the project goes on without it",
                    directory.join(IDENTITY).display()
                );
                let hint = "to keep its conversations under that id from now on, run `rejoin project id`";
                self.manner.warn(&told, Some(hint));
                return Ok(key);
            }
            Claim::Unanswered(known) => known,
        };
        match self.ask_whether_same(archive, &known)? {
            Some(SameProjectAnswer::Same) => {
                let undo = match is_directory(&known.path) {
                    true => "rejoin project split".to_owned(),
                    false => format!("rejoin project move . {}", quote::argument(&known.path)),
                };
                self.warn_if_forgotten(join(archive, directory, &known).map(drop));
                self.note(&format!("Its conversations belong here too. To undo this: {undo}"));
                Ok(known.key)
            }
            Some(SameProjectAnswer::Separate) => {
                self.warn_if_forgotten(remember(
                    archive,
                    &known.key,
                    &path,
                    Some(SameProjectAnswer::Separate),
                ));
                let other = quote::argument(&known.path);
                self.note(&format!(
                    "This is a separate project. To undo this: rejoin project merge . {other}"
                ));
                key_without_id(archive, &path)
            }
            None => {
                let told = format!(
                    "this directory carries the id of the project at `{}`, so it is treated as a separate project",
                    known.path
                );
                let other = quote::argument(&known.path);
                let hint = format!("if it is the same project, run `rejoin project merge . {other}`");
                self.manner.warn(&told, Some(&hint));
                key_without_id(archive, &path)
            }
        }
    }

    /// Says that the id of the project is gone, and what that means for its conversations.
    fn tell_of_removed(&self, archive: &Archive, id: &str, key: &str) -> Result<(), Failure> {
        let file = self.config.project().join(IDENTITY);
        let count = size::count(count_of(archive, id)?, "conversation", "conversations");
        let (then, hint) = if key == id {
            (
                format!("the project goes on with it, and its {count}"),
                "to give the project a new id, run `rejoin project id`; to keep this one, restore the file"
                    .to_owned(),
            )
        } else {
            (
                format!("the project goes by its path, and {count} by that id"),
                format!("to see them here again, restore the file or run `rejoin project merge {id} .`"),
            )
        };
        let told =
            format!("`{}` no longer holds the id `{id}`, perhaps since a pull; {then}", file.display());
        self.manner.warn(&told, Some(&hint));
        Ok(())
    }

    /// Says where the conversations of this directory are, when what counts as the project has changed.
    fn tell_of_scope(&self, archive: &Archive) -> Result<(), Failure> {
        let (start, project, root) = (self.config.start(), self.config.project(), self.config.project_root());
        if project != root && !is_trusted(&self.surroundings, root) {
            let count = count_of(archive, &key_at(archive, root)?)?;
            let told = format!(
                "`{}` sets `project.scope`, so `{}` is a project of its own; the project `{}` has {}",
                self.config.project_file().display(),
                project.display(),
                root.display(),
                size::count(count, "conversation", "conversations")
            );
            let hint = format!(
                "to see them, run `rejoin list --project {}`; if separate projects are meant, run `rejoin trust`",
                quote::path(root)
            );
            if count > 0 {
                self.manner.warn(&told, Some(&hint));
            }
        } else if start != project {
            let count = count_of(archive, &text_of(start))?;
            let told = format!(
                "`{}` is part of the project `{}`, and was a project of its own with {}",
                start.display(),
                project.display(),
                size::count(count, "conversation", "conversations")
            );
            let hint = format!(
                "to make them part of the project, run `rejoin project move {} {}`",
                quote::path(start),
                quote::path(project)
            );
            if count > 0 {
                self.manner.warn(&told, Some(&hint));
            }
        }
        Ok(())
    }

    /// An answer that cannot be kept counts for this run.
    fn warn_if_forgotten(&self, outcome: Result<(), Failure>) {
        if let Err(failure) = outcome {
            self.manner
                .warn(&format!("the answer was not saved: {}", failure.summary()), failure.next_step());
        }
    }

    /// Asks the person at the terminal; none where there is nobody, or no answer.
    fn ask_whether_same(
        &self,
        archive: &Archive,
        known: &Project,
    ) -> Result<Option<SameProjectAnswer>, Failure> {
        let terminal = self.surroundings.terminal;
        if !terminal.stdin || !terminal.stderr || self.is_json() {
            return Ok(None);
        }
        let about = about_claim(self.config.project(), known, count_of(archive, &known.key)?);
        let question = ConsentText::line("Is this the same project, moved or checked out again?");
        let Paged::ToTheEnd { unseen } = consent::show_before(&about, &question)? else { return Ok(None) };
        let question = format!("{} [y/N] ", consent::about_unseen(&question, unseen).text());
        loop {
            let typed = ask::ask(&question, &mut ask::person(), &mut io::stderr())?;
            match typed.map(|typed| typed.to_ascii_lowercase()).as_deref() {
                None => return Ok(None),
                Some("y" | "yes") => return Ok(Some(SameProjectAnswer::Same)),
                Some("" | "n" | "no") => return Ok(Some(SameProjectAnswer::Separate)),
                Some(_) => eprintln!("Answer y or n."),
            }
        }
    }

    fn guess_move(&self, archive: &Archive, project: &Project) -> Result<(), Failure> {
        let known = archive.projects().list()?;
        let moved = known.iter().find(|old| {
            old.first_commit.is_some()
                && old.first_commit == project.first_commit
                && old.key != project.key
                && !Path::new(&old.path).exists()
        });
        if let Some(old) = moved {
            self.note(&format!(
                "This looks like the project that was at {}. If it moved: rejoin project move {} {}",
                old.path,
                quote::argument(&old.path),
                quote::argument(&project.path)
            ));
        }
        Ok(())
    }
}

/// What identifies the project in any directory, as far as that is known without asking.
pub(crate) fn key_at(archive: &Archive, directory: &Path) -> Result<String, Failure> {
    match claim_of(archive, directory)? {
        Claim::Settled(key) | Claim::New { key, .. } | Claim::Removed { key, .. } => Ok(key),
        Claim::Unanswered(_) | Claim::Unreadable(_) => key_without_id(archive, &text_of(directory)),
    }
}

/// A directory as a project, as far as that is known without asking.
pub(crate) fn project_at(archive: &Archive, directory: &Path) -> Result<Project, Failure> {
    let key = key_at(archive, directory)?;
    Ok(Project { key, path: text_of(directory), first_commit: first_commit(directory) })
}

/// A directory as the project of an id that it carries and nobody knows, and
/// what its conversations go by so far.
pub(crate) fn new_project_at(
    archive: &Archive,
    directory: &Path,
) -> Result<Option<(Project, String)>, Failure> {
    Ok(match claim_of(archive, directory)? {
        Claim::New { id, key } => {
            let path = text_of(directory);
            Some((Project { key: id, path, first_commit: first_commit(directory) }, key))
        }
        Claim::Settled(_) | Claim::Unanswered(_) | Claim::Removed { .. } | Claim::Unreadable(_) => None,
    })
}

/// The id that a directory carries, whether or not it counts there.
pub(crate) fn carried_id(directory: &Path) -> Option<String> {
    key_of(directory).ok().filter(|key| *key != text_of(directory))
}

/// Makes a directory part of the project whose id it carries. What was kept by its path goes along.
pub(crate) fn join(archive: &Archive, directory: &Path, known: &Project) -> Result<u64, Failure> {
    let path = text_of(directory);
    let mut project = known.clone();
    if !is_directory(&known.path) {
        project.path.clone_from(&path);
    }
    let moved = archive.projects().move_to(&path, &project)?;
    carry_active(archive, &path, &known.key)?;
    remember(archive, &known.key, &path, Some(SameProjectAnswer::Same))?;
    Ok(moved)
}

/// Remembers or forgets what the user said about a directory.
pub(crate) fn remember(
    archive: &Archive,
    id: &str,
    path: &str,
    answer: Option<SameProjectAnswer>,
) -> Result<(), Failure> {
    Ok(archive.state().remember(&name_of(id, path), answer.map(SameProjectAnswer::as_str))?)
}

/// The id, the path and the answer of every directory that the user was asked about.
pub(crate) fn answers(archive: &Archive) -> Result<Vec<(String, String, SameProjectAnswer)>, Failure> {
    let mut found = Vec::new();
    for (name, value) in archive.state().recall_all(ANSWER)? {
        let parts = name.strip_prefix(ANSWER).and_then(|rest| rest.split_once(':'));
        if let (Some((id, path)), Some(answer)) = (parts, SameProjectAnswer::named(value.as_bytes())) {
            found.push((id.to_owned(), path.to_owned(), answer));
        }
    }
    Ok(found)
}

impl SameProjectAnswer {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Separate => "separate",
        }
    }

    fn named(word: &[u8]) -> Option<Self> {
        [Self::Same, Self::Separate].into_iter().find(|answer| answer.as_str().as_bytes() == word)
    }
}

/// What the user is told before the question whether a directory is a project that is known elsewhere.
fn about_claim(directory: &Path, known: &Project, conversations: u64) -> Vec<ConsentLine> {
    let (here, other) = (ConsentText::line(&text_of(directory)), ConsentText::line(&known.path));
    let count = size::count(conversations, "conversation", "conversations");
    let missing = if is_directory(&known.path) { "" } else { " Its directory does not exist any more." };
    let mut lines =
        vec![ConsentLine::own("This directory carries the id of another project:", Meaning::Plain)];
    lines.extend(ConsentLine::edged(&here, |_| Meaning::Plain));
    lines.push(ConsentLine::own("The other project is:", Meaning::Plain));
    lines.extend(ConsentLine::edged(&other, |_| Meaning::Plain));
    lines.extend(ConsentLine::report(&ConsentText::line(&format!("It has {count}.{missing}"))));
    lines.push(ConsentLine::own(
        "A clone or a download can carry a copied id. If it is the same project, its conversations are shown and \
         continued here.",
        Meaning::Plain,
    ));
    lines.push(ConsentLine::own("Tools that you have allowed there ask again here.", Meaning::Plain));
    lines.extend(ConsentLine::notes(&[&here, &other]));
    lines
}

fn claim_of(archive: &Archive, directory: &Path) -> Result<Claim, Failure> {
    let path = text_of(directory);
    let id = match key_of(directory) {
        Ok(key) if key == path => return claim_without_id(archive, path),
        Ok(id) => id,
        Err(failure) => return Ok(Claim::Unreadable(failure)),
    };
    let answer = archive.state().recall(&name_of(&id, &path))?;
    match answer.and_then(|word| SameProjectAnswer::named(word.as_bytes())) {
        Some(SameProjectAnswer::Same) => return Ok(Claim::Settled(id)),
        Some(SameProjectAnswer::Separate) => return key_without_id(archive, &path).map(Claim::Settled),
        None => {}
    }
    match archive.projects().get(&id)? {
        Some(known) if known.path == archive.projects().key_as_kept(&path) => Ok(Claim::Settled(id)),
        Some(known) => Ok(Claim::Unanswered(Project { key: id, ..known })),
        None => {
            // Conversations whose directory nobody remembers are not for the first who carries their id.
            if has_conversations(archive, &id)? {
                let unknown = Project { key: id.clone(), path: id, first_commit: None };
                return Ok(Claim::Unanswered(unknown));
            }
            Ok(match key_so_far(archive, &path)? {
                Some(key) => Claim::New { id, key },
                None => Claim::Settled(id),
            })
        }
    }
}

/// A directory without an id may have had one that a pull removed. It goes on with that, unless it
/// has conversations by its path already.
fn claim_without_id(archive: &Archive, path: String) -> Result<Claim, Failure> {
    let Some(id) = id_so_far(archive, &path)? else { return Ok(Claim::Settled(path)) };
    let key = if count_of(archive, &path)? > 0 { path } else { id.clone() };
    Ok(Claim::Removed { id, key })
}

/// What a directory goes by where the id that it carries does not count.
fn key_without_id(archive: &Archive, path: &str) -> Result<String, Failure> {
    Ok(match claim_without_id(archive, path.to_owned())? {
        Claim::Settled(key) | Claim::Removed { key, .. } | Claim::New { key, .. } => key,
        Claim::Unanswered(_) | Claim::Unreadable(_) => path.to_owned(),
    })
}

/// What the conversations of a directory go by, if it has any: an id that counted there, or its path.
fn key_so_far(archive: &Archive, path: &str) -> Result<Option<String>, Failure> {
    match id_so_far(archive, path)? {
        Some(id) => Ok(Some(id)),
        None => Ok(has_conversations(archive, path)?.then(|| path.to_owned())),
    }
}

/// An id that counted in a directory and has conversations.
fn id_so_far(archive: &Archive, path: &str) -> Result<Option<String>, Failure> {
    let kept = archive.projects().key_as_kept(path);
    let known =
        archive.projects().list()?.into_iter().filter(|known| known.path == kept && known.key != kept);
    let answers = answers(archive)?.into_iter().filter(|(_, own, _)| own == path);
    let (joined, separate): (Vec<_>, Vec<_>) =
        answers.partition(|(.., answer)| *answer == SameProjectAnswer::Same);
    let is_separate = |id: &String| separate.iter().any(|(other, ..)| other == id);
    let ids = known.map(|known| known.key).filter(|id| !is_separate(id));
    for id in ids.chain(joined.iter().map(|(id, ..)| id.clone())) {
        if has_conversations(archive, &id)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn has_conversations(archive: &Archive, key: &str) -> Result<bool, Failure> {
    Ok(count_of(archive, key)? > 0)
}

fn count_of(archive: &Archive, key: &str) -> Result<u64, Failure> {
    let list = List { project: Some(key.to_owned()), includes_expired: true, ..List::default() };
    Ok(archive.reader().count(&list)?)
}

/// Whether a project's directory is there. A path that nobody remembers is not absolute.
fn is_directory(path: &str) -> bool {
    Path::new(path).is_absolute() && Path::new(path).is_dir()
}

fn name_of(id: &str, path: &str) -> String {
    format!("{ANSWER}{id}:{path}")
}

fn text_of(directory: &Path) -> String {
    directory.to_string_lossy().into_owned()
}
