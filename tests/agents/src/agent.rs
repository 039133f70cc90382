//! An agent as data, and how it is run without a terminal.

use std::path::PathBuf;
use std::time::Duration;

use bethink_test_clients::{Installed, Kit, Ran};

/// Time limit of a run. On a busy machine some agents take half a minute to start.
const PATIENCE: Duration = Duration::from_secs(240);

/// How an agent is run. In arguments, values and files, `{url}` is the address of the model, and `{prompt}` the prompt.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) kit: Kit,
    pub(crate) program: &'static str,
    /// The key of the gateway's address in the output of `bethink gateway --json`.
    pub(crate) wire: &'static str,
    /// The end of the model server's address.
    pub(crate) base: &'static str,
    /// Arguments of a new session.
    pub(crate) begin: &'static [&'static str],
    /// Arguments that continue the last session; empty if the agent has none.
    pub(crate) go_on: &'static [&'static str],
    pub(crate) variables: &'static [(&'static str, &'static str)],
    /// Settings, by their path in the home directory.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// Whether the agent's prompts state the project's directory.
    pub(crate) states_project: bool,
    /// The files that `bethink install` changes; empty if it does not know the agent.
    pub(crate) installed: &'static [&'static str],
    /// Whether `bethink install` adds hooks, so that a session begins with what is remembered.
    pub(crate) has_hooks: bool,
}

/// A person's home directory and a project, in which an agent runs.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) person: PathBuf,
    pub(crate) project: PathBuf,
    pub(crate) bethink: PathBuf,
}

impl Agent {
    /// Writes the settings that the agent needs for a model at this address.
    pub(crate) fn configure(&self, place: &Place, url: &str) {
        for (path, text) in self.files {
            let path = place.person.join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            std::fs::write(path, text.replace("{url}", url)).expect("settings");
        }
    }

    /// Runs the agent with one prompt, in a new session or in the last one. Returns `None` if it does not end in time.
    pub(crate) fn run(
        &self,
        kit: &Installed,
        place: &Place,
        url: &str,
        turn: (&[&str], &str),
    ) -> Option<Ran> {
        let (arguments, prompt) = turn;
        let fill = |text: &str| text.replace("{url}", url).replace("{prompt}", prompt);
        let script = kit.script(self.program).args(arguments.iter().map(|text| fill(text)));
        let script =
            self.variables.iter().fold(script, |s, (name, value)| s.env(name, fill(value)));
        let below = |dir: &str| place.person.join(dir);
        script
            .env("HOME", &place.person)
            .env("XDG_CONFIG_HOME", below(".config"))
            .env("XDG_DATA_HOME", below(".local/share"))
            .env("XDG_STATE_HOME", below(".local/state"))
            .env("XDG_CACHE_HOME", below(".cache"))
            .env("BETHINK_HOME", &place.bethink)
            // Some agents believe the shell's variable.
            .env("PWD", &place.project)
            .dir(&place.project)
            .within(PATIENCE)
            .run_in_time()
    }
}
