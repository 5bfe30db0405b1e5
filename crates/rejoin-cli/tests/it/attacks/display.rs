//! The program's own way to make text safe to read, as a control: what it leaves out, a question must show.

#[path = "../../../src/ui/clean.rs"]
pub(crate) mod clean;
#[path = "../../../src/ui/escape.rs"]
mod escape;
