//! Amounts for people: bytes with a unit, numbers with separators, counts with the right word.

/// Names of a thousand, a million and so on; powers of ten, as disks and file managers count.
const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];

/// Returns the size with at most one decimal: `340 B`, `1.2 MB`, `56 GB`.
pub(crate) fn bytes(size: u64) -> String {
    if size < 1000 {
        return format!("{size} B");
    }
    let size = u128::from(size);
    let mut unit = 1000;
    let mut name = 0;
    // From 999.5 on, rounding would show a thousand of this unit; from 9.95 on, ten and a decimal.
    while size * 2 >= unit * 1999 && name + 1 < UNITS.len() {
        unit *= 1000;
        name += 1;
    }
    if size * 20 >= unit * 199 {
        return format!("{} {}", (size + unit / 2) / unit, UNITS[name]);
    }
    let tenths = (size * 10 + unit / 2) / unit;
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[name])
}

/// Returns the number with a comma between thousands: `1,234,567`.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Returns the number with the word that suits it: `1 conversation`, `2 conversations`.
pub(crate) fn count(value: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(value), if value == 1 { one } else { many })
}

/// Returns an amount of money; small ones keep two digits that count.
pub(crate) fn money(amount: f64) -> String {
    match amount {
        amount if amount >= 0.995 => format!("${amount:.2}"),
        amount if amount >= 0.01 => format!("${amount:.3}"),
        amount => format!("${amount:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_unit_and_two_or_three_digits() {
        let cases = [
            (0, "0 B"),
            (340, "340 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (1_049, "1.0 kB"),
            (1_050, "1.1 kB"),
            (9_949, "9.9 kB"),
            (9_950, "10 kB"),
            (340_400, "340 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (1_234_567, "1.2 MB"),
            (56_000_000_000, "56 GB"),
            (u64::MAX, "18 EB"),
        ];

        let shown = cases.map(|(size, _)| bytes(size));

        assert_eq!(shown, cases.map(|(_, expected)| expected.to_owned()));
    }

    #[test]
    fn thousands_are_separated() {
        let shown = [0, 999, 1000, 1_234_567, u64::MAX].map(number);

        assert_eq!(shown, ["0", "999", "1,000", "1,234,567", "18,446,744,073,709,551,615"]);
    }

    #[test]
    fn one_is_singular_and_none_is_plural() {
        let shown = [0, 1, 2, 1200].map(|value| count(value, "conversation", "conversations"));

        assert_eq!(shown, ["0 conversations", "1 conversation", "2 conversations", "1,200 conversations"]);
    }
}
