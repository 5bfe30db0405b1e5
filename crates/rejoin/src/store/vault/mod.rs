//! A vault wraps another store and seals what it is given.

#[expect(dead_code, reason = "the wrapper that uses it is being built")]
mod shard;
