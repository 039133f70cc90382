//! The routes of all wire formats. Each route exists twice: once for clients with the daemon's token, and once with a
//! capability in the path.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{delete, get, patch, post};
use bethink_config::GatewaySettings;
use bethink_model_http::Provider;
use http::Method;

use crate::anthropic::AnthropicWire;
use crate::conversation::GatewayService;
use crate::exchange::Gateway;
use crate::fault::GatewayFault;
use crate::gemini::{GeminiWire, called_method};
use crate::openai::OpenAiWire;
use crate::planner::PromptPlanner;
use crate::responses::ResponsesWire;

/// Method and path of every route.
pub const ROUTES: &[(&str, &str)] = &[
    ("POST", "/anthropic/v1/messages"),
    ("POST", "/anthropic/v1/messages/count_tokens"),
    ("GET", "/anthropic/v1/models"),
    ("POST", "/anthropic/k/{capability}/v1/messages"),
    ("POST", "/anthropic/k/{capability}/v1/messages/count_tokens"),
    ("GET", "/anthropic/k/{capability}/v1/models"),
    ("GET", "/anthropic/v1/models/{id}"),
    ("GET", "/anthropic/k/{capability}/v1/models/{id}"),
    ("POST", "/openai/v1/chat/completions"),
    ("POST", "/openai/v1/responses"),
    ("GET", "/openai/v1/responses"),
    ("POST", "/openai/v1/responses/compact"),
    ("POST", "/openai/v1/responses/input_tokens"),
    ("GET", "/openai/v1/responses/{id}"),
    ("DELETE", "/openai/v1/responses/{id}"),
    ("POST", "/openai/v1/responses/{id}/cancel"),
    ("GET", "/openai/v1/responses/{id}/input_items"),
    ("POST", "/openai/v1/embeddings"),
    ("GET", "/openai/v1/models"),
    ("GET", "/openai/v1/models/{id}"),
    ("POST", "/openai/k/{capability}/v1/chat/completions"),
    ("POST", "/openai/k/{capability}/v1/responses"),
    ("GET", "/openai/k/{capability}/v1/responses"),
    ("POST", "/openai/k/{capability}/v1/responses/compact"),
    ("POST", "/openai/k/{capability}/v1/responses/input_tokens"),
    ("GET", "/openai/k/{capability}/v1/responses/{id}"),
    ("DELETE", "/openai/k/{capability}/v1/responses/{id}"),
    ("POST", "/openai/k/{capability}/v1/responses/{id}/cancel"),
    ("GET", "/openai/k/{capability}/v1/responses/{id}/input_items"),
    ("POST", "/openai/k/{capability}/v1/embeddings"),
    ("GET", "/openai/k/{capability}/v1/models"),
    ("GET", "/openai/k/{capability}/v1/models/{id}"),
    ("GET", "/gemini/{*path}"),
    ("POST", "/gemini/{*path}"),
    ("PATCH", "/gemini/{*path}"),
    ("DELETE", "/gemini/{*path}"),
    ("GET", "/gemini/k/{capability}/{*path}"),
    ("POST", "/gemini/k/{capability}/{*path}"),
    ("PATCH", "/gemini/k/{capability}/{*path}"),
    ("DELETE", "/gemini/k/{capability}/{*path}"),
];

/// Returns all routes. Put a guard in front of them: nothing here authenticates a client.
pub fn router(gateway: GatewayService, settings: &GatewaySettings) -> Router {
    routes(gateway, settings)
}

pub(crate) fn routes<M: PromptPlanner>(planner: M, settings: &GatewaySettings) -> Router {
    let mut router = Router::new();
    for (method, path) in ROUTES {
        let provider = provider_of(path);
        let (method, template) = (*method, path.split_once("/v1/").map_or("", |(_, route)| route));
        let handler = move |State(gateway): State<Arc<Gateway<M>>>, request: Request| async move {
            let answered = match (method, template) {
                _ if provider == Provider::Gemini => serve_gemini(&gateway, request).await,
                ("POST", "messages") => gateway.ask::<AnthropicWire>(request, template).await,
                ("POST", "messages/count_tokens") => {
                    gateway.count::<AnthropicWire>(request, template).await
                }
                ("POST", "chat/completions") => gateway.ask::<OpenAiWire>(request, template).await,
                ("POST", "responses") => gateway.ask::<ResponsesWire>(request, template).await,
                ("POST", "responses/input_tokens") => {
                    gateway.count::<ResponsesWire>(request, template).await
                }
                ("GET", "responses") => Err(GatewayFault::only_http()),
                _ => match route_of(request.uri().path()) {
                    Some(route) => gateway.pass(provider, request, &route).await,
                    None => Err(invalid_path()),
                },
            };
            answered.unwrap_or_else(|fault| {
                let wire = provider.as_str();
                tracing::debug!(
                    wire,
                    code = fault.code,
                    "the gateway returned an error of its own"
                );
                fault.answer(provider)
            })
        };
        let handler = match method {
            "GET" => get(handler),
            "DELETE" => delete(handler),
            "PATCH" => patch(handler),
            _ => post(handler),
        };
        router = router.route(path, handler);
    }
    router.with_state(Gateway::new(planner, settings))
}

fn provider_of(path: &str) -> Provider {
    match path.split('/').nth(1) {
        Some("anthropic") => Provider::Anthropic,
        Some("gemini") => Provider::Gemini,
        _ => Provider::OpenAi,
    }
}

/// Serves a Gemini request. The path of a model call ends with the model and the method.
async fn serve_gemini<M: PromptPlanner>(
    gateway: &Gateway<M>,
    request: Request,
) -> Result<Response, GatewayFault> {
    let route = gemini_route_of(request.uri().path()).ok_or_else(invalid_path)?;
    let method = called_method(&route).filter(|_| request.method() == Method::POST);
    match method {
        Some("generateContent" | "streamGenerateContent") => {
            gateway.ask::<GeminiWire>(request, &route).await
        }
        Some("countTokens") => gateway.count::<GeminiWire>(request, &route).await,
        _ => gateway.pass(Provider::Gemini, request, &route).await,
    }
}

/// Returns the path below `/gemini/`, or below the capability that follows it; `None` if it could turn into another
/// path of the provider's API.
fn gemini_route_of(path: &str) -> Option<String> {
    let path = path.strip_prefix("/gemini/")?;
    let route = match path.strip_prefix("k/") {
        Some(rest) => rest.split_once('/')?.1,
        None => path,
    };
    checked(route)
}

fn invalid_path() -> GatewayFault {
    GatewayFault::invalid("the URL contains an invalid ID").no_retry()
}

/// Returns the path below `/v1/`; `None` if an ID in it could turn it into another path of the provider's API.
fn route_of(path: &str) -> Option<String> {
    checked(path.split_once("/v1/")?.1)
}

fn checked(route: &str) -> Option<String> {
    let known = |b: u8| b.is_ascii_alphanumeric() || b"-._:@".contains(&b);
    let is_plain = |part: &str| part.bytes().all(known) && part.bytes().any(|b| b != b'.');
    route.split('/').all(is_plain).then(|| route.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_stays_one_part_of_the_path() {
        let route = |path: &str| route_of(path);
        assert_eq!(route("/openai/k/secret/v1/models/gpt-5.1").as_deref(), Some("models/gpt-5.1"));
        assert_eq!(route("/openai/v1/responses/resp_1/cancel").unwrap(), "responses/resp_1/cancel");
        let call = "v1beta/models/gemini-2.5-pro:countTokens";
        for path in [format!("/gemini/{call}"), format!("/gemini/k/secret/{call}")] {
            assert_eq!(gemini_route_of(&path).as_deref(), Some(call));
        }
        assert_eq!(called_method(call), Some("countTokens"));
        assert_eq!(called_method("v1beta/models/gemini-2.5-pro"), None);
        for odd in ["..", ".", "%2e%2e", "a%2fb", "", "a?b", "a b"] {
            assert_eq!(route(&format!("/openai/v1/models/{odd}")), None, "{odd}");
            assert_eq!(gemini_route_of(&format!("/gemini/v1beta/models/{odd}")), None, "{odd}");
        }
    }
}
