//! Tests what each phase does.

use bethink_dream::{DreamTopic, Phase, diff, plan};
use bethink_memdir::header::{self, HeaderChange, MemoryRecall};

use crate::support::*;

const INDEX: &str = "# Memory\n\n- [tabs](tabs.md) — Use tabs\n";

#[test]
fn what_no_topic_holds_is_gathered() {
    let topics =
        vec![own("tabs", "s1", "2026-06-01", "Always use tabs in Makefiles of this repository.")];
    let directory = with(Some(INDEX), topics);
    let known =
        own("tabs-again", "s2", "2026-06-02", "Always use tabs in Makefiles of this repository.");
    let other = own("tabs", "s2", "2026-06-02", "Deploys go through Ann in Berlin.");
    let gathered = plan(&directory, &[taught(&known), taught(&other)], now());
    let after = apply(&directory, &gathered);
    assert_eq!(names(&after), ["tabs", "tabs-2"]);
    let new = gathered.steps.iter().filter(|step| step.phase == Phase::Gather);
    assert_eq!(new.map(|step| step.file.as_str()).collect::<Vec<_>>(), ["tabs-2.md"]);
    assert!(after.index.unwrap().contains("(tabs-2.md)"));
}

#[test]
fn two_topics_that_say_the_same_become_the_older_one() {
    let first = own("pnpm", "s1", "2026-06-01", "Use pnpm for installs in the frontend folder.");
    let second =
        own("pnpm-installs", "s2", "2026-06-08", "For installs in the frontend folder use pnpm.");
    let index = "- [a](pnpm.md) — a\n- [b](pnpm-installs.md) — b\n";
    let (plan, after) = dreamt(&with(Some(index), vec![first, second]));
    assert_eq!(names(&after), ["pnpm"]);
    let text = text(&after, "pnpm");
    assert!(text.contains("Use pnpm for installs in the frontend folder."), "{text}");
    assert!(text.contains("For installs in the frontend folder use pnpm."), "{text}");
    assert!(
        text.contains("Also learned in session s2, message 12 (embedded, 2026-06-08T10:00:00Z)"),
        "{text}"
    );
    assert_eq!(after.index.as_deref(), Some("- [a](pnpm.md) — a\n"));
    // If the dream is interrupted halfway, the text exists twice.
    let order: Vec<String> = plan.changes.iter().map(|change| change.file.path()).collect();
    assert_eq!(order, ["pnpm.md", "pnpm-installs.md", "MEMORY.md"]);
}

#[test]
fn the_same_sentence_from_two_sessions_leaves_both_sources() {
    let said = "Use pnpm for installs in the frontend folder.";
    let topics = vec![own("a", "s1", "2026-06-01", said), own("b", "s2", "2026-06-08", said)];
    let (_, after) = dreamt(&with(None, topics));
    assert_eq!(names(&after), ["a"]);
    assert!(text(&after, "a").contains("session: s1") && text(&after, "a").contains("session s2"));
    assert_eq!(text(&after, "a").matches(said).count(), 2, "the description and the quotation");
}

#[test]
fn a_pinned_topic_is_merged_only_with_another_one() {
    let said = "Use pnpm for installs in the frontend folder.";
    let topic = |name: &str, session: &str, day: &str, recall: Option<MemoryRecall>| {
        let topic = own(name, session, day, said);
        let text = header::with(&topic.text, &[HeaderChange::Recall(recall)]).unwrap();
        DreamTopic { text, ..topic }
    };
    let pinned = Some(MemoryRecall::Always);
    for (first, second, left) in [(pinned, None, 2), (None, pinned, 2), (pinned, pinned, 1)] {
        let topics =
            vec![topic("a", "s1", "2026-06-01", first), topic("b", "s2", "2026-06-08", second)];
        let (_, after) = dreamt(&with(None, topics));
        assert_eq!(names(&after).len(), left, "{first:?} {second:?}");
        assert_eq!(header::read(text(&after, "a")).header.recall, first);
    }
}

#[test]
fn topics_that_differ_in_a_name_or_a_number_stay_apart() {
    for (one, other) in [
        (
            "The worker of Alpha restarts each night by cron and mails a report to the operators.",
            "The worker of Beta restarts each night by cron and mails a report to the operators.",
        ),
        (
            "Keep 3 replicas of the search service in staging while the load tests run there.",
            "Keep 5 replicas of the search service in staging while the load tests run there.",
        ),
    ] {
        let topics = vec![own("a", "s1", "2026-06-01", one), own("b", "s2", "2026-06-08", other)];
        let (_, after) = dreamt(&with(None, topics));
        assert_eq!(names(&after), ["a", "b"]);
    }
}

#[test]
fn what_was_said_later_marks_what_was_said_before() {
    let older = own("npm", "s1", "2026-06-01", "We use npm for installs.");
    let newer = own("pnpm", "s2", "2026-06-08", "We no longer use npm for installs.");
    let (plan, after) = dreamt(&with(None, vec![older, newer]));
    let text = text(&after, "npm");
    assert!(
        text.contains("> ~~We use npm for installs.~~ (superseded 2026-06-08, see [[pnpm]])"),
        "{text}"
    );
    assert!(
        after
            .index
            .clone()
            .unwrap()
            .contains("npm.md) — We use npm for installs. (superseded 2026-06-08")
    );
    assert!(plan.steps.iter().any(|step| step.why.contains("no longer")));
    assert!(!self::text(&after, "pnpm").contains("~~"), "the later statement is unchanged");
}

#[test]
fn of_one_day_nobody_knows_what_was_said_later() {
    let one = own("npm", "s1", "2026-06-08", "We use npm for installs.");
    let other = own("pnpm", "s2", "2026-06-08", "We no longer use npm for installs.");
    assert!(!all(&dreamt(&with(None, vec![one, other])).1).contains("~~"));
}

/// Nor is it marked again by another statement that would replace it.
#[test]
fn what_is_marked_is_marked_once() {
    let older = own("npm", "s1", "2026-06-01", "We use npm.");
    let newer = own("pnpm", "s2", "2026-06-08", "We switched from npm to pnpm.");
    let (_, after) = dreamt(&with(None, vec![older, newer]));
    assert_eq!(text(&after, "npm").matches("~~").count(), 2);
}

#[test]
fn days_in_words_are_told_by_the_day_they_were_said() {
    // A Wednesday.
    let topics = vec![own("freeze", "s1", "2026-06-03", "The release freeze starts tomorrow.")];
    let index = "- [Freeze](freeze.md) — The release freeze starts tomorrow.\n";
    let (_, after) = dreamt(&with(Some(index), topics));
    let text = text(&after, "freeze");
    assert!(
        text.contains("description: The release freeze starts tomorrow (2026-06-04).\n"),
        "{text}"
    );
    assert!(text.contains("> The release freeze starts tomorrow.\n"), "a quotation stays: {text}");
    assert!(after.index.unwrap().contains("— The release freeze starts tomorrow (2026-06-04)."));
}

#[test]
fn a_topic_with_several_days_tells_each_by_its_own() {
    let mut topic = own("freeze", "s1", "2026-06-03", "The release freeze starts tomorrow.");
    topic.text.push_str(
        "\n> It was moved yesterday.\n\nThe user said so on 2026-06-12. This is what counts.\n",
    );
    topic.text = topic.text.replace("> ", "");
    let (_, after) = dreamt(&with(None, vec![topic]));
    let text = text(&after, "freeze");
    assert!(text.contains("\nThe release freeze starts tomorrow (2026-06-04)."), "{text}");
    assert!(text.contains("\nIt was moved yesterday (2026-06-11)."), "{text}");
}

#[test]
fn broken_front_matter_of_ours_is_written_anew() {
    let mut topic = own("deploy", "s1", "2026-06-01", "Deploys go through Ann.");
    topic.text = topic
        .text
        .replace("description: Deploys go through Ann.", "description: Deploys: \"go through Ann.");
    let (plan, after) = dreamt(&with(None, vec![topic.clone()]));
    assert!(bethink_memdir::header::read(text(&after, "deploy")).header.faults.is_empty());
    assert!(text(&after, "deploy").contains("session: s1"));
    assert!(plan.steps.iter().any(|step| step.what == "rewrote the front matter"));
    // Front matter is not rewritten if a line would be lost.
    topic.text = topic.text.replace("---\nname", "---\nmood: good\nname");
    let (plan, after) = dreamt(&with(None, vec![topic.clone()]));
    assert_eq!(text(&after, "deploy"), topic.text);
    assert!(plan.notes.iter().any(|note| note.text.contains("please fix it by hand")));
}

#[test]
fn the_index_lists_what_there_is() {
    let index = "# Mine\n\nRead these.\n\n* [Fog](fog.md) - how far\n* [Gone](gone.md) - no more\n* [Docs](../docs/x.md)\n\
                 * [Ours](team/MEMORY.md)\n* [Theirs](team/plan.md) - ours\n\nThe end.\n";
    let topics = vec![
        hand("fog", "Far."),
        hand("rain", "---\nname: Rain\ndescription: How wet\n---\nWet.\n"),
    ];
    let (plan, after) = dreamt(&with(Some(index), topics));
    let expect = index.replace("* [Gone](gone.md) - no more\n", "");
    let expect = expect.replace(" - ours\n", " - ours\n* [Rain](rain.md) - How wet\n");
    assert_eq!(after.index.as_deref(), Some(expect.as_str()));
    assert!(plan.dropped.iter().any(|dropped| dropped.text.contains("gone.md")));
    let shown = diff(&plan);
    assert!(shown.starts_with("--- a/MEMORY.md\n+++ b/MEMORY.md\n@@ "), "{shown}");
    assert!(shown.contains("\n-* [Gone](gone.md) - no more\n"), "{shown}");
}

#[test]
fn a_directory_without_index_gets_one() {
    let (plan, after) = dreamt(&with(None, vec![hand("fog", "# Fog\n\nFar.\n")]));
    assert_eq!(after.index.as_deref(), Some("- [Fog](fog.md)\n"));
    assert!(diff(&plan).starts_with("--- /dev/null\n+++ b/MEMORY.md\n"));
    assert!(dream(&empty()).is_empty());
}

#[test]
fn an_empty_topic_goes_after_a_day() {
    let directory = with(None, vec![hand("nothing", " \n"), hand("fog", "Far.")]);
    let (_, after) = dreamt(&directory);
    assert_eq!(names(&after), ["fog"]);
    let mut fresh = directory;
    fresh.topics[0].modified = now();
    let (_, after) = dreamt(&fresh);
    assert_eq!(names(&after), ["nothing", "fog"]);
}

/// There are more copies than can be compared pairwise.
#[test]
fn very_many_copies_become_one() {
    let said = "Use pnpm for installs in the frontend folder.";
    let copies = (0..150).map(|at| own(&format!("t{at:03}"), "s1", "2026-06-01", said));
    assert_eq!(names(&dreamt(&with(None, copies.collect())).1), ["t000"]);
}
