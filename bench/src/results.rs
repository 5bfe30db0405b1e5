//! What a run found: one row per operation and contestant, with every sample.

use serde::Serialize;

use crate::options::Operation;
use crate::protocol::Sample;
use crate::statistics::{HEADLINE, median, percentile};
use crate::syncs::Syncs;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Results {
    pub(crate) rows: Vec<Row>,
    /// What could not be measured, and why.
    pub(crate) skipped: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Row {
    #[serde(flatten)]
    pub(crate) heading: Heading,
    pub(crate) measure: Measure,
    pub(crate) syncs: Option<Syncs>,
}

/// What a row is about; two rows with equal headings are one row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Heading {
    pub(crate) group: Operation,
    pub(crate) operation: String,
    pub(crate) contestant: String,
    pub(crate) reference: String,
    /// The most that the design allows; nothing for a row that only explains another.
    pub(crate) bar: Option<f64>,
    pub(crate) table: Table,
}

/// Where a row is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) enum Table {
    /// In the table of results; timed rows are explained in the details as well.
    Headline,
    /// In the details only.
    Detail,
}

#[derive(Debug, Serialize)]
pub(crate) enum Measure {
    Times(Vec<Round>),
    Ratio(f64),
    Megabytes(f64),
    BytesEach(f64),
}

/// The samples of one round: the contestant's, and those of the reference that ran before each of them.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Round {
    pub(crate) contestant: Vec<Sample>,
    pub(crate) reference: Vec<Sample>,
}

impl Round {
    /// Returns how much longer the contestant took than the reference, at one percentile of each.
    pub(crate) fn ratio(&self, part: f64) -> f64 {
        percentile(&walls(&self.contestant), part) / percentile(&walls(&self.reference), part)
    }
}

pub(crate) fn walls(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.wall).collect()
}

impl Measure {
    /// Returns the number that is held against the bar.
    pub(crate) fn value(&self) -> f64 {
        match self {
            Self::Times(rounds) => median_ratio(rounds, HEADLINE),
            Self::Ratio(value) | Self::Megabytes(value) | Self::BytesEach(value) => *value,
        }
    }
}

/// Returns the median over all rounds of the ratio within each round: a slow
/// minute of the machine weighs one vote.
pub(crate) fn median_ratio(rounds: &[Round], part: f64) -> f64 {
    median(&rounds.iter().map(|round| round.ratio(part)).collect::<Vec<f64>>())
}

impl Results {
    pub(crate) fn add_round(&mut self, heading: Heading, round: Round) {
        let known = self.rows.iter_mut().find(|row| row.heading == heading);
        if let Some(Row { measure: Measure::Times(rounds), .. }) = known {
            rounds.push(round);
            return;
        }
        self.add(heading, Measure::Times(vec![round]));
    }

    pub(crate) fn add(&mut self, heading: Heading, measure: Measure) {
        self.rows.push(Row { heading, measure, syncs: None });
    }

    pub(crate) fn set_syncs(&mut self, operation: &str, contestant: &str, syncs: Syncs) {
        for row in &mut self.rows {
            if row.heading.operation == operation && row.heading.contestant == contestant {
                row.syncs = Some(syncs);
            }
        }
    }

    /// Returns all rows, those of one operation together.
    pub(crate) fn sorted(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.heading.group);
        rows
    }

    /// Notes a measurement that could not be made, at once and under the table.
    pub(crate) fn skip(&mut self, what: String) {
        eprintln!("SKIPPED: {what}");
        self.skipped.push(what);
    }
}
