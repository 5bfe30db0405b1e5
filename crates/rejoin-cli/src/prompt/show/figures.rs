//! What a turn took: tokens, money, time, and the window once it is more than half full.

use std::time::Duration;

use rejoin_agent::{Ended, Fullness};

use crate::compaction::full;
use crate::config::families::Prices;
use crate::ui::size;

/// Tokens of a price.
const MILLION: f64 = 1_000_000.0;

/// What a turn took, in one line; none when there is nothing worth telling.
pub(super) fn line(ended: &Ended, prices: Option<Prices>, fullness: Fullness) -> Option<String> {
    if ended.input_tokens == 0 && ended.output_tokens == 0 {
        return None;
    }
    let tokens =
        format!("{} tokens in, {} out", size::number(ended.input_tokens), size::number(ended.output_tokens));
    let cost = cost(ended.input_tokens, ended.output_tokens, prices).map(size::money);
    let parts = [Some(tokens), cost, Some(duration(ended.took)), full(fullness)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Some(parts.join(" · "))
}

/// What tokens cost, when the prices are known.
#[expect(clippy::cast_precision_loss, reason = "nobody uses so many tokens that the last digit counts")]
pub(in crate::prompt) fn cost(input_tokens: u64, output_tokens: u64, prices: Option<Prices>) -> Option<f64> {
    let prices = prices?;
    Some((input_tokens as f64 * prices.input + output_tokens as f64 * prices.output) / MILLION)
}

/// A length of time for people: `0.4 s`, `12 s`, `2 min 5 s`.
pub(crate) fn duration(length: Duration) -> String {
    let tenths = (length.as_millis() + 50) / 100;
    let seconds = (length.as_millis() + 500) / 1000;
    match seconds {
        0..10 if tenths.is_multiple_of(10) => format!("{} s", tenths / 10),
        0..10 => format!("{}.{} s", tenths / 10, tenths % 10),
        10..60 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use rejoin_agent::Stop;

    use super::*;

    fn ended(input_tokens: u64, output_tokens: u64) -> Ended {
        Ended { stop: Stop::Done, input_tokens, output_tokens, took: Duration::from_millis(4_210) }
    }

    #[test]
    fn the_cost_is_shown_when_it_is_known() {
        let prices = Some(Prices { input: 3.0, output: 15.0 });
        let empty = Fullness { tokens: 5, window: Some(200_000) };

        let told = [
            line(&ended(1_204, 356), prices, empty),
            line(&ended(1_204, 356), None, empty),
            line(&ended(900_000, 100_000), prices, empty),
            line(&ended(10, 5), prices, empty),
            line(&ended(0, 0), prices, empty),
        ];

        let expected = [
            Some("1,204 tokens in, 356 out · $0.0090 · 4.2 s"),
            Some("1,204 tokens in, 356 out · 4.2 s"),
            Some("900,000 tokens in, 100,000 out · $4.20 · 4.2 s"),
            Some("10 tokens in, 5 out · $0.0001 · 4.2 s"),
            None,
        ];
        assert_eq!(told, expected.map(|line| line.map(str::to_owned)));
    }

    #[test]
    fn a_length_of_time_is_as_exact_as_people_need() {
        let told = [40, 420, 9_400, 12_300, 125_000].map(|millis| duration(Duration::from_millis(millis)));

        assert_eq!(told, ["0 s", "0.4 s", "9.4 s", "12 s", "2 min 5 s"]);
    }
}
