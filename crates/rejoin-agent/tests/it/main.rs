//! The agent, through its public face.

mod approval;
mod approval_stage;
mod mcp;
mod skip;
mod talking;
mod tools_files;
mod tools_run;
mod tools_workshop;
