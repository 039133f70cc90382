use std::time::{Duration, Instant};

use super::*;
use crate::name::{Name, Scope};

const GOOD: &str =
    "---\nname: Fog\ndescription: how far the fog is\ntype: project\n---\nThe fog ends at 800 m.\n";

/// `severity rule file:line` of each finding.
fn found(index: Option<&str>, topics: &[(&str, &str)]) -> Vec<String> {
    findings(Scope::Private, index, topics)
        .iter()
        .map(|finding| {
            let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("{} {} {}{line}", finding.severity, finding.rule, finding.file)
        })
        .collect()
}

fn findings(scope: Scope, index: Option<&str>, topics: &[(&str, &str)]) -> Vec<MemoryFinding> {
    let names: Vec<Name> = topics.iter().map(|(name, _)| Name::parse(name).unwrap()).collect();
    let files: Vec<TopicFile<'_>> =
        names.iter().zip(topics).map(|(name, (_, text))| TopicFile { name, text }).collect();
    let findings = lint(&Directory { scope, index, topics: &files, strange: &[] });
    for finding in &findings {
        assert!(!finding.what.is_empty() && !finding.help.is_empty(), "{finding:?}");
    }
    findings
}

/// Returns a topic without problems, except those of the arguments.
fn good(description: &str, body: &str) -> String {
    format!("---\nname: x\ndescription: {description}\ntype: project\n---\n{body}\n")
}

#[test]
fn a_sound_directory_has_no_findings() {
    let rain = good("when it rains", "It rains, see [[fog]] and [[Fog]], `[[x]]`, [[ -f y ]].");
    assert_eq!(
        found(Some("# All\n- [Fog](fog.md)\n- [[rain]]\n"), &[("fog", GOOD), ("rain", &rain)]),
        [""; 0]
    );
    assert_eq!(found(None, &[]), [""; 0]);
    assert_eq!(found(Some(""), &[]), [""; 0]);
}

#[test]
fn another_version_says_where_it_comes_from_and_what_to_do() {
    let other = good("the fog as another machine knows it", "The fog ends at 900 m.");
    let index = "- [Fog](fog.md)\n- [other](fog.conflict-1a2b3c4d.md)\n";
    for (scope, who, help) in [
        (Scope::Team, "two people changed it", "bethink team resolve fog`"),
        (Scope::Private, "changed on two machines", "bethink memory rm fog.conflict-1a2b3c4d`"),
    ] {
        let topics = [("fog", GOOD), ("fog.conflict-1a2b3c4d", &other)];
        let found = findings(scope, Some(index), &topics);
        let conflict = found.iter().find(|finding| finding.rule == "conflict").unwrap();
        assert!(conflict.what.contains(who) && conflict.help.contains(help), "{conflict:?}");
    }
}

#[test]
fn links_of_the_index() {
    let index = "- [Fog](FOG.md)\n- [Gone](gone.md)\n- [Ours](team/x.md)\nSee [it](away.md).\n";
    let rain = good("when it rains", "It rains.");
    assert_eq!(
        found(Some(index), &[("fog", GOOD), ("rain", &rain)]),
        [
            "warning misspelt-link MEMORY.md:1",
            "warning dead-link MEMORY.md:2",
            "warning dead-link MEMORY.md:4",
            "warning not-in-index rain.md",
        ]
    );
    let team = findings(Scope::Team, Some("- [Fog](fog.md)\n- [x](team/x.md)"), &[("fog", GOOD)]);
    assert_eq!(team.len(), 1, "{team:?}");
    assert_eq!(
        found(Some("# Words only\n"), &[("fog", GOOD)]),
        ["error index-links-nowhere MEMORY.md"]
    );
    assert_eq!(
        found(Some("- [[x]]"), &[("fog", GOOD)]),
        ["error index-links-nowhere MEMORY.md", "warning dead-link MEMORY.md:1"]
    );
    assert_eq!(found(None, &[("fog", GOOD)]), ["error no-index MEMORY.md"]);
}

#[test]
fn size_of_the_index() {
    let long = format!("- [Fog](fog.md) {}\n", "x".repeat(200));
    assert_eq!(found(Some(&long), &[("fog", GOOD)]), ["note long-line MEMORY.md:1"]);
    let lines = "- [Fog](fog.md)\n".repeat(201);
    assert_eq!(found(Some(&lines), &[("fog", GOOD)]), ["warning too-many-lines MEMORY.md"]);
    let bytes = format!("- [Fog](fog.md) {}\n", "x".repeat(180)).repeat(130);
    assert_eq!(found(Some(&bytes), &[("fog", GOOD)]), ["warning too-many-bytes MEMORY.md"]);
}

#[test]
fn headers_of_topics() {
    let one = |text: &str| found(Some("- [a](a.md)"), &[("a", text)]);
    assert_eq!(one("plain text"), ["warning no-description a.md", "note no-type a.md"]);
    assert_eq!(one("---\ndescription: d\n---\nb"), ["note no-type a.md"]);
    assert_eq!(one("---\ndescription: d\ntype: notes\n---\nb"), ["warning unknown-type a.md"]);
    let unknown = "---\ndescription: d\ntype: user\nrecall: often\n---\nb";
    assert_eq!(one(unknown), ["warning unknown-recall a.md"]);
    assert_eq!(one("---\ndescription: d: e\ntype: user\n---\nb"), ["warning broken-header a.md"]);
    assert_eq!(one("---\ndescription: d\ntype: user\n---\n"), ["warning empty a.md"]);
    assert_eq!(one(" \n"), ["warning empty a.md"]);
    assert_eq!(
        one("---\ndescription: d\ntype: user\n---\nb\n[[gone]] [[b c]]"),
        ["note dead-wikilink a.md:6", "note dead-wikilink a.md:6"]
    );
}

#[test]
fn twins_and_duplicates() {
    let index = "- [a](a.md) [b](b.md) [A](A.md) [c](c.md)";
    let body: String = (0..40).map(|at| format!("word{at} ")).collect();
    let (a, b) = (good("one", &body), good("two", &format!("{body} more")));
    assert_eq!(
        found(Some(index), &[("a", &a), ("b", &b), ("c", &good("ONE", "short"))]),
        [
            "warning misspelt-link MEMORY.md:1",
            "warning near-duplicate b.md",
            "warning near-duplicate c.md"
        ]
    );
    assert_eq!(
        found(
            Some(index),
            &[("A", &good("x", "y")), ("a", &a), ("b", &good("z", "z")), ("c", &good("w", "w"))]
        ),
        ["error twin-name a.md"]
    );
    let (one, other) = (good("x", "y"), good("z", "w"));
    assert_eq!(
        found(Some("[a](AB.md) [b](Ab.md)"), &[("AB", &one), ("Ab", &other)]),
        ["error twin-name Ab.md"]
    );
    // Just below and just above nine tenths of the words in common.
    let less: String = (4..40).map(|at| format!("word{at} ")).collect();
    assert_eq!(
        found(Some("[a](a.md) [b](b.md)"), &[("a", &a), ("b", &good("two", &less))]),
        [""; 0]
    );
    let more: String = (3..40).map(|at| format!("word{at} ")).collect();
    assert_eq!(
        found(Some("[a](a.md) [b](b.md)"), &[("a", &a), ("b", &good("two", &more))]),
        ["warning near-duplicate b.md"]
    );
}

#[test]
fn what_nobody_sees() {
    let text = good("d", "the \u{202e}fog\u{200b}");
    let findings = findings(Scope::Private, Some("- [a](a.md)\u{e0041}"), &[("a", &text)]);
    assert_eq!(findings[0].what, "has an invisible letter (U+E0041)");
    assert_eq!(
        findings[1].what,
        "has a right-to-left override (U+202E), the first of 2 invisible characters"
    );
    assert_eq!(findings[1].line, Some(6));
}

#[test]
fn strange_files_are_told_as_they_are() {
    let strange = [StrangeFile { path: "pipe.md", why: "is no regular file" }];
    let found =
        lint(&Directory { scope: Scope::Private, index: None, topics: &[], strange: &strange });
    assert_eq!((found[0].file.as_str(), found[0].what.as_str()), ("pipe.md", "is no regular file"));
}

#[test]
fn many_topics_are_no_wait() {
    // No word is rare, so every topic shares some words with every other.
    let text = |at: usize| {
        let words: String =
            (0..100).map(|word| format!("w{} ", (at * 7919 + word * word * 31) % 997)).collect();
        good(&format!("d{at}"), &words)
    };
    let texts: Vec<(String, String)> =
        (0..3_000).map(|at| (format!("t{at}"), text(at % 997))).collect();
    let topics: Vec<(&str, &str)> = texts.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let begun = Instant::now();
    let told = found(None, &topics);
    // Only 997 topics are different.
    assert_eq!(told.iter().filter(|line| line.contains("near-duplicate")).count(), 3_000 - 997);
    let same: Vec<(&str, &str)> = topics.iter().map(|(name, _)| (*name, topics[0].1)).collect();
    assert_eq!(found(None, &same).len(), 3_000);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
}

/// Checks many pairs just above and just below the threshold.
#[test]
fn pairs_are_found_by_their_share_of_words() {
    for at in 0..200 {
        let words = |from: usize, to: usize| -> String {
            (from..to).map(|word| format!("v{at}x{word} ")).collect()
        };
        let one = good("a", &words(0, 100));
        let found = |other: String| {
            let other = good("b", &other);
            let topics = [("a", one.as_str()), ("b", other.as_str())];
            found(Some("[a](a.md) [b](b.md)"), &topics).len()
        };
        assert_eq!((found(words(8, 100)), found(words(11, 100))), (1, 0), "{at}");
    }
}
