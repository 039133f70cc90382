//! The routes of both wire formats, each with the daemon's token and with a capability in the path.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{get, post};
use bethink_config::GatewaySettings;
use bethink_model_http::Provider;

use crate::anthropic::AnthropicWire;
use crate::conversation::GatewayService;
use crate::exchange::Gateway;
use crate::openai::OpenAiWire;
use crate::planner::PromptPlanner;

/// Method and path of every route.
pub const ROUTES: &[(&str, &str)] = &[
    ("POST", "/anthropic/v1/messages"),
    ("POST", "/anthropic/v1/messages/count_tokens"),
    ("GET", "/anthropic/v1/models"),
    ("POST", "/anthropic/k/{capability}/v1/messages"),
    ("POST", "/anthropic/k/{capability}/v1/messages/count_tokens"),
    ("GET", "/anthropic/k/{capability}/v1/models"),
    ("POST", "/openai/v1/chat/completions"),
    ("GET", "/openai/v1/models"),
    ("POST", "/openai/k/{capability}/v1/chat/completions"),
    ("GET", "/openai/k/{capability}/v1/models"),
];

/// Returns all routes. Put a guard in front of them: nothing here authenticates a client.
pub fn router(gateway: GatewayService, settings: &GatewaySettings) -> Router {
    routes(gateway, settings)
}

pub(crate) fn routes<M: PromptPlanner>(planner: M, settings: &GatewaySettings) -> Router {
    let mut router = Router::new();
    for (method, path) in ROUTES {
        let anthropic = path.starts_with("/anthropic/");
        let provider = if anthropic { Provider::Anthropic } else { Provider::OpenAi };
        let route = path.split_once("/v1/").map_or("", |(_, route)| route);
        let handler = move |State(gateway): State<Arc<Gateway<M>>>, request: Request| async move {
            let answered = match route {
                "messages" => gateway.ask::<AnthropicWire>(request, route).await,
                "messages/count_tokens" => gateway.count::<AnthropicWire>(request, route).await,
                "chat/completions" => gateway.ask::<OpenAiWire>(request, route).await,
                _ => gateway.pass(provider, request, route).await,
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
        router = router.route(path, if *method == "GET" { get(handler) } else { post(handler) });
    }
    router.with_state(Gateway::new(planner, settings))
}
