//! The help of `bethink` itself: commands in groups, which clap does not support.

use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Every command, in the group where people look for it.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start here", &["demo", "install", "import", "dashboard", "status", "doctor", "config"]),
    ("Memory", &["remember", "recall", "memory", "dream", "instructions", "pause", "resume"]),
    ("Sessions", &["session", "continue", "history", "search", "notes", "todo", "export"]),
    ("Context window", &["context", "compact", "compactions", "undo", "expand", "collapses"]),
    ("Team", &["team"]),
    (
        "Plumbing",
        &[
            "up",
            "down",
            "upgrade",
            "logs",
            "usage",
            "uninstall",
            "store",
            "gateway",
            "token",
            "mcp",
            "hook",
            "replay",
            "completions",
        ],
    ),
];

const TEMPLATE: &str = "\
{about-with-newline}
{usage-heading} {usage}

COMMANDS\
Options:
{options}{after-help}";

/// Returns the command line with its grouped help.
pub fn command() -> Command {
    let command = Cli::command();
    let groups = groups(&command);
    command.help_template(TEMPLATE.replace("COMMANDS", &groups))
}

fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("{title}:\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<12}  {about}\n"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let command = Cli::command();
        let mut all: Vec<_> = command.get_subcommands().map(Command::get_name).collect();
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn the_help_fits_80_columns_and_has_the_groups_in_order() {
        let help = command().term_width(80).render_help().to_string();
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        let at: Vec<_> =
            GROUPS.iter().map(|(title, _)| help.find(&format!("{title}:\n"))).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{help}");
    }

    #[test]
    fn every_command_has_an_example() {
        fn check(command: &Command, path: &str) {
            for one in command.get_subcommands() {
                let path = format!("{path} {}", one.get_name());
                let help = one.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.starts_with("Example: ") || help.starts_with("Examples:\n"), "{path}");
                assert!(help.contains(&path), "{path}: {help}");
                check(one, &path);
            }
        }
        check(&Cli::command(), "bethink");
    }
}
