//! A person's lines and the daemon's lines in one file, case by case.

use bethink_session_memory::{NotesBudget, Template, WrittenNotes, update};

use crate::support::{draft, merge};

/// Section numbers of the default template.
const STATE: usize = 1;
const FILES: usize = 3;
const LOG: usize = 9;

/// Checks a section after the daemon wrote, a person edited, and the daemon wrote again.
fn check(
    first: &[(usize, &str, &str)],
    edit: impl Fn(&str) -> String,
    second: &[(usize, &str, &str)],
    section: usize,
    expect: &[&str],
) -> WrittenNotes {
    let written = merge(draft(first), &WrittenNotes::default(), None);
    let edited = edit(&written.text);
    let again = merge(draft(second), &written.written, Some(&edited));
    assert_eq!(lines(&again.text, section), expect, "{}", again.text);
    again.written
}

/// Lines of a section of the default template, without its description.
fn lines(text: &str, section: usize) -> Vec<String> {
    let heading = format!("# {}", Template::default().sections[section].heading);
    let below = text.split(&heading).nth(1).expect("the heading");
    let end = below.find("\n# ").unwrap_or(below.len());
    let lines = below[..end].lines().map(str::trim_end);
    lines.filter(|line| !line.is_empty() && !line.starts_with('_')).map(str::to_owned).collect()
}

#[test]
fn what_the_daemon_wrote_is_replaced_by_what_it_writes_now() {
    check(
        &[(STATE, "a", "alpha 1"), (STATE, "b", "beta")],
        str::to_owned,
        &[(STATE, "a", "alpha 2"), (STATE, "c", "gamma")],
        STATE,
        &["- alpha 2", "- gamma"],
    );
}

#[test]
fn a_line_that_a_person_added_stays_where_it_is() {
    let add = |text: &str| text.replace("- alpha", "- alpha\n- by hand\n\n  and below it");
    let rows = [(STATE, "a", "alpha"), (STATE, "b", "beta")];
    let expect = ["- new alpha", "- by hand", "  and below it", "- beta"];
    check(&rows, add, &[(STATE, "a", "new alpha"), (STATE, "b", "beta")], STATE, &expect);
    // Its row is gone, so it follows the row before.
    check(&rows, |t| t.replace("- beta", "- beta\nmine"), &rows[..1], STATE, &["- alpha", "mine"]);
    check(
        &[],
        |t| t.replace("# Worklog\n", "# Worklog\nmine\n"),
        &[(LOG, "x", "x")],
        LOG,
        &["mine", "- x"],
    );
}

#[test]
fn a_line_that_a_person_changed_stays_as_they_have_it() {
    let change = |text: &str| text.replace("- alpha", "- alpha, but only on Mondays");
    let again = [(STATE, "a", "alpha 2"), (STATE, "b", "beta 2")];
    let rows = [(STATE, "a", "alpha"), (STATE, "b", "beta")];
    check(&rows, change, &again, STATE, &["- alpha, but only on Mondays", "- beta 2"]);
}

#[test]
fn a_line_that_a_person_removed_is_never_written_again() {
    let rows = [(FILES, "file:a", "a: read once"), (FILES, "file:b", "b: read once")];
    let remove = |text: &str| text.replace("- a: read once\n", "");
    let reworded = [(FILES, "file:a", "a: read twice"), (FILES, "file:b", "b: read once")];
    let written = check(&rows, remove, &reworded, FILES, &["- b: read once"]);
    // The removed line does not return in a later update either, even in a new file.
    for file in ["", "prose alone\n"] {
        let later = merge(draft(&reworded), &written, Some(file));
        assert_eq!(lines(&later.text, FILES), ["- b: read once"]);
    }
}

#[test]
fn an_emptied_file_is_written_anew_and_prose_stays_at_its_top() {
    let rows = [(STATE, "a", "alpha"), (LOG, "w", "worked")];
    let all = ["- alpha"];
    check(&rows, |_| String::new(), &rows, STATE, &all);
    check(&rows, |_| " \r\n\n".into(), &rows, STATE, &all);
    check(&rows, |_| "Just my own prose.\n\nTwo lines.".into(), &rows, STATE, &all);
    let written = merge(draft(&rows), &WrittenNotes::default(), None);
    let prose = "Just my own prose.\n\nTwo lines.\n- alpha\n";
    let again = merge(draft(&rows), &written.written, Some(prose));
    assert!(again.text.starts_with("Just my own prose.\n\nTwo lines.\n\n# Session Title\n"));
    assert_eq!(again.text.matches("- alpha").count(), 1, "{}", again.text);
}

#[test]
fn headings_come_back_in_their_order_and_doubled_ones_become_one() {
    let rows = [(STATE, "a", "alpha"), (LOG, "w", "worked")];
    let twice = |text: &str| format!("{text}\n# current   state\nmine\n- alpha\n");
    check(&rows, twice, &rows, STATE, &["- alpha", "mine"]);
    let written = merge(draft(&rows), &WrittenNotes::default(), None);
    let without = written.text.replace("# Learnings\n", "").replace("# Workflow\n", "");
    let again = merge(draft(&rows), &written.written, Some(&without)).text;
    let headings: Vec<_> = again.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let template = Template::default();
    let wanted: Vec<_> = template.sections.iter().map(|s| s.heading.as_str()).collect();
    assert_eq!(headings, wanted);
}

#[test]
fn a_section_of_a_persons_own_stays_between_its_neighbours() {
    let add = |text: &str| {
        text.replace(
            "# Learnings",
            "## Mine ##\n```sh\n# not a heading\n```\n\n# Own\nx\n\n# Learnings",
        )
    };
    let rows = [(LOG, "w", "worked")];
    let written = merge(draft(&rows), &WrittenNotes::default(), None);
    let again = merge(draft(&rows), &written.written, Some(&add(&written.text))).text;
    let own = again.find("# Own\nx\n").expect("the section");
    assert!(own < again.find("# Learnings").unwrap() && own > again.find("# Codebase").unwrap());
    assert!(again.contains("## Mine ##\n```sh\n# not a heading\n```"), "{again}");
    assert_eq!(
        merge(draft(&rows), &written.written, Some(&again)).text,
        again,
        "another merge changes nothing"
    );
}

#[test]
fn line_ends_stay_as_the_file_has_them() {
    let rows = [(STATE, "a", "alpha")];
    let written = merge(draft(&rows), &WrittenNotes::default(), None);
    let windows = written.text.replace('\n', "\r\n");
    let again = merge(draft(&rows), &written.written, Some(&windows));
    assert_eq!(again.text, windows);
    assert_eq!(again.written.removed, [], "no line counts as changed");
}

#[test]
fn what_a_person_says_is_not_said_twice() {
    let mine = "# Current State\n- alpha\n";
    let merged = merge(draft(&[(STATE, "a", "alpha")]), &WrittenNotes::default(), Some(mine));
    assert_eq!(lines(&merged.text, STATE), ["- alpha"]);
    let later = merge(draft(&[(STATE, "a", "alpha 2")]), &merged.written, Some(&merged.text));
    assert_eq!(lines(&later.text, STATE), ["- alpha", "- alpha 2"], "what a person wrote stays");
}

#[test]
fn another_template_takes_the_old_ones_lines_along_only_if_a_person_wrote_them() {
    let rows = [(STATE, "a", "alpha"), (LOG, "w", "worked")];
    let written = merge(draft(&rows), &WrittenNotes::default(), None);
    let edited = written.text.replace("- worked", "- worked\nmine");
    let template = Template::parse(b"# Status\n_now_\n").unwrap();
    let mut one = draft(&[(0, "a", "alpha")]);
    one.sections.truncate(1);
    let budget = NotesBudget::default();
    let again = update(&template, one, &written.written, Some(&edited), &budget).text;
    assert_eq!(again, "# Worklog\nmine\n\n# Status\n_now_\n- alpha\n");
}

#[test]
fn a_megabyte_by_hand_is_left_alone() {
    let hand = "a line by hand\n".repeat(70_000);
    for file in
        [hand.clone(), format!("# Worklog\n{hand}"), "```\n".repeat(3) + &hand, "x".repeat(1 << 20)]
    {
        let merged = merge(draft(&[(STATE, "a", "alpha")]), &WrittenNotes::default(), Some(&file));
        let kept = merged.text.matches("a line by hand").count();
        assert_eq!(kept, file.matches("a line by hand").count());
        assert_eq!(lines(&merged.text, STATE), ["- alpha"], "the newest state has room");
    }
}
