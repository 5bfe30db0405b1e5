//! What outsiders tried against Rejoin, one file for each rule they tried to break.

mod answers;
#[path = "../../../../rejoin/tests/it/attacks/attempt.rs"]
mod attempt;
mod consent;
mod damage;
mod display;
mod faults;
mod folder;
mod imports;
mod live;
mod other_users;
mod replaced;
mod repository;
mod unreadable;
mod vault;
