//! Work on many conversations, spread over the cores of the processor.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::Result;

/// For fewer items a thread takes longer to start, and to open the store, than they do.
const FEW: usize = 32;

/// More threads would wait for the disk, and not for each other.
const MOST: usize = 8;

/// Works on every item, each once, and returns what the threads made. Each begins with what `begin` gives it.
///
/// The first failure ends the work.
pub(crate) fn spread<T: Sync, W: Send>(
    items: &[T],
    begin: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, &T) -> Result<()> + Sync,
) -> Result<Vec<W>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = (items.len() / FEW).clamp(1, cores.min(MOST));
    let next = AtomicUsize::new(0);
    let run = || {
        let mut own = begin();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Whoever fails leaves nothing for the others.
            work(&mut own, item).inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
        }
        Ok(own)
    };
    thread::scope(|scope| {
        // Where the system has no thread left, this one does it all.
        let start = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let first = run();
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // Collected before the first failure is told, so that nobody is left behind.
        let all: Vec<Result<W>> = std::iter::once(first).chain(others).collect();
        all.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

    #[test]
    fn every_item_is_worked_on_once() {
        let items: Vec<usize> = (0..1_000).collect();

        let made = spread(&items, Vec::new, |own, item| {
            own.push(*item);
            Ok(())
        });

        let mut all = made.unwrap().concat();
        all.sort_unstable();
        assert_eq!(all, items);
    }

    #[test]
    fn a_failure_is_the_answer() {
        let items: Vec<usize> = (0..1_000).collect();

        let made = spread(
            &items,
            || (),
            |(), item| {
                if *item == 500 { Err(Error::invalid("that one")) } else { Ok(()) }
            },
        );

        assert_eq!(made.unwrap_err().kind(), ErrorKind::Invalid);
    }

    #[test]
    fn nothing_is_no_work() {
        let none: [usize; 0] = [];

        assert_eq!(spread(&none, || 7, |_, _| Ok(())).unwrap(), [7]);
    }
}
