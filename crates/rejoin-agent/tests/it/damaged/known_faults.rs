//! Small histories that once became requests which a provider refuses.

use rejoin::Message;

use crate::damaged::asked::Asked;
use crate::damaged::damage::Entry;

/// What every history ends with.
const NEXT: &str = r#"{"role":"user","blocks":[{"type":"text","text":"And now?"}]}"#;

/// What was wrong, and the history as it was stored.
const FOUND: [(&str, &[&str]); 9] = [
    (
        "an image that is not base64",
        &[r#"{"role":"user","blocks":[{"type":"image","mime_type":"image/png","data":"not base64!"}]}"#],
    ),
    (
        "an image of the system",
        &[r#"{"role":"system","blocks":[{"type":"image","mime_type":"image/png","data":"iVBORw0KGgo="}]}"#],
    ),
    (
        "an item of a reply twice",
        &[
            r#"{"role":"assistant","blocks":[{"type":"text","text":"Sunny.","item":{"id":"msg_1","type":"message","status":"completed","role":"assistant"},"content_index":0,"part":{"type":"output_text","annotations":[]}},{"type":"text","text":"Sunny.","item":{"id":"msg_1","type":"message","status":"completed","role":"assistant"},"content_index":0,"part":{"type":"output_text","annotations":[]}}],"extra":{"provider":"mine","api":"openai-responses","response_id":"resp_1"}}"#,
        ],
    ),
    (
        "reasoning without its sealed content",
        &[
            r#"{"role":"assistant","blocks":[{"type":"thinking","text":"hm","item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}]}},{"type":"text","text":"So.","item":{"id":"msg_1","type":"message","status":"completed","role":"assistant"},"content_index":0,"part":{"type":"output_text","annotations":[]}}],"extra":{"provider":"mine","api":"openai-responses","response_id":"resp_1"}}"#,
        ],
    ),
    (
        "an id that is longer than a call may have",
        &[
            r#"{"role":"assistant","blocks":[{"type":"tool_call","id":"ws_689e2d4880a0819d98acca37694989b00b15d90494fc6b87","name":"read","input":{}}],"extra":{"provider":"other","api":"openai-responses","response_id":"resp_1"}}"#,
        ],
    ),
    (
        "the result of a search that names no question",
        &[
            r#"{"role":"assistant","blocks":[{"type":"web_search_tool_result","content":[]},{"type":"text","text":"Sunny."}],"extra":{"provider":"mine","api":"anthropic","response_id":"msg_1"}}"#,
        ],
    ),
    (
        "a call that another provider made without thinking, and its result",
        &[
            r#"{"role":"assistant","blocks":[{"type":"tool_call","id":"call_1","name":"read","input":{}}],"extra":{"provider":"mine","api":"openai-chat"}}"#,
            r#"{"role":"tool","blocks":[{"type":"tool_result","call_id":"call_1","output":"green"}]}"#,
        ],
    ),
    (
        "the name of a tool that is longer than any may be",
        &[
            r#"{"role":"assistant","blocks":[{"type":"tool_call","id":"call_1","name":"a_name_that_is_far_too_long_for_any_provider_to_accept_it_as_the_name_of_a_tool","input":{}}],"extra":{"provider":"mine","api":"openai-chat"}}"#,
        ],
    ),
    (
        "words of another, which have no item",
        &[r#"{"role":"assistant","blocks":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]}"#],
    ),
];

#[test]
fn what_was_refused_once_is_accepted() {
    for (flaw, bodies) in FOUND {
        let bodies = bodies.iter().chain([&NEXT]);
        let path: Vec<Entry> = bodies.map(|body| Message::from_body(body).unwrap().into()).collect();
        for asked in Asked::all() {
            assert_eq!(asked.objections(&path), Vec::<String>::new(), "{:?}: {flaw}", asked.api());
        }
    }
}
