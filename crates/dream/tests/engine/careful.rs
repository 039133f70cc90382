//! Tests what a dream leaves alone.

use bethink_dream::{DreamDirectory, DreamTopic};
use bethink_memdir::{DirectoryFile, Name};

use crate::support::*;

#[test]
fn a_persons_prose_stays_letter_by_letter() {
    let texts = [
        "---\nname: old\ndescription: \"broken: \nmetadata:\n  type: project\n---\nWe met yesterday.\n",
        "We use npm for installs.\n",
        "We no longer use npm for installs.\n",
        "\u{feff}# A\r\n\r\n- Run it tomorrow\r\n- Done\r\n- Done\r\n",
        "no words in common with any other text, [[old]] excepted",
    ];
    let topics: Vec<DreamTopic> =
        texts.iter().enumerate().map(|(at, text)| hand(&format!("t{at}"), text)).collect();
    let index: String = (0..texts.len())
        .map(|at| format!("- [t{at}](t{at}.md) — {}\n", "long ".repeat(60)))
        .collect();
    let (plan, after) = dreamt(&with(Some(&index), topics));
    assert!(plan.is_empty(), "{}", bethink_dream::diff(&plan));
    for (at, written) in texts.iter().enumerate() {
        assert_eq!(text(&after, &format!("t{at}")), *written);
    }
}

/// A file that the daemon wrote counts as a person's file after the person's first edit.
#[test]
fn what_a_person_touched_is_a_persons() {
    let older = own("npm", "s1", "2026-06-01", "We use npm for installs, since yesterday.");
    let newer =
        own("pnpm", "s2", "2026-06-08", "We no longer use npm for installs, since yesterday.");
    let touched: Vec<DreamTopic> =
        [older, newer].into_iter().map(|topic| DreamTopic { untouched: false, ..topic }).collect();
    let (plan, _) = dreamt(&with(None, touched));
    assert!(plan.changes.iter().all(|change| change.file == DirectoryFile::Index));
}

/// A memory that a person added with a command is not changed by rules.
#[test]
fn what_a_person_had_remembered_is_a_persons() {
    let mut topic = own("freeze", "s1", "2026-06-03", "The freeze starts tomorrow.");
    topic.text = topic.text.replace("strategy: embedded", "strategy: person");
    let (_, after) = dreamt(&with(None, vec![topic.clone()]));
    assert_eq!(text(&after, "freeze"), topic.text);
}

#[test]
fn a_persons_copies_are_merged_only_where_nothing_is_lost() {
    let whole =
        "Deploys go through Ann.\n\nThe staging box is slow.\n\nAsk before you restart it.\n";
    let part = "The staging box is slow.\n\nAsk before you restart it.\n";
    let (_, after) = dreamt(&with(None, vec![hand("whole", whole), hand("part", part)]));
    assert_eq!(names(&after), ["whole"]);
    assert_eq!(text(&after, "whole"), whole);
    // With one more sentence, the topic is kept.
    let more = format!("{part}\nIt has a red light.\n");
    let (_, after) = dreamt(&with(None, vec![hand("whole", whole), hand("part", &more)]));
    assert_eq!(names(&after), ["whole", "part"]);
    // A topic of one sentence does not count as a copy.
    let (_, after) =
        dreamt(&with(None, vec![hand("whole", whole), hand("stub", "The staging box is slow.")]));
    assert_eq!(names(&after), ["whole", "stub"]);
    // A topic that others link to is kept.
    let topics =
        vec![hand("whole", whole), hand("part", part), hand("links", "See [[part]] first.")];
    assert_eq!(names(&dreamt(&with(None, topics)).1), ["whole", "part", "links"]);
    let topics =
        vec![hand("whole", whole), hand("part", part), hand("links", "See `notes/part.md` first.")];
    assert_eq!(names(&dreamt(&with(None, topics)).1), ["whole", "part", "links"]);
}

/// If a person's file resembles another one, a note says so, and the file is not rewritten.
#[test]
fn a_persons_file_that_resembles_another_is_told() {
    let one = hand("one", "Use pnpm for installs in the frontend folder.\n");
    let other = hand("other", "For installs in the frontend folder use pnpm.\n");
    let (plan, after) = dreamt(&with(None, vec![one, other]));
    assert_eq!(names(&after), ["one", "other"]);
    assert!(plan.notes.iter().any(|note| note.text.contains("merge them by hand")));
}

/// A statement that occurs twice in private topics is merged; the same statement in a team's topic has no effect.
#[test]
fn private_and_team_never_meet() {
    let said = "Use pnpm for installs in the frontend folder.";
    let private = || vec![own("a", "s1", "2026-06-01", said), own("b", "s2", "2026-06-08", said)];
    let alone = dream(&with(None, private()));
    assert!(!alone.changes.is_empty() && !alone.steps.is_empty(), "the copy is merged");
    let mut directory = with(None, private());
    directory.topics.push(own("team/a", "s3", "2026-06-15", said));
    let beside = dream(&directory);
    let touched = |file: &str| file.starts_with("team/");
    assert!(!beside.changes.iter().any(|change| touched(&change.file.path())));
    assert!(!beside.steps.iter().any(|step| touched(&step.file)));
    assert_eq!(
        beside.changes.len(),
        alone.changes.len(),
        "the team's topic causes no other change"
    );
}

/// If a checkout or a move removed the topics, the index is all that is left of them.
#[test]
fn an_index_of_which_most_leads_nowhere_is_left() {
    let index: String =
        (0..6).map(|at| format!("- [t{at}](t{at}.md) — what it was about\n")).collect();
    let (plan, after) = dreamt(&with(Some(&index), vec![hand("t0", "Here.")]));
    assert_eq!(after.index.as_deref(), Some(index.as_str()));
    assert!(plan.notes.iter().any(|note| note.text.contains("bethink memory rebuild")));
}

#[test]
fn what_cannot_be_read_is_there_all_the_same() {
    let mut directory =
        with(Some("- [Big](big.md) — a log\n- [a](a.md)\n"), vec![hand("a", "Here.")]);
    directory.unread = vec![Name::parse("big").unwrap()];
    let (plan, _) = dreamt(&directory);
    assert!(plan.is_empty(), "{}", bethink_dream::diff(&plan));
}

/// A person's long lines are shortened only if the index is too long for the prompt.
#[test]
fn long_lines_of_a_person_go_where_the_index_is_cut() {
    let topics = |count: usize| -> Vec<DreamTopic> {
        let text = |at| format!("---\ndescription: about {at}\n---\nBody of {at}.\n");
        (0..count).map(|at| hand(&format!("t{at}"), &text(at))).collect()
    };
    let index = |count: usize| -> String {
        (0..count)
            .map(|at| format!("- [t{at}](t{at}.md) — {}\n", "many words ".repeat(25)))
            .collect()
    };
    let (plan, _) = dreamt(&with(Some(&index(20)), topics(20)));
    assert!(plan.is_empty());
    let (plan, after) = dreamt(&with(Some(&index(120)), topics(120)));
    let after = after.index.unwrap();
    assert!(after.len() <= 25_000 && after.contains(" — about "), "{}", after.len());
    assert!(after.contains("many words"), "only as many lines as necessary are shortened");
    assert!(plan.dropped.iter().any(|dropped| dropped.text.contains("many words")));
}

/// When a person undoes a dream, the next dream does not repeat it.
#[test]
fn what_a_person_put_back_stays() {
    let whole =
        "Deploys go through Ann.\n\nThe staging box is slow.\n\nAsk before you restart it.\n";
    let part = "The staging box is slow.\n\nAsk before you restart it.\n";
    let twice = "- Run the linter before each push\n- Run the linter before each push\n";
    let topics =
        [hand("whole", whole), hand("part", part), hand("twice", twice), hand("empty", "\n")];
    let index = "- [Gone](gone.md)\n";
    let kept: Vec<DreamTopic> =
        topics.iter().map(|topic| DreamTopic { put_back: true, ..topic.clone() }).collect();
    let directory = DreamDirectory { index_put_back: true, ..with(Some(index), kept) };
    assert!(dream(&directory).is_empty());
    assert_eq!(dream(&with(Some(index), topics.to_vec())).changes.len(), 4);
}

/// The file was written on several days, and does not say which part was written when.
#[test]
fn days_in_words_stay_where_the_day_is_not_known() {
    let mut topic = own("freeze", "s1", "2026-06-03", "The freeze starts tomorrow, says Ann.");
    let (head, _) = topic.text.split_once("The user said so").unwrap();
    topic.text = head.replace("modified: 2026-06-03", "modified: 2026-06-09");
    let (_, after) = dreamt(&with(None, vec![topic.clone()]));
    assert_eq!(text(&after, "freeze"), topic.text);
}

/// Feedback and facts about the project are recalled by different questions, so they are not merged.
#[test]
fn topics_of_two_types_stay_apart() {
    let said = "Use pnpm for installs in the frontend folder.";
    let (one, mut other) = (own("a", "s1", "2026-06-01", said), own("b", "s2", "2026-06-08", said));
    other.text = other.text.replace("type: feedback", "type: project");
    assert_eq!(names(&dreamt(&with(None, vec![one, other])).1), ["a", "b"]);
}
