use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn header(text: &str) -> Header {
    read(text).header
}

/// Name, description, type; and a body that is the exact rest.
#[track_caller]
fn check(text: &str, expect: (&str, &str, Option<MemoryKind>)) -> Header {
    let topic = read(text);
    let header = topic.header;
    let name = header.name.as_deref().unwrap_or_default();
    let description = header.description.as_deref().unwrap_or_default();
    assert_eq!((name, description, header.kind), expect, "{text:?}: {:?}", header.faults);
    assert_eq!(topic.body, &text[topic.header_range.end..]);
    header
}

#[track_caller]
fn sound(text: &str, expect: (&str, &str, Option<MemoryKind>)) {
    assert_eq!(check(text, expect).faults, Vec::<String>::new());
}

const PROJECT: Option<MemoryKind> = Some(MemoryKind::Project);

#[test]
fn headers_as_people_and_tools_write_them() {
    sound(
        "---\nname: Fog\ndescription: how far\ntype: project\n---\nx",
        ("Fog", "how far", PROJECT),
    );
    sound("---\r\nname: Fog\r\ntype: project\r\n---\r\nx", ("Fog", "", PROJECT));
    sound("\u{feff}---\nname: Fog\n---\nx", ("Fog", "", None));
    sound("\n\n--- \nname: Fog\n---\t\nx", ("Fog", "", None));
    sound("---\nName: Fog\nDESCRIPTION: d\nType: Project\n---\n", ("Fog", "d", PROJECT));
    sound(
        "---\nname: fog\nmetadata: \n  node_type: memory\n  type: project\n---\n",
        ("fog", "", PROJECT),
    );
    sound(
        "---\nmetadata:\n  name: a\n  type: user\nname: b\n---\n",
        ("b", "", Some(MemoryKind::User)),
    );
    sound("---\nname: 'it''s'\ndescription: \"a: b\"\n---\n", ("it's", "a: b", None));
    sound(
        "---\nname: a\ndescription: >-\n  one\n  two\ntype: user\n---\n",
        ("a", "one two", Some(MemoryKind::User)),
    );
    sound("---\ndescription: |\n  one\n  two\n---\n", ("", "one two", None));
    sound("---\nname: [a, b]\ntype: [project, user]\n---\n", ("a, b", "", PROJECT));
    sound("---\ntype:\n  - project\nname: a\n---\n", ("a", "", PROJECT));
    sound("---\nname: 2024\ndescription: yes\n---\n", ("2024", "yes", None));
    sound("---\nname: a # the first\ntype: project\n...\nx", ("a", "", PROJECT));
    sound("---\n{name: a, type: project}\n---\nx", ("a", "", PROJECT));
    sound("---\nname: a\nname: b\n---\nx", ("a", "", None));
    sound("---\ntitle: a\nsummary: b\n---\nx", ("a", "b", None));
    sound("---\ntags: [a]\nname: a\n\n# why\n---\n", ("a", "", None));
    sound("---\n---\nbody", ("", "", None));
    sound("---\nname:\ndescription: ~\n---\nbody", ("", "", None));
}

#[test]
fn a_text_without_a_header_is_all_body() {
    for text in [
        "",
        "\n",
        "plain",
        "# Title\n---\nname: x\n---\n",
        "----\nname: a\n---\n",
        "-- -\n",
        "---\nA rule, and prose after it.\n\n---\nmore",
        "---\n",
        "---",
        "---\n\n# Title\nname: x",
        "---\n- a\n- list\n---\n",
    ] {
        sound(text, ("", "", None));
    }
    assert_eq!(read("---\nA rule.\n---\nmore").body, "---\nA rule.\n---\nmore");
    assert_eq!(read("\u{feff}plain").body, "plain");
}

#[test]
fn what_is_broken_is_read_line_by_line_and_told() {
    let broken = |text: &str, expect, fault: &str| {
        let faults = check(text, expect).faults.join("; ");
        assert!(faults.contains(fault), "{text:?}: {faults:?}");
    };
    broken(
        "---\nname: a\ndescription: fix: the fog\ntype: project\n---\nx",
        ("a", "fix: the fog", PROJECT),
        "not valid YAML",
    );
    broken(
        "---\nname: a\ndescription: fix: the fog\n---\nx",
        ("a", "fix: the fog", None),
        "line 3",
    );
    broken(
        "---\nname: \"a\ntype: user\n---\n",
        ("\"a", "", Some(MemoryKind::User)),
        "not valid YAML",
    );
    broken("---\nname: @a\ndescription: `b`\n---\n", ("@a", "`b`", None), "not valid YAML");
    broken("---\nname: a\n\ttype: project\n---\n", ("a type: project", "", None), "not valid YAML");
    broken(
        "---\nname: a: b\nmetadata:\n  type: project\n---\n",
        ("a: b", "", PROJECT),
        "line by line",
    );
    broken("---\nname: a: b\ntype:\n- project\n---\n", ("a: b", "", PROJECT), "line by line");
    broken("---\nname: a\ntype: note\n---\n", ("a", "", None), "\"note\" is not a memory type");
    broken("---\nname: {a: b}\n---\n", ("", "", None), "`name` is not text");
    broken("---\nname: a\n\u{7}: \u{0}\n---\n", ("a", "", None), "YAML");
}

#[test]
fn what_no_person_writes_is_refused() {
    let long = format!("---\nname: a\nd: [{}]\n---\n", "x,".repeat(2_500));
    let aliases = format!("---\nname: a\nx: &x 1\nd: [{}]\n---\n", "*x,".repeat(5));
    let anchors = format!("---\nname: a\nd: [{}]\n---\n", "&x 1,".repeat(5));
    let deep = format!("---\nname: a\nd: {}1{}\n---\n", "[".repeat(17), "]".repeat(17));
    let maps: String = (0..18).map(|at| format!("{}k:\n", " ".repeat(at))).collect();
    let maps = format!("---\nname: a\n{maps}---\n");
    for text in [long, aliases, anchors, deep, maps] {
        let faults = check(&text, ("a", "", None)).faults;
        assert!(faults[0].contains("read line by line"), "{faults:?}: {}", &text[..40]);
    }
    sound("---\nname: &n a\ndescription: *n\n---\n", ("a", "a", None));
}

#[test]
fn a_header_without_an_end_stops_where_the_prose_begins() {
    let text = "---\nname: a\ntype: project\n\nThe body.\nkey: no key\n";
    let header = check(text, ("a", "", PROJECT));
    assert!(header.faults[0].contains("has no end"), "{:?}", header.faults);
    assert_eq!(read(text).body, "\nThe body.\nkey: no key\n");
    let nested = "---\nname: a\nmetadata:\n  type: project\nProse, at last.";
    check(nested, ("a", "", PROJECT));
    assert_eq!(read(nested).body, "Prose, at last.");
}

#[test]
fn thirty_lines_are_read_and_all_of_it_is_left_out_of_the_body() {
    let filler: String = (0..40).map(|at| format!("key{at}: {at}\n")).collect();
    let early = format!("---\nname: a\n{filler}type: project\n---\nbody");
    let header = check(&early, ("a", "", None));
    assert!(header.faults[0].contains("after line 30"), "{:?}", header.faults);
    assert_eq!(read(&early).body, "body");
    let filler: String = (0..26).map(|at| format!("key{at}: {at}\n")).collect();
    sound(&format!("---\nname: a\n{filler}type: project\n---\nb"), ("a", "", PROJECT));
}

#[test]
fn where_it_was_learnt() {
    let source = Source {
        session: "0199".to_owned(),
        messages: vec!["12-14".to_owned(), "20".to_owned()],
        strategy: "embedded".to_owned(),
        time: "2026-05-01T10:00:00Z".to_owned(),
        ..Source::default()
    };
    let text = "---\nname: a\nsource:\n  session: \"0199\"\n  messages: [12-14, 20]\n  strategy: embedded\n  time: 2026-05-01T10:00:00Z\n---\n";
    assert_eq!(header(text).source, Some(source.clone()));
    assert_eq!(header(&text.replace("[12-14, 20]", "\n  - 12-14\n  - 20")).source, Some(source));
    let claude = "---\nname: a\nmetadata:\n  originSessionId: 9c42\n---\n";
    assert_eq!(header(claude).source.map(|source| source.session), Some("9c42".to_owned()));
    assert_eq!(header("---\nname: a\nsource: https://example.org\n---\n").source, None);
}

#[test]
fn a_bomb_is_a_fault_and_not_a_wait() {
    let list = |name: char, of: char| {
        format!("{name}: &{name} [{}]\n", vec![format!("*{of}"); 9].join(","))
    };
    let aliases: String = ('b'..='j').zip('a'..='i').map(|(name, of)| list(name, of)).collect();
    let bombs = [
        format!("---\nname: a\na: &a [x,x,x]\n{aliases}---\n"),
        format!("---\nname: a\nd: {}\n---\n", "[".repeat(60_000)),
        format!("---\nname: a\nd: {}{}\n---\n", "{a: ".repeat(10_000), "}".repeat(10_000)),
        format!("---\nname: a\nd: [{}]\n---\n", "x,".repeat(30_000)),
        format!("---\nname: a\nd: \"{}\n---\n", "\\".repeat(60_000)),
        format!("---\nname: a\n? {}\n---\n", "? ".repeat(30_000)),
        format!("---\nname: a\nd: {}\n---\n", "&a ".repeat(20_000)),
        format!("---\nname: a\n<<: {}\n---\n", "*a ".repeat(20_000)),
    ];
    for bomb in &bombs {
        let begun = Instant::now();
        let header = check(bomb, ("a", "", None));
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
        assert!(!header.faults.is_empty(), "{}", &bomb[..60]);
        assert!(header.faults.iter().all(|fault| fault.len() < 400), "{:?}", header.faults);
    }
}

#[test]
fn a_huge_value_is_cut_and_told() {
    let header = header(&format!("---\ndescription: {}\n---\n", "long ".repeat(5_000)));
    assert!(header.description.unwrap().chars().count() <= VALUE_CHARS);
    assert_eq!(header.faults, ["`description` is longer than 1000 characters"]);
    // Larger than a header may be: no end within reach.
    let faults =
        self::header(&format!("---\ndescription: {}\n---\n", "x".repeat(HEADER_BYTES))).faults;
    assert!(faults[0].contains("has no end"), "{faults:?}");
}

#[test]
fn what_a_body_is_about() {
    let check = |body: &str, expect: &str| assert_eq!(Header::default().described(body), expect);
    check("\n# Fog, and how far #\nText.", "Fog, and how far");
    check("The fog is set in v2.1 of it. Then more.", "The fog is set in v2.1 of it.");
    check("- **Why:** it broke\n", "Why: it broke");
    check("```\ncode\n```\n<!-- hidden -->\n---\nWords", "Words");
    check("Some words\n## A heading later", "A heading later");
    check("", "");
    assert!(Header::default().described(&"word ".repeat(100)).ends_with("word…"));
    let own = Header { description: Some("own".to_owned()), ..Header::default() };
    assert_eq!(own.described("# Title"), "own");
}

fn full() -> Header {
    Header {
        name: Some("Fog".to_owned()),
        description: Some("far: 800 # \"metres\"".to_owned()),
        kind: Some(MemoryKind::Feedback),
        modified: Some("2026-05-01T10:00:00Z".to_owned()),
        source: Some(Source {
            session: "0199-aa".to_owned(),
            messages: vec!["12-14".to_owned(), "20".to_owned()],
            strategy: "embedded".to_owned(),
            time: "2026-05-01T10:00:00Z".to_owned(),
            branch: "feature/fog".to_owned(),
            commit: "cd5c".repeat(10),
        }),
        questions: vec!["How far: can I see?".to_owned(), "Where does it end?".to_owned()],
        recall: Some(MemoryRecall::Always),
        faults: Vec::new(),
    }
}

#[test]
fn a_new_topic_is_written_as_a_person_would() {
    insta::assert_snapshot!(write(&full(), "The fog ends at 800 m.\n"), @r#"
    ---
    name: Fog
    description: "far: 800 # \"metres\""
    type: feedback
    recall: always
    modified: 2026-05-01T10:00:00Z
    questions:
      - "How far: can I see?"
      - Where does it end?
    source:
      session: 0199-aa
      messages: [12-14, 20]
      strategy: embedded
      time: 2026-05-01T10:00:00Z
      branch: feature/fog
      commit: cd5ccd5ccd5ccd5ccd5ccd5ccd5ccd5ccd5ccd5c
    ---

    The fog ends at 800 m.
    "#);
    assert_eq!(header(&write(&full(), "x")), full());
}

#[test]
fn questions_are_read_in_any_form_and_at_most_five() {
    let check = |text: &str, expect: &[&str]| assert_eq!(header(text).questions, expect, "{text}");
    check("---\nquestions: [who?, why?]\n---\n", &["who?", "why?"]);
    check("---\nquestions:\n- who?\n-  why?\n- who?\n---\n", &["who?", "why?"]);
    check("---\nmetadata:\n  questions: who?\n---\n", &["who?"]);
    check("---\nname: a\nquestions:\n---\n", &[]);
    check("---\nname: a: b\nquestions:\n  - who?\n---\n", &["who?"]);
    let many: String = (0..300).map(|n| format!("  - number {n}?\n")).collect();
    let many = header(&format!("---\nname: a\nquestions:\n{many}---\n"));
    assert_eq!((many.name.as_deref(), many.questions.len()), (Some("a"), MOST_QUESTIONS));
    assert_eq!(many.questions[4], "number 4?");
    assert!(many.faults.iter().any(|fault| fault.contains("only 5 are used")), "{many:?}");
    let long = header(&format!("---\nquestions: [\"{}\"]\n---\n", "é".repeat(900)));
    assert_eq!(long.questions[0].chars().count(), QUESTION_CHARS);
}

#[test]
fn questions_are_changed_in_place() {
    let check = |text: &str, questions: &[&str], expect: &str| {
        let questions: Vec<String> = questions.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(with(text, &[HeaderChange::Questions(&questions)]).unwrap(), expect, "{text:?}");
    };
    check("---\nname: a\n---\nx", &["who?"], "---\nname: a\nquestions:\n  - who?\n---\nx");
    let old = "---\r\nquestions:\r\n- who?\r\n- why?\r\nname: a # b\r\n---\r\nx";
    check(old, &["how?"], "---\r\nquestions:\r\n  - how?\r\nname: a # b\r\n---\r\nx");
    check(old, &[], "---\r\nname: a # b\r\n---\r\nx");
}

#[test]
fn a_topic_is_pinned_or_suppressed_or_neither() {
    use MemoryRecall::{Always, Never};
    let check = |text: &str, expect: Option<MemoryRecall>| {
        let header = header(text);
        assert_eq!((header.recall, header.faults), (expect, Vec::new()), "{text}");
    };
    check("---\nrecall: always\n---\nx", Some(Always));
    check("---\nname: a\nRecall: Never # too old\n---\n", Some(Never));
    check("---\nmetadata:\n  recall: never\n---\n", Some(Never));
    check("---\nname: a\nrecall:\n---\n", None);
    check("recall: always\n", None);
    let unknown = header("---\nrecall: sometimes\n---\n");
    assert_eq!(unknown.recall, None);
    assert!(unknown.faults[0].contains("use always or never"), "{unknown:?}");
}

#[test]
fn another_writers_text_keeps_what_a_person_decided() {
    let check = |text: &str, before: Option<&str>, expect: &str| {
        assert_eq!(with_recall(text.to_owned(), before), expect, "{text:?} {before:?}");
    };
    let pinned = "---\nname: a\nrecall: always\n---\nx";
    let plain = "---\nname: a\n---\nx";
    check("---\nname: b\n---\ny", Some(pinned), "---\nname: b\nrecall: always\n---\ny");
    check("y", Some(pinned), "---\nrecall: always\n---\n\ny");
    check("---\r\nrecall: never\r\nname: b\r\n---\r\ny", Some(plain), "---\r\nname: b\r\n---\r\ny");
    check(pinned, None, plain);
    check(pinned, Some(pinned), pinned);
    check(plain, None, plain);
}

#[track_caller]
fn changed(text: &str, changes: &[HeaderChange<'_>], expect: &str) {
    assert_eq!(with(text, changes).as_deref(), Ok(expect));
}

#[test]
fn one_key_changes_and_no_other_byte() {
    let modified = [HeaderChange::Modified("2026-05-01")];
    let description = [HeaderChange::Description("new: one")];
    let kind = [HeaderChange::Kind(MemoryKind::User)];
    changed(
        "---\r\nname: a\r\nmodified:   old # by hand\r\n---\r\n\r\nx",
        &modified,
        "---\r\nname: a\r\nmodified:   2026-05-01 # by hand\r\n---\r\n\r\nx",
    );
    changed(
        "---\nname: a\n# why\nmetadata:\n    type: project\n    x: 1\n---\nb",
        &kind,
        "---\nname: a\n# why\nmetadata:\n    type: user\n    x: 1\n---\nb",
    );
    changed(
        "---\nDescription: \"old # no\" # yes\nname: a\n---\nb",
        &description,
        "---\nDescription: \"new: one\" # yes\nname: a\n---\nb",
    );
    changed(
        "---\ndescription: >\n  old\n  text\n\nname: a\n---\nb",
        &description,
        "---\ndescription: \"new: one\"\n\nname: a\n---\nb",
    );
    changed(
        "---\nname: a\ntype:\n- project\n- user\n---\n",
        &kind,
        "---\nname: a\ntype: user\n---\n",
    );
    changed("---\nname: a\n---\nb", &modified, "---\nname: a\nmodified: 2026-05-01\n---\nb");
    changed(
        "---\nname: a\nmetadata:\n  type: user\n---\nb",
        &modified,
        "---\nname: a\nmetadata:\n  type: user\nmodified: 2026-05-01\n---\nb",
    );
    changed(
        "---\nname: fix: it\n---\nb",
        &modified,
        "---\nname: fix: it\nmodified: 2026-05-01\n---\nb",
    );
    changed(
        "---\nname:\ntype: user\n---\nb",
        &[HeaderChange::Name("x")],
        "---\nname: x\ntype: user\n---\nb",
    );
    changed("---\ntitle: a\n---\nb", &[HeaderChange::Name("x")], "---\ntitle: x\n---\nb");
    changed(
        "---\nmetadata:\n  name: a\nname: b\n---\n",
        &[HeaderChange::Name("x")],
        "---\nmetadata:\n  name: a\nname: x\n---\n",
    );
    changed("---\n---\nb", &modified, "---\nmodified: 2026-05-01\n---\nb");
}

#[test]
fn a_long_value_is_written_as_it_will_be_read() {
    let long = "long ".repeat(500);
    let out = with("---\nname: a\n---\nb", &[HeaderChange::Description(&long)]).unwrap();
    assert_eq!(header(&out).faults, Vec::<String>::new());
    assert_eq!(header(&out).description.unwrap().len(), 999);
}

#[test]
fn a_text_without_a_header_gets_one() {
    let kind = [HeaderChange::Kind(MemoryKind::User)];
    changed("body", &kind, "---\ntype: user\n---\n\nbody");
    changed("\u{feff}a\r\nb", &kind, "\u{feff}---\r\ntype: user\r\n---\r\n\r\na\r\nb");
    changed("", &kind, "---\ntype: user\n---\n");
}

#[test]
fn a_source_takes_the_place_of_an_older_one() {
    let source =
        Source { session: "b".to_owned(), messages: vec!["7".to_owned()], ..Source::default() };
    let text = "---\nname: a\nsource:\n  session: old\n  messages:\n    - 1\ntype: user\n---\nb";
    let expect = "---\nname: a\nsource:\n  session: b\n  messages: [7]\ntype: user\n---\nb";
    changed(text, &[HeaderChange::Source(&source)], expect);
    let nested = "---\nmetadata:\n  source:\n    session: old\n  type: user\n---\nb";
    let expect =
        "---\nmetadata:\n  source:\n    session: b\n    messages: [7]\n  type: user\n---\nb";
    changed(nested, &[HeaderChange::Source(&source)], expect);
}

#[test]
fn what_cannot_be_changed_alone_is_refused() {
    for text in ["---\n{name: a, type: project}\n---\nb", "---\nname: a\ntype: project\n\nbody"] {
        assert!(with(text, &[HeaderChange::Kind(MemoryKind::User)]).is_err(), "{text:?}");
    }
}

/// Pieces of front matter, and some pieces that do not belong in it.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "---",
        "...",
        "\n",
        "\r\n",
        "name: ",
        "description: ",
        "type: ",
        "metadata:",
        "  ",
        "project",
        "\u{feff}",
        "\t",
        "- ",
        "[",
        "{",
        "\"",
        "'",
        "# ",
        "&a ",
        "*a",
        "| ",
        "> ",
        ": ",
        "é",
        "\0",
        "source:",
        "\u{85}",
        "? ",
        "%YAML 1.2",
        "!!binary ",
        "body",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn line() -> impl Strategy<Value = Option<String>> {
    prop::option::of("\\PC{1,60}|[-0-9.:xeE~ ]{1,8}|(yes|null|true|nan|\\.inf|0x1f|1e3)")
        .prop_map(|text| text.map(|text| one_line(&text)).filter(|text| !text.is_empty()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

proptest! {
    #[test]
    fn reading_is_total_and_the_body_is_the_exact_rest(text in prop_oneof![pieces(), ".{0,200}"]) {
        let topic = read(&text);
        prop_assert_eq!(topic.body, &text[topic.header_range.end..]);
        let before = text[..topic.header_range.start].replace('\u{feff}', "");
        prop_assert_eq!(before.trim(), "");
        topic.header.described(topic.body);
    }

    #[test]
    fn what_is_written_is_read(name in line(), description in line(), modified in line(), body in "\\PC{0,80}") {
        let header = Header { name, description, modified, kind: Some(MemoryKind::User), ..Header::default() };
        let text = write(&header, &body);
        let topic = read(&text);
        prop_assert_eq!(&topic.header, &header, "{}", text);
        prop_assert_eq!(topic.body.trim_start_matches('\n'), body.trim_start_matches('\n'));
    }

    #[test]
    fn a_change_holds_or_is_refused(text in pieces(), new in line()) {
        let new = new.unwrap_or_default();
        let changes = [HeaderChange::Description(&new), HeaderChange::Kind(MemoryKind::User)];
        if let Ok(out) = with(&text, &changes) {
            let (before, after) = (read(&text), read(&out));
            prop_assert_eq!(after.header.description.unwrap_or_default(), new);
            prop_assert_eq!(after.header.kind, Some(MemoryKind::User));
            prop_assert_eq!(after.header.name, before.header.name);
            prop_assert!(after.body.ends_with(before.body));
        }
    }
}
