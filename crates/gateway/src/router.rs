//! The routes of both wires, each by token and by capability.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use bethink_config::GatewaySettings;

use crate::anthropic::Anthropic;
use crate::exchange::Gateway;
use crate::fault::Fault;
use crate::memory::Memory;
use crate::openai::OpenAi;
use crate::upstream::Way;
use crate::wire::Wire;

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

/// What a capability's route has in its path, and no other route.
const CAPABILITY: &str = "/k/";

type Shared<M> = State<Arc<Gateway<M>>>;

/// All routes. A guard has to stand before them: nothing here asks who a client is.
pub fn router<M: Memory>(memory: M, settings: &GatewaySettings) -> Router {
    let below = |path: &str| (format!("/anthropic{path}"), format!("/openai{path}"));
    let mut router = Router::new();
    for prefix in ["/v1", "/k/{capability}/v1"] {
        let (anthropic, openai) = below(prefix);
        router = router
            .route(&format!("{anthropic}/messages"), post(messages::<M>))
            .route(&format!("{anthropic}/messages/count_tokens"), post(count_tokens::<M>))
            .route(&format!("{anthropic}/models"), get(anthropic_models::<M>))
            .route(&format!("{openai}/chat/completions"), post(chat_completions::<M>))
            .route(&format!("{openai}/models"), get(openai_models::<M>));
    }
    router.with_state(Gateway::new(memory, settings))
}

async fn messages<M: Memory>(State(gateway): Shared<M>, request: Request) -> Response {
    let way = way(&request);
    told(Wire::Anthropic, gateway.ask::<Anthropic>(request, "messages", way).await)
}

async fn count_tokens<M: Memory>(State(gateway): Shared<M>, request: Request) -> Response {
    let way = way(&request);
    let counted = gateway.count::<Anthropic>(request, "messages/count_tokens", way).await;
    told(Wire::Anthropic, counted)
}

async fn anthropic_models<M: Memory>(State(gateway): Shared<M>, request: Request) -> Response {
    let way = way(&request);
    told(Wire::Anthropic, gateway.pass(Wire::Anthropic, request, "models", way).await)
}

async fn chat_completions<M: Memory>(State(gateway): Shared<M>, request: Request) -> Response {
    let way = way(&request);
    told(Wire::OpenAi, gateway.ask::<OpenAi>(request, "chat/completions", way).await)
}

async fn openai_models<M: Memory>(State(gateway): Shared<M>, request: Request) -> Response {
    let way = way(&request);
    told(Wire::OpenAi, gateway.pass(Wire::OpenAi, request, "models", way).await)
}

fn way(request: &Request) -> Way {
    if request.uri().path().contains(CAPABILITY) { Way::Capability } else { Way::Token }
}

fn told(wire: Wire, answered: Result<Response, Fault>) -> Response {
    answered.unwrap_or_else(|fault| {
        tracing::debug!(wire = wire.name(), code = fault.code, "answered by the gateway itself");
        fault.answer(wire)
    })
}
