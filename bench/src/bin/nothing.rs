//! A program that does nothing: the least a cold process can cost on this machine.

fn main() {}
