//! The table of counts: how it is written, read and compared.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use rejoin_bench::failure::{Failure, Result};

use crate::world::Size;

/// How much more than before is accepted, as a factor.
const ACCEPTED: f64 = 1.05;

const HEAD: &str = "\
# Instruction and sync counts

This is the baseline of `just counts`, which CI runs. It counts the instructions and syncs of common commands in a small
store (40 conversations of 20 messages and one of 80) and in one eight times as large. It fails if a command

- executes 5 % more instructions than the baseline,
- grows 5 % more from the small store to the large one, or
- syncs more often.

Instructions are in thousands. `growth` is large divided by small. A command that only reads has no sync counts.

To accept new counts, run `just counts --write` and give the reason in the commit message. A command that becomes faster
only in the small store grows more, so it needs new counts, too. [README.md](README.md#instruction-counts) says what the
counts depend on.

| store | command | small | large | growth | syncs, small | syncs, large |
|---|---|---|---|---|---|---|
";

/// What a command takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) instructions: u64,
    /// None for a command that only reads.
    pub(crate) syncs: Option<u64>,
}

impl Counts {
    /// The smaller of each count.
    pub(crate) fn least(self, other: Self) -> Self {
        let syncs = self.syncs.zip(other.syncs).map(|(one, another)| one.min(another));
        Self { instructions: self.instructions.min(other.instructions), syncs }
    }

    /// Whether this is accepted where `before` is the baseline.
    fn is_within(self, before: Self) -> bool {
        let accepted = (before.instructions / 1_000) as f64 * ACCEPTED;
        (self.instructions / 1_000) as f64 <= accepted && self.syncs <= before.syncs
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} thousand instructions", grouped(self.instructions / 1_000))?;
        self.syncs.map_or(Ok(()), |syncs| write!(formatter, ", {syncs} syncs"))
    }
}

/// What a command takes in a small store and in a large one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    small: Counts,
    large: Counts,
}

impl Row {
    fn growth(&self) -> f64 {
        self.large.instructions as f64 / self.small.instructions.max(1) as f64
    }
}

/// What every command takes, by store and command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    rows: BTreeMap<(String, String), Row>,
}

impl Table {
    pub(crate) fn add(&mut self, store: &str, command: &str, size: Size, counts: Counts) {
        let row = self.rows.entry((store.to_owned(), command.to_owned())).or_default();
        match size {
            Size::Small => row.small = counts,
            Size::Large => row.large = counts,
        }
    }

    /// Whether this table accepts these counts as a baseline. A command that is not in it has nothing to
    /// exceed.
    pub(crate) fn accepts(&self, store: &str, command: &str, size: Size, counts: Counts) -> bool {
        let row = self.rows.get(&(store.to_owned(), command.to_owned()));
        row.is_none_or(|row| match size {
            Size::Small => counts.is_within(row.small),
            Size::Large => counts.is_within(row.large),
        })
    }

    /// The rows of the named stores.
    pub(crate) fn of_stores(mut self, names: &[&str]) -> Self {
        self.rows.retain(|(store, _), _| names.contains(&store.as_str()));
        self
    }

    /// Says what takes more than it did, and what is in only one of the two tables.
    pub(crate) fn increases_over(&self, before: &Self) -> Vec<String> {
        let mut increases = Vec::new();
        for ((store, command), now) in &self.rows {
            let Some(then) = before.rows.get(&(store.clone(), command.clone())) else {
                increases.push(format!("{store}, {command}: not in the baseline"));
                continue;
            };
            let mut compare = |what: &str, then: f64, now: f64, accepted: f64| {
                if now > then * accepted {
                    increases.push(format!("{store}, {command}: {what} {now}, was {then}"));
                }
            };
            for (size, then, now) in [("small", then.small, now.small), ("large", then.large, now.large)] {
                let thousands = |counts: Counts| (counts.instructions / 1_000) as f64;
                compare(
                    &format!("thousands of instructions, {size}"),
                    thousands(then),
                    thousands(now),
                    ACCEPTED,
                );
                let syncs = |counts: Counts| counts.syncs.unwrap_or_default() as f64;
                compare(&format!("syncs, {size}"), syncs(then), syncs(now), 1.0);
            }
            compare("growth", hundredths(then.growth()), hundredths(now.growth()), ACCEPTED);
        }
        let gone = before.rows.keys().filter(|key| !self.rows.contains_key(key));
        increases.extend(
            gone.map(|(store, command)| format!("{store}, {command}: in the baseline, but not counted")),
        );
        increases
    }
}

fn hundredths(ratio: f64) -> f64 {
    (ratio * 100.0).round() / 100.0
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HEAD)?;
        for ((store, command), row) in &self.rows {
            let syncs =
                |counts: Counts| counts.syncs.map_or_else(|| "–".to_owned(), |syncs| syncs.to_string());
            writeln!(
                formatter,
                "| {store} | {command} | {} | {} | {:.2} | {} | {} |",
                grouped(row.small.instructions / 1_000),
                grouped(row.large.instructions / 1_000),
                row.growth(),
                syncs(row.small),
                syncs(row.large),
            )?;
        }
        Ok(())
    }
}

/// A number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = {
        let first = digits.len() % 3;
        let (head, rest) = digits.split_at(first);
        let rest = (0..rest.len()).step_by(3).map(|start| &rest[start..start + 3]);
        (!head.is_empty()).then_some(head).into_iter().chain(rest).collect()
    };
    groups.join(",")
}

impl FromStr for Table {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let mut table = Self::default();
        for line in text.lines().skip_while(|line| !line.starts_with("|---")).skip(1) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [store, command, small, large, _, few_syncs, many_syncs] = cells[..] else {
                return Err(format!("not a row of counts: {line}").into());
            };
            let counts = |instructions: &str, syncs: &str| -> Result<Counts> {
                let instructions = instructions.replace(',', "").parse::<u64>()? * 1_000;
                Ok(Counts { instructions, syncs: (syncs != "–").then(|| syncs.parse()).transpose()? })
            };
            table.add(store, command, Size::Small, counts(small, few_syncs)?);
            table.add(store, command, Size::Large, counts(large, many_syncs)?);
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(small: u64, large: u64, syncs: u64) -> Table {
        let mut table = Table::default();
        let counts = |instructions| Counts { instructions, syncs: Some(syncs) };
        table.add("sqlite", "new", Size::Small, counts(small));
        table.add("sqlite", "new", Size::Large, counts(large));
        table.add("sqlite", "list", Size::Small, Counts { instructions: 1_234_567_000, syncs: None });
        table.add("sqlite", "list", Size::Large, Counts { instructions: 2_000_000_000, syncs: None });
        table
    }

    #[test]
    fn a_table_that_was_written_is_read_as_it_was() -> Result<()> {
        let written = table(100_000, 200_000, 3);

        assert_eq!(written.to_string().parse::<Table>()?, written);
        Ok(())
    }

    #[test]
    fn what_takes_more_grows_more_or_syncs_more_is_told() {
        let before = table(1_000_000, 2_000_000, 3);
        let told = |now: Table| now.increases_over(&before);

        assert!(told(table(1_040_000, 2_080_000, 3)).is_empty());
        assert!(told(table(500_000, 1_000_000, 2)).is_empty());
        assert_eq!(
            told(table(1_060_000, 2_000_000, 4)),
            [
                "sqlite, new: thousands of instructions, small 1060, was 1000",
                "sqlite, new: syncs, small 4, was 3",
                "sqlite, new: syncs, large 4, was 3",
            ]
        );
        assert_eq!(told(table(900_000, 2_000_000, 3)), ["sqlite, new: growth 2.22, was 2"]);
    }

    #[test]
    fn a_count_above_the_baseline_is_not_accepted() {
        let baseline = table(1_000_000, 2_000_000, 3);
        let accepts = |size, instructions, syncs| {
            baseline.accepts("sqlite", "new", size, Counts { instructions, syncs: Some(syncs) })
        };

        assert_eq!([accepts(Size::Small, 1_040_000, 3), accepts(Size::Large, 2_040_000, 3)], [true, true]);
        assert_eq!([accepts(Size::Small, 1_060_000, 3), accepts(Size::Small, 1_000_000, 4)], [false, false]);
        assert!(baseline.accepts("sqlite", "a new command", Size::Small, Counts::default()));
    }

    #[test]
    fn the_least_of_two_counts_has_the_smaller_of_each() {
        let (one, another) =
            (Counts { instructions: 5, syncs: Some(1) }, Counts { instructions: 3, syncs: Some(2) });

        assert_eq!(one.least(another), Counts { instructions: 3, syncs: Some(1) });
    }

    #[test]
    fn only_the_named_stores_are_compared() {
        let counts = Counts { instructions: 1_000, syncs: None };
        let mut both = table(1_000, 2_000, 1);
        both.add("jsonl", "list", Size::Small, counts);

        assert_eq!(both.of_stores(&["sqlite"]), table(1_000, 2_000, 1));
    }

    #[test]
    fn a_command_that_is_in_one_table_only_is_told() {
        let (all, none) = (table(1, 1, 1), Table::default());

        let not_counted = ["sqlite, list: not in the baseline", "sqlite, new: not in the baseline"];
        assert_eq!(all.increases_over(&none), not_counted);
        let gone = [
            "sqlite, list: in the baseline, but not counted",
            "sqlite, new: in the baseline, but not counted",
        ];
        assert_eq!(none.increases_over(&all), gone);
    }
}
