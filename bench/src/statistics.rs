//! Percentiles, and the one ratio that the table prints.

/// The percentile of the headline ratio. Other programs only ever add time to a sample, so a low percentile
/// is near the cost of the code; p10 still has several samples below it in each round. The README says more.
pub(crate) const HEADLINE: f64 = 0.10;

/// Returns the value below which the given part of all values lies; not a number if there are none.
pub(crate) fn percentile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let position = (part * sorted.len() as f64) as usize;
    sorted.get(position.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_percentile_of_a_hundred_values_has_ten_below_it() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();

        assert_eq!(percentile(&values, HEADLINE), 10.0);
    }

    #[test]
    fn the_median_of_an_even_count_lies_between_the_two_middle_values() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert!(percentile(&[], 0.5).is_nan());
    }
}
