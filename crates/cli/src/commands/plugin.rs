//! Whether an agent has bethink as a plugin, so that its settings need no entries.

use std::path::Path;

use bethink_install::InstallAgent;
use serde_json::Value;

use super::install::dir_of;
use crate::app::CliApp;

/// The command that removes the plugin from an agent; `None` if the agent does not have it.
pub(super) fn removal(app: &CliApp, agent: InstallAgent) -> Option<&'static str> {
    let dir = dir_of(app, agent)?;
    match agent {
        InstallAgent::ClaudeCode => {
            is_enabled(&dir.join("settings.json")).then_some("claude plugin uninstall bethink")
        }
        InstallAgent::Gemini => {
            dir.join("extensions/bethink").exists().then_some("gemini extensions uninstall bethink")
        }
        _ => None,
    }
}

/// Whether Claude Code's settings enable bethink's plugin, from any marketplace. <https://code.claude.com/docs/en/settings>
fn is_enabled(settings: &Path) -> bool {
    let Ok(text) = std::fs::read_to_string(settings) else { return false };
    let settings: Value = serde_json::from_str(&text).unwrap_or_default();
    let plugins = settings["enabledPlugins"].as_object().into_iter().flatten();
    plugins.into_iter().any(|(name, is_on)| {
        is_on == &Value::Bool(true) && name.split('@').next() == Some("bethink")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_counts_if_it_is_enabled() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        assert!(!is_enabled(&path));
        for (text, expect) in [
            (r#"{"enabledPlugins": {"bethink@bethink": true}}"#, true),
            (r#"{"enabledPlugins": {"bethink@team": true, "x@y": false}}"#, true),
            (r#"{"enabledPlugins": {"bethink@bethink": false}}"#, false),
            (r#"{"enabledPlugins": {"rethink@bethink": true}}"#, false),
            (r#"{"enabledPlugins": []}"#, false),
            ("not JSON", false),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(is_enabled(&path), expect, "{text}");
        }
    }
}
