//! When a conversation was last active.

use crate::model::Time;
use crate::store::Turn;

/// The beginning of 2025. Rejoin is younger, so a clock that shows an earlier time is wrong.
const FIRST: Time = Time::from_micros(1_735_689_600_000_000);

/// The last activity of a conversation after a turn.
///
/// A clock without a battery shows a time long past. It must not take back what
/// a clock that was right has written.
pub(super) fn last_activity(before: Time, turn: &Turn<'_>) -> Time {
    let is_wrong = turn.now >= FIRST && before.is_far_ahead_of(turn.now);
    if is_wrong { turn.active } else { before.max(turn.active) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ConversationId;
    use crate::store::{PreviewUpdate, Stale};

    fn after(before: Time, now: Time) -> Time {
        let turn = Turn {
            conversation: ConversationId::from_bytes([1; 16]),
            opening: None,
            stale: Stale::Branch,
            entries: &[],
            previews: PreviewUpdate::default(),
            branch: None,
            active: now,
            now,
            blobs: &[],
        };
        last_activity(before, &turn)
    }

    #[test]
    fn only_a_clock_that_may_be_right_takes_activity_back() {
        let (today, dead) =
            (Time::from_micros(1_800_000_000_000_000), Time::from_micros(315_532_800_000_000));
        let (soon, future) = (today.a_day_later(), today.a_day_later().a_day_later());

        let after = [after(soon, today), after(future, today), after(today, dead), after(dead, today)];

        assert_eq!(after, [soon, today, today, today]);
    }
}
