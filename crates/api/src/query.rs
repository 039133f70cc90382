//! Reading what stands in a query.

use serde::{Deserialize, Deserializer};

/// Of a parameter that is no text, also an empty value is one, and wrong.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}
