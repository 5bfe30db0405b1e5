//! Redaction: what is found, what is not, and that nothing of it reaches the disk.

mod attached;
mod audited;
mod corpus;
mod dice;
mod guess;
mod independent;
mod notes;
mod others;
mod recall;
mod residue;
