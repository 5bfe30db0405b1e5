//! A store that seals what it keeps in another one.

pub mod slots;
