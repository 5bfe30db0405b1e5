//! The estimates beside what real services counted.
