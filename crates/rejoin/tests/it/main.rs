//! The library's tests, one line per subject.
#![expect(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod archive;
mod async_recorder;
mod attacks;
mod beginnings;
mod broken;
mod doubles;
mod export;
mod failing;
mod formats;
mod held;
mod hostile;
mod jsonl;
mod layers;
#[expect(dead_code, reason = "the conformance suite uses the rest")]
#[path = "../../src/testing/look.rs"]
mod look;
mod model;
mod older;
mod oracle;
mod postgres;
mod previews;
mod public_items;
mod real_agent;
mod recovery;
mod redact;
mod residue;
mod scrub;
mod service;
#[path = "../../../rejoin-cli/tests/it/skip.rs"]
mod skip;
mod sources;
mod stores;
mod torn;
mod vault;
mod vault_between;
mod vault_cost;
mod vault_forged;
mod vault_keys;
mod vault_purge;
mod vault_reseal;
mod vault_rotation;
mod vault_spaces;
mod view;
