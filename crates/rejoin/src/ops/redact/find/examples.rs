//! Examples beside the lines of a table: what a line finds, and what it leaves alone.
//!
//! Only tests read them; a program without them starts sooner.

/// The examples of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Examples {
    /// Texts in which the values in ‹ › are found.
    #[cfg(test)]
    pub(super) finds: &'static [&'static str],
    /// Texts that stay as they are.
    #[cfg(test)]
    pub(super) leaves: &'static [&'static str],
}

impl Examples {
    #[cfg(test)]
    pub(super) const NONE: Self = Self { finds: &[], leaves: &[] };

    #[cfg(not(test))]
    pub(super) const NONE: Self = Self {};

    #[cfg(test)]
    pub(super) const fn finds(self, finds: &'static [&'static str]) -> Self {
        Self { finds, ..self }
    }

    #[cfg(test)]
    pub(super) const fn leaves(self, leaves: &'static [&'static str]) -> Self {
        Self { leaves, ..self }
    }

    #[cfg(not(test))]
    pub(super) const fn finds(self, _: &'static [&'static str]) -> Self {
        self
    }

    #[cfg(not(test))]
    pub(super) const fn leaves(self, _: &'static [&'static str]) -> Self {
        self
    }
}
