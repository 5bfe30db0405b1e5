//! Replies that a provider itself stopped, for instance with a filter: they are kept, and not sent again.
//!
//! What a person interrupted is sent: the words were meant, and the person saw them.

use rejoin::view::PathMessage;
use rejoin::{Message, Role};

/// Reasons for which providers stop a reply. Other programs write many more that mean a usual end.
const STOPPED: [&str; 9] = [
    "content_filter",
    "content-filter",
    "refusal",
    "refused",
    "safety",
    "recitation",
    "prohibited_content",
    "blocklist",
    "spii",
];

/// Leaves out each such reply, with the results of what it asked for.
pub(super) fn leave_out(path: &mut Vec<PathMessage<'_>>) {
    let mut is_left_out = false;
    path.retain(|said| {
        is_left_out = is_stopped(said.message) || is_left_out && said.message.role == Role::Tool;
        !is_left_out
    });
}

fn is_stopped(message: &Message) -> bool {
    let Some(finish) = message.finish.as_deref().filter(|_| message.was_cut_short()) else { return false };
    // A reply that was received here says from whom, so its end is known to be meant so.
    let is_ours = message.extra.field("provider").is_some() && message.extra.field("api").is_some();
    let is_known = STOPPED.contains(&finish.to_ascii_lowercase().as_str());
    finish != "interrupted" && (is_ours || is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str, finish: &str) -> Message {
        let mut message = Message::assistant(text);
        message.finish = Some(finish.to_owned());
        message
    }

    #[test]
    fn what_the_provider_stopped_is_left_out_and_nothing_else() {
        let finishes =
            ["stop", "length", "interrupted", "STOP", "tool-calls", "content_filter", "SAFETY", "refusal"];
        let messages: Vec<Message> = finishes.iter().map(|finish| reply(finish, finish)).collect();
        let mut path: Vec<PathMessage<'_>> =
            messages.iter().map(|message| PathMessage { id: None, is_pinned: false, message }).collect();

        leave_out(&mut path);

        let left: Vec<String> = path.iter().map(|said| said.message.text()).collect();
        assert_eq!(left, ["stop", "length", "interrupted", "STOP", "tool-calls"]);
    }
}
