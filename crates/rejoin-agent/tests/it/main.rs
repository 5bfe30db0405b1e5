//! The agent, through its public face.

mod talking;
