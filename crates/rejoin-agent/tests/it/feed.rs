//! What a traced process says about what it has shown.

/// So much of a reply was shown after so long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    pub(crate) milliseconds: u64,
    pub(crate) length: usize,
}

impl Receipt {
    /// Reads a line; other lines are none.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let (milliseconds, length) = line.trim().strip_prefix("shown ")?.split_once(' ')?;
        Some(Self { milliseconds: milliseconds.parse().ok()?, length: length.parse().ok()? })
    }
}
