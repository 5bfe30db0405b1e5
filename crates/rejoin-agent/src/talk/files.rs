//! The snapshot of the project's files, before the first tool of a turn runs that may change something.

use rejoin::{FileSnapshot, Message};
use tokio::sync::mpsc;

use crate::file_snapshots::TakenSnapshot;
use crate::talk::{Talk, TurnEvent};

impl Talk {
    /// Takes the snapshot of this turn, unless there is one. It is on disk when this returns, as a block of
    /// the reply whose tools are about to run.
    ///
    /// A turn goes on without one: a store that fails must not end a talk.
    pub(super) async fn snapshot_files(
        &mut self,
        reply: &mut Message,
        events: &mpsc::UnboundedSender<TurnEvent>,
    ) {
        let Some(files) = self.files.clone().filter(|_| !self.has_snapshot) else { return };
        self.has_snapshot = true;
        let before =
            self.history.messages().rev().flat_map(|message| &message.blocks).find_map(FileSnapshot::of);
        match files.take(self.recorder.conversation(), before).await {
            Ok(TakenSnapshot { block, note }) => {
                reply.blocks.push(block);
                self.draft.complete(reply);
                // Orders are carried out one after the other: what was just handed over is saved before this.
                let _ = self.recorder.with(|_| ()).await;
                if let Some(note) = note {
                    let _ = events.send(TurnEvent::Warning(note));
                }
            }
            Err(error) => {
                let mut causes =
                    std::iter::successors(Some(&error as &dyn std::error::Error), |cause| cause.source());
                let why = causes.by_ref().map(ToString::to_string).collect::<Vec<_>>().join(": ");
                let _ = events.send(TurnEvent::Warning(format!("no snapshot of the files was taken: {why}")));
            }
        }
    }
}
