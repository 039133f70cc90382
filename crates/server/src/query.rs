//! Parses the query string into a type of `bethink-api`, with errors that name the parameter. If a name is repeated, a
//! list gets all its values, and any other type gets the last one. An empty optional number or string counts as absent;
//! an empty id, boolean or required parameter is an error.

use std::fmt;

use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::problem::HttpFailure;

/// The parsed query string.
#[derive(Clone, Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = HttpFailure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, HttpFailure> {
        match Query::<Vec<(String, String)>>::try_from_uri(&parts.uri) {
            Ok(Query(pairs)) => read(&pairs).map(Self),
            Err(error) => Err(HttpFailure::field("query", error.to_string())),
        }
    }
}

fn read<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T, HttpFailure> {
    let mut parameters: Vec<Parameter<'_>> = Vec::new();
    for (name, value) in pairs {
        match parameters.iter_mut().find(|known| known.name == name) {
            Some(known) => known.values.push(value),
            None => parameters.push(Parameter { name, values: vec![value] }),
        }
    }
    let fields = parameters.into_iter().map(|parameter| (parameter.name, parameter));
    T::deserialize(MapDeserializer::new(fields)).map_err(|Wrong(failure)| failure)
}

/// A name with all of its values.
#[derive(Clone, Debug)]
struct Parameter<'a> {
    name: &'a str,
    values: Vec<&'a str>,
}

impl<'a> Parameter<'a> {
    fn value(&self) -> &'a str {
        self.values.last().copied().unwrap_or_default()
    }

    /// Returns an error that quotes the value and names what is allowed.
    fn is_not(&self, allowed: &str) -> Wrong {
        let shown: String = self.value().chars().take(64).collect();
        let detail = format!("`{}` is {shown:?}; {allowed}", self.name);
        Wrong(HttpFailure::field(self.name, detail))
    }
}

impl IntoDeserializer<'_, Wrong> for Parameter<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Parameter<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value() {
            "" => Err(missing(self.name)),
            value => visitor.visit_str(value),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value() {
            "" => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value().parse() {
            Ok(number) => visitor.visit_u64(number),
            Err(_) => Err(self.is_not("use a whole number that is not negative")),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let name = self.name;
        match self.value() {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => {
                Err(Wrong(HttpFailure::field(name, format!("`{name}` must be `true` or `false`"))))
            }
        }
    }

    /// Parses an ID: no other type asks for a borrowed string.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_str::<Wrong>(self.value()).map_err(|_| self.is_not("IDs are UUIDs"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let word = IntoDeserializer::<Wrong>::into_deserializer(self.value());
        visitor.visit_enum(word).map_err(|_| {
            let name = self.name;
            let detail = match words {
                [only] => format!("`{name}` must be `{only}`"),
                _ => format!("`{name}` must be one of `{}`", words.join("`, `")),
            };
            Wrong(HttpFailure::field(name, detail))
        })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let given = self.values.into_iter().filter(|value| !value.is_empty());
        visitor.visit_seq(SeqDeserializer::<_, Wrong>::new(given))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 f64 char string bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// A failure as the error type of a deserializer.
#[derive(Debug)]
struct Wrong(HttpFailure);

impl Error for Wrong {
    fn custom<T: fmt::Display>(detail: T) -> Self {
        Self(HttpFailure::field("query", detail.to_string()))
    }

    fn missing_field(name: &'static str) -> Self {
        missing(name)
    }
}

fn missing(name: &str) -> Wrong {
    let failure = HttpFailure::field(name, format!("`{name}` is required"));
    Wrong(failure.hint(format!("add ?{name}=… to the URL")))
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.slug())
    }
}

impl std::error::Error for Wrong {}

#[cfg(test)]
mod tests {
    use super::*;
    use bethink_api::{
        InstructionQuery, LimitQuery, MessageQuery, SearchQuery, TeamQuery, UsageQuery,
    };

    fn query<T: DeserializeOwned>(query: &str) -> Result<T, HttpFailure> {
        let uri = format!("/x?{query}").parse().unwrap();
        read(&Query::<Vec<(String, String)>>::try_from_uri(&uri).unwrap().0)
    }

    fn check_wrong<T: DeserializeOwned + fmt::Debug>(text: &str, field: &str, detail: &str) {
        let problem = query::<T>(text).unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.field.as_deref()), (422, Some(field)), "{text}");
        assert_eq!(problem.detail, detail, "{text}");
    }

    #[test]
    fn numbers_are_whole_and_fit() {
        for (text, expect) in [
            ("", Some(None)),
            ("limit=", Some(None)),
            ("limit=7", Some(Some(7))),
            ("limit=7&limit=9", Some(Some(9))),
            ("limit=-1", None),
            ("limit=1e3", None),
            ("limit=99999999999999999999999", None),
            ("limit=%00", None),
        ] {
            let actual = query::<LimitQuery>(text).map(|found| found.limit);
            if expect.is_none() {
                let problem = actual.as_ref().unwrap_err().problem();
                assert_eq!((problem.status, problem.field.as_deref()), (422, Some("limit")));
            }
            assert_eq!(actual.ok(), expect, "{text}");
        }
        let largest = query::<MessageQuery>("after_seq=18446744073709551615&cursor=0").unwrap();
        assert_eq!((largest.after_seq, largest.cursor), (Some(u64::MAX), Some(0)));
        check_wrong::<LimitQuery>(
            "limit=x",
            "limit",
            "`limit` is \"x\"; use a whole number that is not negative",
        );
    }

    #[test]
    fn an_id_in_the_query_is_one_or_is_named() {
        assert_eq!(query::<UsageQuery>("").unwrap().session, None);
        let id = "0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d";
        let found = query::<UsageQuery>(&format!("session={id}&by=session")).unwrap();
        assert_eq!((found.session, found.by.is_some()), (id.parse().ok(), true));
        check_wrong::<UsageQuery>(
            "session=last",
            "session",
            "`session` is \"last\"; IDs are UUIDs",
        );
        check_wrong::<UsageQuery>("session=", "session", "`session` is \"\"; IDs are UUIDs");
        check_wrong::<UsageQuery>("by=day", "by", "`by` must be `session`");
    }

    #[test]
    fn what_is_needed_and_what_is_true_is_named() {
        for text in ["", "q=", "limit=3"] {
            check_wrong::<SearchQuery>(text, "q", "`q` is required");
        }
        let found = query::<TeamQuery>("project_dir=/a%20b&ask=true&later=1").unwrap();
        assert_eq!((found.project_dir.as_str(), found.ask), ("/a b", true));
        assert!(!query::<TeamQuery>("project_dir=/").unwrap().ask);
        for text in ["project_dir=/&ask=", "project_dir=/&ask=yes"] {
            check_wrong::<TeamQuery>(text, "ask", "`ask` must be `true` or `false`");
        }
        let found =
            query::<InstructionQuery>("project_dir=/&touched=a&touched=&touched=b").unwrap();
        assert_eq!(found.touched, ["a", "b"]);
    }
}
