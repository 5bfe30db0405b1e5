//! The reason that a store keeps of a purge: its code, and the name under which the report will be.

use crate::archive::audit::AuditName;
use crate::archive::purge::PurgeReason;

/// Stands between the code and the name of the report.
const MARK: &str = " purge=";

/// The reason that the store keeps: the code, and where the report will be.
pub(super) fn marked(reason: PurgeReason, name: &AuditName) -> String {
    let name = u128::from_be_bytes(*name);
    format!("{reason}{MARK}{name:032x}")
}

/// The code and the name of the report, of a reason that a purge gave.
pub(in crate::archive) fn unmarked(reason: &str) -> (&str, Option<AuditName>) {
    let found = reason.rsplit_once(MARK).and_then(|(code, name)| {
        let name = (name.len() == 32).then(|| u128::from_str_radix(name, 16).ok()).flatten()?;
        Some((code, name.to_be_bytes()))
    });
    found.map_or((reason, None), |(code, name)| (code, Some(name)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_marked_reason_gives_back_its_code_and_its_report(name: [u8; 16], place in 0..5_usize) {
            let reason = PurgeReason::ALL[place];

            let marked = marked(reason, &name);

            prop_assert_eq!(unmarked(&marked), (reason.as_str(), Some(name)));
        }

        #[test]
        fn any_other_reason_is_left_as_it_is(reason in ".{0,40}") {
            prop_assume!(!reason.contains(MARK));

            prop_assert_eq!(unmarked(&reason), (reason.as_str(), None));
        }
    }
}
