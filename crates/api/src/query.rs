//! Reading query parameters.

use serde::{Deserialize, Deserializer};

/// Reads an optional parameter. An empty value counts as given, so it is rejected unless the parameter is a string.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}
