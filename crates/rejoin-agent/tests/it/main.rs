//! The agent, through its public face.

mod talking;
mod tools_files;
mod tools_run;
mod tools_workshop;
