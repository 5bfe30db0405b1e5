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

/// Checks a reply against what is written beside its stream.
pub(crate) fn check_written(directory: &Path, name: &str, reply: &Reply) {
    let file = directory.join(format!("{name}.reply"));
    if env::var_os(WRITE).is_some() {
        fs::write(&file, written(reply)).unwrap();
    }
    let expected = fs::read_to_string(&file).unwrap_or_default();

    assert_eq!(written(reply), expected, "{}", file.display());
}
