//! `rejoin import --watch`: keeps up with what other programs write, until it is interrupted.
//!
//! It looks at every file once a second: size, times, number. That costs less than a watch of the system for
//! each directory, misses nothing on any file system, and finds what was created, replaced, cut off and moved
//! in one way. A store that fails is tried again; nothing but an interrupt ends it.

mod followed;
mod teller;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use followed::{Followed, WatchTime};
use rejoin::formats::Finder;
use rejoin::store::Task;
use rejoin::{DeletedHere, ErrorKind, ImportMode, Imports, Nature, SystemNature};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use teller::WatchTeller;

use super::meter::Meter;
use super::scope::{FoundSource, ImportPlace, ImportScope};
use super::work::Work;
use crate::context::Context;
use crate::error::Failure;
use crate::retention::sweep_meanwhile;
use crate::ui::progress::Unit;

/// How often the files are looked at.
const PACE: Duration = Duration::from_secs(1);

/// Looking takes at most this part of the time, however many files there are.
const SHARE: u32 = 20;

/// How long an interrupt may go unnoticed.
const STEP: Duration = Duration::from_millis(50);

/// The pauses between attempts to reach a store grow up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The search index is brought forward for so long after each change.
const INDEXING: Duration = Duration::from_millis(50);

pub(super) fn run(scope: &ImportScope, context: &Context) -> Result<(), Failure> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A second interrupt does not wait for the file that is being read.
        flag::register_conditional_default(signal, Arc::clone(&ended))
            .and_then(|_| flag::register(signal, Arc::clone(&ended)))
            .map_err(|error| Failure::io("listen for an interrupt", error))?;
    }
    let mut teller = WatchTeller::new(context);
    let outcome = ImportWatch::begin(&ended, &mut teller, context)
        .and_then(|watch| watch.map_or(Ok(()), |watch| watch.go_on(scope, &mut teller)));
    outcome.and_then(|()| teller.end())
}

/// Files that are followed, and the store they go to.
struct ImportWatch<'a> {
    ended: &'a AtomicBool,
    context: &'a Context,
    work: Work<'a>,
    finder: Finder,
    followed: Followed,
    /// What was imported once: a conversation of it that is deleted from then on stays deleted.
    brought: HashSet<PathBuf>,
    /// How long the next attempt to reach the store waits; none while it works.
    pause: Option<Duration>,
}

/// What became of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WatchNext {
    /// On to the next source.
    GoOn,
    /// The store has to be reached first.
    Stop,
}

impl<'a> ImportWatch<'a> {
    /// Opens the store, and waits until it can be opened; none when it was interrupted before.
    fn begin(
        ended: &'a AtomicBool,
        teller: &mut WatchTeller<'_>,
        context: &'a Context,
    ) -> Result<Option<Self>, Failure> {
        let mut pause = None;
        while !ended.load(Ordering::Relaxed) {
            let opened = context.archive().and_then(|archive| {
                let imports = archive.imports().known()?;
                Ok((archive, imports))
            });
            match opened {
                Ok((archive, imports)) => {
                    if pause.is_some() {
                        teller.recovered()?;
                    }
                    let finder = imports.finder();
                    let work = Work::new(archive, imports, ImportMode::Store, None, context);
                    let (followed, brought) = (Followed::default(), HashSet::new());
                    return Ok(Some(Self { ended, context, work, finder, followed, brought, pause: None }));
                }
                Err(failure) if failure.may_pass() => {
                    let next = longer(pause);
                    if pause.is_none() {
                        teller.waiting(&failure, next)?;
                    }
                    pause = Some(next);
                    rest(next, ended);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(None)
    }

    fn go_on(mut self, scope: &ImportScope, teller: &mut WatchTeller<'_>) -> Result<(), Failure> {
        let _broom = sweep_meanwhile(self.context, &self.work.archive);
        self.catch_up(scope, teller)?;
        if !self.is_ended() {
            teller.watching(self.followed.len())?;
        }
        while !self.is_ended() {
            let began = Instant::now();
            if self.pause.is_none() || self.reach(teller)? {
                self.look(scope, teller)?;
            }
            let pause = self.pause.unwrap_or_else(|| PACE.max(began.elapsed() * SHARE));
            rest(pause.saturating_sub(began.elapsed()), self.ended);
        }
        Ok(())
    }

    /// Imports what is there, without waiting until it rests.
    fn catch_up(&mut self, scope: &ImportScope, teller: &mut WatchTeller<'_>) -> Result<(), Failure> {
        let places = scope.look(&mut self.finder, &self.work.imports)?;
        let now = now();
        for item in places.iter().flat_map(|place| &place.unchanged) {
            self.keep(item, now);
        }
        let fresh: Vec<&FoundSource> = places.iter().flat_map(|place| &place.fresh).collect();
        let bytes = fresh.iter().map(|item| item.bytes()).sum::<u64>();
        let meter = Meter::start(self.context, "Importing", Unit::Bytes, bytes * 2, bytes);
        for item in fresh {
            if self.is_ended()
                || self.import(item, teller, &mut |bytes| meter.advance(bytes))? == WatchNext::Stop
            {
                break;
            }
        }
        drop(meter);
        self.note(teller)
    }

    /// Looks at every file, and imports those that are due.
    fn look(&mut self, scope: &ImportScope, teller: &mut WatchTeller<'_>) -> Result<(), Failure> {
        // What was imported is known better here than by the notes, which are of files at rest.
        let places = scope.look_leniently(&mut self.finder, &Imports::default());
        let present: HashSet<PathBuf> =
            places.iter().flat_map(ImportPlace::items).map(|item| item.source.path().to_owned()).collect();
        let gone = self.followed.forget_all_but(&present);
        if !gone.is_empty() {
            teller.gone(&gone)?;
        }
        let now = now();
        let mut imported = false;
        for item in places.iter().flat_map(ImportPlace::items) {
            let Ok(look) = item.source.fingerprint() else { continue };
            if self.followed.is_due(item.source.path(), look, now) && !self.is_ended() {
                imported = true;
                if self.import(item, teller, &mut |_| {})? == WatchNext::Stop {
                    return Ok(());
                }
            }
        }
        if imported { self.note(teller) } else { Ok(()) }
    }

    fn import(
        &mut self,
        item: &FoundSource,
        teller: &mut WatchTeller<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<WatchNext, Failure> {
        let now = now();
        let is_brought = self.brought.contains(item.source.path());
        let deleted = if is_brought { DeletedHere::StayDeleted } else { item.deleted };
        match self.work.import(&FoundSource { deleted, ..item.clone() }, progress) {
            Ok(imported) => teller.imported(&imported, item.format.program)?,
            // It went away between two looks, and the next one tells.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(WatchNext::GoOn),
            Err(error) => {
                let failure = Failure::from(error);
                if !failure.is_of_input() {
                    self.wait(&failure, teller)?;
                    return Ok(WatchNext::Stop);
                }
                teller.failed(item.source.path(), &failure)?;
            }
        }
        self.brought.insert(item.source.path().to_owned());
        self.keep(item, now);
        Ok(WatchNext::GoOn)
    }

    fn keep(&mut self, item: &FoundSource, now: WatchTime) {
        if let Ok(look) = item.source.fingerprint() {
            self.followed.imported(item.source.path(), look, now);
        }
    }

    /// Writes down what was imported, and lets the search index follow.
    fn note(&mut self, teller: &mut WatchTeller<'_>) -> Result<(), Failure> {
        let noted = self.work.note();
        let noted =
            noted.and_then(|()| Ok(self.work.archive.maintenance().run(Task::Index, INDEXING).map(drop)?));
        match noted {
            Err(failure) => self.wait(&failure, teller),
            Ok(()) => Ok(()),
        }
    }

    fn wait(&mut self, failure: &Failure, teller: &mut WatchTeller<'_>) -> Result<(), Failure> {
        let next = longer(self.pause);
        if self.pause.is_none() {
            teller.waiting(failure, next)?;
        }
        self.pause = Some(next);
        Ok(())
    }

    /// Opens the store again: what a failed write has left is known only then.
    fn reach(&mut self, teller: &mut WatchTeller<'_>) -> Result<bool, Failure> {
        match self.context.archive() {
            Ok(archive) => {
                self.work.archive = archive;
                if let Err(failure) = self.work.note() {
                    self.wait(&failure, teller)?;
                    return Ok(false);
                }
                self.pause = None;
                teller.recovered()?;
                Ok(true)
            }
            Err(failure) => {
                self.wait(&failure, teller)?;
                Ok(false)
            }
        }
    }

    fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

fn now() -> WatchTime {
    WatchTime { time: SystemNature.now(), instant: Instant::now() }
}

fn longer(pause: Option<Duration>) -> Duration {
    pause.map_or(PACE, |pause| (pause * 2).min(LONGEST_PAUSE))
}

/// Rests, but not through an interrupt.
fn rest(length: Duration, ended: &AtomicBool) {
    let until = Instant::now() + length;
    while !ended.load(Ordering::Relaxed) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(STEP));
    }
}
