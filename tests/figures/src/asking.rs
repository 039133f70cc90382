//! A daemon that asks a scripted model.

use std::time::Duration;

use bethink_harness::Home;
use bethink_model_server::{Script, Server, Wire};

/// The variable that holds the key; the server takes any.
const KEY_VARIABLE: &str = "FIGURES_MODEL_KEY";

/// A model's server that goes by `script`.
pub fn server(script: Script) -> Server {
    Server::start(script).expect("a free port")
}

/// A home whose daemon asks there for summaries and notes, each session with its own model's name.
pub fn home(server: &Server, wire: Wire) -> Home {
    let provider = match wire {
        Wire::Anthropic => "anthropic",
        Wire::OpenAi => "openai",
    };
    Home::new()
        .with("BETHINK_MODEL__PROVIDER", provider)
        .with("BETHINK_MODEL__BASE_URL", &server.url())
        .with("BETHINK_MODEL__API_KEY_ENV", KEY_VARIABLE)
        .with(KEY_VARIABLE, "none")
}

/// The same, where no errand takes longer than this.
pub fn hurried(server: &Server, wire: Wire, errand: Duration) -> Home {
    let limit = errand.as_millis().to_string();
    home(server, wire)
        .with("BETHINK_MODEL__CONNECT_TIMEOUT_MS", &limit)
        .with("BETHINK_MODEL__IDLE_TIMEOUT_MS", &limit)
        .with("BETHINK_MODEL__DEADLINE_MS", &limit)
}
