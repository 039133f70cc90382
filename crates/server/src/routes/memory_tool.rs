//! Anthropic's memory tool, for programs that run the loop of tools themselves.

use axum::extract::State;
use bethink_api as api;

use crate::answer::{Answer, Reply};
use crate::app::App;
use crate::body::Sent;
use crate::idempotency::once;

/// One call of the memory tool `memory_20250818` over a project's memory. What the model can put right is an
/// answer with `is_error`.
#[utoipa::path(
    post, path = "/v1/memory-tool", tag = "memories",
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 printable ASCII characters")),
    request_body = api::MemoryToolCall,
    responses((status = 200, body = api::MemoryToolResult))
)]
pub(crate) async fn call(State(app): State<App>, sent: Sent) -> Reply {
    let request = sent.json()?;
    let daemon = app.daemon.clone();
    once(&app, sent.key, async move { Answer::ok(&daemon.memory_tool(request).await?) }).await
}
