//! Calls of a reply: which run, which ask, in what order, and what is kept of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rejoin::{Archive, Block, Message};
use rejoin_agent::{Decision, Output, Rules, Toolbox, TurnEvent};
use serde_json::json;
use tokio::sync::{Barrier, Notify, mpsc};

use crate::approval_stage::{Doing, Scripted, Stage};
use crate::tools_workshop::Workshop;

/// A test that waits for what must happen gives up after this long.
const PATIENCE: Duration = Duration::from_secs(30);

fn said(text: &str) -> (bool, String) {
    (false, text.to_owned())
}

fn failed(text: &str) -> (bool, String) {
    (true, text.to_owned())
}

#[tokio::test]
async fn harmless_calls_run_side_by_side_and_their_results_keep_the_order() {
    let stage = Stage::new();
    let meeting = Arc::new(Barrier::new(3));
    let meet = |name: &'static str| {
        let meeting = Arc::clone(&meeting);
        Doing::new(name, true, move || {
            let meeting = Arc::clone(&meeting);
            async move {
                meeting.wait().await;
                Output::text(name)
            }
        })
    };
    let toolbox = Toolbox::default().with(meet("a")).with(meet("b")).with(meet("c"));

    let calls = ["c", "a", "b"].map(|name| (name, json!({})));
    let turn = stage.turn(&toolbox, &calls, |_| None);
    let outcome = tokio::time::timeout(PATIENCE, turn).await.unwrap();

    assert_eq!((outcome.results, outcome.asked), (vec![said("c"), said("a"), said("b")], Vec::new()));
}

#[tokio::test]
async fn a_call_that_changes_something_waits_for_those_before_it_and_holds_up_those_after_it() {
    let stage = Stage::new();
    let log = Arc::new(Mutex::new(Vec::new()));
    let tool = |name: &'static str, is_harmless| {
        let log = Arc::clone(&log);
        Doing::new(name, is_harmless, move || {
            let log = Arc::clone(&log);
            async move {
                log.lock().unwrap().push(format!("{name} begins"));
                tokio::task::yield_now().await;
                log.lock().unwrap().push(format!("{name} ends"));
                Output::text(name)
            }
        })
    };
    let toolbox = Toolbox::default()
        .with(tool("look", true))
        .with(tool("change", false))
        .with(tool("change-more", false));
    let calls = ["look", "change", "change-more", "look"].map(|name| (name, json!({})));

    stage.turn(&toolbox, &calls, |_| Some(Decision::Once)).await;

    let expected = ["look", "change", "change-more", "look"]
        .iter()
        .flat_map(|name| [format!("{name} begins"), format!("{name} ends")])
        .collect::<Vec<_>>();
    assert_eq!(*log.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_call_runs_once_when_it_is_allowed_once() {
    let (stage, shop) = (Stage::new(), Workshop::new());
    let calls = [("run", json!({"command": "echo hi"})), ("run", json!({"command": "echo hi"}))];

    let outcome = stage.turn(&shop.toolbox, &calls, |_| Some(Decision::Once)).await;

    assert_eq!(outcome.results, [said("hi\n"), said("hi\n")]);
    assert_eq!(outcome.asked.iter().map(|plan| plan.rule.as_str()).collect::<Vec<_>>(), ["run(echo hi)"; 2]);
}

#[tokio::test]
async fn a_refused_call_does_nothing_and_the_model_is_told_why() {
    let (stage, shop) = (Stage::new(), Workshop::new());
    let calls =
        [("write", json!({"path": "a", "content": "x"})), ("write", json!({"path": "b", "content": "x"}))];
    let answer = |plan: &rejoin_agent::Plan| match plan.rule.as_str() {
        "write(a)" => Some(Decision::No(None)),
        _ => Some(Decision::No(Some("use c".to_owned()))),
    };

    let outcome = stage.turn(&shop.toolbox, &calls, answer).await;

    assert_eq!(
        outcome.results,
        [failed("the user did not allow this"), failed("the user did not allow this: use c")]
    );
    assert!(!shop.path("a").exists() && !shop.path("b").exists());
    assert_eq!(
        outcome.asked[0].detail.as_deref(),
        Some("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file")
    );
}

#[tokio::test]
async fn always_and_never_hold_for_the_conversation_and_survive_the_process() {
    let stage = Stage::new();
    let calls = [("run", json!({"command": "echo yes"})), ("run", json!({"command": "echo no"}))];
    let answer = |plan: &rejoin_agent::Plan| match plan.rule.as_str() {
        "run(echo yes)" => Some(Decision::Always),
        _ => Some(Decision::Never),
    };

    let shop = Workshop::new();
    let first = stage.turn(&shop.toolbox, &calls, answer).await;
    let second = stage.turn(&shop.toolbox, &calls, |_| None).await;
    let stored = Archive::open(&stage.url)
        .unwrap()
        .state()
        .recall_for(stage.conversation, Rules::NAME)
        .unwrap()
        .unwrap();
    let mut rules = Rules::default();
    rules.recall(&stored).unwrap();
    let third = stage.turn(&Workshop::with_rules(rules).toolbox, &calls, |_| None).await;

    let denied = "not allowed: the rule `run(echo no)` denies it; do not try again";
    let never = "the user did not allow this, nor anything like it in this conversation";
    assert_eq!((first.results, first.asked.len()), (vec![said("yes\n"), failed(never)], 2));
    assert_eq!((second.results, second.asked.len()), (vec![said("yes\n"), failed(denied)], 0));
    assert_eq!((third.results, third.asked.len()), (vec![said("yes\n"), failed(denied)], 0));
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_a_no_that_names_the_way_to_a_yes() {
    let (stage, shop) = (Stage::new(), Workshop::new());
    let calls = [("run", json!({"command": "echo 'a b'"}))];

    let plain = stage.turn(&shop.toolbox, &calls, |_| None).await;
    let flagged = stage.turn(&shop.toolbox.clone().with_flag("--allow"), &calls, |_| None).await;

    let start = "this needs approval, and nobody was there to give it";
    assert_eq!(plain.results, [failed(&format!("{start}; the rule `run(echo 'a b')` would allow it"))]);
    assert_eq!(
        flagged.results,
        [failed(&format!(r"{start}; the user can allow it with --allow 'run(echo '\''a b'\'')'"))]
    );
}

#[tokio::test]
async fn a_link_out_of_the_project_asks_before_it_is_read() {
    let (stage, shop) = (Stage::new(), Workshop::new());
    std::fs::write(shop.elsewhere("secret"), "s\n").unwrap();
    std::os::unix::fs::symlink(shop.elsewhere("secret"), shop.path("link")).unwrap();

    let refused = stage.turn(&shop.toolbox, &[("read", json!({"path": "link"}))], |_| None).await;
    let allowed =
        stage.turn(&shop.toolbox, &[("read", json!({"path": "link"}))], |_| Some(Decision::Once)).await;

    let rule = format!("read({})", shop.elsewhere("secret").display());
    assert_eq!(refused.asked[0].rule, rule);
    assert!(refused.results[0].0);
    assert_eq!(allowed.results, [said("     1\ts\n")]);
}

#[tokio::test]
async fn what_a_model_gets_wrong_it_is_told() {
    let (stage, shop) = (Stage::new(), Workshop::new());
    let calls = [("grep", json!({})), ("read", json!({"file": "a"})), ("read", json!("{\"path\":"))];

    let outcome = stage.turn(&shop.toolbox, &calls, |_| None).await;

    assert_eq!(
        outcome.results,
        [
            failed("there is no tool `grep`; there are: read, list, find, edit, write, run"),
            failed("the input does not fit: unknown field `file`, expected one of `path`, `offset`, `limit`"),
            failed("the input is not valid JSON: EOF while parsing a value at line 1 column 8"),
        ]
    );
}

#[tokio::test]
async fn later_calls_see_what_earlier_ones_did() {
    let (stage, shop) = (Stage::new(), Workshop::new());
    let calls = [
        ("write", json!({"path": "a", "content": "one\n"})),
        ("edit", json!({"path": "a", "old": "one", "new": "two"})),
        ("edit", json!({"path": "a", "old": "two", "new": "three"})),
        ("read", json!({"path": "a"})),
    ];

    let outcome = stage.turn(&shop.toolbox, &calls, |_| Some(Decision::Once)).await;

    assert_eq!(outcome.results[3], said("     1\tthree\n"));
}

#[tokio::test]
async fn a_finished_result_is_on_disk_while_another_call_still_runs() {
    let stage = Stage::new();
    let (begun, release) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, released) = (Arc::clone(&begun), Arc::clone(&release));
    let slow = Doing::new("slow", true, move || {
        let (begins, released) = (Arc::clone(&begins), Arc::clone(&released));
        async move {
            begins.notify_one();
            released.notified().await;
            Output::text("slow")
        }
    });
    let quick = Doing::new("quick", true, || async { Output::text("quick") });
    let toolbox = Toolbox::default().with(slow).with(quick);
    let mut talk = stage.talk(Scripted::asking(&[("slow", json!({})), ("quick", json!({}))]), toolbox);
    let (events, mut heard) = mpsc::unbounded_channel();
    let archive = Archive::open(&stage.url).unwrap();

    let turn = tokio::spawn(async move {
        talk.turn(Message::user("go"), &events).await.unwrap();
        talk
    });
    let ended = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(TurnEvent::ToolEnded { call, .. }) = heard.recv().await {
                return call;
            }
        }
    });
    let first = ended.await.unwrap();
    let kept = tokio::time::timeout(PATIENCE, async {
        loop {
            let turns = archive.open_turns().list(stage.conversation).unwrap();
            if let Some(turn) = turns.first().filter(|turn| !turn.results.is_empty()) {
                return turn.results.clone();
            }
            tokio::task::yield_now().await;
        }
    });
    let kept = kept.await.unwrap();
    release.notify_one();
    let talk = tokio::time::timeout(PATIENCE, turn).await.unwrap().unwrap();

    let answered: Vec<&str> = kept.iter().flat_map(|message| &message.blocks).filter_map(answer).collect();
    let all: Vec<&str> =
        talk.history().messages().flat_map(|message| &message.blocks).filter_map(answer).collect();
    assert_eq!((first.as_str(), answered), ("call-1", vec!["call-1"]));
    assert_eq!(all, ["call-0", "call-1"]);
    assert_eq!(archive.open_turns().list(stage.conversation).unwrap(), []);
}

fn answer(block: &Block) -> Option<&str> {
    match block {
        Block::ToolResult(result) => Some(&result.call_id),
        _ => None,
    }
}
