//! `rejoin stats`: how much there is, by project, by model and by day.

use std::collections::BTreeMap;
use std::io::Write;

use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use rejoin::{Archive, List, Stats, Tally};
use rejoin_agent::SummaryRequests;
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::ui::progress::Unit;
use crate::ui::size;
use crate::ui::table::{Column, Table};
use crate::ui::{fit, paint::Meaning};

/// How far back the days go.
const DAYS: i32 = 30;

/// The widest bar: more would not show more.
const WIDEST_BAR: usize = 40;

/// Show sizes, counts and tokens by project, model and day
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin stats
  rejoin stats --all-projects
  rejoin stats --all-projects --json | jq .all.messages")]
pub(crate) struct Args {
    /// Include all projects
    #[arg(long)]
    all_projects: bool,
}

/// How much there is, as programs read it.
#[derive(Serialize)]
struct StatsAnswer<'a> {
    all: Sums,
    summaries: Summaries,
    by_project: Vec<StatsRow<'a>>,
    by_model: Vec<StatsRow<'a>>,
    by_day: Vec<StatsRow<'a>>,
}

#[derive(Serialize)]
struct StatsRow<'a> {
    #[serde(flatten)]
    sums: Sums,
    #[serde(flatten)]
    of: Of<'a>,
}

/// What the sums of a row are of.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Of<'a> {
    Project(&'a str),
    Model(&'a str),
    Day(&'a str),
}

#[derive(Serialize)]
struct Sums {
    conversations: u64,
    messages: u64,
    bytes: u64,
    input_tokens: u64,
    output_tokens: u64,
}

/// Requests for titles and synopses. Their tokens are not among those of the conversations.
#[derive(Clone, Copy, Default, Serialize)]
struct Summaries {
    requests: u64,
    input_tokens: u64,
    output_tokens: u64,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let archive = context.archive_to_read()?.passing_over_damage();
    let project = if args.all_projects { None } else { Some(context.project_key(&archive)?) };
    let progress = context.progress("Counting conversations", Unit::Items, None);
    let mut counted = 0;
    let stats = archive.reader().stats(project.as_deref(), &mut |done| {
        progress.advance(done - counted);
        counted = done;
    })?;
    drop(progress);
    let summaries = Summaries::of(&archive, project.as_deref())?;
    context.warn_of_missing(&archive.reader().passed_over(), "rejoin verify")?;
    if context.is_json() {
        return context.answer_json(&StatsAnswer::of(&stats, summaries));
    }
    if stats.all.conversations == 0 {
        return tell_that_nothing_is_there(&args, context);
    }
    let today = Timestamp::from_microsecond(context.clock().now()).map(today).unwrap_or_default();
    context.show(|answer| {
        for line in fit::wrap(&in_words(&stats.all), context.columns().unwrap_or(usize::MAX)) {
            writeln!(answer, "{line}")?;
        }
        if let Some(told) = summaries.in_words() {
            writeln!(answer, "{told}")?;
        }
        if args.all_projects {
            write!(answer, "\n{}", tallies("project", &stats.by_project, context))?;
        }
        write!(answer, "\n{}", tallies("provider (model)", &stats.by_model, context))?;
        write!(answer, "{}", days(&stats.by_day, today, context))?;
        Ok(())
    })
}

fn tell_that_nothing_is_there(args: &Args, context: &Context) -> Result<(), Failure> {
    let (place, hint) = if args.all_projects {
        ("", "Start with: rejoin new")
    } else {
        (" in this project", "To count all of them: rejoin stats --all-projects")
    };
    let mut answer = context.answer();
    writeln!(answer, "No conversations{place} yet.")?;
    answer.flush()?;
    context.note(hint);
    Ok(())
}

/// Days are counted in UTC, as they are stored, so that two machines agree.
fn today(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}

fn in_words(tally: &Tally) -> String {
    let mut words = vec![
        size::count(tally.conversations, "conversation", "conversations"),
        size::count(tally.messages, "message", "messages"),
        size::bytes(tally.bytes),
    ];
    if tally.input_tokens + tally.output_tokens > 0 {
        words.push(format!("{} tokens in", size::number(tally.input_tokens)));
        words.push(format!("{} out", size::number(tally.output_tokens)));
    }
    words.join(", ")
}

/// One row for each name, the one with the most messages first.
fn tallies(label: &'static str, by: &BTreeMap<String, Tally>, context: &Context) -> String {
    let mut table = Table::new([
        Column::text(label).meaning(Meaning::Title).shrinks_to(16),
        Column::number("conversations"),
        Column::number("messages"),
        Column::number("size"),
        Column::number("tokens in"),
        Column::number("out"),
    ]);
    let mut rows: Vec<(&String, &Tally)> = by.iter().collect();
    rows.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.messages));
    for (name, tally) in rows {
        table.push([
            if name.is_empty() { "(no project)".to_owned() } else { name.clone() },
            size::number(tally.conversations),
            size::number(tally.messages),
            size::bytes(tally.bytes),
            size::number(tally.input_tokens),
            size::number(tally.output_tokens),
        ]);
    }
    table.draw(context.columns(), context.paint())
}

/// A bar for each of the last days, from the first one on which anything was said.
fn days(by: &BTreeMap<String, Tally>, today: Date, context: &Context) -> String {
    let recent: Vec<(String, u64)> = (0..DAYS)
        .rev()
        .filter_map(|back| today.checked_sub(back.days()).ok())
        .map(|day| day.to_string())
        .map(|day| (day.clone(), by.get(&day).map_or(0, |tally| tally.messages)))
        .skip_while(|(_, messages)| *messages == 0)
        .collect();
    let Some(most) = recent.iter().map(|(_, messages)| *messages).max() else { return String::new() };
    let count = size::number(most).len();
    let room = context.columns().unwrap_or(80).saturating_sub("2024-01-15".len() + 2 + count + 2);
    let widest = room.clamp(1, WIDEST_BAR) as u64;
    let paint = context.paint();
    let mut drawn =
        format!("\n{}\n", paint.apply(Meaning::Dim, &fit::truncate("messages a day, in UTC", room.max(22))));
    for (day, messages) in recent {
        // Any message at all is seen.
        let length = (messages * widest).div_ceil(most) as usize;
        let bar = paint.apply(Meaning::Success, &"#".repeat(length));
        let number = fit::pad_left(&size::number(messages), count);
        drawn += format!("{day}  {number}  {bar}").trim_end();
        drawn.push('\n');
    }
    drawn
}

impl<'a> StatsAnswer<'a> {
    fn of(stats: &'a Stats, summaries: Summaries) -> Self {
        Self {
            all: Sums::from(&stats.all),
            summaries,
            by_project: rows(&stats.by_project, Of::Project),
            by_model: rows(&stats.by_model, Of::Model),
            by_day: rows(&stats.by_day, Of::Day),
        }
    }
}

impl Summaries {
    fn of(archive: &Archive, project: Option<&str>) -> rejoin::Result<Self> {
        let mut sum = Self::default();
        let list = List { project: project.map(str::to_owned), includes_expired: true, ..List::default() };
        archive.reader().each_conversation(&list, &mut |stored| {
            let counted = SummaryRequests::of(&stored.conversation);
            sum.requests += counted.requests;
            sum.input_tokens += counted.input_tokens;
            sum.output_tokens += counted.output_tokens;
            Ok(())
        })?;
        Ok(sum)
    }

    /// None when no model was ever asked.
    fn in_words(self) -> Option<String> {
        let requests = size::count(self.requests, "request", "requests");
        let (input, output) = (size::number(self.input_tokens), size::number(self.output_tokens));
        (self.requests > 0)
            .then(|| format!("{requests} for titles and synopses, {input} tokens in, {output} out"))
    }
}

fn rows<'a>(by: &'a BTreeMap<String, Tally>, of: fn(&'a str) -> Of<'a>) -> Vec<StatsRow<'a>> {
    by.iter().map(|(key, tally)| StatsRow { sums: Sums::from(tally), of: of(key) }).collect()
}

impl From<&Tally> for Sums {
    fn from(tally: &Tally) -> Self {
        Self {
            conversations: tally.conversations,
            messages: tally.messages,
            bytes: tally.bytes,
            input_tokens: tally.input_tokens,
            output_tokens: tally.output_tokens,
        }
    }
}
