//! A daemon that uses a scripted model server.

use std::time::Duration;

use bethink_harness::Home;
use bethink_model_server::{Script, Server, Wire};

/// The environment variable with the key; the server accepts any key.
const KEY_VARIABLE: &str = "FIGURES_MODEL_KEY";

/// Starts a model server with this script.
pub fn server(script: Script) -> Server {
    Server::start(script).expect("a free port")
}

/// Returns a home whose daemon uses this server for summaries and notes, with each session's own model name.
pub fn home(server: &Server, wire: Wire) -> Home {
    let provider = match wire {
        Wire::Anthropic => "anthropic",
        Wire::OpenAi | Wire::Responses => "openai",
        Wire::Gemini => unreachable!("bethink's own calls do not use Gemini"),
    };
    Home::new()
        .with("BETHINK_MODEL__PROVIDER", provider)
        .with("BETHINK_MODEL__BASE_URL", &server.url())
        .with("BETHINK_MODEL__API_KEY_ENV", KEY_VARIABLE)
        .with(KEY_VARIABLE, "none")
}

/// Like [`home`], with a deadline for errands.
pub fn hurried(server: &Server, wire: Wire, errand: Duration) -> Home {
    let limit = errand.as_millis().to_string();
    home(server, wire)
        .with("BETHINK_MODEL__CONNECT_TIMEOUT_MS", &limit)
        .with("BETHINK_MODEL__IDLE_TIMEOUT_MS", &limit)
        .with("BETHINK_MODEL__DEADLINE_MS", &limit)
}
