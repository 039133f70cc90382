//! Reading query parameters.

use serde::{Deserialize, Deserializer};

/// An empty value counts as given, so it is rejected where the parameter is not a text.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}
