//! Counts and times what a recorder saves, for the metrics of its conversation.

use crate::model::{Message, Metrics, Role, Time};

/// What was recorded since the talk began.
#[derive(Debug, Default)]
pub(super) struct RecordTally {
    user_messages: u64,
    assistant_messages: u64,
    /// The time of all replies together, each since what was said before it.
    waited: u64,
    span: Option<(Time, Time)>,
}

impl RecordTally {
    pub(super) fn note(&mut self, messages: &[Message], now: Time) {
        let (first, last) = self.span.unwrap_or((now, now));
        for message in messages {
            match message.role {
                Role::User => self.user_messages += 1,
                Role::Assistant => {
                    self.assistant_messages += 1;
                    self.waited += micros(last, now);
                }
                Role::System | Role::Tool => {}
            }
        }
        self.span = Some((first, now));
    }

    pub(super) fn metrics(&self) -> Metrics {
        Metrics {
            user_messages: self.user_messages,
            assistant_messages: self.assistant_messages,
            duration_ms: self.span.map_or(0, |(first, last)| micros(first, last)) / 1_000,
            average_latency_ms: self.waited / 1_000 / self.assistant_messages.max(1),
        }
    }
}

fn micros(from: Time, to: Time) -> u64 {
    u64::try_from(to.as_micros() - from.as_micros()).unwrap_or(0)
}
