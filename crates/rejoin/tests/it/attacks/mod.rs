//! What outsiders tried against Rejoin, one file for each rule they tried to break.

mod attempt;
mod redaction;
