//! `rejoin keep`: how long a conversation stays, and whether it may leave the store.

use clap::ValueEnum;
use rejoin::{Conversation, Hold, StoredConversation, Time};
use serde::Serialize;

use crate::context::Context;
use crate::error::Failure;
use crate::named;
use crate::shapes::Itself;
use crate::ui::period;
use crate::ui::when::WallClock;

/// Hold a conversation so that it does not expire
///
/// `rejoin expire` and `rejoin clean` skip held conversations; `rejoin delete ID` does not. Imported
/// conversations are held until you release them. Conversations that scripts append to never expire
/// unless you release them. A released conversation follows its project's retention policy.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  rejoin keep 7Kd93x
  rejoin keep 7Kd93x --release
  rejoin keep 7Kd93x --until 2027-01-01    Then it expires, whatever the policy
  rejoin keep 7Kd93x --exportable no       Forbid export")]
pub(crate) struct Args {
    /// The conversation
    id: String,

    /// Release the hold
    #[arg(long)]
    release: bool,

    /// Hold until this date or for this long, such as 2027-01-01 or 90d
    #[arg(long, value_name = "TIME", conflicts_with = "release")]
    until: Option<String>,

    /// Allow or forbid export; in a vault the default is no
    #[arg(long, value_enum, value_name = "YES|NO", num_args = 0..=1, default_missing_value = "yes")]
    exportable: Option<YesOrNo>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum YesOrNo {
    Yes,
    No,
}

/// What becomes of how long it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    AsBefore,
    Kept,
    Released,
    Until(Time),
}

/// How long a conversation stays, as programs read it.
#[derive(Serialize)]
struct KeepAnswer {
    #[serde(flatten)]
    itself: Itself,
    hold: Hold,
    was: Hold,
    expires_at: Option<Time>,
    exportable: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<(), Failure> {
    let stay = args.stay(&context.clock())?;
    let archive = context.archive_to_read()?;
    let stored = named::conversation(&archive, &args.id)?;
    let change = |header: &mut Conversation| {
        match stay {
            Stay::AsBefore => {}
            Stay::Kept => header.hold = Hold::User,
            Stay::Released => {
                header.hold = Hold::None;
                header.expires_at = None;
                header.follows_retention = true;
            }
            Stay::Until(time) => {
                header.hold = Hold::None;
                header.expires_at = Some(time);
            }
        }
        if let Some(answer) = args.exportable {
            header.privacy.exportable = answer == YesOrNo::Yes;
        }
    };
    let mut now = stored.conversation.clone();
    change(&mut now);
    if now != stored.conversation {
        archive.update(stored.id, change)?;
    }
    if context.is_json() {
        return context.answer_json(&KeepAnswer {
            itself: stored.id.into(),
            hold: now.hold,
            was: stored.conversation.hold,
            expires_at: now.expires_at,
            exportable: now.privacy.exportable,
        });
    }
    for sentence in told(&stored, stay, args.exportable, &context.clock()) {
        context.note(&sentence);
    }
    Ok(())
}

impl Args {
    fn stay(&self, clock: &WallClock) -> Result<Stay, Failure> {
        match (&self.until, self.release, self.exportable) {
            (Some(typed), _, _) => until(typed, clock).map(Stay::Until),
            (None, true, _) => Ok(Stay::Released),
            (None, false, Some(_)) => Ok(Stay::AsBefore),
            (None, false, None) => Ok(Stay::Kept),
        }
    }
}

/// A length of time from now on, or a day to come.
fn until(typed: &str, clock: &WallClock) -> Result<Time, Failure> {
    let refuse = |why: String| Failure::usage(format!("`--until`: {why}"));
    let micros = match period::length(typed) {
        Ok(length) => {
            i64::try_from(length.as_micros()).ok().and_then(|length| clock.now().checked_add(length))
        }
        Err(_) => Some(period::moment(typed, clock).map_err(|error| refuse(error.to_string()))?),
    };
    match micros {
        Some(micros) if micros > clock.now() => Ok(Time::from_micros(micros)),
        Some(_) => Err(refuse(format!("`{typed}` is not in the future"))),
        None => Err(refuse(format!("`{typed}` is too far away"))),
    }
}

fn told(
    stored: &StoredConversation,
    stay: Stay,
    exportable: Option<YesOrNo>,
    clock: &WallClock,
) -> Vec<String> {
    let (title, short) = (named::title(stored), stored.id.short());
    let was = &stored.conversation;
    let mut told = Vec::new();
    match (stay, was.hold) {
        (Stay::AsBefore, _) => {}
        (Stay::Kept, Hold::User) => told.push(format!("\"{title}\" is kept already: {short}")),
        (Stay::Kept, Hold::None | Hold::Import) => {
            told.push(format!("Keeping \"{title}\" until you release it: {short}"));
        }
        (Stay::Released, Hold::None) if was.follows_retention && was.expires_at.is_none() => {
            told.push(format!("\"{title}\" was not kept: {short}"));
        }
        (Stay::Released, _) => {
            told.push(format!("Released \"{title}\", it can expire or be cleaned: {short}"));
        }
        (Stay::Until(time), _) => {
            let until = clock.minute(time.as_micros());
            told.push(format!("Keeping \"{title}\" until {until}, when it expires: {short}"));
        }
    }
    told.extend(exportable.map(|answer| match answer {
        YesOrNo::Yes => format!("\"{title}\" may be exported: {short}"),
        YesOrNo::No => format!("\"{title}\" may not be exported: {short}"),
    }));
    told
}
