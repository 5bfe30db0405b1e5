//! The `rejoin` command.

mod ui;

fn main() {}
