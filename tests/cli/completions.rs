//! Completion scripts in the shells that read them.

use std::fs;
use std::process::{Command, Stdio};

use crate::terminal::{Terminal, done};

/// What the shell says; `None` with a printed reason where it is not installed.
fn shell(name: &str, options: &[&str], text: &str) -> Option<String> {
    let terminal = Terminal::new();
    let file = terminal.path().join("completions");
    fs::write(&file, done(terminal.run(&["completions", name]))).unwrap();
    let ran = Command::new(name)
        .args(options)
        .arg("-c")
        .arg(text.replace("FILE", &file.to_string_lossy()))
        .env("HOME", terminal.path())
        .stdin(Stdio::null())
        .output();
    let Ok(ran) = ran else {
        // In CI it would be green for nothing.
        assert!(std::env::var_os("CI").is_none(), "there is no {name}");
        println!("skipped: there is no {name}");
        return None;
    };
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success(), "{name}: {said}\n{}", String::from_utf8_lossy(&ran.stderr));
    Some(said)
}

#[test]
fn bash_offers_the_commands() {
    let complete = "COMP_WORDS=(bethink \"$@\"); COMP_CWORD=$#; \
        _bethink bethink \"${COMP_WORDS[-1]}\" \"${COMP_WORDS[-2]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    for (words, expect) in [("se", "session"), ("session re", "rename"), ("up --i", "--install")] {
        let text =
            format!("source FILE; complete -p bethink >/dev/null; set -- {words}; {complete}");
        let Some(offered) = shell("bash", &["--norc"], &text) else { return };
        assert!(offered.lines().any(|word| word == expect), "{words}: {offered}");
    }
}

#[test]
fn fish_offers_the_commands() {
    for (line, expect) in [("se", "session"), ("session re", "rename"), ("up --i", "--install")] {
        let text = format!("source FILE; complete -C 'bethink {line}'");
        let Some(offered) = shell("fish", &["--no-config"], &text) else { return };
        assert!(offered.lines().any(|word| word.split('\t').next() == Some(expect)), "{offered}");
    }
}

#[test]
fn zsh_takes_the_function() {
    let text = "autoload -Uz compinit && compinit -u -D && source FILE && print $_comps[bethink] && \
        functions _bethink_commands";
    let Some(said) = shell("zsh", &["-f"], text) else { return };
    assert!(said.starts_with("_bethink\n") && said.contains("'session:"), "{said}");
}

/// The others are read by their shells alone; they name every command.
#[test]
fn every_shell_has_a_script() {
    let terminal = Terminal::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = done(terminal.run(&["completions", shell]));
        for command in ["remember", "compact", "completions"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(terminal.run(&["completions", "tcsh"]).code, 2);
}
