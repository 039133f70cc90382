//! Ids in the path and values in the query, typed, with errors that name them.

use axum::extract::{FromRequestParts, Query, RawPathParams};
use bethink_transcript::{CollapseId, CompactionId, JobId, SessionId};
use http::request::Parts;
use uuid::Uuid;

use crate::problem::{Failure, Sort};

/// Positions are stored as 64-bit integers with a sign; nothing lies beyond.
const MAX_SEQ: u64 = i64::MAX as u64;

/// `/v1/sessions/{id}/…`
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionPath(pub(crate) SessionId);

/// `/v1/sessions/{id}/compactions/{cid}/…`
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompactionPath(pub(crate) SessionId, pub(crate) CompactionId);

/// `/v1/sessions/{id}/collapses/{cid}/…`
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollapsePath(pub(crate) SessionId, pub(crate) CollapseId);

/// `/v1/jobs/{id}`
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobPath(pub(crate) JobId);

impl<S: Send + Sync> FromRequestParts<S> for SessionPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        Ok(Self(SessionId(id(&segments(parts, state).await?, "id")?)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CompactionPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let segments = segments(parts, state).await?;
        Ok(Self(SessionId(id(&segments, "id")?), CompactionId(id(&segments, "cid")?)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for CollapsePath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let segments = segments(parts, state).await?;
        Ok(Self(SessionId(id(&segments, "id")?), CollapseId(id(&segments, "cid")?)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for JobPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        Ok(Self(JobId(id(&segments(parts, state).await?, "id")?)))
    }
}

/// `/v1/proposals/{id}/…`
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProposalPath(pub(crate) Uuid);

impl<S: Send + Sync> FromRequestParts<S> for ProposalPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        Ok(Self(id(&segments(parts, state).await?, "id")?))
    }
}

/// `/v1/memories/{scope}/{name}/…`
#[derive(Clone, Debug)]
pub(crate) struct MemoryPath(pub(crate) String, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for MemoryPath {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let segments = segments(parts, state).await?;
        let text = |name| segment(&segments, name).to_owned();
        Ok(Self(text("scope"), text("name")))
    }
}

pub(crate) async fn segments<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<RawPathParams, Failure> {
    RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|error| Failure::new(Sort::NotFound, error.to_string()))
}

pub(crate) fn segment<'a>(segments: &'a RawPathParams, name: &str) -> &'a str {
    segments.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
}

fn id(segments: &RawPathParams, name: &'static str) -> Result<Uuid, Failure> {
    parse_id(name, segment(segments, name))
}

fn parse_id(name: &'static str, text: &str) -> Result<Uuid, Failure> {
    Uuid::parse_str(text).map_err(|_| {
        let shown: String = text.chars().take(64).collect();
        let detail = format!("{shown:?} is not an id; ids are UUIDs");
        Failure::new(Sort::NotFound, detail).at(name)
    })
}

/// The query string as pairs; of a repeated name the last counts, an empty value is none.
#[derive(Clone, Debug)]
pub(crate) struct Params(Vec<(String, String)>);

impl Params {
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let (_, value) = self.0.iter().rev().find(|(key, _)| key == name)?;
        (!value.is_empty()).then(|| value.clone())
    }

    /// The value, an empty one too.
    fn given(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Each value of a name that may be repeated.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let values = self.0.iter().filter(|(key, value)| key == name && !value.is_empty());
        values.map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn required(&self, name: &'static str) -> Result<String, Failure> {
        self.text(name).ok_or_else(|| {
            Failure::field(name, format!("`{name}` has to be given"))
                .hint(format!("add ?{name}=… to the path"))
        })
    }

    /// `true` or `false`; false where it is not given.
    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, Failure> {
        match self.given(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Failure::field(name, format!("`{name}` can be `true` or `false`"))),
        }
    }

    pub(crate) fn seq(&self, name: &'static str) -> Result<Option<u64>, Failure> {
        Ok(self.number(name)?.map(|seq| seq.min(MAX_SEQ)))
    }

    /// The daemon knows how many a page may hold.
    pub(crate) fn limit(&self) -> Result<Option<usize>, Failure> {
        let limit = self.number("limit")?;
        Ok(limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)))
    }

    pub(crate) fn id(&self, name: &'static str) -> Result<Option<Uuid>, Failure> {
        let Some(text) = self.given(name) else { return Ok(None) };
        match Uuid::parse_str(text) {
            Ok(id) => Ok(Some(id)),
            Err(_) => {
                let shown: String = text.chars().take(64).collect();
                Err(Failure::field(name, format!("`{name}` is {shown:?}; ids are UUIDs")))
            }
        }
    }

    fn number(&self, name: &'static str) -> Result<Option<u64>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse::<u64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => {
                let shown: String = text.chars().take(64).collect();
                let detail = format!(
                    "`{name}` is {shown:?}; allowed is a whole number from 0 to {}",
                    u64::MAX
                );
                Err(Failure::field(name, detail))
            }
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(pairs)) => Ok(Self(pairs)),
            Err(error) => Err(Failure::field("query", error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(query: &str) -> Params {
        let uri = format!("/x?{query}").parse().unwrap();
        Params(Query::try_from_uri(&uri).unwrap().0)
    }

    #[test]
    fn numbers_are_whole_and_fit() {
        for (query, expect) in [
            ("", Some(None)),
            ("limit=", Some(None)),
            ("limit=7", Some(Some(7))),
            ("limit=7&limit=9", Some(Some(9))),
            ("limit=-1", None),
            ("limit=1e3", None),
            ("limit=99999999999999999999999", None),
            ("limit=%00", None),
        ] {
            let actual = params(query).limit();
            if expect.is_none() {
                let problem = actual.as_ref().unwrap_err().problem();
                assert_eq!((problem.status, problem.field.as_deref()), (422, Some("limit")));
            }
            assert_eq!(actual.ok(), expect, "{query}");
        }
        let largest = params("after_seq=18446744073709551615").seq("after_seq").unwrap();
        assert_eq!(largest, Some(MAX_SEQ));
        assert_eq!(params("after_seq=0").seq("after_seq").unwrap(), Some(0));
    }

    #[test]
    fn an_id_in_the_query_is_one_or_is_named() {
        assert_eq!(params("").id("session").unwrap(), None);
        let id = "0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d";
        assert_eq!(params(&format!("session={id}")).id("session").unwrap(), id.parse().ok());
        let problem = params("session=last").id("session").unwrap_err().problem().clone();
        assert_eq!((problem.status, problem.field.as_deref()), (422, Some("session")));
    }

    #[test]
    fn ids_are_uuids() {
        assert!(parse_id("id", "0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d").is_ok());
        for text in ["", "7", "../etc", &"a".repeat(10_000)] {
            let problem = parse_id("cid", text).unwrap_err().problem().clone();
            assert_eq!((problem.status, problem.field.as_deref()), (404, Some("cid")));
            assert!(problem.detail.len() < 200);
        }
    }
}
