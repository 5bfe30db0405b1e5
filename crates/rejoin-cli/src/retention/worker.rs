//! Retention while a program runs for long: a sweep at the start and every six hours. At a prompt it is told
//! before the next line. One turn sweeps after its answer, if nobody did for six hours.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rejoin::{Archive, ConversationId, Retention, Time};

use super::{Policies, Policy, expired, notice, purged, quarantined, soon, unrenewed, waiting};
use crate::config::{Config, ConfigOverrides};
use crate::context::Context;
use crate::error::Failure;
use crate::session::own_writer;

/// How often a program that runs for long sweeps.
const EVERY: Duration = Duration::from_secs(6 * 60 * 60);

/// How long the start waits for what there is to tell; more is told before the next line.
const GREETING: Duration = Duration::from_millis(200);

/// Looks after retention while a prompt is open.
#[derive(Debug)]
pub(crate) struct RetentionWorker {
    /// What was shown, and counts when the user goes on.
    shown: Option<Retention>,
    sweeping: Option<Sweeping>,
    /// The conversation that is marked as in use.
    used: Option<(Archive, ConversationId)>,
}

/// The thread that sweeps for a prompt, and what it has to tell.
#[derive(Debug)]
struct Sweeping {
    broom: Broom,
    told: Receiver<String>,
}

/// The thread that sweeps. It ends when nobody holds the other end.
#[derive(Debug)]
pub(crate) struct Broom {
    open: Sender<()>,
    thread: JoinHandle<()>,
}

/// Sweeps while something else runs for long, and notes what went. It ends with what is returned.
pub(crate) fn sweep_meanwhile(context: &Context, archive: &Archive) -> Broom {
    let noted = context.configured(context.config.clone());
    Broom::start(context, archive, EVERY, move |news| {
        if !news.is_empty() {
            noted.note(&news);
        }
    })
}

/// What the store remembers of the last sweep.
const SWEPT: &str = "retention.swept";

/// Remembers that a sweep was made.
pub(super) fn note_sweep(archive: &Archive) {
    if let Err(error) = archive.state().remember(SWEPT, Some(&archive.now().to_string())) {
        tracing::warn!(kind = error.kind().as_str(), "it was not noted that a sweep was made");
    }
}

/// Sweeps after one turn, if the last sweep was long ago, and notes what went. A
/// sweep that fails does not undo the turn.
pub(crate) fn sweep_after(context: &Context, archive: &Archive) {
    let swept = is_sweep_due(context, archive).and_then(|is_due| match is_due {
        true => look(context, archive),
        false => Ok(Vec::new()),
    });
    match swept {
        Ok(news) => news.iter().for_each(|told| context.note(told)),
        Err(failure) => tracing::warn!(kind = failure.kind(), "the sweep failed"),
    }
}

fn is_sweep_due(context: &Context, archive: &Archive) -> Result<bool, Failure> {
    // A time that cannot be read is none.
    let last = archive.state().recall(SWEPT).ok().flatten().and_then(|time| time.parse().ok());
    Ok(is_long_ago(last, archive.now()) && Policy::here(archive, context)?.is_seen(archive)?)
}

/// True when a sweep is due again. A clock that was set back does not put it off.
fn is_long_ago(last: Option<Time>, now: Time) -> bool {
    let every = i64::try_from(EVERY.as_micros()).expect("six hours fit");
    last.is_none_or(|last| (now.as_micros() - last.as_micros()).abs() >= every)
}

impl RetentionWorker {
    /// Nothing is kept, so there is nothing to look after.
    pub(crate) const fn idle() -> Self {
        Self { shown: None, sweeping: None, used: None }
    }

    /// Begins, and returns what to say. A store that fails does not end a talk.
    pub(crate) fn start(context: &Context, archive: &Archive) -> (Self, Vec<String>) {
        match Self::begin(context, archive) {
            Ok(started) => started,
            Err(failure) => {
                tracing::warn!(kind = failure.kind(), "retention was not looked after");
                (Self::idle(), Vec::new())
            }
        }
    }

    fn begin(context: &Context, archive: &Archive) -> Result<(Self, Vec<String>), Failure> {
        let policy = Policy::here(archive, context)?;
        if policy.is_seen(archive)? {
            let sweeping = Sweeping::telling(context, archive);
            let told = sweeping.greeting();
            return Ok((Self { sweeping: Some(sweeping), ..Self::idle() }, told));
        }
        // Who is not at a terminal sees nothing, so nothing goes.
        if !context.surroundings.terminal.stdout || !context.shows_notes() {
            return Ok((Self::idle(), Vec::new()));
        }
        let told = notice(&policy.retention, &Policies::of(archive, context)?.plan(archive)?);
        Ok((Self { shown: Some(policy.retention), ..Self::idle() }, told))
    }

    /// The user saw what was shown, and typed a line: from the next start on it counts.
    pub(crate) fn go_on(&mut self, archive: &Archive) {
        if let Some(retention) = self.shown.take()
            && let Err(error) = archive.retention().see(&retention)
        {
            tracing::warn!(kind = error.kind().as_str(), "the notice was not remembered");
        }
    }

    /// Marks the conversation that the prompt has open, and no other.
    pub(crate) fn hold(&mut self, archive: &Archive, id: ConversationId) {
        if self.used.as_ref().is_some_and(|(_, used)| *used == id) {
            return;
        }
        self.let_go();
        if let Err(error) = archive.retention().begin_use(id, &own_writer()) {
            tracing::warn!(kind = error.kind().as_str(), "the conversation was not marked as in use");
        }
        self.used = Some((archive.clone(), id));
    }

    fn let_go(&mut self) {
        if let Some((archive, id)) = self.used.take() {
            // One that is deleted has no mark any more.
            let _ = archive.retention().end_use(id, &own_writer());
        }
    }

    /// What happened since the last line.
    pub(crate) fn news(&self) -> Vec<String> {
        self.sweeping.as_ref().map(|sweeping| sweeping.told.try_iter().collect()).unwrap_or_default()
    }

    /// Waits for a sweep that is under way.
    pub(crate) fn finish(&mut self) {
        self.let_go();
        if let Some(Sweeping { broom, .. }) = self.sweeping.take() {
            broom.finish();
        }
    }
}

impl Broom {
    /// Begins to sweep, and sweeps again after each `every`. An empty text is told after each sweep.
    fn start(
        context: &Context,
        archive: &Archive,
        every: Duration,
        tell: impl Fn(String) + Send + 'static,
    ) -> Self {
        // A thread must not ask. What cannot be settled now fails there, too.
        let _ = context.project_key(archive);
        let (open, closed) = mpsc::channel();
        let (context, archive) = (context.configured(context.config.clone()), archive.clone());
        let overrides = ConfigOverrides {
            project: Some(context.config.project().to_owned()),
            ..ConfigOverrides::default()
        };
        let thread = thread::spawn(move || {
            loop {
                // The configuration may have changed since this prompt was
                // opened, and the newest word counts.
                let news = Config::load(&context.surroundings, &overrides)
                    .and_then(|config| look(&context.configured(config), &archive));
                match news {
                    Ok(news) => news.into_iter().for_each(&tell),
                    Err(failure) => tracing::warn!(kind = failure.kind(), "the sweep failed"),
                }
                tell(String::new());
                if closed.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        });
        Self { open, thread }
    }

    /// Waits for a sweep that is under way, and ends.
    fn finish(self) {
        drop(self.open);
        let _ = self.thread.join();
    }
}

impl Sweeping {
    fn telling(context: &Context, archive: &Archive) -> Self {
        let (tell, told) = mpsc::channel();
        let broom = Broom::start(context, archive, EVERY, move |news| drop(tell.send(news)));
        Self { broom, told }
    }

    /// What the first sweep has to tell, if it is quick; an empty text ends each sweep.
    fn greeting(&self) -> Vec<String> {
        let mut told = Vec::new();
        while let Ok(news) = self.told.recv_timeout(GREETING) {
            if news.is_empty() {
                break;
            }
            told.push(news);
        }
        told
    }
}

/// Sweeps once, if what the policy does was seen.
fn look(context: &Context, archive: &Archive) -> Result<Vec<String>, Failure> {
    let policies = Policies::of(archive, context)?;
    if !policies.here().is_seen(archive)? {
        return Ok(Vec::new());
    }
    let round = policies.sweep(archive, context)?;
    let plan = policies.plan(archive)?;
    let waits = round.waits_until.filter(|_| !plan.due.is_empty());
    let news = [
        waits.map(|until| waiting(until, &context.clock())),
        round.report.as_ref().and_then(expired),
        round.report.as_ref().and_then(unrenewed),
        purged(&round.quarantined),
        quarantined(&archive.vault().quarantined()?),
        soon(&plan, &context.clock()),
    ];
    Ok(news.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use rejoin::{Conversation, Message};

    use super::*;

    /// How long a test waits for something that should happen at once.
    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn what_is_due_while_a_program_runs_goes_with_a_later_sweep() {
        let (context, archive) = (Context::imagined(), Archive::open("memory:").unwrap());
        archive.retention().see(&Policy::here(&archive, &context).unwrap().retention).unwrap();
        let mut talk = archive.start(Conversation::titled("Lisbon")).unwrap();
        talk.append(Message::user("Where to eat?")).unwrap();
        let (tell, told) = mpsc::channel();
        let news = || std::iter::from_fn(|| told.recv_timeout(PATIENCE).ok());

        let every = Duration::from_millis(1);
        let broom = Broom::start(&context, &archive, every, move |news| drop(tell.send(news)));
        let first = news().next();
        archive.update(talk.id(), |header| header.expires_at = Some(Time::from_micros(1))).unwrap();
        let later = news().find(|news| !news.is_empty()).unwrap();
        broom.finish();

        assert_eq!(first.as_deref(), Some(""));
        assert!(later.starts_with("1 conversation expired and deleted, "), "{later}");
        assert_eq!(archive.maintenance().survey().unwrap().conversations, []);
    }

    #[test]
    fn a_program_that_ends_does_not_wait_for_the_next_sweep() {
        let (context, archive) = (Context::imagined(), Archive::open("memory:").unwrap());
        let (tell, told) = mpsc::channel();

        let broom = Broom::start(&context, &archive, EVERY, move |news| drop(tell.send(news)));
        broom.finish();

        assert_eq!(told.iter().collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn a_sweep_is_due_again_after_six_hours() {
        let now: Time = "2026-11-16T12:00:00Z".parse().unwrap();
        let lasts = ["2026-11-16T06:00:01Z", "2026-11-16T06:00:00Z", "2026-11-17T12:00:00Z"];

        let due = lasts.map(|last| is_long_ago(Some(last.parse().unwrap()), now));

        assert_eq!((due, is_long_ago(None, now)), ([false, true, true], true));
    }
}
