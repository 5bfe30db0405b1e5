//! What outsiders tried against Rejoin, one file for each rule they tried to break.

#[path = "../../../../rejoin/tests/it/attacks/attempt.rs"]
mod attempt;
mod consent;
mod folder;
