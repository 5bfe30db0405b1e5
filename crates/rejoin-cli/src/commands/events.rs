//! `rejoin events`: what happened to conversations, and what happens while one looks.

use std::collections::VecDeque;
use std::io::Write;
use std::thread;
use std::time::Duration;

use rejoin::{Archive, ConversationId, Event, EventKind, Events, Strain, Time};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::retention::sweep_meanwhile;
use crate::ui::paint::Meaning;
use crate::ui::when::WallClock;
use crate::ui::{clean, fit, json, size};

/// How many of the past are shown unless told otherwise: about a screen.
const NEWEST: u64 = 20;

/// How long one look at the store lasts; the store itself wakes up earlier.
const LOOK: Duration = Duration::from_secs(60);

/// How often a store that does not exist yet is looked for.
const UNTIL_THERE: Duration = Duration::from_millis(200);

/// Columns of the longest usual name, so that ids stand below each other.
const NAME: usize = "conversationChanged".len();

/// Show changes to conversations, from any process
///
/// Without options, shows the newest 20. Each line ends with a number; `--after` continues after it.
/// Events are delivered at least once.
///
/// Some events concern the whole store: a vault record that cannot be decrypted (`record.quarantined`),
/// slow writes (`storage.write.slow`) and low disk space (`storage.capacity.low`,
/// `storage.capacity.exhausted`).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin events
  rejoin events --follow --json          One line per event
  rejoin events --after 120 --limit 50")]
pub(crate) struct Args {
    /// Wait for new events until interrupted
    #[arg(short, long)]
    follow: bool,

    /// Start after this event number; 0 is the beginning
    #[arg(long, value_name = "STAMP")]
    after: Option<u64>,

    /// Maximum number to show
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    if args.follow {
        return follow(&args, context);
    }
    let archive = context.archive_to_read()?;
    let mut answer = context.answer();
    let limit = args.limit.unwrap_or(if args.after.is_some() { u64::MAX } else { NEWEST });
    let mut teller = EventTeller::new(&mut answer, limit, context);
    match args.after {
        Some(stamp) => {
            let mut events = archive.events_after(stamp);
            while teller.tell_all(events.next(Duration::ZERO)?)? == EventNext::More {}
        }
        None => {
            teller.tell_all(newest(&archive, limit)?.into())?;
        }
    }
    let told = teller.told;
    answer.flush()?;
    if told == 0 {
        context.note("Nothing has happened.");
    }
    Ok(())
}

fn follow(args: &Args, context: &Context) -> Result<(), Failure> {
    let (archive, mut events) = subscribe(args.after, context)?;
    let _broom = sweep_meanwhile(context, &archive);
    let mut answer = context.answer();
    let mut teller = EventTeller::new(&mut answer, args.limit.unwrap_or(u64::MAX), context);
    loop {
        let page = events.next(LOOK)?;
        if !page.is_empty() && teller.tell_all(page)? == EventNext::Enough {
            return Ok(());
        }
    }
}

/// Follows the store. One that does not exist is waited for, so that its first event is told as well.
fn subscribe(after: Option<u64>, context: &Context) -> Result<(Archive, Events), Failure> {
    let url = context.store_url()?;
    let is_missing = || url.path().is_some_and(|path| !path.exists());
    let begins_empty = is_missing();
    while is_missing() {
        thread::sleep(UNTIL_THERE);
    }
    let archive = context.archive_to_read()?;
    let events = match after {
        Some(stamp) => archive.events_after(stamp),
        None if begins_empty => archive.events_after(0),
        None => archive.subscribe()?,
    };
    Ok((archive, events))
}

/// The last events there are, in order.
fn newest(archive: &Archive, limit: u64) -> Result<VecDeque<Event>, Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut newest = VecDeque::new();
    let mut events = archive.events_after(0);
    loop {
        let page = events.next(Duration::ZERO)?;
        if page.is_empty() {
            return Ok(newest);
        }
        newest.extend(page);
        let surplus = newest.len().saturating_sub(limit);
        newest.drain(..surplus);
    }
}

/// Writes events until there were enough.
struct EventTeller<'a, Output: Write> {
    output: &'a mut Output,
    limit: u64,
    told: u64,
    clock: WallClock,
    context: &'a Context,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EventNext {
    More,
    Enough,
}

impl<'a, Output: Write> EventTeller<'a, Output> {
    fn new(output: &'a mut Output, limit: u64, context: &'a Context) -> Self {
        Self { output, limit, told: 0, clock: context.clock(), context }
    }

    /// Each line is flushed: whoever follows waits for it.
    fn tell_all(&mut self, events: Vec<Event>) -> Result<EventNext, Failure> {
        if events.is_empty() {
            return Ok(EventNext::Enough);
        }
        for event in &events {
            if self.told == self.limit {
                return Ok(EventNext::Enough);
            }
            let line =
                if self.context.is_json() { json::line(&EventShape::from(event)) } else { self.line(event) };
            writeln!(self.output, "{line}")?;
            self.output.flush()?;
            self.told += 1;
        }
        Ok(if self.told < self.limit { EventNext::More } else { EventNext::Enough })
    }

    fn line(&self, event: &Event) -> String {
        let paint = self.context.paint();
        let meaning = match (&event.kind, event.kind.reason()) {
            (EventKind::Strained(_), _) | (_, Some(_)) => Meaning::Warning,
            (_, None) => Meaning::Plain,
        };
        let mut parts = vec![
            paint.apply(Meaning::Dim, &self.clock.minute(event.at.as_micros())),
            paint.apply(meaning, &fit::pad_right(event.kind.name(), NAME)),
        ];
        parts.extend(event.conversation.map(|id| paint.apply(Meaning::Id, id.short().as_str())));
        match &event.kind {
            EventKind::Stored { messages } => parts.push(size::count(*messages, "message", "messages")),
            EventKind::PurgeCompleted { conversations, messages, failures, is_erased, .. } => {
                // What is damaged goes without its conversation.
                let whole = size::count(*conversations, "conversation", "conversations");
                let some = size::count(*messages, "message", "messages");
                parts.push(if *conversations == 0 && *messages > 0 { some } else { whole });
                parts.extend((*failures > 0).then(|| format!("{} failed", size::number(*failures))));
                parts.extend((!is_erased).then(|| "traces are erased later".to_owned()));
            }
            EventKind::Quarantined { what, .. } => parts.push(clean::line(what)),
            EventKind::Strained(strain) => parts.push(strain.to_string()),
            _ => {}
        }
        parts.extend(event.kind.reason().map(clean::line));
        parts.push(paint.apply(Meaning::Dim, &format!("#{}", event.stamp)));
        parts.join("  ")
    }
}

/// An event as programs read it.
#[derive(Serialize)]
struct EventShape<'a> {
    stamp: u64,
    event: &'static str,
    at: Time,
    conversation: Option<ConversationId>,
    #[serde(flatten)]
    facts: Option<Facts<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// What is told of some kinds of events only.
#[derive(Serialize)]
#[serde(untagged)]
enum Facts<'a> {
    Stored { messages: u64 },
    Purged { conversations: u64, messages: u64, bytes: u64, failures: u64, erased: bool },
    Quarantined { what: &'a str },
    Slow { milliseconds: u128 },
    Low { free: u64 },
}

impl<'a> From<&'a Event> for EventShape<'a> {
    fn from(event: &'a Event) -> Self {
        Self {
            stamp: event.stamp,
            event: event.kind.name(),
            at: event.at,
            conversation: event.conversation,
            facts: Facts::of(&event.kind),
            reason: event.kind.reason(),
        }
    }
}

impl<'a> Facts<'a> {
    fn of(kind: &'a EventKind) -> Option<Self> {
        match *kind {
            EventKind::Stored { messages } => Some(Self::Stored { messages }),
            EventKind::PurgeCompleted { conversations, messages, bytes, failures, is_erased, .. } => {
                Some(Self::Purged { conversations, messages, bytes, failures, erased: is_erased })
            }
            EventKind::Quarantined { ref what, .. } => Some(Self::Quarantined { what }),
            EventKind::Strained(Strain::Slow { took }) => Some(Self::Slow { milliseconds: took.as_millis() }),
            EventKind::Strained(Strain::Low { free }) => Some(Self::Low { free }),
            _ => None,
        }
    }
}
