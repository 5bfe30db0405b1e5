//! For tests: a reply as text that a person can check, beside the stream it came from.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use crate::providers::Reply;

/// Set to write what is found instead of comparing it.
const WRITE: &str = "REJOIN_WRITE_STREAMS";

/// One line for how it ended, one for each block as it is stored, one for the rest of the message.
pub(crate) fn written(reply: &Reply) -> String {
    let mut text = format!("{:?}\n", reply.stop);
    for block in &reply.message.blocks {
        writeln!(text, "{}", serde_json::to_string(block).unwrap()).unwrap();
    }
    let mut rest = reply.message.clone();
    rest.blocks.clear();
    writeln!(text, "{}", rest.to_body()).unwrap();
    text
}

/// Checks the replies of streams against what is written beside them.
pub(crate) fn check_written(directory: &Path, replies: &[(&str, Reply)]) {
    let file = |name: &str| directory.join(format!("{name}.reply"));
    if env::var_os(WRITE).is_some() {
        for (name, reply) in replies {
            fs::write(file(name), written(reply)).unwrap();
        }
    }
    let found: Vec<String> = replies.iter().map(|(_, reply)| written(reply)).collect();
    let expected: Vec<String> =
        replies.iter().map(|(name, _)| fs::read_to_string(file(name)).unwrap_or_default()).collect();

    assert_eq!(found, expected);
}
