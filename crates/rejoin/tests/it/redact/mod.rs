//! Redaction: what is found, what is not, and that nothing of it reaches the disk.

mod corpus;
mod dice;
mod recall;
mod residue;
