//! Notices that a talk is to end from outside: the terminal is gone, or the program is told to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rejoin::{Archive, ConversationId, EndReason};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::{flag, low_level};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::Keeping;
use crate::picker;

/// How long leaving may take. On a terminal that is gone, the editor never returns.
const PATIENCE: Duration = Duration::from_secs(3);

/// Notices SIGHUP and SIGTERM. A second SIGTERM ends the program at once.
///
/// A second SIGHUP does not: shells and the system both send one when a terminal is closed.
#[derive(Clone, Debug, Default)]
pub(super) struct Hangup {
    was_told: Arc<AtomicBool>,
    /// The editor takes this one back when it has seen it.
    for_editor: Arc<AtomicBool>,
    was_terminated: Arc<AtomicBool>,
}

impl Hangup {
    pub(super) fn watch() -> io::Result<Self> {
        let own = Self::default();
        // The order counts: the first signal only sets what makes the second one deadly.
        flag::register_conditional_default(SIGTERM, Arc::clone(&own.was_terminated))?;
        flag::register(SIGTERM, Arc::clone(&own.was_terminated))?;
        for signal in [SIGHUP, SIGTERM] {
            flag::register(signal, Arc::clone(&own.was_told))?;
            flag::register(signal, Arc::clone(&own.for_editor))?;
        }
        picker::termination_is_heeded();
        Ok(own)
    }

    /// Whether the talk is to end.
    pub(super) fn was_told(&self) -> bool {
        self.was_told.load(Ordering::SeqCst)
    }

    /// What makes the editor return.
    pub(super) fn for_editor(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.for_editor)
    }
}

/// Pauses a conversation and ends the program when the terminal is gone and the editor does not return.
pub(super) async fn guard(archive: Archive, conversation: ConversationId, keeping: Keeping) {
    let Ok(mut hangups) = signal(SignalKind::hangup()) else { return };
    if hangups.recv().await.is_none() {
        return;
    }
    sleep(PATIENCE).await;
    let has_something = archive.conversation(conversation).is_ok_and(|stored| stored.messages > 0);
    if keeping == Keeping::Kept && has_something {
        // What was said is stored already. Another may have stopped or completed the conversation.
        let _ = archive.status().pause(conversation, EndReason::Ended);
    }
    // It does not return, unless the signal cannot be sent; then nothing else is left to try.
    let _ = low_level::emulate_default_handler(SIGHUP);
}
