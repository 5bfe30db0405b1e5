//! A program in a process group of its own, which ends with everything it started.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

/// How long a program may take to end when it is asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// How long to wait for what was killed. Only a dead process that its new parent does not bury takes longer.
const LAST_BREATH: Duration = Duration::from_secs(1);

/// How often it is looked whether it has ended.
const PAUSE: Duration = Duration::from_millis(10);

/// Ends groups in the background, and waits for that when it is dropped itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Endings(Arc<Pending>);

#[derive(Debug, Default)]
struct Pending(Mutex<Vec<JoinHandle<()>>>);

/// A program and everything it started. Dropping it ends them all.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    child: Option<Child>,
    id: Pid,
    endings: Endings,
}

impl ProcessGroup {
    /// Starts a program as the first of a new group.
    pub(crate) fn start(command: &mut Command, endings: &Endings) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("the program has no process id"))?;
        Ok(Self { child: Some(child), id, endings: endings.clone() })
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("it is taken only when the group is dropped or ended")
    }

    /// Waits until the program itself has ended; what it started may go on.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child().wait().await
    }

    /// Asks all of the group to end, and kills what is left after a while. Returns when none is left.
    ///
    /// When the future is dropped, dropping the group goes on with it.
    pub(crate) async fn end(mut self) {
        let id = self.id;
        let child = self.child();
        let mut farewell = Farewell::begin(id);
        while farewell.goes_on(child) {
            tokio::time::sleep(PAUSE).await;
        }
        self.child = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let mut farewell = Farewell::begin(self.id);
        if !farewell.goes_on(&mut child) {
            return;
        }
        // A thread, because there may be no runtime any more that could wait.
        let ending = thread::spawn(move || {
            while farewell.goes_on(&mut child) {
                thread::sleep(PAUSE);
            }
        });
        self.endings.0.add(ending);
    }
}

impl Pending {
    fn add(&self, ending: JoinHandle<()>) {
        if let Ok(mut endings) = self.0.lock() {
            endings.retain(|ending| !ending.is_finished());
            endings.push(ending);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let endings = self.0.get_mut().map(std::mem::take).unwrap_or_default();
        for ending in endings {
            let _ = ending.join();
        }
    }
}

/// The end of a group: asked first, killed later.
struct Farewell {
    id: Pid,
    asked: Instant,
    killed: Option<Instant>,
}

impl Farewell {
    fn begin(id: Pid) -> Self {
        let _ = kill_process_group(id, Signal::TERM);
        Self { id, asked: Instant::now(), killed: None }
    }

    /// Does what is due, and tells whether there is still something to wait for.
    fn goes_on(&mut self, child: &mut Child) -> bool {
        // The first one is reaped on the way, or it would count for ever.
        let is_running = matches!(child.try_wait(), Ok(None));
        if !is_running && test_kill_process_group(self.id).is_err() {
            return false;
        }
        match self.killed {
            None if self.asked.elapsed() >= GRACE => {
                let _ = kill_process_group(self.id, Signal::KILL);
                self.killed = Some(Instant::now());
                true
            }
            None => true,
            Some(killed) => is_running || killed.elapsed() < LAST_BREATH,
        }
    }
}
