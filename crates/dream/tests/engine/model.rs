//! Tests which edits of a copy a model may make.

use bethink_dream::DreamDirectory;
use bethink_dream::model::{EditedCopy, Rewriting, copy, rewritten};
use bethink_memdir::header::MemoryRecall;
use bethink_memdir::{DirectoryFile, Source, header};

use crate::support::*;

fn edited(files: &[(&str, &str)]) -> EditedCopy {
    let files = files.iter().map(|(at, text)| (DirectoryFile::Topic(name(at)), (*text).to_owned()));
    let source =
        Source { session: "s9".to_owned(), strategy: "model".to_owned(), ..Source::default() };
    EditedCopy { files: files.collect(), source }
}

fn rewrite(directory: &DreamDirectory, files: &[(&str, &str)]) -> (Rewriting, DreamDirectory) {
    let done = rewritten(directory, &[], now(), &edited(files));
    let after = apply(directory, &done.plan);
    (done, after)
}

/// Checks that the edit is refused for this reason, and that nothing else changes.
fn check_refused(directory: &DreamDirectory, files: &[(&str, &str)], why: &str) {
    let (done, after) = rewrite(directory, files);
    let reasons: Vec<String> = done.refused.iter().map(ToString::to_string).collect();
    assert!(reasons.iter().any(|reason| reason.contains(why)), "{why:?} is not in {reasons:?}");
    let texts = |directory: &DreamDirectory| -> Vec<String> {
        directory.topics.iter().map(|topic| topic.text.clone()).collect()
    };
    assert_eq!(texts(&after), texts(directory));
}

fn two() -> DreamDirectory {
    let topics = vec![
        own("berlin", "s1", "2026-06-01", "Deploys go through Ann in Berlin."),
        own("friday", "s2", "2026-06-02", "Never deploy to production on a Friday."),
    ];
    with(Some("- [berlin](berlin.md)\n- [friday](friday.md)\n"), topics)
}

#[test]
fn two_topics_are_merged_by_a_model() {
    let both = "---\nname: deploys\ndescription: How deploys go\ntype: feedback\n---\n\n- Deploys go through Ann in Berlin.\n\
                - Never on a Friday: no deploy to production.\n";
    let (done, after) = rewrite(&two(), &[("berlin", both), ("friday", "Merged into berlin\n")]);
    assert_eq!(names(&after), ["berlin"], "{:?}", done.refused);
    assert_eq!(done.taken, 2);
    let source = header::read(text(&after, "berlin")).header.source.unwrap();
    assert_eq!(source.session, "s1", "the source is kept");
    assert_eq!(after.index.as_deref(), Some("- [berlin](berlin.md)\n"));
}

#[test]
fn nothing_goes_without_being_merged() {
    check_refused(&two(), &[("friday", "")], "would be emptied");
    check_refused(&two(), &[("friday", "---\nname: x\n---\n")], "would be emptied");
    check_refused(
        &two(),
        &[("friday", "Merged into berlin")],
        "would be merged into berlin.md, which does not contain",
    );
    check_refused(&two(), &[("friday", "Merged into friday")], "into itself");
    check_refused(&two(), &[("friday", "Merged into nowhere")], "does not exist");
    check_refused(
        &two(),
        &[("friday", "Merged into [[berlin]]"), ("berlin", "Merged into friday")],
        "does not exist",
    );
    check_refused(&two(), &[("friday", "Deploy to production on a Friday.")], "loses \"> Never");
    check_refused(
        &two(),
        &[("berlin", "Deploys go through Bo in Berlin.")],
        "loses \"> Deploys go through Ann",
    );
}

#[test]
fn a_persons_words_keep_their_capital_letters() {
    let directory = with(None, vec![hand("names", "Call the new system BETA, please.\n")]);
    let lower = [("names", "Call the new system beta, please.\n")];
    check_refused(&directory, &lower, "loses \"Call the new system BETA, please.");
}

#[test]
fn a_merge_falls_with_the_edit_that_it_needs() {
    // The target takes over the sentence, but loses one of its own.
    let target = "Never deploy to production on a Friday.";
    check_refused(
        &two(),
        &[("berlin", target), ("friday", "Merged into berlin")],
        "depends on another edit",
    );
}

#[test]
fn a_persons_words_stay() {
    let directory = with(None, vec![hand("rule", "Never deploy to production on a Friday.\n")]);
    check_less(&directory, "Do not deploy to production on any Friday.\n", true);
    check_less(
        &directory,
        "# Deploys\n\nNever deploy to production on a Friday.\n\nSee [[berlin]].\n",
        false,
    );
}

fn check_less(directory: &DreamDirectory, text: &str, refused: bool) {
    let (done, after) = rewrite(directory, &[("rule", text)]);
    assert_eq!(!done.refused.is_empty(), refused, "{text}");
    assert_eq!(self::text(&after, "rule") == text, !refused);
}

#[test]
fn the_team_and_what_cannot_be_read_are_out_of_reach() {
    check_refused(&two(), &[("team/plan", "Ours.")], "belongs to the team");
    check_refused(&two(), &[("Team/plan", "Ours.")], "belongs to the team");
    let mut directory = two();
    directory.topics[0].put_back = true;
    let more = format!("{}\nMore.\n", text(&directory, "berlin"));
    check_refused(&directory, &[("berlin", &more)], "restored by a person");
    let mut directory = two();
    directory.unread = vec![name("big")];
    check_refused(&directory, &[("big", "Ours.")], "cannot be read");
}

#[test]
fn what_others_link_to_stays() {
    let mut directory = two();
    directory.topics.push(hand("links", "See [[friday]]."));
    let both = format!("{}\nNever deploy to production on a Friday.\n", text(&directory, "berlin"));
    let (done, after) = rewrite(&directory, &[("berlin", &both), ("friday", "Merged into berlin")]);
    assert!(names(&after).contains(&"friday"));
    assert!(done.refused.iter().any(|refused| refused.why.contains("is linked")));
}

#[test]
fn a_new_topic_tells_where_it_comes_from() {
    let (done, after) = rewrite(
        &two(),
        &[("new", "---\nname: new\nsource:\n  session: forged\n---\nBoth together.\n")],
    );
    assert_eq!(done.refused, []);
    assert_eq!(header::read(text(&after, "new")).header.source.unwrap().session, "s9");
    check_refused(&two(), &[("new", &"word ".repeat(20_000))], "are allowed");
    check_refused(&two(), &[("new", "  ")], "an empty topic");
}

#[test]
fn a_model_neither_pins_nor_releases() {
    let said = "Deploys go through Ann in Berlin.";
    let mut directory = two();
    let pinned = directory.topics[0].text.replacen("---\n", "---\nrecall: always\n", 1);
    directory.topics[0].text = pinned;
    let files = [
        ("berlin", format!("---\nname: berlin\n---\n{said}\n")),
        (
            "friday",
            format!(
                "{}\nAnd never in May.\n",
                directory.topics[1].text.replacen("---\n", "---\nrecall: never\n", 1)
            ),
        ),
        ("new", "---\nname: new\nrecall: always\n---\nBoth together.\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
    let (done, after) = rewrite(&directory, &files);
    assert_eq!(done.refused, []);
    let recall = |name: &str| header::read(text(&after, name)).header.recall;
    assert_eq!(recall("berlin"), Some(MemoryRecall::Always));
    assert_eq!((recall("friday"), recall("new")), (None, None));
    let merged = [
        ("friday", format!("{}\n{said}\n", directory.topics[1].text)),
        ("berlin", "Merged into friday\n".to_owned()),
    ];
    let merged: Vec<(&str, &str)> = merged.iter().map(|(name, text)| (*name, &**text)).collect();
    let (done, _) = rewrite(&directory, &merged);
    assert!(done.refused.iter().any(|one| one.why.contains("a merge would lose")), "{done:?}");
}

#[test]
fn a_model_rewords_a_share_and_not_the_whole() {
    let said = |at: u32| {
        format!("The service of shelf {at} restarts at night and writes a long report about it.")
    };
    let reworded = |at: u32| {
        format!("At night the service of shelf {at} restarts, and writes a long report about it.")
    };
    let topics = (10..22).map(|at| own(&format!("t{at}"), "s1", "2026-06-01", &said(at))).collect();
    let directory = with(None, topics);
    let edits = |count: u32| -> Vec<(String, String)> {
        let text = |at: u32| {
            text(&directory, &format!("t{at}")).replace(&format!("> {}", said(at)), &reworded(at))
        };
        (10..10 + count).map(|at| (format!("t{at}"), text(at))).collect()
    };
    for (count, taken) in [(3, 3), (12, 0)] {
        let edits = edits(count);
        let edits: Vec<(&str, &str)> =
            edits.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(rewrite(&directory, &edits).0.taken, taken);
    }
}

/// A model begins with the result of the embedded plan. If it makes no edits, the embedded plan is the result.
#[test]
fn a_copy_is_what_the_embedded_plan_leaves() {
    let said = "Use pnpm for installs in the frontend folder.";
    let directory =
        with(None, vec![own("a", "s1", "2026-06-01", said), own("b", "s2", "2026-06-08", said)]);
    let plan = dream(&directory);
    let copy = copy(&directory, &plan);
    let files: Vec<String> = copy.keys().map(DirectoryFile::path).collect();
    assert_eq!(files, ["MEMORY.md", "a.md"]);
    let unchanged = EditedCopy { files: copy, ..edited(&[]) };
    assert_eq!(rewritten(&directory, &[], now(), &unchanged).plan, plan);
}
