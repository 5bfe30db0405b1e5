//! Waits for an answer of the server on the caller's thread, inside and outside of async code.
//!
//! Connections are driven by a runtime of their own. What a caller polls here only hands requests to it and
//! takes answers from it, so it needs no runtime, and may borrow.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

/// Wakes a thread.
struct Caller {
    thread: Thread,
    is_woken: AtomicBool,
}

impl Wake for Caller {
    fn wake(self: Arc<Self>) {
        // Others may use up the permit of a thread that is parked, so it is noted too.
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Returns what `work` answers, or none when that takes until later than `until`.
pub(super) fn wait<T>(work: impl Future<Output = T>, until: Instant) -> Option<T> {
    let mut work = pin!(work);
    let caller = Arc::new(Caller { thread: thread::current(), is_woken: AtomicBool::new(false) });
    let waker = Waker::from(Arc::clone(&caller));
    loop {
        if let Poll::Ready(answer) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(answer);
        }
        while !caller.is_woken.swap(false, Ordering::Acquire) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            thread::park_timeout(left);
        }
    }
}

/// Sends a request and does not wait for its answer.
pub(super) fn send<T>(work: impl Future<Output = T>) {
    let _ = pin!(work).poll(&mut Context::from_waker(Waker::noop()));
}
