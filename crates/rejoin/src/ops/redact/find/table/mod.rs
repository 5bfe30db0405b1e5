//! The rules as data: what is looked for, with texts that a test reads.

pub(super) mod anchors;
pub(super) mod commands;
pub(super) mod contexts;
pub(super) mod leads;
pub(super) mod names;
pub(super) mod tokens;
pub(super) mod words;

#[cfg(test)]
mod tests;
