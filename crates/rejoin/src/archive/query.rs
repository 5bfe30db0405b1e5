//! Listing, searching and counting.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::archive::{Archive, ArchiveReader, decode};
use crate::error::Result;
use crate::model::{
    Block, ConversationId, Message, MessageId, Role, Status, StoredConversation, Time, WordQuery, each_word,
    fold,
};
use crate::store::{Capabilities, Cursor, Hit, ListQuery, Order, SearchOrder, SearchQuery, Selection};

/// How many characters of a message a search shows around its first match.
const SNIPPET: usize = 160;

/// Which conversations to list.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// Only this project.
    pub project: Option<String>,
    /// Only this status.
    pub status: Option<Status>,
    /// Count an active conversation as paused when its last activity is at or before this time.
    pub idle_since: Option<Time>,
    /// Only this kind.
    pub kind: Option<String>,
    /// Every kind but this one.
    pub except_kind: Option<String>,
    /// Only those imported from this format, by its name; the empty name means those that began here. No
    /// index answers this, so each conversation's header is read.
    pub source: Option<String>,
    /// Also those past their own expiry.
    pub includes_expired: bool,
    /// Continue where a page ended.
    pub cursor: Option<String>,
    /// How many at most; 0 means 20.
    pub limit: usize,
}

impl List {
    /// The query for the store, with the project's key as it is kept.
    fn query<'q>(&'q self, project: Option<&'q str>, now: Time, limit: usize) -> Result<ListQuery<'q>> {
        Ok(ListQuery {
            project,
            status: self.status,
            idle_since: self.idle_since,
            kind: self.kind.as_deref(),
            except_kind: self.except_kind.as_deref(),
            only: None,
            unexpired_at: (!self.includes_expired).then_some(now),
            after: self.cursor.as_deref().map(Cursor::from_text).transpose()?,
            limit,
            counts_total: false,
        })
    }
}

/// A page of conversations, newest activity first, or of what a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed<T> {
    /// The conversations or hits.
    pub items: Vec<T>,
    /// Where the next page begins; none on the last.
    pub next_cursor: Option<String>,
    /// What cannot be read of them, and what is missing from them for that reason, in words.
    pub left_out: Vec<String>,
}

/// What to search for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The words; the last may be the beginning of one.
    pub text: String,
    /// Only this conversation.
    pub conversation: Option<ConversationId>,
    /// Only this project.
    pub project: Option<String>,
    /// Only conversations imported from this format, as in [`List`]. The conversation of each message that
    /// is found is looked at.
    pub source: Option<String>,
    /// Only this role.
    pub role: Option<Role>,
    /// Only messages of this time or later.
    pub since: Option<Time>,
    /// Newest or best first.
    pub order: SearchOrder,
    /// Continue where a page ended.
    pub cursor: Option<String>,
    /// How many at most; 0 means 20.
    pub limit: usize,
}

/// A message that was found. What it says is read when it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchHit {
    /// Its conversation.
    pub conversation: ConversationId,
    /// Its id.
    pub message: MessageId,
    /// When it was said.
    pub created_at: Time,
    body: String,
    words: Arc<WordQuery>,
}

/// A piece of a message around what was found in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The piece, on one line.
    pub text: String,
    /// Where the matching words stand in it, in bytes.
    pub matches: Vec<(usize, usize)>,
}

impl SearchHit {
    /// The message itself. Its attachments are referred to; [`Archive::messages`] has their bytes.
    pub fn read(&self) -> Result<Message> {
        Message::from_body(&self.body)
    }

    /// The text around the first match.
    pub fn snippet(&self) -> Result<Snippet> {
        Ok(snippet(&self.read()?, &self.words))
    }
}

/// What a store holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Everything.
    pub all: Tally,
    /// By project key; the empty key is no project.
    pub by_project: BTreeMap<String, Tally>,
    /// By provider and model.
    pub by_model: BTreeMap<String, Tally>,
    /// By day of the messages, `YYYY-MM-DD` in UTC.
    pub by_day: BTreeMap<String, Tally>,
}

/// Some sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Conversations; on a day, those with a message that day.
    pub conversations: u64,
    /// Messages.
    pub messages: u64,
    /// Bytes of messages.
    pub bytes: u64,
    /// Tokens read by models.
    pub input_tokens: u64,
    /// Tokens written by models.
    pub output_tokens: u64,
}

impl Archive {
    /// Lists conversations, newest activity first. Those dated more than a day ahead of the clock come last.
    pub fn list(&self, list: &List) -> Result<Listed<StoredConversation>> {
        let project = list.project.as_deref().map(|project| self.projects().key_as_kept(project));
        let now = self.now();
        let query = list.query(project.as_deref(), now, or_twenty(list.limit))?;
        if let Some(source) = &list.source {
            return self.list_of_source(source, query, now);
        }
        let page = self.page(&query, now)?;
        self.note_left_out(&page.damaged);
        Ok(Listed {
            items: page.items.into_iter().map(decode).collect::<Result<_>>()?,
            next_cursor: page.next.as_ref().map(Cursor::to_text),
            left_out: page.damaged,
        })
    }

    /// Searches messages. Everything that was acknowledged before the call is
    /// found, also from another process.
    pub fn search(&self, search: &Search) -> Result<Listed<SearchHit>> {
        let words = Arc::new(WordQuery::parse(&search.text));
        let project = search.project.as_deref().map(|project| self.projects().key_as_kept(project));
        let query = SearchQuery {
            words: &words,
            conversation: search.conversation,
            project: project.as_deref(),
            role: search.role,
            since: search.since,
            order: search.order,
            after: search.cursor.as_deref().map(Cursor::from_text).transpose()?,
            limit: or_twenty(search.limit),
        };
        let page = match &search.source {
            Some(source) => self.search_of_source(source, &query)?,
            None => self.store().search(&query)?,
        };
        let hit = |hit: Hit| SearchHit {
            conversation: hit.conversation,
            message: hit.message,
            created_at: hit.time,
            body: hit.body,
            words: Arc::clone(&words),
        };
        Ok(Listed {
            items: page.items.into_iter().map(hit).collect(),
            next_cursor: page.next.as_ref().map(Cursor::to_text),
            left_out: page.damaged,
        })
    }

    fn add_conversation(&self, stats: &mut Stats, stored: &StoredConversation) -> Result<()> {
        let mut own = Tally { conversations: 1, ..Tally::default() };
        let mut days: BTreeMap<String, Tally> = BTreeMap::new();
        let everything = Selection::All { order: Order::OldestFirst, offset: 0, limit: u64::MAX };
        self.reader().visit(stored.id, everything, &mut |seen| {
            let message = Message::from_body(seen.body)?;
            let usage = message.usage.unwrap_or_default();
            let one = Tally {
                conversations: 0,
                messages: 1,
                bytes: seen.body.len() as u64,
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
            };
            own.add(one);
            let day = message.created_at.unwrap_or(stored.created_at).to_string();
            let day = day.split('T').next().unwrap_or_default().to_owned();
            days.entry(day).or_insert(Tally { conversations: 1, ..Tally::default() }).add(one);
            Ok(())
        })?;
        own.bytes += self.attachments().bytes(stored.id)?;
        let settings = &stored.conversation.settings;
        let model = match (settings.provider.as_deref(), settings.model.as_deref()) {
            (Some(provider), Some(model)) => format!("{provider} ({model})"),
            (Some(one), None) | (None, Some(one)) => one.to_owned(),
            (None, None) => "unknown".to_owned(),
        };
        stats.all.add(own);
        stats.by_project.entry(stored.conversation.project.clone().unwrap_or_default()).or_default().add(own);
        stats.by_model.entry(model).or_default().add(own);
        for (day, tally) in days {
            stats.by_day.entry(day).or_default().add(tally);
        }
        Ok(())
    }
}

impl ArchiveReader<'_> {
    /// What the store can do.
    pub fn capabilities(&self) -> Capabilities {
        self.archive.store().capabilities()
    }

    /// Counts the conversations on all pages of a list.
    pub fn count(&self, list: &List) -> Result<u64> {
        Ok(self.count_excepted(list)?.0)
    }

    /// Counts the conversations on all pages of a list, and those of the kind that it leaves out.
    pub fn count_excepted(&self, list: &List) -> Result<(u64, u64)> {
        if list.source.is_some() {
            return self.count_of_source(list);
        }
        let project = list.project.as_deref().map(|project| self.archive.projects().key_as_kept(project));
        let query = list.query(project.as_deref(), self.archive.now(), 0)?;
        let query = ListQuery { after: None, counts_total: true, ..query };
        let page = self.archive.store().list(&query)?;
        Ok((page.total.unwrap_or_default(), page.excepted.unwrap_or_default()))
    }

    /// Calls `visit` with every conversation that `list` admits, newest activity first, page by page.
    pub fn each_conversation(
        &self,
        list: &List,
        visit: &mut dyn FnMut(StoredConversation) -> Result<()>,
    ) -> Result<()> {
        let mut list = List { limit: 500, ..list.clone() };
        loop {
            let page = self.archive.list(&list)?;
            page.items.into_iter().try_for_each(&mut *visit)?;
            match page.next_cursor {
                Some(cursor) => list.cursor = Some(cursor),
                None => return Ok(()),
            }
        }
    }

    /// Adds up what the store holds, of one project or of all; `report` is told
    /// how many conversations are done.
    pub fn stats(&self, project: Option<&str>, report: &mut dyn FnMut(u64)) -> Result<Stats> {
        let mut stats = Stats::default();
        let list = List { project: project.map(str::to_owned), includes_expired: true, ..List::default() };
        let mut done = 0;
        self.each_conversation(&list, &mut |stored| {
            self.archive.add_conversation(&mut stats, &stored)?;
            done += 1;
            report(done);
            Ok(())
        })?;
        Ok(stats)
    }
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.conversations += other.conversations;
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
    }
}

const fn or_twenty(limit: usize) -> usize {
    if limit == 0 { 20 } else { limit }
}

/// The block that holds the most of what was looked for, cut around its first match.
fn snippet(message: &Message, words: &WordQuery) -> Snippet {
    let texts = message.blocks.iter().flat_map(|block| match block {
        Block::Text(text) => {
            message.pieces(&text.text).into_iter().map(|(name, piece)| (name, Cow::from(piece))).collect()
        }
        block => block.words().map(|words| (None, words)).into_iter().collect::<Vec<_>>(),
    });
    let texts: Vec<(Option<&str>, Cow<'_, str>)> = texts.collect();
    let count = |text: &str| {
        let mut count = 0;
        each_word(text, |word| count += usize::from(words.wants(word)));
        count
    };
    // What a program added is shown only where nothing that was said has the words, and folded there.
    let rank = |(name, text): &&(Option<&str>, Cow<'_, str>)| match (name, count(text)) {
        (_, 0) => (0, 0),
        (Some(_), count) => (1, count),
        (None, count) => (2, count),
    };
    let Some((name, text)) = texts.iter().max_by_key(rank) else { return Default::default() };
    if let Some(name) = name {
        return Snippet { text: fold(name, text), matches: Vec::new() };
    }
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = matches(&line, words);
    let start = found.first().map_or(0, |(start, _)| floor(&line, start.saturating_sub(SNIPPET / 4)));
    let end = floor(&line, start + SNIPPET);
    let mut text = String::new();
    if start > 0 {
        text.push_str("...");
    }
    let shift = text.len();
    text.push_str(&line[start..end]);
    if end < line.len() {
        text.push_str("...");
    }
    let inside = found.into_iter().filter(|(from, to)| *from >= start && *to <= end);
    let matches = inside.map(|(from, to)| (from - start + shift, to - start + shift)).collect();
    Snippet { text, matches }
}

/// The nearest character boundary at or below a byte position.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// Where the wanted words stand, as runs of letters and digits.
fn matches(line: &str, words: &WordQuery) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    let ends = line.char_indices().chain([(line.len(), ' ')]);
    for (at, letter) in ends {
        match (letter.is_alphanumeric(), start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                let mut wanted = false;
                each_word(&line[from..at], |word| wanted |= words.wants(word));
                if wanted {
                    found.push((from, at));
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}
