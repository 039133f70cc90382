//! The HTTP transport: connections, the token, answers and errors.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bethink_api::Health;
use bethink_credentials::HomeToken;
use reqwest::{ClientBuilder, Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::address::{AddressError, DaemonAddress};
use crate::error::{ClientError, problem};
use crate::places::{Contact, DaemonPlaces};
use crate::proof::{ExpectedDaemon, ProofError};
use crate::proven::ProofLayer;
use crate::start::Starter;

/// The address of requests that go through the socket. This address only appears in their `Host` header.
const SOCKET_URL: &str = "http://localhost";
/// Time limit for connecting, and for the daemon to prove itself. A local daemon accepts at once or not at all.
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// Time limit of a health check. A daemon that takes longer counts as unreachable.
const HEALTH_WITHIN: Duration = Duration::from_secs(2);
/// Time limit of a request. The longest is a compaction by a slow model, whose deadline is ten minutes. Streams have no
/// limit.
const ANSWER_WITHIN: Duration = Duration::from_secs(660);
/// How long an idle connection is kept. By default, the daemon closes it after ten seconds without a request; this limit is
/// shorter, so that no connection is reused while the daemon is closing it.
const POOL_IDLE: Duration = Duration::from_secs(5);

/// A client of one daemon. It is cheap to clone.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    /// The TCP address, for display.
    shown: String,
    /// What requests connect to, for errors: the socket, or the address.
    target: String,
    /// `None` for connections through the socket, which need no token.
    token: Option<HomeToken>,
}

/// Returns a TLS configuration that trusts no certificate, because connections are not encrypted. Without it, if another crate
/// in the build enables TLS, a client panics because there is no crypto provider, or reads the system's certificates.
fn no_trust() -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth())
}

impl Client {
    /// Creates a client that sends its requests through the socket of a home.
    fn through_socket(path: &Path, shown: String) -> Result<Self, ClientError> {
        let base = DaemonAddress::parse(SOCKET_URL)?.url().clone();
        let http = build(reqwest::Client::builder().unix_socket(path), &shown)?;
        Ok(Self { http, base, shown, target: path.display().to_string(), token: None })
    }

    /// Creates a client that sends its requests over TCP, to a program that proves on each connection that it is this
    /// daemon.
    pub(crate) fn over_tcp(daemon: ExpectedDaemon) -> Result<Self, ClientError> {
        let (base, token) = (daemon.address.url().clone(), daemon.token.clone());
        let shown = base.as_str().trim_end_matches('/').to_owned();
        let builder = reqwest::Client::builder().connector_layer(ProofLayer::new(daemon));
        let http = build(builder, &shown)?;
        Ok(Self { http, base, target: shown.clone(), shown, token: Some(token) })
    }

    /// Connects to the running daemon. Does not start one.
    pub async fn find(places: &DaemonPlaces) -> Result<Self, ClientError> {
        let client = match places.contact() {
            Some(Contact::Socket(path)) => {
                let shown = places.address().unwrap_or_else(|| path.display().to_string());
                Self::through_socket(&path, shown)?
            }
            Some(Contact::Tcp(url)) => {
                Self::over_tcp(places.expected(DaemonAddress::parse(&url)?)?)?
            }
            None => {
                let home = places.home.path().display().to_string();
                return Err(ClientError::NotRunning { home });
            }
        };
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
        &self.shown
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

    /// Sends a `GET` request with the query parameters that have a value.
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

    /// Sends a `POST` request without a body.
    pub(crate) async fn post<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.json(&format!("POST /{path}"), self.request(Method::POST, self.at(path))).await
    }

    /// Creates a request with a time limit for the whole answer.
    pub(crate) fn request(&self, method: Method, url: Url) -> RequestBuilder {
        self.stream(method, url).timeout(ANSWER_WITHIN)
    }

    /// Creates a request whose answer may never end.
    pub(crate) fn stream(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.http.request(method, url);
        match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    /// Sends a request and reads the answer as JSON. `what` names the request in an error.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        what: &str,
        request: RequestBuilder,
    ) -> Result<T, ClientError> {
        let body = self.body(request).await?;
        serde_json::from_slice(&body).map_err(|error| garbled(what, &error))
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn body(&self, request: RequestBuilder) -> Result<Vec<u8>, ClientError> {
        let response = self.open(request).await?;
        let body = response.bytes().await.map_err(|error| self.broken(&error))?;
        Ok(body.into())
    }

    /// Sends a request and returns the answer before its body is read. An error status becomes an error.
    pub(crate) async fn open(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let body = response.bytes().await.unwrap_or_default();
        Err(ClientError::Refused(Box::new(problem(status, &body))))
    }

    /// Returns the error for a body that ended early. Only a running daemon can say why.
    pub(crate) async fn incomplete_response(&self, error: &reqwest::Error) -> ClientError {
        match self.health().await {
            Ok(Health { detail: found, .. }) => {
                ClientError::IncompleteResponse { url: self.target.clone(), found }
            }
            Err(_) => self.broken(error),
        }
    }

    pub(crate) fn broken(&self, error: &reqwest::Error) -> ClientError {
        if let Some(refused) = proof_error(error) {
            return refused.clone().into();
        }
        let url = self.target.clone();
        match error.is_timeout() && !error.is_connect() {
            true => ClientError::Late { url, seconds: ANSWER_WITHIN.as_secs() },
            false => ClientError::Unreachable { url, reason: reason(error) },
        }
    }
}

pub(crate) fn garbled(what: &str, error: &dyn std::error::Error) -> ClientError {
    ClientError::Garbled { what: what.to_owned(), reason: error.to_string() }
}

/// Builds the HTTP client with the settings that all connections share.
fn build(builder: ClientBuilder, shown: &str) -> Result<reqwest::Client, AddressError> {
    let wrong = |reason: String| AddressError { url: shown.to_owned(), reason };
    builder
        .no_proxy()
        .connect_timeout(CONNECT_WITHIN)
        .pool_idle_timeout(POOL_IDLE)
        .redirect(reqwest::redirect::Policy::none())
        .tls_backend_preconfigured(no_trust().map_err(|error| wrong(error.to_string()))?)
        .build()
        .map_err(|error| wrong(reason(&error)))
}

/// Returns the cause, if the daemon did not prove itself.
fn proof_error(error: &reqwest::Error) -> Option<&ProofError> {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(found) = inner.downcast_ref() {
            return Some(found);
        }
        cause = inner.source();
    }
    None
}

/// Returns the innermost cause. The outer ones only say "error sending request" and the address.
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn client(url: &str) -> Client {
        let address = DaemonAddress::parse(url).unwrap();
        let (token, name) = (HomeToken::new("the-secret"), "the daemon of /home".to_owned());
        Client::over_tcp(ExpectedDaemon { address, token, name }).unwrap()
    }

    #[test]
    fn segments_and_parameters_are_encoded() {
        let client = client("http://127.0.0.1:1/");
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

    #[tokio::test]
    async fn nobody_there_is_unreachable() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", free.local_addr().unwrap());
        drop(free);
        let error = client(&url).health().await.unwrap_err();
        assert!(error.is_unreachable(), "{error}");
    }

    #[tokio::test]
    async fn an_incomplete_response_is_reported_with_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let listener = tokio::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let client = Client::through_socket(&dir.path().join("socket"), "here".into()).unwrap();
        let health = r#"{"status":"degraded","version":"0","detail":"message 4 is corrupted"}"#;
        let length = health.len();
        let answers = [
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n".to_owned(),
            format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{health}"
            ),
        ];
        let daemon = async {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let _read = stream.read(&mut [0; 4096]).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        };
        let asked = async {
            let mut bytes = client.export(uuid::Uuid::nil()).await.unwrap();
            assert_eq!(bytes.next().await.unwrap().unwrap(), b"{}");
            bytes.next().await.unwrap_err()
        };
        let ((), error) = tokio::join!(daemon, asked);
        assert!(!error.is_unreachable(), "{error:?}");
        assert!(
            error.to_string().ends_with("the daemon reports: message 4 is corrupted"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn a_program_that_proves_nothing_gets_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = client(&format!("http://{}", listener.local_addr().unwrap()));
        let stranger = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut got = vec![0; 4096];
            let read = stream.read(&mut got).await.unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 15\r\n\r\n{\"status\":\"ok\"}";
            stream.write_all(answer.as_bytes()).await.unwrap();
            got.truncate(read);
            stream.read_to_end(&mut got).await.unwrap();
            String::from_utf8(got).unwrap()
        };
        let asked = async {
            let error = client.projects().await.unwrap_err();
            drop(client);
            error
        };
        let (got, error) = tokio::join!(stranger, asked);
        assert!(matches!(error, ClientError::Proof(ProofError::NotProven { .. })), "{error:?}");
        assert!(!error.is_unreachable(), "this error must not start a daemon");
        assert!(got.starts_with("GET /v1/proof?nonce=") && got.ends_with("\r\n\r\n"), "{got}");
        assert!(!got.contains("the-secret") && got.matches("HTTP/1.1").count() == 1, "{got}");
    }
}
