//! The directories of the user and of a project.

use std::path::PathBuf;

/// Where the user's files are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientPlaces {
    pub person: PathBuf,
    /// `$XDG_CONFIG_HOME`, or else `~/.config`.
    pub config: PathBuf,
    /// The value of `$CLAUDE_CONFIG_DIR`, if it is set.
    pub claude: Option<PathBuf>,
    /// `$CODEX_HOME`.
    pub codex: Option<PathBuf>,
    /// `$COPILOT_HOME`.
    pub copilot: Option<PathBuf>,
    /// `$CLINE_DIR`.
    pub cline: Option<PathBuf>,
    /// `$QWEN_HOME`.
    pub qwen: Option<PathBuf>,
    /// Whether this is macOS, where applications keep their settings in `~/Library`.
    pub is_mac: bool,
    /// The project to install for; `None` to install for the user.
    pub project: Option<PathBuf>,
}

impl ClientPlaces {
    /// The directory in which a desktop application keeps its settings.
    pub(super) fn application(&self, name: &str) -> PathBuf {
        match self.is_mac {
            true => self.person.join("Library/Application Support").join(name),
            false => self.config.join(name),
        }
    }
}
