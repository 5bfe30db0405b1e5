//! A conversation laid out for reading: stretches without a fork, and where branches leave.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::formats::{SourceConversation, SourceMessage, Tree};
use crate::model::{Block, Media, Message, Role, Time, begins_injected, preview};
use crate::ops::view::Compaction;

/// A conversation laid out for reading. Messages are named by their place in it.
pub(super) struct Story<'a> {
    pub(super) conversation: &'a SourceConversation,
    pub(super) messages: Vec<&'a SourceMessage>,
    roots: Vec<usize>,
    children: Vec<Vec<usize>>,
    /// The messages on the path to the head.
    current: HashSet<usize>,
    /// The names of branches, by the first message that is on no other branch.
    names: HashMap<usize, &'a str>,
    pinned: HashSet<usize>,
}

/// Messages that follow each other, up to where branches leave or to the end.
pub(super) struct Stretch<'s> {
    pub(super) messages: Vec<usize>,
    /// What may come next; more than one, or nothing.
    pub(super) next: &'s [usize],
}

/// Which results answer which calls, by place of message and block.
#[derive(Default)]
pub(super) struct CallAnswers {
    results: HashMap<(usize, usize), (usize, usize)>,
    given: HashSet<(usize, usize)>,
}

impl<'a> Story<'a> {
    pub(super) fn of(tree: &'a Tree, conversation: &'a SourceConversation) -> Self {
        let messages: Vec<&SourceMessage> = tree.messages_of(&conversation.id).collect();
        let mut places = HashMap::new();
        let mut parents = Vec::with_capacity(messages.len());
        let (mut roots, mut children) = (Vec::new(), vec![Vec::new(); messages.len()]);
        for (place, message) in messages.iter().enumerate() {
            // Only what came before can be a parent, so nothing goes in circles.
            let parent: Option<usize> =
                message.parent.as_deref().and_then(|parent| places.get(parent).copied());
            match parent {
                Some(parent) => children[parent].push(place),
                None => roots.push(place),
            }
            parents.push(parent);
            places.entry(message.id.as_str()).or_insert(place);
        }
        let path = |from: usize| std::iter::successors(Some(from), |place| parents[*place]);
        let head = conversation.head.as_deref().and_then(|head| places.get(head).copied());
        let current = head.or(messages.len().checked_sub(1)).map(path).into_iter().flatten().collect();
        let is_own = |of: &str| of == conversation.id;
        let mut names = HashMap::new();
        for branch in tree.branches.iter().filter(|branch| is_own(&branch.conversation)) {
            let leaves = |place: &usize| match parents[*place] {
                Some(parent) => children[parent].len() > 1,
                None => roots.len() > 1,
            };
            let head = places.get(branch.head.as_str()).copied();
            if let Some(first) = head.and_then(|head| path(head).find(leaves)) {
                names.entry(first).or_insert(branch.title.as_str());
            }
        }
        let pinned = tree.pins.iter().filter(|pin| is_own(&pin.conversation));
        let pinned = pinned.filter_map(|pin| places.get(pin.message.as_str()).copied()).collect();
        Self { conversation, messages, roots, children, current, names, pinned }
    }

    /// Its title, or what stands for it: the beginning of what was said first.
    pub(super) fn title(&self) -> String {
        let title = self.conversation.header.title.as_deref();
        let title = title.filter(|title| !title.trim().is_empty() && !begins_injected(title));
        let mut said = self.messages.iter().filter(|found| found.message.role == Role::User);
        let first =
            || said.find_map(|found| Some(preview(&found.message.said())).filter(|text| !text.is_empty()));
        title.map(str::to_owned).or_else(first).unwrap_or_else(|| "Untitled conversation".to_owned())
    }

    /// When something was last said.
    pub(super) fn last_time(&self) -> Option<Time> {
        self.messages.iter().filter_map(|found| found.message.created_at).max()
    }

    /// The first messages; more than one if the very first was said in several ways.
    pub(super) fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// The messages from one on, up to where branches leave.
    pub(super) fn stretch(&self, first: usize) -> Stretch<'_> {
        let mut messages = vec![first];
        let mut last = first;
        while let &[only] = self.children[last].as_slice() {
            messages.push(only);
            last = only;
        }
        Stretch { messages, next: &self.children[last] }
    }

    /// The one of these that leads to the head, or else the newest.
    pub(super) fn main_of(&self, next: &[usize]) -> Option<usize> {
        next.iter().copied().find(|place| self.is_current(*place)).or(next.last().copied())
    }

    /// True on the path to the head.
    pub(super) fn is_current(&self, place: usize) -> bool {
        self.current.contains(&place)
    }

    pub(super) fn is_pinned(&self, place: usize) -> bool {
        self.pinned.contains(&place)
    }

    /// What the branch that begins with this message is called: its name, its
    /// label, or what is said there first.
    pub(super) fn branch_name(&self, place: usize) -> String {
        let found = self.messages[place];
        let label = found.message.label.as_deref();
        if let Some(name) = self.names.get(&place).copied().or(label).filter(|name| !name.trim().is_empty()) {
            return preview(name);
        }
        let said = preview(&found.message.folded_text());
        if said.is_empty() { role_name(found.message.role).to_owned() } else { said }
    }

    /// Finds the result of each call in a stretch. A result whose call is not there stays by itself.
    pub(super) fn answers(&self, stretch: &[usize]) -> CallAnswers {
        let mut answers = CallAnswers::default();
        let mut open: HashMap<&str, VecDeque<(usize, usize)>> = HashMap::new();
        for place in stretch {
            for (number, block) in self.messages[*place].message.blocks.iter().enumerate() {
                let here = (*place, number);
                match block {
                    Block::ToolCall(call) => open.entry(&call.id).or_default().push_back(here),
                    Block::ToolResult(result) => {
                        if let Some(call) =
                            open.get_mut(result.call_id.as_str()).and_then(VecDeque::pop_front)
                        {
                            answers.results.insert(call, here);
                            answers.given.insert(here);
                        }
                    }
                    _ => {}
                }
            }
        }
        answers
    }
}

impl CallAnswers {
    /// Where the result of a call is.
    pub(super) fn result_of(&self, message: usize, block: usize) -> Option<(usize, usize)> {
        self.results.get(&(message, block)).copied()
    }

    /// True of a result that is shown with its call.
    pub(super) fn is_given(&self, message: usize, block: usize) -> bool {
        self.given.contains(&(message, block))
    }
}

/// A role as a heading.
const fn role_name(role: Role) -> &'static str {
    match role {
        Role::System => "System",
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
    }
}

/// What a message is, as a heading.
pub(super) fn heading_of(message: &Message) -> &'static str {
    let is_summary = message.blocks.iter().any(|block| matches!(block, Block::Summary(_)));
    if is_summary { "Compaction" } else { role_name(message.role) }
}

/// What a compaction saved: `160,412 → 20,733 tokens`.
pub(super) fn tokens(compaction: &Compaction) -> String {
    format!("{} → {} tokens", number(compaction.tokens_before), number(compaction.tokens_after))
}

/// A number with a comma between thousands.
fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A time as people read it, the same everywhere.
pub(super) fn minute(time: Time) -> String {
    let text = time.to_string();
    format!("{} UTC", text.get(..16).unwrap_or(&text).replace('T', " "))
}

/// What a file is: its name, if it has one, its type and its size.
pub(super) fn describe(media: &Media) -> String {
    let named =
        ["name", "filename", "title"].iter().find_map(|field| media.extra.field(field)?.to::<String>().ok());
    let mut words = vec![media.kind.as_str().to_owned()];
    words.extend(named);
    words.push(media.mime_type.clone());
    words.extend(media.data.as_ref().map(|data| size(data.len() as u64 / 4 * 3)));
    words.retain(|word| !word.is_empty());
    words.join(" · ")
}

/// Bytes, roughly.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes.div_ceil(1_000)),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// A number of things: `1 line`, `2 lines`.
pub(super) fn count(number: usize, one: &str, more: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {more}", self::number(number as u64)) }
}
