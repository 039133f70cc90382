//! The coding agents of a user, and whether their settings have our entries. Only reads.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bethink_config::Home;
use serde_json::Value;

use crate::clients::{ClientPlaces, InstallAgent, InstallRequest, files};
use crate::edit::{NotEdited, SettingsEdit};
use crate::file::{InstallState, SettingsFile};
use crate::installation::{PROGRAMS, lasting};

/// Maximum size of a settings file, in bytes. Claude Code's own grows to several megabytes.
const MAX_BYTES: u64 = 64 << 20;
/// Number of paths in a settings file that may name our program.
const MAX_PROGRAMS: usize = 20;

/// Where the user's agents, their settings and our program are.
#[derive(Clone, Debug)]
pub struct AgentSearch {
    pub places: ClientPlaces,
    /// What `bethink install` would write.
    pub wanted: InstallRequest,
    path: OsString,
    /// Our program, with symbolic links resolved. `None` if `PATH` contains it.
    own: Option<PathBuf>,
}

/// A coding agent, and whether bethink is installed for it.
#[derive(Debug)]
pub struct FoundAgent {
    pub agent: InstallAgent,
    /// Whether the agent is on this machine: its program is in `PATH`, or its settings directory is not empty.
    pub is_present: bool,
    /// The command that removes bethink's plugin, if the agent has it.
    pub plugin: Option<&'static str>,
    pub files: Vec<AgentFile>,
}

/// A settings file of an agent, and the state of our entries in it.
#[derive(Debug)]
pub struct AgentFile {
    pub path: PathBuf,
    pub state: Result<InstallState, UnreadableSettings>,
}

/// The reason why a settings file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableSettings {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Text(#[from] NotEdited),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundState {
    Installed,
    /// The agent has bethink as a plugin.
    Plugin,
    /// An entry is missing, or another version wrote it.
    Outdated,
    NotInstalled,
    /// A settings file could not be read.
    Unreadable,
}

impl AgentSearch {
    /// Looks where the environment's variables say. `program` is the path of `bethink`, and `home` is bethink's home.
    /// Returns `None` if the environment does not name the user's home directory.
    pub fn new(
        env: &dyn Fn(&str) -> Option<OsString>,
        program: &Path,
        home: &Path,
    ) -> Option<Self> {
        // An empty or relative value counts as unset.
        let dir = |name: &str| {
            let value = env(name).filter(|value| !value.is_empty());
            value.map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let person = dir("HOME")?;
        let places = ClientPlaces {
            config: dir("XDG_CONFIG_HOME").unwrap_or_else(|| person.join(".config")),
            claude: dir("CLAUDE_CONFIG_DIR"),
            codex: dir("CODEX_HOME"),
            copilot: dir("COPILOT_HOME"),
            cline: dir("CLINE_DIR"),
            qwen: dir("QWEN_HOME"),
            is_mac: cfg!(target_os = "macos"),
            project: None,
            person,
        };
        let path = env("PATH").unwrap_or_default();
        let own = program.canonicalize().ok();
        // An update replaces the file in `PATH`, so that path is written if it is our program.
        let mut named = std::env::split_paths(&path).map(|dir| dir.join(PROGRAMS[0]));
        let named = named
            .find(|file| file.is_absolute() && own.is_some() && file.canonicalize().ok() == own);
        let bare = |name: &str| (name == "HOME").then(|| env(name)?.into_string().ok()).flatten();
        let is_default = Home::find(&bare, None).is_ok_and(|default| default.path() == home);
        let wanted = InstallRequest {
            program: lasting(named.as_deref().unwrap_or(program), home).display().to_string(),
            // Programs would not find another home without bethink's and XDG's environment variables.
            home: (!is_default).then(|| home.display().to_string()),
            ..InstallRequest::default()
        };
        let own = own.filter(|_| named.is_none());
        Some(Self { places, wanted, path, own })
    }

    /// Looks for all agents. The result also contains agents that are not on this machine.
    pub fn agents(&self) -> Vec<FoundAgent> {
        let of = |agent| FoundAgent {
            agent,
            is_present: self.is_present(agent),
            plugin: self.plugin(agent),
            files: self.files(agent, |_| true),
        };
        InstallAgent::ALL.into_iter().map(of).collect()
    }

    /// Reads an agent's files, and compares them with those entries that count.
    pub fn files(
        &self,
        agent: InstallAgent,
        counts: impl Fn(&SettingsEdit) -> bool,
    ) -> Vec<AgentFile> {
        let all = |wanted: &InstallRequest| {
            let mut all = files(agent, &self.places, wanted);
            all.iter_mut().for_each(|file| file.edits.retain(&counts));
            all
        };
        let found = all(&self.wanted).into_iter().enumerate().map(|(n, file)| {
            let path = existing(file.path.clone());
            let state = read_settings(&path).map_err(UnreadableSettings::from).and_then(|text| {
                let state = file.state(text.as_deref())?;
                let named = |program: &str| {
                    let wanted =
                        InstallRequest { program: program.to_owned(), ..self.wanted.clone() };
                    all(&wanted).into_iter().nth(n)
                };
                let is_linked = state == InstallState::Stale
                    && text.is_some_and(|text| self.is_current_by_a_link(&text, named));
                Ok(if is_linked { InstallState::Current } else { state })
            });
            AgentFile { path, state }
        });
        found.collect()
    }

    /// Returns whether the entries are current except that they run our program through a link that is not in `PATH`: a
    /// service manager starts the daemon with a shorter `PATH` than the user's shell.
    fn is_current_by_a_link(
        &self,
        text: &str,
        named: impl Fn(&str) -> Option<SettingsFile>,
    ) -> bool {
        let is_own = |program: &&str| {
            self.own.is_some() && Path::new(program).canonicalize().ok() == self.own
        };
        programs_in(text).into_iter().filter(is_own).any(|program| {
            named(program).is_some_and(|file| file.state(Some(text)) == Ok(InstallState::Current))
        })
    }

    fn is_present(&self, agent: InstallAgent) -> bool {
        let is_in_path =
            |program| std::env::split_paths(&self.path).any(|dir| dir.join(program).is_file());
        let dir = agent.dir(&self.places).and_then(|dir| dir.read_dir().ok());
        let has_files = dir.is_some_and(|mut dir| dir.next().is_some());
        has_files || agent.command().is_some_and(is_in_path)
    }

    /// Returns the command that removes bethink's plugin from an agent; `None` if the agent does not have it.
    pub fn plugin(&self, agent: InstallAgent) -> Option<&'static str> {
        let dir = agent.dir(&self.places)?;
        match agent {
            InstallAgent::ClaudeCode => {
                is_enabled(&dir.join("settings.json")).then_some("claude plugin uninstall bethink")
            }
            InstallAgent::Gemini => dir
                .join("extensions/bethink")
                .exists()
                .then_some("gemini extensions uninstall bethink"),
            _ => None,
        }
    }
}

impl FoundAgent {
    pub fn state(&self) -> FoundState {
        let all = |wanted| self.files.iter().all(|file| file.is(wanted));
        match () {
            () if self.plugin.is_some() => FoundState::Plugin,
            () if self.files.iter().any(|file| file.state.is_err()) => FoundState::Unreadable,
            () if all(InstallState::Current) => FoundState::Installed,
            () if all(InstallState::Absent) => FoundState::NotInstalled,
            () => FoundState::Outdated,
        }
    }
}

impl AgentFile {
    pub fn is(&self, state: InstallState) -> bool {
        matches!(self.state, Ok(found) if found == state)
    }
}

impl FoundState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Plugin => "plugin",
            Self::Outdated => "outdated",
            Self::NotInstalled => "not-installed",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Returns the text of a settings file; `None` if the file does not exist.
pub fn read_settings(path: &Path) -> io::Result<Option<String>> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let refused =
        || io::Error::new(io::ErrorKind::InvalidInput, "not a regular file, or larger than 64 MiB");
    // Other files may block or never end.
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return Err(refused());
    }
    let mut text = String::new();
    let read = std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES { Err(refused()) } else { Ok(Some(text)) }
}

/// Some agents also read `NAME.jsonc`. If only that file exists, it is used.
pub fn existing(path: PathBuf) -> PathBuf {
    let other = path.with_extension("jsonc");
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    if is_json && !path.exists() && other.exists() { other } else { path }
}

/// Returns the paths in a text that may name our program. A path with a space is not found.
fn programs_in(text: &str) -> Vec<&str> {
    let ends = text.match_indices("/bethink").map(|(at, name)| at + name.len());
    let paths = ends.filter_map(|end| {
        let start = text[..end].rfind(['"', '\'', ' ', '=', '\n'])? + 1;
        text[end..].starts_with(['"', '\'', ' ']).then(|| &text[start..end])
    });
    let mut paths: Vec<_> = paths.collect();
    paths.sort_unstable();
    paths.dedup();
    paths.truncate(MAX_PROGRAMS);
    paths
}

/// Whether Claude Code's settings enable bethink's plugin, from any marketplace. <https://code.claude.com/docs/en/settings>
fn is_enabled(settings: &Path) -> bool {
    let Ok(Some(text)) = read_settings(settings) else { return false };
    let settings: Value = serde_json::from_str(&text).unwrap_or_default();
    let plugins = settings["enabledPlugins"].as_object().into_iter().flatten();
    plugins.into_iter().any(|(name, is_on)| {
        is_on == &Value::Bool(true) && name.split('@').next() == Some("bethink")
    })
}

#[cfg(test)]
mod tests;
