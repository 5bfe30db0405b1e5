//! Prints what a run found as Markdown: one table of results, one of details.

use std::fmt::Write;

use crate::results::{Measure, Results, Round, Row, Table, median_ratio, walls};
use crate::statistics::{median, percentile};

/// The most syncs a turn may wait for: one, and the share in the log's new header after each checkpoint.
const PATH_SYNCS: f64 = 1.05;

/// The most syncs a turn may cause later, by its share in a checkpoint.
const APART_SYNCS: f64 = 0.1;

pub(crate) fn markdown(results: &Results) -> String {
    let mut text = String::from(
        "| operation | contestant | reference | ratio (p10) | bar | verdict | syncs on the path + apart |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for row in results.sorted().into_iter().filter(|row| row.heading.table == Table::Headline) {
        let heading = &row.heading;
        let (value, bar) = (shown(&row.measure, row.measure.value()), heading.bar);
        let bar = bar.map_or_else(String::new, |bar| format!("≤ {}", shown(&row.measure, bar)));
        let syncs =
            row.syncs.map_or_else(String::new, |syncs| format!("{:.2} + {:.2}", syncs.path, syncs.apart));
        let (operation, contestant, reference) =
            (&heading.operation, &heading.contestant, &heading.reference);
        let verdict = verdict(row);
        line(&mut text, &[operation, contestant, reference, &value, &bar, &verdict, &syncs]);
    }
    text.push_str("\n### Details\n\nTimes in microseconds: p2 / p10 / p50 / p90 of all rounds.\n\n");
    text.push_str(
        "| operation | contestant | samples | contestant | reference | ratio p2 / p10 / p50 | p10 by round | \
         processor p50, contestant / reference |\n|---|---|---|---|---|---|---|---|\n",
    );
    for row in results.sorted() {
        if let Measure::Times(rounds) = &row.measure {
            detail(&mut text, row, rounds);
        }
    }
    if !results.skipped.is_empty() {
        text.push_str("\n### Skipped\n\n");
        for skipped in &results.skipped {
            let _ = writeln!(text, "- {skipped}");
        }
    }
    text
}

/// Says whether the bar is met, and if not, by how much it is missed.
fn verdict(row: &Row) -> String {
    let Some(bar) = row.heading.bar else { return String::new() };
    let value = row.measure.value();
    let mut missed = Vec::new();
    if value > bar {
        missed.push(format!("by {:.0} %", (value / bar - 1.0) * 100.0));
    }
    if let Some(syncs) = row.syncs {
        if syncs.path > PATH_SYNCS {
            missed.push(format!("by {:.2} syncs on the path", syncs.path - PATH_SYNCS));
        }
        if syncs.apart > APART_SYNCS {
            missed.push(format!("by {:.2} syncs apart", syncs.apart - APART_SYNCS));
        }
    }
    match (value.is_nan(), missed.is_empty()) {
        (true, _) => "not measured".to_owned(),
        (false, true) => "meets".to_owned(),
        (false, false) => format!("misses {}", missed.join(", ")),
    }
}

fn shown(measure: &Measure, value: f64) -> String {
    match measure {
        Measure::Times(_) | Measure::Ratio(_) => format!("{value:.2}"),
        Measure::Megabytes(_) => format!("{value:.0} MB"),
        Measure::BytesEach(_) => format!("{value:.0} bytes"),
    }
}

fn detail(text: &mut String, row: &Row, rounds: &[Round]) {
    let contestant: Vec<_> = rounds.iter().flat_map(|round| round.contestant.iter().copied()).collect();
    let reference: Vec<_> = rounds.iter().flat_map(|round| round.reference.iter().copied()).collect();
    let ratios: Vec<f64> = rounds.iter().map(|round| round.ratio(0.10)).collect();
    let cpu = |samples: &[crate::protocol::Sample]| {
        median(&samples.iter().map(|sample| sample.cpu).collect::<Vec<f64>>())
    };
    let ratio = |part| format!("{:.2}", median_ratio(rounds, part));
    line(
        text,
        &[
            &row.heading.operation,
            &row.heading.contestant,
            &contestant.len().to_string(),
            &spread(&walls(&contestant)),
            &spread(&walls(&reference)),
            &format!("{} / {} / {}", ratio(0.02), ratio(0.10), ratio(0.50)),
            &format!("{:.2} to {:.2}", percentile(&ratios, 0.0), percentile(&ratios, 1.0)),
            &format!("{:.0} / {:.0}", cpu(&contestant), cpu(&reference)),
        ],
    );
}

fn spread(values: &[f64]) -> String {
    [0.02, 0.10, 0.50, 0.90].map(|part| format!("{:.0}", percentile(values, part))).join(" / ")
}

fn line(text: &mut String, cells: &[&str]) {
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Operation;
    use crate::results::Heading;
    use crate::syncs::Syncs;

    fn row(value: f64, syncs: Option<Syncs>) -> Row {
        let heading = Heading {
            group: Operation::Append,
            operation: "append".into(),
            contestant: "store".into(),
            reference: "raw".into(),
            bar: Some(1.2),
            table: Table::Headline,
        };
        Row { heading, measure: Measure::Ratio(value), syncs }
    }

    #[test]
    fn a_ratio_at_the_bar_meets_it() {
        assert_eq!(verdict(&row(1.2, None)), "meets");
    }

    #[test]
    fn a_ratio_above_the_bar_says_by_how_much() {
        assert_eq!(verdict(&row(1.5, None)), "misses by 25 %");
    }

    #[test]
    fn a_second_sync_on_the_path_misses_whatever_the_ratio() {
        let syncs = Some(Syncs { path: 2.0, apart: 0.05 });

        assert_eq!(verdict(&row(1.0, syncs)), "misses by 0.95 syncs on the path");
    }
}
