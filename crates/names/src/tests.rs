use super::*;

fn names(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for_each_name(text, |name| found.push(name));
    found
}

fn check(text: &str, expect: &[&str]) {
    assert_eq!(names(text), expect, "{text}");
    // What surrounds a name does not change it.
    for (left, right) in
        [(" ", " "), ("(", ")"), ("`", "`"), ("\"", "\","), ("漢", "漢"), ("→ ", ":12:5")]
    {
        let around = format!("{left}{text}{right}");
        assert_eq!(names(&around), expect, "{around}");
    }
}

#[test]
fn paths_are_given_whole() {
    for path in [
        "crates/recall/src/lib.rs",
        "/etc/hosts",
        "/Users/soph/Work/entire/devenv/cli",
        "~/.config/app",
        "../up/one.rs",
        ".github/workflows/ci.yml",
        "cmd/entire",
        "src/my-file.ts",
        "docs/2026-01-12-notes.md",
        "migrations/0001_init.sql",
        "Ordner/Übung.txt",
        "node_modules/@".trim_end_matches("/@"),
    ] {
        check(path, &[path]);
    }
    check("see src/lib.rs.", &["src/lib.rs"]);
    check("in src/names/, then", &["src/names"]);
    check("./src/lib.rs", &["src/lib.rs"]);
    check("src/lib.rs:12:5", &["src/lib.rs"]);
    check("--- a/src/lib.rs\n+++ b/src/lib.rs", &["src/lib.rs", "src/lib.rs"]);
    check("diff a/Cargo.toml", &["a/Cargo.toml"]);
    check("https://docs.rs/serde_json/latest", &["docs.rs/serde_json/latest"]);
    check("${HOME}/notes/today.md", &["/notes/today.md"]);
    check("src/**/*.rs", &[]);
    check("@scope/package-name", &["scope/package-name"]);
}

#[test]
fn slashes_of_prose_are_no_paths() {
    for text in [
        "and/or",
        "I/O",
        "1/2",
        "10/2026",
        "2026/01/12",
        "n/a",
        "TCP/IP",
        "</div>",
        "/compact",
        "//",
        "w/o it",
        "/////",
    ] {
        check(text, &[]);
    }
    check("ParseError/2", &["ParseError"]);
}

#[test]
fn dotted_names_and_files() {
    for name in [
        "main.go",
        "lib.rs",
        "fmt.Println",
        "strings.Builder",
        "std.io.read",
        "self.value_of",
        "package-lock.json",
        "example.com",
        "0001_init.sql",
        "os.path.join",
    ] {
        let expect: &[&str] = if name.len() >= MIN_NAME_BYTES { &[name] } else { &[] };
        check(name, expect);
    }
    check("It ends in main.go.", &["main.go"]);
    check("foo.bar...", &["foo.bar"]);
    check("main..HEAD", &[]);
    check("docs...foo.bar", &["foo.bar"]);
    check("v1.2-arm64.tar.gz", &["tar.gz"]);
    check("linux_arm64-1.2.tar.gz", &["linux_arm64", "tar.gz"]);
    assert_eq!(names("in diff.Before and diff.After too"), ["diff.Before", "diff.After"]);
}

#[test]
fn numbers_and_versions_are_no_names() {
    for text in [
        "1.2.3",
        "v1.2.3",
        "127.0.0.1",
        "3.14159",
        "12:30:59.123Z",
        "2026-01-10T21:26:59.060Z",
        "1_000_000",
        "0x7fff_ffff",
        "claude-sonnet-4.5",
        "10.5MB",
    ] {
        check(text, &[]);
    }
}

#[test]
fn sentences_without_a_space_are_no_names() {
    for text in [
        "It is done.Then we go",
        "All right.The end",
        "Really done.I think",
        "e.g. this",
        "i.e. that",
        "U.S.A",
        "wait...what now",
    ] {
        assert!(names(text).is_empty(), "{text}: {:?}", names(text));
    }
    check("see time.Then(x)", &["time.Then"]);
    assert_eq!(names("the http.Client is"), ["http.Client"]);
}

#[test]
fn symbols() {
    for name in [
        "read_line",
        "MAX_DEPTH",
        "_private_name",
        "camelCase",
        "PascalCase",
        "parseJSON",
        "HTTPServer",
        "getURLs2Fetch",
        "iPhone",
        "GitHub",
        "sessionID",
        "utf8Decoder",
        "über_name",
        "__dunder_name__",
    ] {
        check(name, &[name]);
    }
    for long in [
        "IsOnDefaultBranch",
        "NewRepoWithCommit",
        "TestGetGitDirInPath_NotARepo",
        "runHookInRepoDir",
    ] {
        check(long, &[long]);
    }
    check("foo::bar_baz::QuxQuux", &["bar_baz", "QuxQuux"]);
    check("some-kebab-case", &[]);
    check("kebab-with_snake", &["with_snake"]);
    for prose in
        ["Hello", "HELLO", "UUIDs", "hello", "__init__", "A_b", "well-known", "x", "____", "don't"]
    {
        check(prose, &[]);
    }
}

#[test]
fn escapes_in_quoted_code_are_no_part_of_a_name() {
    check(r"\n\tshort_id", &["short_id"]);
    check(r"{\nfoo_bar();\r\nbar_baz", &["foo_bar", "bar_baz"]);
    check(r"src\tests\new_names.rs", &["new_names.rs"]);
    check(r"\section_one", &["section_one"]);
}

#[test]
fn flags() {
    check("git commit --no-verify", &["--no-verify"]);
    check("--format=json", &["--format"]);
    check("--snake_flag", &["--snake_flag"]);
    check("--max.depth 3", &["--max.depth"]);
    for text in ["-abc", "--", "---", "--x", "<!--comment-->", "--2fast", "a--bc"] {
        check(text, &[]);
    }
}

#[test]
fn error_codes() {
    for code in ["E0308", "HTTP404", "TS2345", "SA1019", "CVE2024"] {
        check(code, &[code]);
    }
    for text in ["E404", "ABCDE123", "12345", "E12", "GPT4o"] {
        check(text, &[]);
    }
}

#[test]
fn data_is_no_name() {
    for text in [
        "toolu_01At141XJEnXhvRVUpX6pBp3",
        "msg_017MojU7rEDnBrxRzPwsdrgW",
        "dGhpcyBpcyBhIGxvbmcgYmFzZTY0IHN0cmluZw",
        "529e5a52-3372-4bea-9fe3-e5f03b012638",
        "529e5a5233724bea9fe3e5f03b012638",
    ] {
        check(text, &[]);
    }
    assert!(names(&"aB/".repeat(1000)).is_empty());
}

#[test]
fn the_last_part_of_a_path_is_its_file() {
    assert_eq!(last_part("a/b/c.rs"), "c.rs");
    assert_eq!(last_part("read_line"), "read_line");
}

proptest::proptest! {
    #[test]
    fn every_name_is_part_of_the_text(text in "[a-zA-Z0-9_./~é漢 -]{0,80}") {
        for name in names(&text) {
            proptest::prop_assert!(text.contains(name) && name.len() >= MIN_NAME_BYTES);
            proptest::prop_assert!(!name.ends_with(['.', '/', '-']) && !name.starts_with('.') || name.contains('/'));
        }
    }
}
