//! Arguments that accept one word from a fixed set.

use bethink_api::parse_word;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;

/// Parses a word that must be one of `all`, the JSON names of `T`'s values.
pub(super) fn words<T>(
    all: impl IntoIterator<Item = &'static str>,
) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(all).try_map(|word| parse_word(&word).ok_or("unknown value"))
}

/// Parses a number of results, which is at least 1.
pub(super) fn count(text: &str) -> Result<usize, String> {
    let count = text.parse::<usize>().map_err(|error| error.to_string())?;
    if count > 0 { Ok(count) } else { Err("must be at least 1".to_owned()) }
}
