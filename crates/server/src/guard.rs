//! Checks Host, Origin and bearer token, before routing and before the body is read.
//!
//! A web page can send requests to a loopback port in two ways: through a host name that resolves to 127.0.0.1 (stopped
//! by the list of hosts), or with a plain cross-site request (stopped by the list of origins). A browser cannot reach
//! the Unix socket, and the guard checks which user is at the other end, so requests over the socket need neither Host
//! nor token.
//!
//! Over TCP a request needs one of four things: the token; the hook token, which only allows reporting events; a
//! capability in the path, for gateway clients whose only credential is the provider's; or a login, for the daemon's
//! own page. A token is removed from the request after the check, so that no handler can pass it on.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bethink_config::DaemonSettings;
use bethink_credentials::HomeToken;
use http::header::{AUTHORIZATION, CONNECTION, HOST, HeaderName, HeaderValue, ORIGIN, RETRY_AFTER};
use http::{HeaderMap, Method, Uri};
use tokio::time::Instant;

use crate::current_token::CurrentToken;
use crate::failures::Failures;
use crate::gateway_path::{GEMINI_KEY, capability, printable, take_key, take_project};
use crate::pages::Pages;
use crate::places::ConnectionPlace;
use crate::problem::{HttpFailure, ProblemSort};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Routes whose answers contain no secrets, so they need no token: the daemon's health, the proof that it is this
/// daemon, the description of the API, and the dashboard page, which loads before anyone logs in.
const OPEN_ROUTES: [&str; 4] = ["/health", "/v1/proof", "/openapi.json", "/"];
const PAGE_FILES: &str = "/assets/";
/// The login route. The body of a login contains a launch token, so no other token is required.
const LOGIN: &str = "/v1/dashboard/login";

/// The headers in which a provider's clients may send the token instead of using `Authorization`, and the path below
/// which they may do so.
const KEY_HEADERS: [(HeaderName, &str); 2] =
    [(HeaderName::from_static("x-api-key"), "/anthropic/"), (GEMINI_KEY, "/gemini/")];

/// The path below which the next segment is an event that a hook reports.
const FOR_HOOKS: &str = "/v1/hooks/";

/// What a logged-in page may request: the API, but nothing on behalf of another client.
const FOR_PAGES: [&str; 2] = ["/v1/", "/metrics"];

/// The listener that accepted a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    Tcp,
    Socket,
}

/// What a token gives access to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenScope {
    Everything,
    Hooks,
}

#[derive(Debug)]
pub(crate) struct Guard {
    /// `host:port`, lower case.
    hosts: Vec<String>,
    /// Origins of the pages that the daemon itself serves.
    own_origins: Vec<String>,
    /// Origins that the user trusts.
    trusted_origins: Vec<String>,
    token: Arc<CurrentToken>,
    pages: Arc<Pages>,
    port: u16,
    failures: Mutex<Failures>,
}

impl Guard {
    pub(crate) fn new(
        address: SocketAddr,
        settings: &DaemonSettings,
        token: Arc<CurrentToken>,
        pages: Arc<Pages>,
    ) -> Self {
        let own = own_hosts(address);
        let own_origins = own.iter().map(|host| format!("http://{host}")).collect();
        let configured = settings.allowed_hosts.iter().map(|host| host.to_ascii_lowercase());
        let trusted = settings.allowed_origins.iter().map(|origin| origin.to_ascii_lowercase());
        Self {
            hosts: own.into_iter().chain(configured).collect(),
            own_origins,
            trusted_origins: trusted.filter(|origin| origin != "null").collect(),
            token,
            pages,
            port: address.port(),
            failures: Mutex::default(),
        }
    }

    /// Checks a request and removes its token.
    fn admit(&self, request: &mut Request, now: Instant) -> Result<(), HttpFailure> {
        // If the listener is unknown, the stricter rules apply.
        let door = request.extensions().get().copied().unwrap_or(Listener::Tcp);
        let headers = request.headers();
        if door == Listener::Tcp {
            self.check_host(request.uri(), headers)?;
        }
        self.check_origin(headers)?;
        let scope = self.take_token(request);
        if door == Listener::Socket || is_open(request) {
            return Ok(());
        }
        match scope {
            Some(TokenScope::Everything) => return Ok(()),
            Some(TokenScope::Hooks) if is_hook(request) => return Ok(()),
            Some(TokenScope::Hooks) | None => {}
        }
        let path = request.uri().path();
        let page = FOR_PAGES.iter().any(|prefix| path.starts_with(prefix));
        if page && self.pages.admits(request.headers(), self.port, now) {
            return Ok(());
        }
        if capability(path).is_some_and(|given| self.token.get().capability().is(given.as_bytes()))
        {
            return Ok(());
        }
        Err(self.turned_away(path, now))
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), HttpFailure> {
        let Some(host) = only(headers, &HOST) else {
            return Err(misdirected("the request must have exactly one Host header"));
        };
        if !self.hosts.contains(&host) {
            return Err(misdirected("the Host header does not name this daemon"));
        }
        match uri.authority() {
            Some(authority) if !authority.as_str().eq_ignore_ascii_case(&host) => {
                Err(misdirected("the URI and the Host header name different hosts"))
            }
            _ => Ok(()),
        }
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), HttpFailure> {
        let trusted = match headers.contains_key(ORIGIN) {
            false => false,
            true => match only(headers, &ORIGIN) {
                Some(origin) if self.trusted_origins.contains(&origin) => true,
                Some(origin) if self.own_origins.contains(&origin) => false,
                _ => return Err(forbidden("the Origin is not allowed")),
            },
        };
        let elsewhere = headers
            .get_all(SEC_FETCH_SITE)
            .iter()
            .any(|site| site != "same-origin" && site != "none");
        if elsewhere && !trusted {
            return Err(forbidden("the request comes from a page on another site"));
        }
        Ok(())
    }

    /// Removes the token from a request. Returns what the token gives access to.
    fn take_token(&self, request: &mut Request) -> Option<TokenScope> {
        let path = request.uri().path();
        let key_header = KEY_HEADERS.into_iter().find(|(_, below)| path.starts_with(below));
        let token = self.token.get();
        let headers = request.headers_mut();
        let mut scope = None;
        let given = only_bytes(headers, &AUTHORIZATION).and_then(bearer);
        if let Some(found) = given.and_then(|given| scope_of(&token, given)) {
            headers.remove(AUTHORIZATION);
            scope = Some(found);
        }
        if let Some((name, _)) = key_header
            && only_bytes(headers, &name).is_some_and(|given| token.is(given))
        {
            headers.remove(name);
            scope = Some(TokenScope::Everything);
        }
        scope
    }

    /// Counts a request without valid credentials, and returns its error.
    fn turned_away(&self, path: &str, now: Instant) -> HttpFailure {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wait) = failures.count(now) {
            let seconds = wait.as_secs().max(1);
            let detail = format!("too many wrong tokens; try again in {seconds} s");
            return HttpFailure::new(ProblemSort::TooManyFailures, detail)
                .header(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if capability(path).is_some() {
            let detail = "the secret in the gateway's address is outdated or wrong";
            return HttpFailure::new(ProblemSort::Unauthorized, detail)
                .hint("`bethink gateway` prints the current address");
        }
        HttpFailure::new(ProblemSort::Unauthorized, "the token is missing or wrong").hint(
            "send `Authorization: Bearer <token>` with the token in `$BETHINK_HOME/token`; run `bethink dashboard` to log in with a browser",
        )
    }
}

/// Runs the guard as the outermost middleware.
pub(crate) async fn guard(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    take_key(&mut request);
    let admitted = guard.admit(&mut request, Instant::now());
    let admitted = admitted.and_then(|()| take_known_place(&request));
    match admitted.and_then(|()| take_project(&mut request)) {
        Ok(()) => next.run(request).await,
        Err(failure) => {
            tracing::debug!(
                why = failure.slug(),
                path = printable(request.uri().path()),
                "refused a request"
            );
            let why = failure.slug().to_owned();
            metrics::counter!("bethink_http_turned_away_total", "why" => why).increment(1);
            failure.into_response()
        }
    }
}

/// Gives the connection of a request with credentials one of the places for known clients. Open routes need none.
fn take_known_place(request: &Request) -> Result<(), HttpFailure> {
    let place = request.extensions().get::<Arc<ConnectionPlace>>();
    if is_open(request) || place.is_none_or(|place| place.become_known()) {
        return Ok(());
    }
    let detail = "all connections for clients with a token are in use; try again in a moment";
    let close = HeaderValue::from_static("close");
    Err(HttpFailure::new(ProblemSort::Busy, detail).header(CONNECTION, close))
}

/// Returns the values of `Host` that clients may use for a loopback listener.
fn own_hosts(address: SocketAddr) -> Vec<String> {
    let port = address.port();
    let mut hosts: Vec<String> =
        ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).to_vec();
    if !hosts.contains(&address.to_string()) {
        hosts.push(address.to_string());
    }
    if port == 80 {
        // Clients omit the default port of HTTP.
        let bare: Vec<_> = hosts.iter().map(|host| host.trim_end_matches(":80").into()).collect();
        hosts.extend(bare);
    }
    hosts
}

fn is_open(request: &Request) -> bool {
    let path = request.uri().path();
    match *request.method() {
        Method::GET | Method::HEAD => OPEN_ROUTES.contains(&path) || path.starts_with(PAGE_FILES),
        Method::POST => path == LOGIN,
        _ => false,
    }
}

fn is_hook(request: &Request) -> bool {
    let event = request.uri().path().strip_prefix(FOR_HOOKS);
    request.method() == Method::POST && event.is_some_and(|event| !event.contains('/'))
}

fn scope_of(token: &HomeToken, given: &[u8]) -> Option<TokenScope> {
    if token.is(given) {
        return Some(TokenScope::Everything);
    }
    token.of_hooks().is(given).then_some(TokenScope::Hooks)
}

/// Returns the value of a header that appears exactly once, in lower case.
fn only(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok().map(str::to_ascii_lowercase)
}

/// Returns the value of a header that appears exactly once.
fn only_bytes<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a [u8]> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then(|| value.as_bytes())
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

fn misdirected(detail: &str) -> HttpFailure {
    HttpFailure::new(ProblemSort::Misdirected, detail).hint(
        "use 127.0.0.1, localhost or [::1] with the daemon's port, or add the host to daemon.allowed_hosts",
    )
}

fn forbidden(detail: &str) -> HttpFailure {
    HttpFailure::new(ProblemSort::ForbiddenOrigin, detail)
        .hint("add the origin to daemon.allowed_origins")
}

#[cfg(test)]
mod tests;
