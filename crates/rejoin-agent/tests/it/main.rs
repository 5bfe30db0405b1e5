//! The agent, through its public face.

mod summarising;
mod talking;
