//! What this process keeps from other programs of the same user: its memory,
//! which holds keys, and its environment.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Keeps the memory of this process out of core files, and other processes of the same user out of its
/// memory, its environment and its open files.
///
/// A program that this one starts can be read again, because it is another program. It inherits the limit for
/// core files, and may raise it to what it was.
pub(crate) fn protect() {
    let limit = getrlimit(Resource::Core);
    if limit.current != Some(0) {
        // What a system does not allow is done without: a crash is rare, and
        // reading another process has its own guards.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), ..limit });
    }
    hide();
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn hide() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn hide() {}
