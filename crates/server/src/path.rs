//! Typed path parameters, with errors that name them.

use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use bethink_api::{MemoryScope, parse_word};
use bethink_service::ErrorKind;
use bethink_transcript::SessionId;
use http::request::Parts;

use crate::problem::HttpFailure;

/// `/v1/sessions/{id}/…`
pub(crate) type SessionPath = Id<SessionId>;

/// `{id}` of a session, a job or a proposal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Id<T>(pub(crate) T);

impl<S: Send + Sync, T: FromStr> FromRequestParts<S> for Id<T> {
    type Rejection = HttpFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpFailure> {
        Ok(Self(id("id", segment(&segments(parts, state).await?, "id"))?))
    }
}

/// `/v1/sessions/{id}/compactions/{cid}/…`, or `…/collapses/{cid}/…`
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfSession<T>(pub(crate) SessionId, pub(crate) T);

impl<S: Send + Sync, T: FromStr> FromRequestParts<S> for OfSession<T> {
    type Rejection = HttpFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpFailure> {
        let segments = segments(parts, state).await?;
        Ok(Self(id("id", segment(&segments, "id"))?, id("cid", segment(&segments, "cid"))?))
    }
}

/// `/v1/memories/{scope}/{name}/…`
#[derive(Clone, Debug)]
pub(crate) struct MemoryPath(pub(crate) MemoryScope, pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for MemoryPath {
    type Rejection = HttpFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, HttpFailure> {
        let segments = segments(parts, state).await?;
        let (scope, name) = (segment(&segments, "scope"), segment(&segments, "name"));
        match parse_word(scope) {
            Some(scope) => Ok(Self(scope, name.to_owned())),
            None => {
                let shown: String = scope.chars().take(80).collect();
                let detail =
                    format!("{shown:?} is not a scope: use \"private\", \"team\" or \"person\"");
                Err(HttpFailure::field("scope", detail))
            }
        }
    }
}

pub(crate) async fn segments<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<RawPathParams, HttpFailure> {
    RawPathParams::from_request_parts(parts, state)
        .await
        .map_err(|error| HttpFailure::new(ErrorKind::NotFound, error.to_string()))
}

pub(crate) fn segment<'a>(segments: &'a RawPathParams, name: &str) -> &'a str {
    segments.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value)
}

fn id<T: FromStr>(name: &'static str, text: &str) -> Result<T, HttpFailure> {
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(64).collect();
        let detail = format!("{shown:?} is not an ID; IDs are UUIDs");
        HttpFailure::new(ErrorKind::NotFound, detail).at(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn ids_are_uuids() {
        assert!(id::<Uuid>("id", "0192d3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d").is_ok());
        for text in ["", "7", "../etc", &"a".repeat(10_000)] {
            let problem = id::<SessionId>("cid", text).unwrap_err().problem().clone();
            assert_eq!((problem.status, problem.field.as_deref()), (404, Some("cid")));
            assert!(problem.detail.len() < 200);
        }
    }
}
