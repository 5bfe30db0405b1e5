//! Opening messages on another core, while the caller reads the sealed ones and shows those that are opened.
//!
//! A short read pays for none of that: the first messages are opened where they are read. Those after them
//! are copied into bundles, which a thread opens. Bundles are shown in order, on the thread of the caller.
//! Where the other thread falls behind, the caller opens what nobody has begun, so that it does not wait for
//! a core that is busy with something else.

use std::any::Any;
use std::collections::VecDeque;
use std::num::NonZero;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use crate::error::Result;
use crate::model::ConversationId;
use crate::store::backend::MessageRow;
use crate::store::sealed::keys::key_cache::{OpenError, OwnerKeys};
use crate::store::sealed::keys::names::InnerNames;
use crate::store::sealed::records::message::{PlainMessage, SealedNote};

/// So many sealed bytes the caller opens alone: that takes several times as long as starting a thread.
const ALONE: usize = 256 << 10;

/// So many sealed bytes are handed over at once: enough to be worth waking a
/// thread, and few enough for its cache.
const BUNDLE: usize = 64 << 10;

/// So many sealed bytes wait at most. A longer message is opened where it is
/// read, so that there is one copy less.
const WAITING: usize = 1 << 20;

/// A message that was opened, and what became of its note.
pub(crate) struct OpenedMessage<'a> {
    pub(crate) plain: PlainMessage<'a>,
    pub(crate) note: Result<SealedNote, OpenError>,
}

/// What is shown, in order: a message as the inner store has it, and opened.
pub(crate) type ShowMessage<'s> =
    dyn FnMut(&MessageRow<'_>, Result<OpenedMessage<'_>, OpenError>) -> Result<()> + 's;

/// What opens the messages of one conversation.
pub(crate) struct Opener<'v> {
    owner_keys: OwnerKeys<'v>,
    names: &'v InnerNames,
    inner: ConversationId,
    buffer: Vec<u8>,
}

impl<'v> Opener<'v> {
    pub(crate) const fn new(owner_keys: OwnerKeys<'v>, names: &'v InnerNames, inner: ConversationId) -> Self {
        Self { owner_keys, names, inner, buffer: Vec::new() }
    }

    /// Another, with the same keys at hand.
    fn again(&self) -> Self {
        Self::new(self.owner_keys.clone(), self.names, self.inner)
    }

    fn open(&mut self, sealed: &MessageRow<'_>) -> Result<OpenedMessage<'_>, OpenError> {
        let plain =
            PlainMessage::open(&mut self.owner_keys, self.names, self.inner, sealed, &mut self.buffer)?;
        Ok(OpenedMessage { plain, note: SealedNote::open(&mut self.owner_keys, self.inner, sealed) })
    }

    fn open_bundle(&mut self, bundle: &mut Bundle) {
        let Bundle { sealed, opened, copies } = bundle;
        for copy in copies {
            let outcome = self.open(&copy.row(sealed)).map(|OpenedMessage { plain, note }| {
                let from = opened.len();
                opened.push_str(plain.body);
                (plain.without_body(), from..opened.len(), note)
            });
            copy.opened = Some(outcome);
        }
    }
}

/// Messages that are opened together.
#[derive(Default)]
struct Bundle {
    /// Their sealed bodies.
    sealed: Vec<u8>,
    /// Their bodies.
    opened: String,
    copies: Vec<Copy>,
}

/// Who a message is, where its body stands, and its note.
type DecryptOutcome = Result<(PlainMessage<'static>, Range<usize>, Result<SealedNote, OpenError>), OpenError>;

/// A message of a bundle.
struct Copy {
    /// Without its label and body.
    head: MessageRow<'static>,
    label: Option<Box<[u8]>>,
    body: Range<usize>,
    /// None until it was tried.
    opened: Option<DecryptOutcome>,
}

impl Copy {
    fn row<'a>(&'a self, sealed: &'a [u8]) -> MessageRow<'a> {
        MessageRow { label: self.label.as_deref(), body: &sealed[self.body.clone()], ..self.head }
    }
}

impl Bundle {
    fn add(&mut self, row: &MessageRow<'_>) {
        let from = self.sealed.len();
        self.sealed.extend_from_slice(row.body);
        let MessageRow { id, parent, seq, turn, forked, link, label, is_pinned, size, .. } = *row;
        self.copies.push(Copy {
            head: MessageRow { id, parent, seq, turn, forked, link, label: None, is_pinned, body: &[], size },
            label: label.map(Into::into),
            body: from..self.sealed.len(),
            opened: None,
        });
    }

    /// Shows what was opened, and leaves nothing behind.
    fn show(&mut self, show: &mut ShowMessage<'_>) -> Result<()> {
        for mut copy in self.copies.drain(..) {
            let outcome = copy.opened.take().expect("a bundle is opened as a whole");
            let outcome = outcome.map(|(plain, body, note)| {
                let plain = PlainMessage { body: &self.opened[body], ..plain };
                OpenedMessage { plain, note }
            });
            show(&copy.row(&self.sealed), outcome)?;
        }
        self.sealed.clear();
        self.opened.clear();
        Ok(())
    }
}

/// Where bundles lie between those who read them and those who open them.
#[derive(Default)]
pub(crate) struct BundleDesk {
    queue: Mutex<BundleQueue>,
    /// Rung for whoever waits. Never both do: who has nothing to open waits for who opens or reads.
    bell: Condvar,
}

#[derive(Default)]
struct BundleQueue {
    /// The number of the first bundle.
    first: usize,
    bundles: VecDeque<BundleStage>,
    is_awaited: bool,
    is_over: bool,
}

enum BundleStage {
    Sealed(Bundle),
    /// Somebody is opening it.
    Taken,
    Opened(Bundle),
    /// The thread that opened it panicked.
    Failed(Box<dyn Any + Send>),
}

impl BundleQueue {
    /// The first bundle that nobody has begun, and its number.
    fn take(&mut self) -> Option<(usize, Bundle)> {
        let place = self.bundles.iter().position(|stage| matches!(stage, BundleStage::Sealed(_)))?;
        match std::mem::replace(&mut self.bundles[place], BundleStage::Taken) {
            BundleStage::Sealed(bundle) => Some((self.first + place, bundle)),
            BundleStage::Taken | BundleStage::Opened(_) | BundleStage::Failed(_) => None,
        }
    }

    fn put(&mut self, number: usize, stage: BundleStage) {
        let place = number - self.first;
        self.bundles[place] = stage;
    }

    /// Takes the first bundle out if it is opened.
    fn pop(&mut self) -> Option<Bundle> {
        match self.bundles.pop_front()? {
            BundleStage::Opened(bundle) => {
                self.first += 1;
                Some(bundle)
            }
            BundleStage::Failed(panic) => resume_unwind(panic),
            other => {
                self.bundles.push_front(other);
                None
            }
        }
    }
}

impl BundleDesk {
    fn queue(&self) -> MutexGuard<'_, BundleQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'q>(&self, mut queue: MutexGuard<'q, BundleQueue>) -> MutexGuard<'q, BundleQueue> {
        queue.is_awaited = true;
        self.bell.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }

    fn owner_keys(&self, mut queue: MutexGuard<'_, BundleQueue>) {
        if std::mem::take(&mut queue.is_awaited) {
            drop(queue);
            self.bell.notify_one();
        }
    }

    /// Opens bundles until it is over.
    fn help(&self, mut opener: Opener<'_>) {
        let mut queue = self.queue();
        while !queue.is_over {
            let Some((number, mut bundle)) = queue.take() else {
                queue = self.wait(queue);
                continue;
            };
            drop(queue);
            let outcome = catch_unwind(AssertUnwindSafe(|| opener.open_bundle(&mut bundle)));
            queue = self.queue();
            queue.put(number, outcome.map_or_else(BundleStage::Failed, |()| BundleStage::Opened(bundle)));
            self.owner_keys(queue);
            queue = self.queue();
        }
    }
}

/// Who opens.
enum Help {
    /// The caller, who has opened so many sealed bytes.
    Early(usize),
    /// The caller, because there is one core only.
    None,
    /// A thread of its own.
    Thread,
}

/// Opens messages in the order they are read.
pub(crate) struct DecryptPipeline<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    desk: &'env BundleDesk,
    opener: Opener<'env>,
    help: Help,
    filling: Bundle,
    /// How many sealed bytes lie on the desk.
    waiting: usize,
    /// In how many bundles. One of messages whose bodies were cut away has no bytes.
    bundles: usize,
    spare: Vec<Bundle>,
}

impl<'scope, 'env> DecryptPipeline<'scope, 'env> {
    pub(crate) fn new(
        scope: &'scope Scope<'scope, 'env>,
        desk: &'env BundleDesk,
        opener: Opener<'env>,
    ) -> Self {
        let (filling, spare) = (Bundle::default(), Vec::new());
        Self { scope, desk, opener, help: Help::Early(0), filling, waiting: 0, bundles: 0, spare }
    }

    /// Takes in the next message, and shows what is opened of those up to it.
    pub(crate) fn take(&mut self, row: &MessageRow<'_>, show: &mut ShowMessage<'_>) -> Result<()> {
        let length = row.body.len();
        let is_alone = match &mut self.help {
            Help::Early(bytes) => {
                *bytes = bytes.saturating_add(length);
                if *bytes > ALONE {
                    self.call_help();
                }
                true
            }
            Help::None => true,
            Help::Thread => length > WAITING,
        };
        if is_alone {
            self.rest(show)?;
            return show(row, self.opener.open(row));
        }
        if self.filling.sealed.len() + length > BUNDLE {
            self.hand_over(show)?;
        }
        self.filling.add(row);
        Ok(())
    }

    /// Shows the rest of what was taken in.
    pub(crate) fn rest(&mut self, show: &mut ShowMessage<'_>) -> Result<()> {
        if !self.filling.copies.is_empty() {
            self.hand_over(show)?;
        }
        while self.bundles > 0 {
            self.show_first(show)?;
        }
        Ok(())
    }

    fn call_help(&mut self) {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        if cores == 1 {
            self.help = Help::None;
            return;
        }
        let (desk, opener) = (self.desk, self.opener.again());
        // Without another thread the caller does what it would have done.
        let started = thread::Builder::new().spawn_scoped(self.scope, move || desk.help(opener));
        self.help = started.map_or(Help::None, |_| Help::Thread);
    }

    /// Puts a bundle on the desk, once there is room, and shows those that are opened.
    fn hand_over(&mut self, show: &mut ShowMessage<'_>) -> Result<()> {
        let length = self.filling.sealed.len();
        while self.waiting > 0 && self.waiting + length > WAITING {
            self.show_first(show)?;
        }
        let empty = self.spare.pop().unwrap_or_default();
        let bundle = std::mem::replace(&mut self.filling, empty);
        (self.waiting, self.bundles) = (self.waiting + length, self.bundles + 1);
        let mut queue = self.desk.queue();
        queue.bundles.push_back(BundleStage::Sealed(bundle));
        self.desk.owner_keys(queue);
        loop {
            let popped = self.desk.queue().pop();
            let Some(bundle) = popped else { return Ok(()) };
            self.show_bundle(bundle, show)?;
        }
    }

    /// Shows the first bundle on the desk, and opens bundles until it is opened.
    fn show_first(&mut self, show: &mut ShowMessage<'_>) -> Result<()> {
        let mut queue = self.desk.queue();
        loop {
            if let Some(bundle) = queue.pop() {
                drop(queue);
                return self.show_bundle(bundle, show);
            }
            let Some((number, mut bundle)) = queue.take() else {
                queue = self.desk.wait(queue);
                continue;
            };
            drop(queue);
            self.opener.open_bundle(&mut bundle);
            queue = self.desk.queue();
            queue.put(number, BundleStage::Opened(bundle));
        }
    }

    fn show_bundle(&mut self, mut bundle: Bundle, show: &mut ShowMessage<'_>) -> Result<()> {
        (self.waiting, self.bundles) = (self.waiting - bundle.sealed.len(), self.bundles - 1);
        bundle.show(show)?;
        self.spare.push(bundle);
        Ok(())
    }
}

/// Sends the thread home, also when the caller fails.
impl Drop for DecryptPipeline<'_, '_> {
    fn drop(&mut self) {
        self.desk.queue().is_over = true;
        self.desk.bell.notify_one();
    }
}
