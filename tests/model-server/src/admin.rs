//! Routes for tests, on paths that no provider has: the received requests, the counts, and a new script.

use serde_json::{Value, json};

use crate::http::Incoming;
use crate::payload::Payload;
use crate::script::Script;
use crate::state::State;

/// Prefix of these paths.
pub(crate) const PREFIX: &str = "/__";

pub(crate) fn answer(state: &State, incoming: &Incoming) -> Payload {
    match (incoming.method.as_str(), incoming.path.as_str()) {
        ("GET", "/__requests") => Payload::json(200, &json!(state.seen())),
        ("GET", "/__counts") => Payload::json(200, &json!(state.counts())),
        ("POST", "/__script") => match serde_json::from_slice::<Script>(&incoming.body) {
            Ok(script) => {
                state.set_script(script);
                Payload::json(200, &json!({}))
            }
            Err(error) => Payload::json(400, &json!({"error": format!("the script: {error}")})),
        },
        _ => Payload::json(404, &Value::Null),
    }
}
