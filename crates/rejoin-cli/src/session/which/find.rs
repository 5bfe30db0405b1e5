//! Finds what somebody wants to resume: by id, by the number it had in the last list, or by words.

use rejoin::{Archive, ConversationId, ErrorKind, Named, StoredConversation};

use crate::context::Context;
use crate::error::Failure;
use crate::named as names;
use crate::session::Start;
use crate::session::choose::missing;
use crate::session::reach::{Reach, all};

/// From this length on a word that begins an id is one; shorter ones are looked for in titles first.
const LIKELY_AN_ID: usize = 4;

/// What a name led to.
#[derive(Debug)]
pub(crate) enum NameMatch {
    One(Start),
    Several(Vec<StoredConversation>),
}

/// What a name stands for: a number of the last list, an id, or words.
pub(crate) fn named(
    context: &Context,
    archive: &Archive,
    name: &str,
    reach: Reach,
) -> Result<NameMatch, Failure> {
    let name = name.trim();
    if let Ok(number) = name.parse::<usize>()
        && let Some(id) = ListNumbers::recall(context, archive)?.numbered(number)
    {
        // It may have been deleted since the list was shown.
        return match archive.conversation(id) {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(missing(&id.short().to_string())),
            outcome => outcome.map(one).map_err(Failure::from),
        };
    }
    let by_id = names::find(archive, name);
    if let Ok(named) = by_id
        && name.len() >= LIKELY_AN_ID
    {
        return Ok(NameMatch::One(start_at(named)));
    }
    if by_id.as_ref().is_err_and(|error| error.kind() == ErrorKind::Invalid) {
        let same = names::imported(archive, name);
        if same.len() > 1 {
            return Ok(NameMatch::Several(same));
        }
    }
    let mut found = matching(all(context, archive, reach)?, name);
    match (found.len(), by_id) {
        (1, _) => Ok(one(found.remove(0))),
        (0, Ok(named)) => Ok(NameMatch::One(start_at(named))),
        (0, Err(error)) if error.kind() == ErrorKind::Corrupt => Err(error.into()),
        (0, Err(error)) if error.kind() == ErrorKind::Invalid && !name.contains(char::is_whitespace) => {
            Err(names::explain(archive, name, error))
        }
        (0, Err(_)) => Err(elsewhere(context, archive, name)?),
        _ => Ok(NameMatch::Several(found)),
    }
}

/// Those whose title or summary holds every word; when there are none, those whose first or last words do.
///
/// A title that was imported may be anything, so it does not hide a conversation that began here.
pub(crate) fn matching(items: Vec<StoredConversation>, text: &str) -> Vec<StoredConversation> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let holds = |text: &str| {
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let (titled, rest): (Vec<_>, Vec<_>) = items.into_iter().partition(|stored| {
        let header = &stored.conversation;
        let synopsis = header.synopsis.as_ref();
        let title = header.title.as_deref().unwrap_or_default();
        let summary = synopsis.map(|synopsis| synopsis.text.as_str()).unwrap_or_default();
        let keywords = synopsis.map(|synopsis| synopsis.keywords.join(" ")).unwrap_or_default();
        holds(&format!("{title}\n{summary}\n{keywords}"))
    });
    if titled.iter().any(|stored| !stored.is_imported()) {
        return titled;
    }
    let is_alone = titled.is_empty();
    let said = rest.into_iter().filter(|stored| holds(&format!("{}\n{}", stored.first, stored.last)));
    titled.into_iter().chain(said.filter(|stored| is_alone || !stored.is_imported())).collect()
}

fn one(stored: StoredConversation) -> NameMatch {
    NameMatch::One(Start::Conversation(stored.id.to_string()))
}

fn start_at(named: Named) -> Start {
    match named {
        Named::Conversation(id) => Start::Conversation(id.to_string()),
        Named::Message(id, message) => Start::Message(format!("{id}/{message}")),
    }
}

/// The failure when nothing here matches; it says so when something elsewhere does.
fn elsewhere(context: &Context, archive: &Archive, name: &str) -> Result<Failure, Failure> {
    let failure = missing(name);
    let others = matching(all(context, archive, Reach::Everything)?, name);
    Ok(match others.first() {
        Some(other) => failure.and_line(&format!(
            "In another project there is \"{}\": rejoin resume {}",
            names::title(other),
            other.id.short()
        )),
        None => failure.and_line(&format!("Look for it in what was said: rejoin search '{name}'")),
    })
}

/// The conversations of the list that was shown last in a project, by number.
#[derive(Debug, Default)]
pub(crate) struct ListNumbers(Vec<ConversationId>);

impl ListNumbers {
    /// Remembers a list as it is shown, in the store, so that there are no side files.
    pub(crate) fn remember(
        context: &Context,
        archive: &Archive,
        items: &[StoredConversation],
    ) -> Result<(), Failure> {
        let ids: Vec<String> = items.iter().map(|stored| stored.id.to_string()).collect();
        Ok(archive.state().remember(&Self::name(context, archive)?, Some(&ids.join("\n")))?)
    }

    fn recall(context: &Context, archive: &Archive) -> Result<Self, Failure> {
        let text = archive.state().recall(&Self::name(context, archive)?)?.unwrap_or_default();
        Ok(Self(text.lines().filter_map(|id| id.parse().ok()).collect()))
    }

    fn numbered(&self, number: usize) -> Option<ConversationId> {
        self.0.get(number.checked_sub(1)?).copied()
    }

    fn name(context: &Context, archive: &Archive) -> Result<String, Failure> {
        Ok(format!("last-list:{}", context.project_key(archive)?))
    }
}
