//! Histories that were damaged at random still give a view that every provider accepts.

mod damaged;
mod objections;
mod repairs;

use damaged::{APIS, path, recipient, stored};
use objections::objections;
use proptest::prelude::*;
use rejoin::view::{PathMessage, Repair, View};
use rejoin::{Block, Message, Role, StoredMessage};

fn messages(view: &View<'_>) -> Vec<Message> {
    view.messages.iter().map(|viewed| viewed.message.clone().into_owned()).collect()
}

fn again(view: &View<'_>) -> Vec<StoredMessage> {
    messages(view).into_iter().zip(1..).map(|(message, seq)| stored(seq, message)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_history_gives_a_valid_view(path in path()) {
        for recipient in APIS.map(recipient) {
            let view = View::of(&PathMessage::all(&path), &[], &recipient);

            prop_assert_eq!(objections(&view, &recipient), Vec::<String>::new());
        }
    }

    #[test]
    fn a_view_of_a_view_is_the_same_and_needs_no_repair(path in path()) {
        for recipient in APIS.map(recipient) {
            let once = View::of(&PathMessage::all(&path), &[], &recipient);
            let again = again(&once);
            let twice = View::of(&PathMessage::all(&again), &[], &recipient);

            prop_assert_eq!(messages(&twice), messages(&once));
            // A stub stands for what is missing, and only a repair knows that.
            prop_assert_eq!(twice.repairs, Vec::<Repair>::new());
        }
    }

    #[test]
    fn the_same_history_gives_the_same_view(path in path()) {
        for recipient in APIS.map(recipient) {
            let copy = path.clone();

            prop_assert_eq!(View::of(&PathMessage::all(&path), &[], &recipient), View::of(&PathMessage::all(&copy), &[], &recipient));
        }
    }

    #[test]
    fn saying_more_keeps_the_beginning_of_the_view(path in path(), more in damaged::message()) {
        let said = [path.clone(), vec![stored(98, Message::user("go on")), stored(99, Message::assistant("more"))]].concat();
        let longer = [said.clone(), vec![stored(100, more)]].concat();
        for recipient in APIS.map(recipient) {
            let before = View::of(&PathMessage::all(&path), &[], &recipient);
            let asked = View::of(&PathMessage::all(&said[..=path.len()]), &[], &recipient);
            let answered = View::of(&PathMessage::all(&said), &[], &recipient);
            let after = View::of(&PathMessage::all(&longer), &[], &recipient);

            // Only a provider's own tool that was still running is taken back when the user speaks.
            let running = asked.repairs.iter().filter(|it| matches!(it, Repair::AbandonedTool { .. })).count()
                > before.repairs.iter().filter(|it| matches!(it, Repair::AbandonedTool { .. })).count();
            if !running {
                prop_assert_eq!(&asked.messages[..before.messages.len()], &before.messages[..]);
            }
            prop_assert_eq!(&answered.messages[..asked.messages.len()], &asked.messages[..]);
            let is_summary = longer.last().is_some_and(|last| last.message.blocks.iter().any(|block| matches!(block, Block::Summary(_))));
            if !is_summary {
                prop_assert_eq!(&after.messages[..asked.messages.len()], &asked.messages[..]);
            }
        }
    }

    #[test]
    fn every_change_is_reported(path in path()) {
        for recipient in APIS.map(recipient) {
            let said = PathMessage::all(&path);
            let view = View::of(&said, &[], &recipient);
            if view.repairs.is_empty() && !path.iter().any(is_rewritten) {
                let original: Vec<&Message> = path.iter().map(|stored| &stored.message).collect();
                let shown: Vec<&Message> = view.messages.iter().map(|viewed| viewed.message.as_ref()).collect();
                prop_assert_eq!(shown, original);
            }
        }
    }

    #[test]
    fn a_repair_is_one_sentence_that_ends_with_its_message(path in path()) {
        for recipient in APIS.map(recipient) {
            for repair in View::of(&PathMessage::all(&path), &[], &recipient).repairs {
                let told = repair.to_string();
                let (sentence, id) = told.rsplit_once(". ").unwrap_or((told.trim_end_matches('.'), ""));

                prop_assert!(!sentence.contains(". ") && sentence.starts_with(char::is_uppercase), "{}", told);
                prop_assert_eq!(id, repair.message().map(|id| id.to_string()).unwrap_or_default());
            }
        }
    }
}

/// True for what a view always shows in other words or another order, without a fault.
fn is_rewritten(stored: &StoredMessage) -> bool {
    let message = &stored.message;
    let has = |is: fn(&Block) -> bool| message.blocks.iter().any(is);
    has(|block| matches!(block, Block::Summary(_) | Block::Snapshot(_)))
        || (message.role == Role::Tool && has(|block| !matches!(block, Block::ToolResult(_))))
        || has(|block| matches!(block, Block::ToolResult(_)))
}
