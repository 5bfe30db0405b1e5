//! The place between the talk, which receives a reply, and the desk, which saves it when it is due.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use rejoin::{Fields, Message};

use crate::recording::Order;
use crate::recording::arriving::Arriving;

/// Whether the open turn may wait for its next second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    Now,
    Soon,
}

/// What has arrived of a reply, shared between the talk and the desk.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    inside: Arc<Mutex<Inside>>,
    orders: mpsc::Sender<Order>,
}

#[derive(Debug, Default)]
struct Inside {
    arriving: Arriving,
    /// True while the desk knows that there is something to save; it is told once, not for each piece.
    is_told: bool,
}

impl Slot {
    pub(super) fn new(orders: mpsc::Sender<Order>) -> Self {
        Self { inside: Arc::default(), orders }
    }

    /// Makes room for a reply.
    pub(crate) fn begin(&self, origin: Fields) {
        self.lock().arriving = Arriving::from_origin(origin);
    }

    /// Changes what has arrived, and sees to it that it is saved.
    pub(crate) fn change(&self, urgency: Urgency, change: impl FnOnce(&mut Arriving)) {
        let mut inside = self.lock();
        change(&mut inside.arriving);
        if urgency == Urgency::Now || !inside.is_told {
            inside.is_told = true;
            // A desk that has stopped has said so elsewhere.
            let _ = self.orders.send(Order::Look(urgency));
        }
    }

    /// Empties the slot and returns what was in it: the reply, and the results of its tools.
    pub(crate) fn take(&self) -> (Message, Vec<Message>) {
        std::mem::take(&mut self.lock().arriving).into_parts()
    }

    /// What is to be saved; nothing when nothing has arrived. What arrives later is told again.
    pub(super) fn snapshot(&self) -> Option<(Message, Vec<Message>)> {
        let mut inside = self.lock();
        inside.is_told = false;
        (!inside.arriving.is_empty()).then(|| inside.arriving.to_parts())
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        // Every change leaves it whole, even when the one who made it panics afterwards.
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
