//! An imported conversation is found by the id that it has in its source.

use std::fs;

use crate::world::World;

#[test]
fn a_conversation_is_found_by_the_id_of_its_source() {
    let world = World::new();
    let content = r#"[{"type":"input_text","text":"Where to eat?"}]"#;
    let item = format!(r#"{{"type":"message","role":"user","content":{content}}}"#);
    let line = format!(r#"{{"timestamp":1699564800,"items":[{item}]}}"#);
    let file = world.path("conv_abc123.jsonl");
    fs::write(&file, format!("{line}\n")).unwrap();
    world.rejoin(["import", file.to_str().unwrap()]).run();

    let short: [[&str; 2]; 4] = ["show", "tree", "resume", "stop"].map(|command| [command, "conv_abc123"]);
    let long = [["rename", "conv_abc123", "Lisbon"], ["delete", "conv_abc123", "--yes"]];
    let codes =
        (short.map(|words| world.rejoin(words).run().code), long.map(|words| world.rejoin(words).run().code));
    let gone = world.rejoin(["show", "conv_abc123"]).run().code;

    assert_eq!((codes, gone), (([0; 4], [0; 2]), 1));
}
