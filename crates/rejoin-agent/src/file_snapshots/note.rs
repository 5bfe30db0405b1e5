//! What a snapshot does not have, in a line.

use rejoin::files::LeftOut;

/// What was left out, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Omitted {
    pub(super) large: u64,
    pub(super) secret: u64,
    pub(super) full: u64,
    pub(super) special: u64,
    pub(super) unreadable: u64,
    pub(super) is_partial: bool,
}

impl Omitted {
    pub(super) fn add(&mut self, why: LeftOut) {
        let count = match why {
            LeftOut::Large => &mut self.large,
            LeftOut::Secret => &mut self.secret,
            LeftOut::Full => &mut self.full,
            _ => &mut self.unreadable,
        };
        *count += 1;
    }

    /// The line; none when the snapshot has everything.
    pub(super) fn to_line(self) -> Option<String> {
        let reasons = [
            (self.large, "larger than 10 MB"),
            (self.secret, "with secrets"),
            (self.full, "beyond the limit of a snapshot"),
            (self.special, "links or special files"),
            (self.unreadable, "unreadable"),
        ];
        let mut parts: Vec<String> = reasons
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, reason)| format!("{count} {reason}"))
            .collect();
        if self.is_partial {
            parts.push("the rest of a project that is too large".to_owned());
        }
        (!parts.is_empty()).then(|| format!("The snapshot of the files leaves out: {}.", parts.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_says_what_was_left_out() {
        let some = Omitted { large: 1, secret: 2, special: 3, ..Omitted::default() };
        let partial = Omitted { is_partial: true, ..Omitted::default() };

        let lines = [some, partial, Omitted::default()].map(Omitted::to_line);

        assert_eq!(
            lines.each_ref().map(Option::as_deref),
            [
                Some(
                    "The snapshot of the files leaves out: 1 larger than 10 MB, 2 with secrets, 3 links or \
                     special files."
                ),
                Some("The snapshot of the files leaves out: the rest of a project that is too large."),
                None,
            ]
        );
    }
}
