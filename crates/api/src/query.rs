//! Reading query parameters.

use serde::{Deserialize, Deserializer};

/// Reads an optional parameter. An empty value does not count as absent: it is rejected.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}
