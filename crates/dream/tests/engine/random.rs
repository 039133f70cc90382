//! Tests with random directories: a second dream has nothing to do, and no statement is lost.

use bethink_dream::model::{EditedCopy, rewritten};
use bethink_dream::{DreamDirectory, DreamTopic};
use bethink_memdir::DirectoryFile;
use proptest::prelude::*;

use crate::support::*;

/// Statements: the same one in other words, its opposite, a similar one about something else, plain prose.
const SAID: [&str; 20] = [
    "Use pnpm for installs in the frontend folder.",
    "For installs in the frontend folder use pnpm.",
    "We use npm for installs.",
    "We no longer use npm for installs.",
    "The API listens on port 4000.",
    "The API listens on port 5000.",
    "The worker of Alpha restarts each night by cron.",
    "The worker of Beta restarts each night by cron.",
    "Deploys go through Ann in Berlin.",
    "Never deploy on a Friday!",
    "The default branch is main.",
    "The default branch is trunk.",
    "Ask before you restart the staging box.",
    "See [[t3]] and notes/t4.md for why.",
    "`cargo test -p core` takes long; be patient.",
    "Reports go to https://example.com/reports?week=1 each week.",
    "What is said in `code. Stays` in code.",
    "Ünïcödé wörds stand here; so do 日本語の文。",
    "ok",
    "Tests of plan 16 are done, those of plan 17 are not.",
];

fn body() -> impl Strategy<Value = String> {
    let block = prop_oneof![
        4 => (0..SAID.len()).prop_map(|at| format!("{}\n\n", SAID[at])),
        4 => (0..SAID.len()).prop_map(|at| format!("- {}\n", SAID[at])),
        1 => (0..SAID.len()).prop_map(|at| format!("# About {at}\n\n")),
        1 => Just("```\nlet a = 1;\n- not. A list\n```\n".to_owned()),
        1 => Just("| a | b |\n|---|---|\n| Use tabs | now |\n\n".to_owned()),
        1 => Just("> quoted\n> over lines\n\n".to_owned()),
        1 => "[ -~]{0,40}\n".prop_map(|text| text),
    ];
    proptest::collection::vec(block, 0..7).prop_map(|blocks| blocks.concat())
}

fn topic() -> impl Strategy<Value = DreamTopic> {
    let own = (0..12_u32, 0..SAID.len(), 1..4_u32, 1..28_u32, any::<bool>()).prop_map(
        |(at, said, session, day, touched)| {
            let topic = own(
                &format!("t{at}"),
                &format!("s{session}"),
                &format!("2026-05-{day:02}"),
                SAID[said],
            );
            DreamTopic { untouched: !touched || day % 3 == 0, ..topic }
        },
    );
    let hand = (0..12_u32, body(), any::<bool>()).prop_map(|(at, body, crlf)| {
        let body = if crlf { body.replace('\n', "\r\n") } else { body };
        hand(&format!("t{at}"), &body)
    });
    prop_oneof![3 => own, 2 => hand]
}

fn directory() -> impl Strategy<Value = DreamDirectory> {
    let line = (0..16_u32, any::<bool>()).prop_map(|(at, long)| {
        let tail = if long { "and more words ".repeat(20) } else { "what it is".to_owned() };
        format!("- [Topic {at}](t{at}.md) — {tail}\n")
    });
    let index = proptest::option::of(proptest::collection::vec(line, 0..8));
    (index, proptest::collection::vec(topic(), 0..9)).prop_map(|(index, mut topics)| {
        topics.sort_by(|one, other| one.name.cmp(&other.name));
        topics.dedup_by(|one, other| one.name == other.name);
        let index = index.map(|lines| format!("# Index\n\nProse stays.\n\n{}", lines.concat()));
        with(index.as_deref(), topics)
    })
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_second_dream_has_nothing_to_do(directory in directory()) {
        dreamt(&directory);
    }

    #[test]
    fn nothing_that_was_said_is_lost(directory in directory()) {
        let (plan, after) = dreamt(&directory);
        let (before, after) = (flat(&all(&directory)), flat(&all(&after)));
        for said in SAID.iter().filter(|said| before.contains(**said)) {
            prop_assert!(after.contains(said), "{said} is lost:\n{}", bethink_dream::diff(&plan));
        }
        prop_assert!(directory.index.is_none() || after.contains("Prose stays."));
    }

    /// A person's files are not rewritten: a file is unchanged, or lacks lines that it had twice, or is contained word
    /// for word in another file.
    #[test]
    fn a_person_is_left_in_peace(directory in directory()) {
        let (_, after) = dreamt(&directory);
        for topic in directory.topics.iter().filter(|topic| !topic.untouched) {
            let found = after.topics.iter().find(|other| other.name == topic.name);
            let Some(found) = found else { continue };
            let mut lines = topic.text.lines();
            for line in found.text.lines() {
                prop_assert!(lines.any(|was| was == line), "{line:?} is new in {}", topic.name);
            }
        }
    }

    #[test]
    fn no_text_is_a_panic(texts in proptest::collection::vec("(?s).{0,200}", 0..4), index in proptest::option::of("(?s).{0,200}")) {
        let topics = texts.iter().enumerate().map(|(at, text)| hand(&format!("t{at}"), text)).collect();
        dreamt(&with(index.as_deref(), topics));
    }

    /// Whatever a model does with the copy, what a person wrote is kept word for word.
    #[test]
    fn no_model_loses_a_persons_words(
        directory in directory(),
        edits in proptest::collection::btree_map(0..14_u32, body(), 0..8),
        merges in proptest::collection::btree_map(0..14_u32, 0..14_u32, 0..4),
    ) {
        let files = edits.into_iter().map(|(at, text)| (DirectoryFile::Topic(name(&format!("t{at}"))), text));
        let merges = merges.into_iter().map(|(from, to)| (DirectoryFile::Topic(name(&format!("t{from}"))), format!("Merged into t{to}")));
        let edited = EditedCopy { files: files.chain(merges).collect(), ..EditedCopy::default() };
        let dreamt = rewritten(&directory, &[], now(), &edited);
        let after = flat(&all(&apply(&directory, &dreamt.plan)));
        for topic in directory.topics.iter().filter(|topic| !topic.untouched) {
            let before = flat(&topic.text);
            for said in SAID.iter().filter(|said| before.contains(**said)) {
                prop_assert!(after.contains(said), "{said} is lost:\n{}", bethink_dream::diff(&dreamt.plan));
            }
        }
    }
}
