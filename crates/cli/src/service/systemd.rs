//! A systemd user unit.

use std::path::Path;

use super::manager::{Manager, Service, words};

pub(super) const TEMPLATE: &str = include_str!("../../../../deploy/systemd/bethinkd.service");

const UNIT: &str = "bethinkd.service";
/// The line of the template that names the program.
const PROGRAM: &str = "ExecStart=%h/.local/bin/bethinkd\n";

pub(super) fn service(config: &Path, program: &str, variables: &[(&str, String)]) -> Service {
    let mut lines = format!("ExecStart={}\n", quoted(program).replace('$', "$$"));
    for (name, value) in variables {
        lines.push_str(&format!("Environment={}\n", quoted(&format!("{name}={value}"))));
    }
    let user = |rest: &[&str]| words(&[&["systemctl", "--user"], rest].concat());
    Service {
        manager: Manager::Systemd,
        file: config.join("systemd/user").join(UNIT),
        text: TEMPLATE.replace(PROGRAM, &lines),
        probe: user(&["show-environment"]),
        managed: user(&["is-active", "--quiet", UNIT]),
        unload: Vec::new(),
        enable: vec![user(&["daemon-reload"]), user(&["enable", "--now", UNIT])],
        disable: vec![user(&["disable", "--now", UNIT])],
        forget: vec![user(&["daemon-reload"])],
    }
}

/// Quotes a word, and escapes `%`, which starts a specifier, as well as `"` and `\`.
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::super::tests::service;
    use super::*;

    #[test]
    fn the_unit_names_the_program_and_the_home() {
        let pairs = [("HOME", "/h"), ("BETHINK_HOME", "/s p/b"), ("BETHINK_TOKEN", "secret")];
        let made = service(Manager::Systemd, "/opt/b/bethinkd", &pairs).unwrap();
        assert_eq!(made.file, Path::new("/h/.config/systemd/user/bethinkd.service"));
        let lines = "ExecStart=\"/opt/b/bethinkd\"\nEnvironment=\"BETHINK_HOME=/s p/b\"\n";
        assert!(made.text.contains(lines), "{}", made.text);
        assert!(!made.text.contains("secret") && !made.text.contains("%h"), "{}", made.text);
    }

    #[test]
    fn the_file_is_in_the_users_config_directory() {
        let pairs = [("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")];
        let made = service(Manager::Systemd, "/b/bethinkd", &pairs).unwrap();
        assert_eq!(made.file, Path::new("/c/systemd/user/bethinkd.service"));
        let pairs = [("HOME", "/h"), ("XDG_CONFIG_HOME", "relative")];
        let made = service(Manager::Systemd, "/b/bethinkd", &pairs).unwrap();
        assert!(made.file.starts_with("/h/.config"));
    }

    #[test]
    fn unusual_paths_are_quoted() {
        let check = |path: &str, expect: &str| {
            let made = service(Manager::Systemd, path, &[("HOME", "/h")]).unwrap();
            assert!(made.text.contains(&format!("\nExecStart={expect}\n")), "{}", made.text);
        };
        check("/a b/bethinkd", r#""/a b/bethinkd""#);
        check("/100%/bethinkd", r#""/100%%/bethinkd""#);
        check(r#"/q"\/bethinkd"#, r#""/q\"\\/bethinkd""#);
        check("/$HOME/bethinkd", r#""/$$HOME/bethinkd""#);
    }
}
