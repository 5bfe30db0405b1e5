//! Sizes as people write them: `10 MB`, `1 GiB`, `4096`.

const UNITS: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// Reads a whole number with an optional unit; the case of the unit does not matter.
pub(crate) fn read(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '_').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.replace('_', "").parse().ok()?;
    let unit = unit.trim();
    if unit.is_empty() {
        return Some(number);
    }
    let (_, factor) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    number.checked_mul(*factor)
}

/// Writes a size so that it reads back exactly, with the largest unit that divides it.
pub(crate) fn write(bytes: u64) -> String {
    let best = UNITS.iter().filter(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    match best.max_by_key(|(_, factor)| *factor) {
        Some((unit, factor)) => format!("{} {unit}", bytes / factor),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_and_binary_units_differ() {
        let sizes =
            ["4096", "10 MB", "10mb", "1 GiB", "1_000 KiB", "ten", "10 MBit", "99999999999 TB"].map(read);

        let expected = [Some(4096), Some(10_000_000), Some(10_000_000), Some(1 << 30), Some(1_024_000)];
        assert_eq!(sizes[..5], expected);
        assert_eq!(sizes[5..], [None, None, None]);
    }

    #[test]
    fn a_written_size_reads_back() {
        let sizes = [0, 1, 1_000, 1_024, 10_000_000, 1 << 30, 12_345];

        assert_eq!(sizes.map(|size| read(&write(size))), sizes.map(Some));
    }
}
