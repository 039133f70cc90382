//! The coding agents of the daemon's user, and whether bethink is installed for them.

use std::path::{Path, PathBuf};

use bethink_api as api;
use bethink_install::{AgentFile, AgentSearch, FoundAgent, FoundState, UnreadableSettings};
use bethink_service::{Result, ServiceError, blocking};

use crate::service::HookService;

impl HookService {
    /// Lists the agents on this machine. Reads their settings, which may have changed since the last call.
    pub async fn agents(&self) -> Result<api::AgentList> {
        let home = self.cx.settings().home.clone();
        blocking(move || {
            let daemon = std::env::current_exe().map_err(ServiceError::internal)?;
            let env = |name: &str| std::env::var_os(name);
            let search = AgentSearch::new(&env, &program_beside(&daemon), &home);
            let found = search.map_or_else(Vec::new, |search| search.agents());
            // Some agents have no settings file for the user.
            let found = found.iter().filter(|one| one.is_present && !one.files.is_empty());
            Ok(api::AgentList { agents: found.map(described).collect() })
        })
        .await
    }
}

/// Returns the path of `bethink`, which is installed in the daemon's directory.
fn program_beside(daemon: &Path) -> PathBuf {
    daemon.with_file_name(bethink_install::PROGRAMS[0])
}

fn described(found: &FoundAgent) -> api::AgentInstall {
    let state = match found.state() {
        FoundState::Installed => api::AgentInstallState::Installed,
        FoundState::Plugin => api::AgentInstallState::Plugin,
        FoundState::Outdated => api::AgentInstallState::Outdated,
        FoundState::NotInstalled => api::AgentInstallState::NotInstalled,
        FoundState::Unreadable => api::AgentInstallState::Unreadable,
    };
    let problem = found.files.iter().find_map(problem);
    api::AgentInstall {
        agent: found.agent.as_str().to_owned(),
        title: found.agent.title().to_owned(),
        state,
        files: found.files.iter().map(|file| file.path.display().to_string()).collect(),
        problem: problem.filter(|_| state == api::AgentInstallState::Unreadable),
    }
}

/// Says why a file could not be read. A parser's message may contain words from the file, so only the place is named.
fn problem(file: &AgentFile) -> Option<String> {
    let why = match file.state.as_ref().err()? {
        UnreadableSettings::Io(error) => error.to_string(),
        UnreadableSettings::Text(at) => {
            format!("invalid text at line {}, column {}", at.line, at.column)
        }
    };
    Some(format!("could not read {}: {why}", file.path.display()))
}

#[cfg(test)]
mod tests {
    use bethink_install::InstallAgent;

    use super::*;

    #[test]
    fn the_api_names_every_agent() {
        for agent in InstallAgent::ALL {
            let name = serde_json::json!(agent.as_str());
            assert!(serde_json::from_value::<api::CodingAgent>(name).is_ok(), "{agent:?}");
        }
    }

    #[test]
    fn a_problem_names_the_place_but_no_content() {
        let what = "a token of the file".to_owned();
        let fault = bethink_install::NotEdited { line: 3, column: 7, what };
        let file = AgentFile { path: "/h/.codex/config.toml".into(), state: Err(fault.into()) };
        let problem = problem(&file).unwrap();
        assert_eq!(
            problem,
            "could not read /h/.codex/config.toml: invalid text at line 3, column 7"
        );
    }
}
