//! The cost of a call, computed from the usage that its provider reported.
//!
//! A configured price overrides the table. A model without a configured price that is not in the table has no price:
//! its calls are counted and shown as unpriced.

use std::sync::LazyLock;

use bethink_transcript::TokenUsage;

/// Maximum number of tokens of one kind in one call; larger figures must be wrong.
const MOST_TOKENS: u64 = 1 << 40;
/// One dollar per million tokens is a thousand nano-dollars per token.
const NANO_PER_TOKEN: f64 = 1_000.0;
const NANO_PER_MICRO: u64 = 1_000;

/// Prices in nano-dollars per token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// Configured prices in US dollars per million tokens; 0 means the price in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Given {
    pub input: f64,
    pub output: f64,
}

/// Configured prices, and the name of the small model.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    /// Prices of every model except the small one.
    pub large: Given,
    pub small: Given,
    /// Empty if there is no small model.
    pub small_name: String,
}

/// Returns the cost of a call in micro-dollars, rounded up; `None` if the model has no known price.
pub fn cost(model: &str, usage: &TokenUsage, prices: &Prices) -> Option<u64> {
    Some(prices.of(model)?.cost(usage))
}

impl Prices {
    pub fn of(&self, model: &str) -> Option<Price> {
        let is_small = !self.small_name.is_empty() && model == self.small_name;
        if is_small { self.small } else { self.large }.over(known(model))
    }
}

impl Price {
    /// Returns the cost in micro-dollars. Each figure is capped at `MOST_TOKENS`.
    pub fn cost(&self, usage: &TokenUsage) -> u64 {
        let parts = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_input_tokens, self.cache_read),
            (usage.cache_creation_input_tokens, self.cache_write),
        ];
        let nano = parts.iter().fold(0_u64, |sum, (tokens, price)| {
            sum.saturating_add(tokens.min(&MOST_TOKENS).saturating_mul(*price))
        });
        nano.div_ceil(NANO_PER_MICRO)
    }
}

impl Given {
    /// Returns the configured price, or else the one in the table. A configured price also sets the prices of cached input, in
    /// the same proportions as Anthropic's: reading costs a tenth of the input price, and writing costs a quarter more than the
    /// input price.
    fn over(self, known: Option<Price>) -> Option<Price> {
        let (input, output) = (nano(self.input), nano(self.output));
        if input == 0 && output == 0 {
            return known;
        }
        let mut price = known.unwrap_or_default();
        if output > 0 {
            price.output = output;
        }
        if input > 0 {
            let cache_write = input.saturating_add(input / 4);
            price = Price { input, cache_read: input / 10, cache_write, ..price };
        }
        Some(price)
    }
}

/// Converts dollars per million tokens to nano-dollars per token; an invalid price becomes 0.
fn nano(dollars: f64) -> u64 {
    // The cast saturates, and turns negative numbers and NaN into zero.
    (dollars * NANO_PER_TOKEN).round() as u64
}

/// The prices of model families. A comment in the file does not parse as a row, because its first word is not followed
/// by prices.
static TABLE: LazyLock<Vec<(&str, Price)>> =
    LazyLock::new(|| include_str!("price/prices.txt").lines().filter_map(row).collect());

fn row(line: &'static str) -> Option<(&'static str, Price)> {
    let mut columns = line.split_whitespace();
    let name = columns.next()?;
    let mut price = || columns.next()?.parse().ok();
    let (input, cache_read, cache_write, output) = (price()?, price()?, price()?, price()?);
    Some((name, Price { input, output, cache_read, cache_write }))
}

/// Returns the price of the longest family name that matches the model's name, up to an optional date. The price of a
/// newer model of the family, such as a model with a higher number, is unknown.
fn known(model: &str) -> Option<Price> {
    let fits = TABLE.iter().filter(|(name, _)| model.strip_prefix(name).is_some_and(is_version));
    fits.max_by_key(|(name, _)| name.len()).map(|(_, price)| *price)
}

/// Returns whether `rest` is empty or a version such as `-latest`, `-20250929`, `@20250929` or `-2025-08-07`.
fn is_version(rest: &str) -> bool {
    let date = |text: &str| -> bool {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        digits == 8 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
    };
    rest.is_empty() || rest == "-latest" || rest.strip_prefix(['-', '@']).is_some_and(date)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: TokenUsage = TokenUsage {
        input_tokens: 1_000,
        output_tokens: 100,
        cache_read_input_tokens: 10_000,
        cache_creation_input_tokens: 2_000,
    };

    #[track_caller]
    fn check(model: &str, expect: Option<u64>) {
        assert_eq!(cost(model, &USAGE, &Prices::default()), expect, "{model}");
    }

    #[test]
    fn families_are_known_by_name_and_date() {
        // 1,000 × 5 + 100 × 25 + 10,000 × 0.5 + 2,000 × 6.25 micro-dollars
        check("claude-opus-4-5", Some(25_000));
        check("claude-opus-4-5-20251101", Some(25_000));
        check("claude-opus-4-5@20251101", Some(25_000));
        check("claude-opus-4-20250514", Some(75_000));
        check("claude-sonnet-4-5-20250929", Some(15_000));
        check("claude-haiku-4-5", Some(5_000));
        check("claude-3-5-haiku-latest", Some(4_000));
        // 1,000 × 1.25 + 100 × 10 + 10,000 × 0.125 + 2,000 × 1.25
        check("gpt-5-2025-08-07", Some(6_000));
        check("gpt-5-mini", Some(1_200));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        for model in [
            "",
            "claude",
            "claude-opus-4-9",
            "claude-opus-4-51",
            "claude-opus-5",
            "gpt-5-turbo",
            "gpt-5.9",
            "gpt-55",
            "my-gpt-5",
            "llama3:8b",
            "claude-opus-4-5-preview",
        ] {
            check(model, None);
        }
    }

    #[test]
    fn given_prices_go_before_the_table() {
        let prices = Prices {
            large: Given { input: 1.0, output: 2.0 },
            small: Given { input: 0.0, output: 0.05 },
            small_name: "small".into(),
        };
        let of = |model: &str| {
            prices.of(model).map(|p| (p.input, p.output, p.cache_read, p.cache_write))
        };
        let given = Some((1_000, 2_000, 100, 1_250));
        assert_eq!((of("claude-opus-4-5"), of("own")), (given, given));
        assert_eq!(of("small"), Some((0, 50, 0, 0)), "no price of input: it is free");
        let half = Prices { large: Given { input: 0.0, output: 7.0 }, ..Prices::default() };
        let known = half.of("claude-opus-4-5").unwrap();
        assert_eq!((known.input, known.output, known.cache_read), (5_000, 7_000, 500));
        assert_eq!(Prices::default().of("own"), None);
    }

    #[test]
    fn the_least_is_not_nothing_and_the_absurd_is_bounded() {
        let usage = |input_tokens| TokenUsage { input_tokens, ..TokenUsage::default() };
        let prices = Prices::default();
        assert_eq!(cost("gpt-5-nano", &usage(0), &prices), Some(0));
        assert_eq!(cost("gpt-5-nano", &usage(1), &prices), Some(1));
        let absurd = TokenUsage {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            cache_creation_input_tokens: u64::MAX,
            cache_read_input_tokens: u64::MAX,
        };
        // 36.75 micro-dollars for one token of each kind.
        assert_eq!(
            cost("claude-opus-4-5", &absurd, &prices),
            Some((MOST_TOKENS * 36_750).div_ceil(1_000))
        );
        let nonsense = Prices { large: Given { input: f64::NAN, output: -1.0 }, ..prices };
        assert_eq!(nonsense.of("own"), None);
        let huge = Prices { large: Given { input: 1e300, output: 1.0 }, ..Prices::default() };
        assert_eq!(cost("own", &absurd, &huge), Some(u64::MAX.div_ceil(1_000)));
    }

    #[test]
    fn no_family_is_named_twice() {
        let rows = include_str!("price/prices.txt").lines();
        let rows = rows.filter(|line| !line.is_empty() && !line.starts_with('#'));
        assert_eq!(rows.count(), TABLE.len(), "every row can be read");
        for (at, (name, _)) in TABLE.iter().enumerate() {
            assert!(TABLE[..at].iter().all(|(other, _)| other != name), "{name}");
        }
    }
}
