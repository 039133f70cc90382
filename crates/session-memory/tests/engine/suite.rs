//! What every strategy guarantees for its notes: the same cases for each.

use bethink_facts::Facts;
use bethink_session_memory::budget::TOTAL_TOKENS;
use bethink_session_memory::{
    EmbeddedWriter, ModelWriter, NotesBudget, NotesDraft, NotesRequest, NotesWriter, Template,
    WrittenNotes,
};
use bethink_tokens::text_tokens;
use serde_json::{Value, json};

use crate::support::{assistant, call, facts, merge, user};

fn stories() -> Vec<Vec<Value>> {
    let mut gauge = vec![user("The tide gauge shows yesterday's level after midnight. Mend it.")];
    gauge.extend(call(
        "t1",
        "Read",
        &json!({"file_path": "/proj/tide/src/day.rs"}),
        "fn today()",
        false,
    ));
    gauge.extend(call(
        "t2",
        "Bash",
        &json!({"command": "cargo test"}),
        "error: mismatched types",
        true,
    ));
    gauge.push(assistant("Mended: `today` took the time of the last boot."));
    let mut long = Vec::new();
    for n in 0..60 {
        long.push(user(&format!("Wish number {n}: {}", "please mend the gauge ".repeat(40))));
        let input = json!({"command": format!("make step{n}")});
        long.extend(call(&format!("t{n}"), "Bash", &input, "error: no such step", true));
    }
    vec![gauge, long, vec![user("# A heading\n```\nand a fence\n\u{1b}[31mred")]]
}

fn request<'a>(facts: &'a Facts, template: &'a Template) -> NotesRequest<'a> {
    NotesRequest { facts, template, title: None, project_dir: "/proj/tide" }
}

/// Returns versions of the notes as models may leave them, each with its name.
fn left(before: &str) -> Vec<(&'static str, String)> {
    let reversed: Vec<&str> = before.split("\n\n").collect::<Vec<_>>().into_iter().rev().collect();
    let added = "- a line of the model's\n- and another [7]\n";
    vec![
        ("added", before.replace("\n\n", &format!("\n{added}\n"))),
        ("over and over", before.replace("\n\n", &format!("\n{}\n", added.repeat(9)))),
        ("in reverse", format!("{}\n{added}", reversed.join("\n\n"))),
        ("prose alone", format!("Here are the notes:\n{added}")),
        (
            "with code",
            format!("{before}\n```sh\n# Current State\nmake\n```\n## Deeper\n```\n{added}"),
        ),
        ("with headings of its own", format!("# Summary\n{added}{before}\n# Outlook\n{added}")),
        ("with what a terminal obeys", format!("{before}\u{1b}]52;c;x\u{7}\u{1b}[2J- red\u{0}\n")),
        (
            "long",
            format!(
                "{before}\n{}",
                (0..900).map(|n| format!("- line {n} of many\n")).collect::<String>()
            ),
        ),
    ]
}

/// Runs `check` with the notes of each strategy.
fn each(check: impl Fn(&str, &Facts, &dyn NotesWriter)) {
    let (template, budget) = (Template::default(), NotesBudget::default());
    for story in stories() {
        let facts = facts(&story);
        check("embedded", &facts, &EmbeddedWriter);
        let draft = EmbeddedWriter.write(&request(&facts, &template)).unwrap();
        let standing = merge(draft, &WrittenNotes::default(), None);
        for (name, edited) in left(&standing.text) {
            let (before, last) = (standing.text.clone(), standing.written.clone());
            check(name, &facts, &ModelWriter { before, edited, last, budget });
        }
    }
}

fn written(facts: &Facts, writer: &dyn NotesWriter) -> NotesDraft {
    writer.write(&request(facts, &Template::default())).unwrap()
}

#[test]
fn rows_are_lines_with_keys_of_their_own() {
    let template = Template::default();
    each(|name, facts, writer| {
        let draft = written(facts, writer);
        assert_eq!(draft.sections.len(), template.sections.len(), "{name}");
        for (section, own) in draft.sections.iter().zip(&template.sections) {
            assert_eq!(section.kind, own.kind, "{name}");
            let mut keys = std::collections::HashSet::new();
            for row in &section.rows {
                assert!(keys.insert(&row.key), "{name}: {row:?} is there twice");
                assert!(
                    !row.text.contains(|c: char| c.is_control() && c != '\t'),
                    "{name}: {row:?}"
                );
                assert!(!row.text.trim().is_empty(), "{name}: {row:?}");
                let is_structure = row.text.starts_with(['#', '~']) || row.text.starts_with("```");
                assert!(!is_structure, "{name}: {row:?}");
            }
        }
        assert_eq!(written(facts, writer), draft, "{name}: the same each time");
    });
}

#[test]
fn the_file_has_every_heading_in_order_within_its_budget() {
    let template = Template::default();
    let headings: Vec<_> = template.sections.iter().map(|s| s.heading.as_str()).collect();
    each(|name, facts, writer| {
        let merged = merge(written(facts, writer), &WrittenNotes::default(), None);
        let found: Vec<_> =
            merged.text.lines().filter_map(|line| line.strip_prefix("# ")).collect();
        assert_eq!(found, headings, "{name}: {}", merged.text);
        let tokens = u64::from(text_tokens(&merged.text));
        assert!(tokens <= TOTAL_TOKENS + 200, "{name}: {tokens} tokens");
        let again = merge(written(facts, writer), &merged.written, Some(&merged.text));
        assert_eq!(again.text, merged.text, "{name}: a second look changes nothing");
        assert_eq!(again.written.removed, [], "{name}");
    });
}

#[test]
fn a_person_has_the_last_word() {
    each(|name, facts, writer| {
        let first = merge(written(facts, writer), &WrittenNotes::default(), None);
        let row = first.written.rows.iter().find(|row| !row.text.starts_with('_')).unwrap();
        let at = first.text.find(&format!("\n{}\n", row.text)).unwrap() + 1;
        let mut file = first.text.clone();
        file.replace_range(at..at + row.text.len(), "- by hand");
        let mut last = first.written.clone();
        for _ in 0..2 {
            let again = merge(written(facts, writer), &last, Some(&file));
            assert!(again.text.contains("\n- by hand\n"), "{name}: {}", again.text);
            let section = again.text.split("\n\n").find(|s| s.contains("- by hand")).unwrap();
            assert!(!section.lines().any(|line| line == row.text), "{name}: {row:?} came back");
            (file, last) = (again.text, again.written);
        }
    });
}
