//! Every option has one meaning, whichever command takes it.

use std::collections::BTreeMap;

use clap::{Arg, Command};

/// The short options, and the long ones that they stand for. docs/cli.md explains each.
const SHORT: [(char, &[&str]); 10] = [
    ('a', &["all"]),
    ('f', &["follow"]),
    ('h', &["help"]),
    ('m', &["message"]),
    ('n', &["last", "limit", "lines"]),
    ('o', &["output"]),
    ('q', &["quiet"]),
    ('s', &["search"]),
    ('V', &["version"]),
    ('y', &["yes"]),
];

/// Calls `each` with every option of every command, and the command's name.
fn for_each_option(command: &Command, each: &mut impl FnMut(&str, &Arg)) {
    for option in command.get_arguments().filter(|arg| !arg.is_positional()) {
        each(command.get_name(), option);
    }
    command.get_subcommands().for_each(|one| for_each_option(one, each));
}

fn command() -> Command {
    let mut command = bethink_cli::command();
    command.build();
    command
}

#[test]
fn short_options_have_one_meaning() {
    let page = include_str!("../../docs/cli.md");
    for_each_option(&command(), &mut |name, option| {
        let Some(short) = option.get_short() else { return };
        let long = option.get_long().unwrap_or_default();
        let known = SHORT.iter().find(|(known, _)| *known == short);
        assert!(known.is_some_and(|(_, longs)| longs.contains(&long)), "{name} -{short} --{long}");
        assert!(page.contains(&format!("`-{short}`")), "-{short} is not in docs/cli.md");
        if short == 'n' {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            let is_known = ["Show at most this many ", "Show only the last COUNT "];
            assert!(is_known.iter().any(|words| help.starts_with(words)), "{name}: {help}");
        }
    });
}

#[test]
fn long_options_take_the_same_value_everywhere() {
    let mut values: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for_each_option(&command(), &mut |name, option| {
        // `--version` alone prints the program's; with a number it is a topic's.
        let Some(long) = option.get_long().filter(|long| *long != "version") else { return };
        let value = match option.get_action().takes_values() {
            true => option
                .get_value_names()
                .unwrap_or_default()
                .iter()
                .map(ToString::to_string)
                .collect(),
            false => Vec::new(),
        };
        let (first, known) =
            values.entry(long.to_owned()).or_insert((name.to_owned(), value.clone()));
        assert_eq!(*known, value, "--{long} of {name} and of {first}");
    });
}

#[test]
fn a_limit_of_zero_is_rejected() {
    for args in [&["session", "ls"] as &[&str], &["search", "fog"], &["memory", "search", "fog"]] {
        let args = ["bethink"].iter().chain(args).chain(&["-n", "0"]);
        assert!(bethink_cli::command().try_get_matches_from(args).is_err());
    }
}
