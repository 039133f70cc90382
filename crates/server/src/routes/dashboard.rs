//! The dashboard login and the gateway addresses.

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bethink_api as api;
use http::header::{HeaderValue, SET_COOKIE};
use tokio::time::Instant;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::body;
use crate::pages::cookie_name;
use crate::problem::{HttpFailure, ProblemSort};

/// Anybody may send a login request, so the limit is small.
const LOGIN_BYTES: u64 = 1_024;

/// Create a URL that logs in one browser tab. It works once, within a minute.
#[utoipa::path(
    post, path = "/v1/dashboard/launch", tag = "dashboard", operation_id = "dashboard_launch",
    responses((status = 200, body = api::Launch))
)]
pub(crate) async fn launch(State(app): State<ServerState>) -> Reply {
    let token = app.pages.launch(Instant::now());
    // In the fragment, which browsers do not send, so that no log contains it.
    HttpAnswer::ok(&api::Launch { url: format!("http://{}/#launch={token}", app.address) })
}

/// Exchange a launch token for a login. Requires no other token.
#[utoipa::path(
    post, path = "/v1/dashboard/login", tag = "dashboard", operation_id = "dashboard_login", security(()),
    request_body = api::Login,
    responses((status = 200, body = api::LoggedIn))
)]
pub(crate) async fn login(
    State(app): State<ServerState>,
    request: Request,
) -> Result<Response, HttpFailure> {
    let (parts, body) = request.into_parts();
    let body = body::read(body, &parts, LOGIN_BYTES, "send only the launch token").await?;
    let api::Login { launch } = body::object(&body.bytes)?;
    let port = app.address.port();
    let Some(admitted) = app.pages.log_in(&launch, &parts.headers, port, Instant::now()) else {
        return Err(HttpFailure::new(
            ProblemSort::Unauthorized,
            "the launch token is unknown, already used or expired",
        )
        .hint("run `bethink dashboard` to get a new one"));
    };
    let name = cookie_name(port);
    let cookie = format!("{name}={}; Path=/; HttpOnly; SameSite=Strict", admitted.cookie);
    let mut cookie =
        HeaderValue::from_str(&cookie).map_err(|error| HttpFailure::internal(&error))?;
    cookie.set_sensitive(true);
    let answer = HttpAnswer::ok(&api::LoggedIn { page: admitted.page })?;
    Ok(([(SET_COOKIE, cookie)], answer).into_response())
}

/// Get the base URLs for provider clients. They contain a secret that allows use of the gateway.
#[utoipa::path(
    get, path = "/v1/gateway", tag = "gateway", operation_id = "gateway_get",
    responses((status = 200, body = api::GatewayAddresses))
)]
pub(crate) async fn gateway(State(app): State<ServerState>) -> Reply {
    let capability = app.token.get().capability();
    let at = |wire: &str| format!("http://{}/{wire}/k/{}", app.address, capability.expose());
    HttpAnswer::ok(&api::GatewayAddresses {
        anthropic: at("anthropic"),
        openai: format!("{}/v1", at("openai")),
        gemini: at("gemini"),
    })
}
