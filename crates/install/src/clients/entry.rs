//! What an agent's entries contain.

use serde_json::{Value, json};

use super::places::ClientPlaces;
use crate::edit::{HOME, Ours, SettingsEdit};

/// What to write into an agent's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstallRequest {
    /// The program's path.
    pub program: String,
    /// The home, if it is not the default one. Some agents do not pass their environment on to the programs that they run.
    pub home: Option<String>,
    /// The gateway's address for Anthropic, if the agent should use it.
    pub anthropic: Option<String>,
    /// The gateway's address for OpenAI, if the agent should use it.
    pub openai: Option<String>,
}

/// The name of our entries, and of the program.
pub(super) const NAME: &str = "bethink";

pub(super) fn member(path: &[&str], value: Value) -> SettingsEdit {
    SettingsEdit::member(path, value, Ours::Program)
}

/// Returns the edit for the gateway's address, if it is requested.
pub(super) fn address(path: &[&str], url: Option<&String>) -> Option<SettingsEdit> {
    url.map(|url| SettingsEdit::member(path, Value::from(url.as_str()), Ours::Address))
}

/// Returns how entries name the program: without a path in a project's file, which may be shared, and otherwise by its
/// path.
pub(super) fn shared(places: &ClientPlaces, wanted: &InstallRequest) -> String {
    match places.project {
        Some(_) => NAME.to_owned(),
        None => wanted.program.clone(),
    }
}

/// Returns the home to write; `None` for a file that may be shared, because the path differs between machines.
pub(super) fn home_of<'a>(places: &ClientPlaces, wanted: &'a InstallRequest) -> Option<&'a str> {
    wanted.home.as_deref().filter(|_| places.project.is_none())
}

/// Adds the home to the environment of an MCP server. `variables` is the agent's name for the environment.
pub(super) fn with_home(
    mut server: Value,
    variables: &str,
    places: &ClientPlaces,
    wanted: &InstallRequest,
) -> Value {
    if let Some(home) = home_of(places, wanted) {
        server[variables] = json!({ HOME: home });
    }
    server
}
