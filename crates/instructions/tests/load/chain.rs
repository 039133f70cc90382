//! Tests the order of files, which files replace others, and that no file is loaded twice.

use bethink_instructions::{InstructionKind, Reason};

use crate::disk::{Entry, map};

#[test]
fn the_whole_chain_is_ordered_from_far_to_near() {
    let disk = map(&[
        ("/p/a/b/CLAUDE.md", "b"),
        ("/p/a/CLAUDE.local.md", "a local"),
        ("/p/a/AGENTS.md", "a agents"),
        ("/p/a/.claude/rules/x.md", "a rule"),
        ("/p/CLAUDE.local.md", "local"),
        ("/p/.claude/rules/z/1.md", "z1"),
        ("/p/.claude/rules/b.md", "rule b"),
        ("/p/.claude/rules/a.md", "rule a"),
        ("/p/.claude/CLAUDE.md", "hidden"),
        ("/p/CLAUDE.md", "root"),
        ("/home/u/.claude/rules/r.md", "user rule"),
        ("/home/u/.claude/CLAUDE.md", "user"),
        ("/etc/claude-code/CLAUDE.md", "managed"),
        ("/p/c/CLAUDE.md", "beside"),
        ("/CLAUDE.md", "above"),
    ]);
    let found = disk.at("/p/a/b").check(
        &[
            "/etc/claude-code/CLAUDE.md",
            "/home/u/.claude/CLAUDE.md",
            "/home/u/.claude/rules/r.md",
            "/p/CLAUDE.md",
            "/p/.claude/CLAUDE.md",
            "/p/.claude/rules/a.md",
            "/p/.claude/rules/b.md",
            "/p/.claude/rules/z/1.md",
            "/p/a/AGENTS.md",
            "/p/a/.claude/rules/x.md",
            "/p/a/b/CLAUDE.md",
            "/p/CLAUDE.local.md",
            "/p/a/CLAUDE.local.md",
        ],
        &["/CLAUDE.md above_root"],
    );
    let kinds: Vec<String> = found.chain.iter().map(|file| file.kind.to_string()).collect();
    assert_eq!(
        kinds,
        [
            "managed", "user", "rule", "project", "project", "rule", "rule", "rule", "project",
            "rule", "project", "local", "local"
        ]
    );
}

#[test]
fn nothing_is_nothing() {
    map(&[("/p/src/a.rs", "")]).check(&[], &[]);
}

#[test]
fn a_working_directory_elsewhere_counts_as_the_root() {
    map(&[("/p/CLAUDE.md", "p"), ("/q/CLAUDE.md", "q")]).at("/q").check(&["/p/CLAUDE.md"], &[]);
}

#[test]
fn agents_md_stands_in_where_there_is_no_claude_md() {
    map(&[("/p/AGENTS.md", "a")]).check(&["/p/AGENTS.md"], &[]);
    map(&[("/p/AGENTS.md", "a"), ("/p/CLAUDE.md", "c")])
        .check(&["/p/CLAUDE.md"], &["/p/AGENTS.md claude_md_counts"]);
    map(&[("/p/AGENTS.md", "a"), ("/p/.claude/CLAUDE.md", "c")])
        .check(&["/p/.claude/CLAUDE.md", "/p/AGENTS.md"], &[]);
    map(&[("/p/AGENTS.md", "a"), ("/p/a/CLAUDE.md", "c")])
        .at("/p/a")
        .check(&["/p/AGENTS.md", "/p/a/CLAUDE.md"], &[]);
}

#[test]
fn agents_md_stands_in_for_a_claude_md_that_cannot_be_read() {
    let mut disk = map(&[("/p/AGENTS.md", "a")]);
    disk.put("/p/CLAUDE.md", Entry::Denied);
    disk.check(&["/p/AGENTS.md"], &["/p/CLAUDE.md unreadable"]);
}

#[test]
fn agents_md_that_is_claude_md_is_loaded_once() {
    let both = ["/p/CLAUDE.md"];
    map(&[("/p/AGENTS.md", "same"), ("/p/CLAUDE.md", "same")])
        .check(&both, &["/p/AGENTS.md claude_md_counts"]);
    map(&[("/p/AGENTS.md", "a")])
        .link("/p/CLAUDE.md", "AGENTS.md")
        .check(&both, &["/p/AGENTS.md already_loaded"]);
    map(&[("/p/CLAUDE.md", "a")])
        .link("/p/AGENTS.md", "CLAUDE.md")
        .check(&both, &["/p/AGENTS.md already_loaded"]);
    map(&[("/p/CLAUDE.md", "@AGENTS.md"), ("/p/AGENTS.md", "a")])
        .check(&["/p/CLAUDE.md", "/p/AGENTS.md"], &["/p/AGENTS.md already_loaded"]);
}

#[test]
fn equal_texts_count_once_wherever_they_lie() {
    let found = map(&[
        ("/p/CLAUDE.md", "\u{feff}the same\r\n"),
        ("/p/.claude/CLAUDE.md", "<!-- a copy -->\nthe same"),
        ("/p/CLAUDE.local.md", "another"),
    ])
    .check(&["/p/CLAUDE.md", "/p/CLAUDE.local.md"], &["/p/.claude/CLAUDE.md same_text"]);
    assert_eq!(found.skipped[0].why(), "has the same text as /p/CLAUDE.md");
}

#[test]
fn a_copy_imports_what_lies_beside_it() {
    map(&[
        ("/p/CLAUDE.md", "@AGENTS.md"),
        ("/p/AGENTS.md", "far"),
        ("/p/a/CLAUDE.md", "@AGENTS.md"),
        ("/p/a/AGENTS.md", "near"),
        ("/p/b/CLAUDE.md", "@AGENTS.md"),
    ])
    .at("/p/a")
    .touch("/p/a/../b/x")
    .check(
        &["/p/CLAUDE.md", "/p/AGENTS.md", "/p/a/AGENTS.md"],
        &[
            "/p/AGENTS.md already_loaded",
            "/p/a/CLAUDE.md same_text",
            "/p/a/AGENTS.md already_loaded",
        ],
    );
}

#[test]
fn a_file_without_text_is_told_and_still_counts_as_there() {
    map(&[("/p/CLAUDE.md", "<!-- later -->\n"), ("/p/AGENTS.md", "a")])
        .check(&[], &["/p/CLAUDE.md empty", "/p/AGENTS.md claude_md_counts"]);
}

#[test]
fn files_of_other_tools_are_named_alone() {
    let found = map(&[("/p/GEMINI.md", "g"), ("/p/.cursorrules", "c"), ("/p/AGENTS.md", "a")])
        .check(&["/p/AGENTS.md"], &["/p/GEMINI.md other_tool", "/p/.cursorrules other_tool"]);
    assert_eq!(found.skipped[0].why(), "belongs to Gemini CLI and is not read");
    map(&[("/p/CLAUDE.md", "c")]).link("/p/GEMINI.md", "CLAUDE.md").check(&["/p/CLAUDE.md"], &[]);
}

#[test]
fn sizes_are_of_the_file_and_of_what_is_loaded() {
    let text = "---\ntitle: x\n---\n<!-- note -->\nä\nb\n";
    let found = map(&[("/p/CLAUDE.md", text)]).load();
    let file = &found.chain[0];
    assert_eq!((file.bytes, file.lines, file.chars), (text.len() as u64, 2, 3));
    assert_eq!((file.content.as_str(), file.kind), ("ä\nb", InstructionKind::Project));
}

#[test]
fn a_file_may_have_four_mebibytes_and_no_more() {
    let mut disk =
        map(&[("/p/CLAUDE.local.md", &format!("{}\n", "a".repeat(4_095)).repeat(1 << 10))]);
    disk.put("/p/CLAUDE.md", Entry::Sized((4 << 20) + 1));
    let found = disk.check(&["/p/CLAUDE.local.md"], &["/p/CLAUDE.md too_large"]);
    assert_eq!(found.chain[0].warnings.len(), 2, "{:?}", found.chain[0].warnings);
    assert_eq!(found.skipped[0].reason, Reason::TooLarge { bytes: (4 << 20) + 1 });
}

#[test]
fn a_user_s_link_to_dotfiles_needs_no_approval_and_a_project_s_does() {
    let disk = map(&[("/home/u/dotfiles/claude.md", "mine"), ("/home/u/dotfiles/p.md", "other")])
        .link("/home/u/.claude/CLAUDE.md", "../dotfiles/claude.md")
        .link("/p/CLAUDE.md", "/home/u/dotfiles/p.md");
    let found = disk.check(&["/home/u/.claude/CLAUDE.md"], &["/p/CLAUDE.md outside"]);
    assert!(found.skipped[0].reason.may_approve());
    assert_eq!(found.skipped[0].real, Some("/home/u/dotfiles/p.md".into()));
    let disk = disk.approve("/home/u/dotfiles/p.md");
    disk.check(&["/home/u/.claude/CLAUDE.md", "/p/CLAUDE.md"], &[]);
}

#[test]
fn a_home_that_is_the_project_loads_its_file_once() {
    let disk = map(&[("/p/CLAUDE.md", "x")])
        .link("/home/u", "/p")
        .link("/p/.claude/CLAUDE.md", "../CLAUDE.md");
    disk.check(
        &["/home/u/.claude/CLAUDE.md"],
        &["/p/CLAUDE.md already_loaded", "/p/.claude/CLAUDE.md already_loaded"],
    );
}

#[test]
fn files_above_the_project_are_listed_and_loaded_if_a_person_wants_that() {
    let files = [
        ("/CLAUDE.md", "top"),
        ("/AGENTS.md", "top agents"),
        ("/CLAUDE.local.md", "top local"),
        ("/.claude/rules/x.md", "top rule"),
        ("/p/CLAUDE.md", "root"),
        ("/p/CLAUDE.local.md", "local"),
    ];
    let found = map(&files).check(
        &["/p/CLAUDE.md", "/p/CLAUDE.local.md"],
        &["/CLAUDE.md above_root", "/AGENTS.md above_root", "/CLAUDE.local.md above_root"],
    );
    assert!(found.skipped[0].why().contains("instructions_above = true"));
    map(&files).with_above().check(
        &[
            "/CLAUDE.md",
            "/.claude/rules/x.md",
            "/p/CLAUDE.md",
            "/CLAUDE.local.md",
            "/p/CLAUDE.local.md",
        ],
        &["/AGENTS.md claude_md_counts"],
    );
}
