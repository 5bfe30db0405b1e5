//! Compaction: asked for, by itself, looked at beforehand, undone.
