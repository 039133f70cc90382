//! A macOS launch agent.

use std::path::Path;

use super::manager::{Manager, Service, words};

pub(super) const TEMPLATE: &str =
    include_str!("../../../../deploy/launchd/dev.bethink.daemon.plist");

const LABEL: &str = "dev.bethink.daemon";
/// The line of the template that names the program.
const PROGRAM: &str = "<string>/usr/local/bin/bethinkd</string>";
/// The part of the template for variables.
const VARIABLES: &str = "  <key>EnvironmentVariables</key>\n  <dict>\n  </dict>\n";

/// `path` is the user's PATH: the default PATH of a launch agent may not contain git.
pub(super) fn service(
    person: &Path,
    uid: u32,
    program: &str,
    variables: &[(&str, String)],
    path: Option<String>,
) -> Service {
    let file = person.join("Library/LaunchAgents").join(format!("{LABEL}.plist"));
    let path = path.map(|path| ("PATH", path));
    let pairs = variables.iter().cloned().chain(path).map(|(name, value)| {
        format!("    <key>{name}</key>\n    <string>{}</string>\n", escaped(&value))
    });
    let pairs = format!(
        "  <key>EnvironmentVariables</key>\n  <dict>\n{}  </dict>\n",
        pairs.collect::<String>()
    );
    let (domain, target) = (format!("gui/{uid}"), format!("gui/{uid}/{LABEL}"));
    let place = file.to_string_lossy().into_owned();
    Service {
        manager: Manager::Launchd,
        text: TEMPLATE
            .replace(PROGRAM, &format!("<string>{}</string>", escaped(program)))
            .replace(VARIABLES, &pairs),
        probe: words(&["launchctl", "print", &domain]),
        managed: words(&["launchctl", "print", &target]),
        // A loaded service cannot be loaded again, so it is unloaded first.
        unload: vec![words(&["launchctl", "bootout", &target])],
        enable: vec![words(&["launchctl", "bootstrap", &domain, &place])],
        disable: Vec::new(),
        forget: Vec::new(),
        file,
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::tests::service;
    use super::*;

    #[test]
    fn the_agent_names_program_home_and_path() {
        let pairs = [("HOME", "/Users/a"), ("BETHINK_HOME", "/x<y>&z"), ("PATH", "/bin:/opt/bin")];
        let made = service(Manager::Launchd, "/a & b/bethinkd", &pairs).unwrap();
        assert_eq!(made.file, Path::new("/Users/a/Library/LaunchAgents/dev.bethink.daemon.plist"));
        for line in [
            "<string>/a &amp; b/bethinkd</string>",
            "<key>BETHINK_HOME</key>\n    <string>/x&lt;y&gt;&amp;z</string>",
            "<key>PATH</key>\n    <string>/bin:/opt/bin</string>",
        ] {
            assert!(made.text.contains(line), "{line}: {}", made.text);
        }
        assert_eq!(made.enable[0][2], "gui/501");
        assert_eq!(made.unload[0].last().unwrap(), "gui/501/dev.bethink.daemon");
    }
}
