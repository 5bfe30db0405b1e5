//! What outsiders tried against Rejoin, one file for each rule they tried to break.

mod attempt;
mod damage;
mod histories;
mod imports;
mod live;
mod other_users;
mod redaction;
mod vault;
