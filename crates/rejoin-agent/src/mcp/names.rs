//! Names that every provider accepts: letters, digits, `_` and `-`, at most 64 of them.

/// The longest name that every provider accepts.
const LONGEST: usize = 64;

/// The name of a server's tool for a model, such as `mcp__github__get_issue`.
///
/// A name that had to be changed, or could be taken for that of another server's
/// tool, ends with a digest of both names.
pub(super) fn of(server: &str, tool: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let clean = |text: &str| -> String {
        text.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect()
    };
    let name = format!("mcp__{}__{}", clean(server), clean(tool));
    let is_changed = !server.chars().chain(tool.chars()).all(is_plain);
    let is_ambiguous =
        server.contains("__") || tool.contains("__") || server.ends_with('_') || tool.starts_with('_');
    if !is_changed && !is_ambiguous && name.len() <= LONGEST {
        return name;
    }
    let digest = digest(&format!("{server}/{tool}"));
    let kept = &name[..name.len().min(LONGEST - digest.len() - 1)];
    format!("{kept}_{digest}")
}

/// FNV-1a, which is short and the same on every machine and in every version. Nobody is kept out by it.
fn digest(text: &str) -> String {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("{:08x}", text.bytes().fold(0x811c_9dc5, step))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_plain_name_is_kept() {
        assert_eq!(of("github", "get_issue"), "mcp__github__get_issue");
    }

    #[test]
    fn names_that_look_alike_stay_apart() {
        let names = [
            of("a", "_b"),
            of("a_", "b"),
            of("a", "b.c"),
            of("a", "b_c"),
            of("a", "b c"),
            of("a__b", "c"),
            of("a", "b__c"),
        ];

        let apart: std::collections::BTreeSet<&String> = names.iter().collect();

        assert_eq!(apart.len(), names.len(), "{names:?}");
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_providers_accept(server in ".{1,80}", tool in ".{1,200}") {
            let name = of(&server, &tool);

            prop_assert!(name.len() <= LONGEST);
            prop_assert!(name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-'));
        }
    }
}
