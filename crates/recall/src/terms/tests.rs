use super::*;

fn check(text: &str, expect: &str) {
    assert_eq!(analyze(text), expect, "{text}");
}

#[test]
fn words_are_lower_case_and_stop_words_left_out() {
    check("", "");
    check("The quick brown Fox", "quick brown fox");
    check("don't you're it's", "");
    check("a b c 7 42", "42");
    check("ÜBER Straße", "über straße");
    check("crash—again, (really)!", "crash realli");
}

#[test]
fn names_are_split_and_joined() {
    check("sessionFile", "session file sessionfil");
    check("session_file", "session file sessionfil");
    check("HTTPServer", "http server httpserver");
    check("MAX_DEPTH", "max depth maxdepth");
    check("URLs", "url");
    check("sha256sum", "sha 256 sum sha256sum");
    check("E0308", "0308 e0308");
    check("lib.rs", "lib rs librs");
    check("src/lib.rs", "src lib rs librs");
    check("foo.Bar", "foo bar foobar");
    check("version 1.22.33", "version 22 33");
    check("__init__", "init");
    check("____", "");
}

#[test]
fn endings_are_stripped_alike() {
    for forms in [
        &["file", "files", "filed", "filing"][..],
        &["compile", "compiles", "compiled", "compiling"],
        &["run", "runs", "running"],
        &["query", "queries"],
        &["test", "tests", "tested", "testing"],
        &["stop", "stopped", "stopping"],
    ] {
        let stems: Vec<_> = forms.iter().map(|form| analyze(form)).collect();
        assert!(stems.iter().all(|stem| *stem == stems[0]), "{forms:?}: {stems:?}");
    }
    for word in ["status", "access", "string", "thing", "analysis", "class", "bus"] {
        check(word, word);
    }
}

#[test]
fn data_is_dropped_and_hashes_kept() {
    check(&"x".repeat(65), "");
    check(&"x".repeat(64), &"x".repeat(64));
    check("dGhpcyBpcyBhIGxvbmcgYmFzZTY0IHN0cmluZw", "");
    check("commit 4f9a8b7c6d5e4f3a", "commit 4f9a8b7c6d5e4f3a");
    check(&"é".repeat(40), "");
}

#[test]
fn a_term_counts_three_times_at_most() {
    check("go go go go go", "go go go");
    let mut analyzer = Analyzer::default();
    for _ in 0..5 {
        analyzer.add("panic at start");
    }
    assert_eq!(analyzer.finish(), "panic start panic start panic start");
}

#[test]
fn scripts_without_spaces_give_pairs() {
    check("東京都庁", "東京 京都 都庁");
    check("猫", "猫");
    check("東京tower", "東京 tower");
    check("see東京", "see 東京");
}

#[test]
fn terminal_escapes_are_passed_over() {
    check("\u{1b}[31merror\u{1b}[0m: \u{1b}[1;2Hbad\u{1b}", "error bad");
    check("\u{1b}[", "");
}

#[test]
fn ranges_lie_on_the_words() {
    let text = "éa fooBar lib.rs 東京都";
    let mut found = Vec::new();
    for_each_term(text, |term, range| found.push((term.to_owned(), &text[range])));
    let words: Vec<_> = found.iter().map(|(_, word)| *word).collect();
    assert_eq!(words, ["éa", "foo", "Bar", "fooBar", "lib", "rs", "lib.rs", "東京", "京都"]);
}

proptest::proptest! {
    #[test]
    fn analysis_is_stable_and_clean(text in "\\PC{0,120}") {
        let terms = analyze(&text);
        proptest::prop_assert_eq!(&terms, &analyze(&text));
        for term in terms.split(' ').filter(|term| !term.is_empty()) {
            proptest::prop_assert!(!term.contains(|c: char| c.is_ascii_uppercase() || c.is_whitespace()));
        }
    }
}
