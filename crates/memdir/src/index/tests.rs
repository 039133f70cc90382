use std::collections::BTreeSet;

use bethink_api::IndexLimit;
use proptest::prelude::*;

use super::*;
use crate::name::Name;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

/// The entries' topics.
fn topics(text: &str) -> Vec<String> {
    entries(text).iter().map(|entry| entry.name.to_string()).collect()
}

#[test]
fn an_indented_line_that_begins_with_a_link_is_an_entry_of_its_own() {
    let text = "- [Fog](fog.md): thick\n  and wet\n [Sky](sky.md) - high\n";
    assert_eq!(merge(text, text, text), text);
    assert_eq!(remove(text, &Name::parse("fog").unwrap()), " [Sky](sky.md) - high\n");
}

#[test]
fn links_in_every_form() {
    let check = |line: &str, expect: &[&str]| {
        let lines = lines(line);
        let found: Vec<&str> =
            lines[0].links.iter().filter_map(Link::topic).map(Name::as_str).collect();
        assert_eq!(found, expect, "{line}");
    };
    check("- [Fog](fog.md) — how far", &["fog"]);
    check("- [Fog](fog.md \"how far\") text", &["fog"]);
    check("- [Fog](fog.md 'how far')", &["fog"]);
    check("- [Fog](<fog.md>)", &["fog"]);
    check("- [Fog](<the fog.md> \"x\")", &["the fog"]);
    check("- [Fog](the fog.md)", &["the fog"]);
    check("- [Fog](the%20fog.md)", &["the fog"]);
    check("- [Fog](./fog.md)", &["fog"]);
    check("- [Fog](plans/fog.md#far)", &["plans/fog"]);
    check("- [Fog](fog_\\(old\\).md)", &["fog_(old)"]);
    check("- [Fog](fog(1).md)", &["fog(1)"]);
    check("- [a [b] c](fog.md)", &["fog"]);
    check("- [`a]` b](fog.md)", &["fog"]);
    check("- [[fog]], [[rain|wet]], [[snow#deep]]", &["fog", "rain", "snow"]);
    check("[[fog.md]]", &["fog"]);
    check("[a](a.md)[b](b.md)", &["a", "b"]);
    check("| [a](a.md) | x |", &["a"]);
    check("`[a](a.md)` and ``[b](b.md)` `` then [c](c.md)", &["c"]);
    check("a ` tick, [c](c.md)", &["c"]);
    check("\\[a](a.md) \\[\\[b]]", &[]);
    check("![a](a.md)", &[]);
    check("[a](https://example.org/a.md) [b](/etc/b.md) [c](../c.md) [d](d.txt) [e](#e)", &[]);
    check("[a](a.md [b", &[]);
    check("[a] (a.md) [b]", &[]);
    check("[a](MEMORY.md)", &[]);
    check("[a](", &[]);
    check("[[", &[]);
    check("\\", &[]);
}

const MIXED: &str = "\
# Index

Read [all](rain.md) of it first.

- [Fog](fog.md) — how far
  and how dense
  - [Snow](snow.md)
* [[rain]]
1. **[Hail](hail.md)**: rare
- See [a](a.md) and [b](b.md).
- Also about [wind](wind.md).

```
- [Code](code.md)
```
";

#[test]
fn entries_and_prose_are_told_apart() {
    assert_eq!(topics(MIXED), ["fog", "snow", "rain", "hail", "wind"]);
    assert_eq!(entries(MIXED)[0].text, "- [Fog](fog.md) — how far\n  and how dense\n");
    assert_eq!(topics(&MIXED.replace('\n', "\r\n")), topics(MIXED));
    assert_eq!(topics("[Fog](fog.md) — no bullet"), ["fog"]);
    assert_eq!(topics("~~~\n- [a](a.md)\n```\n- [b](b.md)\n~~~~\n- [c](c.md)"), ["c"]);
}

#[test]
fn what_a_prompt_gets_ends_with_a_line() {
    let check = |text: &str, lines: usize, bytes: usize, cut_by: Option<IndexLimit>| {
        let shown = shown(text);
        assert_eq!((shown.content.lines().count(), shown.content.len()), (lines, bytes));
        assert_eq!(shown.cut_by, cut_by);
        assert_eq!(shown.warning.is_some(), cut_by.is_some());
        assert_eq!((shown.lines, shown.bytes), (text.lines().count(), text.len()));
        assert!(text.starts_with(shown.content));
    };
    check("", 0, 0, None);
    check(&"a\n".repeat(200), 200, 400, None);
    check(&"a\n".repeat(201), 200, 400, Some(IndexLimit::Lines));
    check(&("a\n".repeat(199) + "a"), 200, 399, None);
    check(&("x".repeat(24_999) + "\n"), 1, 25_000, None);
    check(&("x".repeat(24_999) + "\nmore"), 1, 25_000, Some(IndexLimit::Bytes));
    check(&format!("{}\n", "x".repeat(249)).repeat(150), 100, 25_000, Some(IndexLimit::Bytes));
    check(&format!("{}\n", "x".repeat(249)).repeat(250), 100, 25_000, Some(IndexLimit::Bytes));
    check(&"x".repeat(25_001), 1, 25_000, Some(IndexLimit::Bytes));
    check(&"é".repeat(20_000), 1, 25_000, Some(IndexLimit::Bytes));
    check(&("x".to_owned() + &"é".repeat(20_000)), 1, 24_999, Some(IndexLimit::Bytes));
    let warning = shown(&"a\n".repeat(212)).warning.unwrap();
    assert!(warning.contains("212 lines") && warning.contains("200"), "{warning}");
}

#[test]
fn its_writer_is_told_what_is_too_much() {
    let told = |text: &str| warnings(text).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told(&"short\n".repeat(200)), Vec::<String>::new());
    assert_eq!(
        warnings(&format!("a\n{}\n", "é".repeat(201))),
        [IndexWarning::LongLine { line: 2, chars: 201 }]
    );
    assert_eq!(warnings(&"é".repeat(200)), []);
    assert!(told(&"a\n".repeat(212))[0].contains("12 more"));
    let bytes = told(&format!("{}\n", "x".repeat(199)).repeat(130));
    assert!(
        bytes[0].contains("26000 bytes long, 1000 more") && bytes[0].contains("line 126"),
        "{bytes:?}"
    );
}

#[track_caller]
fn added(text: &str, expect: &str) {
    assert_eq!(add(text, &name("new"), "New", "what it is"), expect);
}

#[test]
fn a_new_line_looks_like_those_before_it() {
    added("", "- [New](new.md) — what it is\n");
    added("# Index\n", "# Index\n\n- [New](new.md) — what it is\n");
    added("# Index\n\n", "# Index\n\n- [New](new.md) — what it is\n");
    added("- [A](a.md) -- x", "- [A](a.md) -- x\n- [New](new.md) -- what it is\n");
    added(
        "* [A](a.md): x\r\n\r\nProse.\r\n",
        "* [A](a.md): x\r\n* [New](new.md): what it is\r\n\r\nProse.\r\n",
    );
    added(
        "1. [A](a.md)\n2. [B](b.md)\n",
        "1. [A](a.md)\n2. [B](b.md)\n3. [New](new.md) — what it is\n",
    );
    added("- [[a]] - x\n", "- [[a]] - x\n- [[new]] - what it is\n");
    added(
        "- [A](a.md)\n  - [B](b.md)\n  more\n## End\n",
        "- [A](a.md)\n  - [B](b.md)\n  more\n- [New](new.md) — what it is\n## End\n",
    );
    added("- **[A](a.md)** wordy\n", "- **[A](a.md)** wordy\n- [New](new.md) — what it is\n");
    // A topic that is already linked, even in prose, is not added.
    added("See [it](new.md).\n", "See [it](new.md).\n");
    added("- [Old](NEW.md)\n", "- [Old](NEW.md)\n");
}

#[test]
fn a_new_line_is_short_and_leads_where_it_should() {
    let long = add("", &name("fog"), "Fog", &"far away ".repeat(50));
    assert!(warnings(&long).is_empty() && long.ends_with("…\n"), "{long}");
    for odd in ["a b", "a(b", "a)b", "a%20b", "a<b", "a#b", "a\"b", "a'b"] {
        let text = add("", &name(odd), "[x] `y` \\z", "d");
        assert_eq!(topics(&text), [odd], "{text}");
        assert_eq!(entries(&text)[0].first.links[0].title, "[x] `y` \\z");
    }
    assert_eq!(
        add("", &name("fog"), "\u{1b}[2JFog", "f\u{202e}ar\u{200b}"),
        "- [\\[2JFog](fog.md) — far\n"
    );
    assert_eq!(add("", &name("fog"), "Fog is far", "Fog is FAR."), "- [Fog is FAR](fog.md)\n");
    assert_eq!(add("", &name("fog"), " \n", "a\nb"), "- [fog](fog.md) — a b\n");
}

#[test]
fn a_topic_goes_and_prose_stays() {
    let without = remove(MIXED, &name("fog"));
    assert_eq!(without, MIXED.replace("- [Fog](fog.md) — how far\n  and how dense\n", ""));
    assert_eq!(remove(MIXED, &name("a")), MIXED);
    assert_eq!(remove(MIXED, &name("code")), MIXED);
    assert_eq!(remove("- [Fog](fog.md)\r\nx", &name("FOG")), "x");
}

#[test]
fn a_rebuilt_index_keeps_what_lives() {
    let (fog, rain, sun) = (name("fog"), name("rain"), name("sun"));
    let row = |name| TopicLine { name, title: "T", description: "d" };
    let old = "# Mine\r\n- [Fog](fog.md) — my own words\r\n- [Gone](gone.md)\r\n  more of it\r\n- [Ours](team/x.md)\r\n\r\nThe end of [it](gone.md).";
    let expect = "# Mine\r\n- [Fog](fog.md) — my own words\r\n- [Ours](team/x.md)\r\n- [T](rain.md) — d\r\n- [T](sun.md) — d\r\n\r\nThe end of [it](gone.md).";
    assert_eq!(rebuild(old, &[row(&fog), row(&rain), row(&sun)]), expect);
    assert_eq!(rebuild(expect, &[row(&fog), row(&rain), row(&sun)]), expect);
    assert_eq!(rebuild("- [Gone](gone.md)\n", &[]), "");
    let titled = TopicLine { name: &fog, title: "The Fog", description: "d" };
    assert_eq!(rebuild("- [[the fog]] - mine\n", &[titled]), "- [[the fog]] - mine\n");
    assert_eq!(
        rebuild("1. [Gone](gone.md)\n", &[row(&fog), row(&rain)]),
        "- [T](fog.md) — d\n- [T](rain.md) — d\n"
    );
    assert_eq!(
        rebuild("1. [F](fog.md)\n", &[row(&fog), row(&rain), row(&sun)]),
        "1. [F](fog.md)\n2. [T](rain.md) — d\n3. [T](sun.md) — d\n"
    );
}

#[track_caller]
fn merged(base: &str, ours: &str, theirs: &str, expect: &str) {
    assert_eq!(merge(base, ours, theirs), expect);
}

#[test]
fn two_versions_become_one() {
    let (a, b, c) = ("- [A](a.md) x\n", "- [B](b.md) x\n", "- [C](c.md) x\n");
    let changed = "- [B](b.md) changed\n";
    merged(a, &[a, b].concat(), &[a, c].concat(), &[a, b, c].concat());
    merged(&[a, b].concat(), a, &[a, b, c].concat(), &[a, c].concat());
    merged(&[a, b].concat(), &[a, b].concat(), a, a);
    merged(&[a, b].concat(), a, a, a);
    merged(&[a, b].concat(), a, &[a, changed].concat(), &[a, changed].concat());
    merged(&[a, b].concat(), &[a, changed].concat(), a, &[a, changed].concat());
    merged(b, changed, "- [B](b.md) other\n", changed);
    merged(b, "- [B](b.md) other\n", changed, changed);
    merged("", b, changed, changed);
    merged("", "", "", "");
    // Prose is ours, unless they alone changed it.
    merged(
        "# T\n- [A](a.md) x\n",
        "# Ours\n- [A](a.md) x\n",
        "# Theirs\n- [A](a.md) x\n- [B](b.md) x\n",
        "# Ours\n- [A](a.md) x\n- [B](b.md) x\n",
    );
    merged(
        "# T\n- [A](a.md) x\n",
        "# T\n- [A](a.md) x\n- [B](b.md) x\n",
        "# Theirs\n- [A](a.md) x\n",
        "# Theirs\n- [A](a.md) x\n- [B](b.md) x\n",
    );
    // A different line ending is not a change.
    merged(
        "- [A](a.md) x\n",
        "- [A](a.md) x  \r\n",
        "- [A](a.md) x\n- [B](b.md) x\n",
        "- [A](a.md) x  \r\n- [B](b.md) x\r\n",
    );
}

/// An index of some of six topics, each in one of three wordings, in any order.
fn index() -> impl Strategy<Value = String> {
    let entry = (0..6usize, 0..3usize);
    (prop::collection::vec(entry, 0..8), 0..3usize).prop_map(|(rows, prose)| {
        let mut seen = BTreeSet::new();
        let heading = ["", "# One\n\n", "# Two\n\n"][prose];
        let rows = rows.into_iter().filter(|(topic, _)| seen.insert(*topic));
        let lines = rows.map(|(topic, words)| format!("- [T](t{topic}.md) — {words}\n"));
        heading.to_owned() + &lines.collect::<String>()
    })
}

fn set(text: &str) -> BTreeSet<String> {
    entries(text).iter().map(|entry| entry.text.trim_end().to_owned()).collect()
}

proptest! {
    #[test]
    fn no_order_of_syncs_changes_what_is_there(base in index(), a in index(), b in index(), c in index()) {
        prop_assert_eq!(set(&merge(&base, &a, &b)), set(&merge(&base, &b, &a)));
        let left = merge(&base, &merge(&base, &a, &b), &c);
        let right = merge(&base, &a, &merge(&base, &b, &c));
        prop_assert_eq!(set(&left), set(&right));
        prop_assert_eq!(merge(&base, &a, &a), a);
    }

    #[test]
    fn each_entry_ends_as_it_should(base in index(), ours in index(), theirs in index()) {
        let merged = merge(&base, &ours, &theirs);
        let of = |text: &str, topic: &str| {
            entries(text).iter().find(|entry| entry.name.as_str() == topic).map(|entry| entry.text.to_owned())
        };
        for topic in ["t0", "t1", "t2", "t3", "t4", "t5"] {
            let (base, ours, theirs) = (of(&base, topic), of(&ours, topic), of(&theirs, topic));
            let now = of(&merged, topic);
            if ours == base {
                prop_assert_eq!(now, theirs);
            } else if theirs == base || ours == theirs {
                prop_assert_eq!(now, ours);
            } else if ours.is_none() || theirs.is_none() {
                prop_assert_eq!(now, ours.or(theirs)); // removed by one, changed by the other
            } else {
                prop_assert!(now == ours || now == theirs);
            }
        }
    }

    #[test]
    fn every_line_is_a_piece_of_the_text(text in "(\\PC|[\\[\\]()`<>\\\\|#*\\- \r\n]){0,120}") {
        let joined: String = lines(&text).iter().map(|line| &text[line.range.clone()]).collect();
        prop_assert_eq!(&joined, &text);
        let shown = shown(&text);
        prop_assert!(text.starts_with(shown.content));
        let new = name("surely-new");
        let with = add(&text, &new, "New", "d");
        prop_assert_eq!(remove(&with, &new).replace(['\r', '\n'], ""), text.replace(['\r', '\n'], ""));
    }
}

fn row<'a>(name: &'a Name, title: &'a str, description: &'a str) -> TopicLine<'a> {
    TopicLine { name, title, description }
}

#[test]
fn a_line_follows_its_topic() {
    let fog = name("fog");
    let check = |text: &str, old: (&str, &str), new: (&str, &str), expect: &str| {
        let (old, new) = (row(&fog, old.0, old.1), row(&fog, new.0, new.1));
        let changes = [LineChange { old, new }];
        let followed = follow(text, &changes);
        assert_eq!(followed, expect);
        assert_eq!(follow(&followed, &changes), expect, "followed once");
    };
    let (old, new) = (("Fog", "The demo is on May 3."), ("Fog", "The demo is on May 4."));
    check(
        "# Index\n- [Fog](fog.md) — The demo is on May 3.\n- [Sky](sky.md) — blue\n",
        old,
        new,
        "# Index\n- [Fog](fog.md) — The demo is on May 4.\n- [Sky](sky.md) — blue\n",
    );
    check(
        "3. [Fog](fog.md): The demo is on May 3.\r\n",
        old,
        new,
        "3. [Fog](fog.md): The demo is on May 4.\r\n",
    );
    check("* [[fog]] - The demo is on May 3.", old, new, "* [[fog]] - The demo is on May 4.");
    check(
        "- [Mist](fog.md) — The demo is on May 3.\n",
        old,
        new,
        "- [Mist](fog.md) — The demo is on May 4.\n",
    );
    check(
        "- [Fog](fog.md) — The demo\n  is on May 3.\n",
        old,
        new,
        "- [Fog](fog.md) — The demo is on May 4.\n",
    );
    check("- [Fog](fog.md) — demo: early May\n", old, new, "- [Fog](fog.md) — demo: early May\n");
    check("- [Fog](fog.md)\n", old, new, "- [Fog](fog.md)\n");
    check(
        "- [Fog](fog.md) — The demo is …\n",
        old,
        new,
        "- [Fog](fog.md) — The demo is on May 4.\n",
    );
    let renamed = ("Haze", "The demo is on May 3.");
    check(
        "- [Fog](fog.md) — The demo is on May 3.\n",
        old,
        renamed,
        "- [Haze](fog.md) — The demo is on May 3.\n",
    );
    check(
        "- [Mine](fog.md) — The demo is on May 3.\n",
        old,
        renamed,
        "- [Mine](fog.md) — The demo is on May 3.\n",
    );
    let (same, apart) = (("Use tabs", "Use tabs."), ("Use tabs", "Use tabs in Go."));
    check("- [Use tabs](fog.md)\n", same, apart, "- [Use tabs](fog.md) — Use tabs in Go.\n");
    check("- [Use tabs](fog.md) — Use tabs in Go.\n", apart, same, "- [Use tabs](fog.md)\n");
    check(
        "see [Fog](fog.md) and [Sky](sky.md)\n",
        old,
        new,
        "see [Fog](fog.md) and [Sky](sky.md)\n",
    );
}

#[test]
fn a_line_with_other_words_differs() {
    let (fog, sky) = (name("fog"), name("sky"));
    let rows = [row(&fog, "Fog", "Thick fog."), row(&sky, "Sky", "Blue.")];
    let of = |text: &str| {
        differing(text, &rows).iter().map(|row| row.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of("- [Fog](fog.md) — Thick fog.\n- [Sky](sky.md) — Blue.\n"), Vec::<String>::new());
    assert_eq!(of("- [Fog](fog.md) — Thin fog.\n- [Sky](sky.md) — Blue.\n"), ["fog"]);
    assert_eq!(of(""), Vec::<String>::new());
}

proptest! {
    #[test]
    fn a_line_that_was_added_follows(before in "([a-z][ -~]{0,80})?", after in "[a-z][ -~]{0,400}", title in "[a-z][a-z ]{0,8}") {
        let fog = name("fog");
        let (old, new) = (row(&fog, &title, &before), row(&fog, &title, &after));
        let text = add("", &fog, &title, &before);
        prop_assert_eq!(follow(&text, &[LineChange { old, new }]), add("", &fog, &title, &after));
        let lists = [new];
        prop_assert!(differing(&add("", &fog, &title, &after), &lists).is_empty());
    }
}

#[test]
fn entries_are_moved_to_the_end_with_a_note() {
    let check = |text: &str, expect: &str| {
        let fog = |name: &Name| (name.as_str() == "fog").then(|| "later".to_owned());
        assert_eq!(moved_last(text, fog), expect, "{text:?}");
    };
    check(
        "- [Fog](fog.md) — far\n- [Sea](sea.md)\n",
        "- [Sea](sea.md)\n- [Fog](fog.md) — far (later)\n",
    );
    check(
        "- [Fog](fog.md)\n  and more\n\nProse.",
        "\nProse.\n- [Fog](fog.md) (later)\n  and more\n",
    );
    check(
        "- [Fog](fog.md)\r\n- [Sea](sea.md)\r\n",
        "- [Sea](sea.md)\r\n- [Fog](fog.md) (later)\r\n",
    );
    check("- [Fog](fog.md)", "- [Fog](fog.md) (later)\n");
    check("- [Sea](sea.md)", "- [Sea](sea.md)");
    check("", "");
}
