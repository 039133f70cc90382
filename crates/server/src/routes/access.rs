//! The daemon's proof of identity, and the replacement of its token.

use std::io;

use axum::extract::State;
use bethink_api as api;
use bethink_credentials::Nonce;
use bethink_service::ErrorKind;

use crate::answer::{HttpAnswer, Reply};
use crate::app::ServerState;
use crate::problem::HttpFailure;
use crate::query::Asked;
use crate::token::TokenError;

/// Prove that this daemon has the token of its home. Requires no token: a client asks for this before it sends the token.
#[utoipa::path(
    get, path = "/v1/proof", tag = "daemon", operation_id = "proof_get", security(()),
    params(api::ProofQuery),
    responses((status = 200, body = api::DaemonProof))
)]
pub(crate) async fn proof(
    State(app): State<ServerState>,
    Asked(asked): Asked<api::ProofQuery>,
) -> Reply {
    let nonce = Nonce::parse(&asked.nonce).ok_or_else(|| {
        HttpFailure::field("nonce", "`nonce` must be 32 random bytes as 64 hexadecimal digits")
    })?;
    HttpAnswer::ok(&api::DaemonProof { proof: app.token.get().proof(app.address.port(), &nonce) })
}

/// Replace the token of the daemon's home. From then on, the old token is refused. Gateway addresses and logins
/// that depend on it stop working, and event streams end. The new token is in `$BETHINK_HOME/token`.
#[utoipa::path(
    post, path = "/v1/token/rotate", tag = "daemon", operation_id = "token_rotate",
    responses((status = 204, description = "The token was replaced"))
)]
pub(crate) async fn rotate(State(app): State<ServerState>) -> Reply {
    let token = app.token.clone();
    let rotated = tokio::task::spawn_blocking(move || token.rotate()).await;
    rotated.map_err(|error| HttpFailure::internal(&error))?.map_err(|error| not_stored(&error))?;
    app.pages.clear();
    tracing::info!("the token was replaced");
    Ok(HttpAnswer::nothing())
}

/// Returns the error of a rotation whose new token could not be stored. The old token stays valid.
fn not_stored(error: &TokenError) -> HttpFailure {
    let TokenError::File { source, .. } = error else { return HttpFailure::internal(error) };
    let kind = match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::StorageFull,
        _ => ErrorKind::ReadOnly,
    };
    HttpFailure::new(kind, format!("{error}: {source}")).hint(
        "check the free space and the permissions of bethink's home directory; the old token is still valid",
    )
}
