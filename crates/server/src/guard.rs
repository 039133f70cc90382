//! Who may come in: the Host, Origin and bearer token, checked before routing and before the body
//! is read.
//!
//! A page in a browser can reach a loopback port: by a host name of its own that it points at
//! 127.0.0.1 (the Host list stops that), or by a plain cross-site request (the Origin list). The
//! Unix socket is out of a browser's reach and its peer's user is checked, so that it needs neither
//! Host nor token.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bethink_config::DaemonSettings;
use http::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN, RETRY_AFTER};
use http::{HeaderMap, Method, Uri};
use tokio::time::Instant;

use crate::failures::Failures;
use crate::problem::{Failure, Sort};
use crate::token::Token;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The only route that tells nothing a stranger may not know.
const OPEN_ROUTE: &str = "/health";

/// The listener that a connection came in by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entrance {
    Tcp,
    Socket,
}

#[derive(Debug)]
pub(crate) struct Guard {
    /// `host:port`, lower case.
    hosts: Vec<String>,
    /// Pages that the daemon serves itself.
    own_origins: Vec<String>,
    /// Origins that the user trusts.
    trusted_origins: Vec<String>,
    token: Token,
    failures: Mutex<Failures>,
}

impl Guard {
    pub(crate) fn new(address: SocketAddr, settings: &DaemonSettings, token: Token) -> Self {
        let own = own_hosts(address);
        let own_origins = own.iter().map(|host| format!("http://{host}")).collect();
        let configured = settings.allowed_hosts.iter().map(|host| host.to_ascii_lowercase());
        let trusted = settings.allowed_origins.iter().map(|origin| origin.to_ascii_lowercase());
        Self {
            hosts: own.into_iter().chain(configured).collect(),
            own_origins,
            trusted_origins: trusted.filter(|origin| origin != "null").collect(),
            token,
            failures: Mutex::default(),
        }
    }

    fn check(&self, request: &Request, now: Instant) -> Result<(), Failure> {
        // A request without the mark came in by no listener of ours: the stricter rules.
        let entrance = request.extensions().get().copied().unwrap_or(Entrance::Tcp);
        let headers = request.headers();
        if entrance == Entrance::Tcp {
            self.check_host(request.uri(), headers)?;
        }
        self.check_origin(headers)?;
        if entrance == Entrance::Tcp && !is_open(request) {
            self.check_token(headers, now)?;
        }
        Ok(())
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
        let Some(host) = only(headers, &HOST) else {
            return Err(misdirected("the request has to name exactly one Host"));
        };
        if !self.hosts.contains(&host) {
            return Err(misdirected("the Host is not one of this daemon's"));
        }
        match uri.authority() {
            Some(authority) if !authority.as_str().eq_ignore_ascii_case(&host) => {
                Err(misdirected("the URI names another host than the Host header"))
            }
            _ => Ok(()),
        }
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let trusted = match headers.contains_key(ORIGIN) {
            false => false,
            true => match only(headers, &ORIGIN) {
                Some(origin) if self.trusted_origins.contains(&origin) => true,
                Some(origin) if self.own_origins.contains(&origin) => false,
                _ => return Err(forbidden("the Origin is not on the list")),
            },
        };
        let elsewhere = headers
            .get_all(SEC_FETCH_SITE)
            .iter()
            .any(|site| site != "same-origin" && site != "none");
        if elsewhere && !trusted {
            return Err(forbidden("a page of another site sent this request"));
        }
        Ok(())
    }

    fn check_token(&self, headers: &HeaderMap, now: Instant) -> Result<(), Failure> {
        if bearer(headers).is_some_and(|given| self.token.is(given)) {
            return Ok(());
        }
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wait) = failures.count(now) {
            let seconds = wait.as_secs().max(1);
            let detail = format!("too many wrong tokens; try again in {seconds} seconds");
            return Err(Failure::new(Sort::TooManyFailures, detail)
                .header(RETRY_AFTER, HeaderValue::from(seconds)));
        }
        Err(Failure::new(Sort::Unauthorized, "send `Authorization: Bearer <token>`")
            .hint("the token is in the file `token` of BETHINK_HOME"))
    }
}

/// The middleware around everything else.
pub(crate) async fn guard(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    match guard.check(&request, Instant::now()) {
        Ok(()) => next.run(request).await,
        Err(failure) => {
            tracing::debug!(why = failure.slug(), path = request.uri().path(), "turned away");
            let why = failure.slug().to_owned();
            metrics::counter!("bethink_http_turned_away_total", "why" => why).increment(1);
            failure.into_response()
        }
    }
}

/// The names of a loopback listener, as a client may write them.
fn own_hosts(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let mut hosts: Vec<String> =
        ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).to_vec();
    if !hosts.contains(&address.to_string()) {
        hosts.push(address.to_string());
    }
    if port == 80 {
        // Clients leave out the port that HTTP implies.
        let bare: Vec<_> = hosts.iter().map(|host| host.trim_end_matches(":80").into()).collect();
        hosts.extend(bare);
    }
    hosts
}

fn is_open(request: &Request) -> bool {
    request.uri().path() == OPEN_ROUTE && matches!(*request.method(), Method::GET | Method::HEAD)
}

/// The value of a header that is there exactly once, in lower case.
fn only(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok().map(str::to_ascii_lowercase)
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?.as_bytes();
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

fn misdirected(detail: &str) -> Failure {
    Failure::new(Sort::Misdirected, detail)
        .hint("use 127.0.0.1, localhost or [::1] with the port, or daemon.allowed_hosts")
}

fn forbidden(detail: &str) -> Failure {
    Failure::new(Sort::ForbiddenOrigin, detail).hint("add the origin to daemon.allowed_origins")
}

#[cfg(test)]
mod tests;
