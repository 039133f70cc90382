//! The HTTP transport: addresses, the token, answers and refusals.

use std::sync::Arc;
use std::time::Duration;

use bethink_api::Health;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{ClientError, problem};
use crate::places::DaemonPlaces;
use crate::start::Starter;

/// Time limit to connect. A local daemon accepts at once or not at all.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// A daemon whose health check takes longer counts as unreachable.
const HEALTH_WITHIN: Duration = Duration::from_secs(2);
/// Time limit of a request. The longest is a compaction by a slow model, whose deadline is ten minutes. Streams have no
/// limit.
const ANSWER_WITHIN: Duration = Duration::from_secs(660);
/// How long an idle connection is kept: less than in the daemon, so that no connection is reused that the daemon
/// closes.
const POOL_IDLE: Duration = Duration::from_secs(20);

/// A daemon to talk to. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<String>,
}

/// A TLS configuration that trusts nobody, because connections are not encrypted. Without it, if another crate in the
/// build enables TLS, a client panics for lack of a provider or reads the system's certificates.
fn no_trust() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth())
}

impl Client {
    pub fn new(url: &str, token: Option<String>) -> Result<Self, ClientError> {
        let wrong = |reason: String| ClientError::Address { url: url.to_owned(), reason };
        let base = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        if base.scheme() != "http" || base.cannot_be_a_base() {
            return Err(wrong("only plain http is supported".into()));
        }
        let http = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(CONNECT_WITHIN)
            .pool_idle_timeout(POOL_IDLE)
            .redirect(reqwest::redirect::Policy::none())
            .tls_backend_preconfigured(no_trust().map_err(|error| wrong(error.to_string()))?)
            .build()
            .map_err(|error| wrong(reason(&error)))?;
        Ok(Self { http, base, token })
    }

    /// Connects to the running daemon. Does not start one.
    pub async fn find(places: &DaemonPlaces) -> Result<Self, ClientError> {
        let Some(url) = places.address() else {
            return Err(ClientError::NotRunning { home: places.home.path().display().to_string() });
        };
        let client = Self::new(&url, places.token())?;
        client.health().await?;
        Ok(client)
    }

    /// Connects to the running daemon, or starts one. A daemon named by `BETHINK_URL` is never started.
    pub async fn find_or_start(
        places: &DaemonPlaces,
        starter: &Starter,
    ) -> Result<Self, ClientError> {
        match Self::find(places).await {
            Err(error) if error.is_unreachable() && places.url.is_none() => {
                starter.start(places).await?;
                Self::find(places).await
            }
            found => found,
        }
    }

    pub fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    pub async fn health(&self) -> Result<Health, ClientError> {
        let request = self.request(Method::GET, self.at("health"));
        self.json("GET /health", request.timeout(HEALTH_WITHIN)).await
    }

    /// Returns the address of a route. Every segment is percent-encoded.
    pub(crate) fn at(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path.split('/'));
        }
        url
    }

    /// `GET` with the query parameters that have a value.
    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &impl Serialize,
    ) -> Result<T, ClientError> {
        let request = self.request(Method::GET, self.at(path)).query(query);
        self.json(&format!("GET /{path}"), request).await
    }

    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let what = format!("{method} /{path}");
        self.json(&what, self.request(method, self.at(path)).json(body)).await
    }

    /// `POST` without a body.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.json(&format!("POST /{path}"), self.request(Method::POST, self.at(path))).await
    }

    /// A request with a time limit for the whole answer.
    pub(crate) fn request(&self, method: Method, url: Url) -> RequestBuilder {
        self.stream(method, url).timeout(ANSWER_WITHIN)
    }

    /// A request whose answer may never end.
    pub(crate) fn stream(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.http.request(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Sends and reads the answer as JSON. `what` names the request in an error.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        what: &str,
        request: RequestBuilder,
    ) -> Result<T, ClientError> {
        let body = self.body(request).await?;
        serde_json::from_slice(&body).map_err(|error| garbled(what, &error))
    }

    /// Sends and reads the whole answer.
    pub(crate) async fn body(&self, request: RequestBuilder) -> Result<Vec<u8>, ClientError> {
        let response = self.open(request).await?;
        let body = response.bytes().await.map_err(|error| self.broken(&error))?;
        Ok(body.into())
    }

    /// Sends and returns the answer before its body is read; a refusal becomes an error.
    pub(crate) async fn open(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let body = response.bytes().await.unwrap_or_default();
        Err(ClientError::Refused(Box::new(problem(status, &body))))
    }

    pub(crate) fn broken(&self, error: &reqwest::Error) -> ClientError {
        let url = self.url().to_owned();
        match error.is_timeout() && !error.is_connect() {
            true => ClientError::Late { url, seconds: ANSWER_WITHIN.as_secs() },
            false => ClientError::Unreachable { url, reason: reason(error) },
        }
    }
}

pub(crate) fn garbled(what: &str, error: &dyn std::error::Error) -> ClientError {
    ClientError::Garbled { what: what.to_owned(), reason: error.to_string() }
}

/// Returns the innermost cause. The outer ones are "error sending request" with the address.
fn reason(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_and_parameters_are_encoded() {
        let client = Client::new("http://127.0.0.1:1/", None).unwrap();
        let mut url = client.at("v1/sessions");
        url.path_segments_mut().unwrap().push("../../x?y");
        let query = [("q", Some("a b&c=\u{e9}")), ("limit", None)];
        let request = client.request(Method::GET, url).query(&query).build().unwrap();
        let url = request.url();
        assert_eq!(
            url.as_str(),
            "http://127.0.0.1:1/v1/sessions/..%2F..%2Fx%3Fy?q=a+b%26c%3D%C3%A9"
        );
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        for url in ["", "localhost:4747", "https://x", "http://", "unix:/x"] {
            let refused = Client::new(url, None).unwrap_err();
            assert!(matches!(refused, ClientError::Address { .. }), "{url}: {refused}");
        }
    }

    #[tokio::test]
    async fn nobody_there_is_unreachable() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", free.local_addr().unwrap());
        drop(free);
        let error = Client::new(&url, None).unwrap().health().await.unwrap_err();
        assert!(error.is_unreachable(), "{error}");
    }
}
