//! Tests instructions that are only loaded when a file is touched.

use bethink_instructions::SkipReason;

use crate::disk::{Map, map};

fn rule() -> Map {
    map(&[
        ("/p/CLAUDE.md", "root"),
        ("/p/.claude/rules/api.md", "---\npaths:\n  - 'src/api/**'\n---\napi rule"),
        ("/p/src/api/a.ts", ""),
    ])
}

#[test]
fn a_rule_loads_when_a_matching_file_is_touched() {
    let found = rule().check(&["/p/CLAUDE.md"], &["/p/.claude/rules/api.md waiting"]);
    assert_eq!(
        found.skipped[0].why(),
        "is loaded when the agent uses a file that matches src/api/**"
    );
    rule().touch("/p/src/b.ts").check(&["/p/CLAUDE.md"], &["/p/.claude/rules/api.md waiting"]);
    let found = rule()
        .touch("/p/README.md")
        .touch("/p/src/api/a.ts")
        .check(&["/p/CLAUDE.md", "| /p/.claude/rules/api.md"], &[]);
    let (touched, pattern) = ("/p/src/api/a.ts".into(), "src/api/**".to_owned());
    assert_eq!(found.touched[0].why, SkipReason::Matched { touched, pattern });
    assert_eq!(found.touched[0].content, "api rule");
}

#[test]
fn touched_paths_may_be_written_in_any_way() {
    for path in ["src/api/a.ts", "./src/api/a.ts", "/p/x/../src/api/new.ts"] {
        let found = rule().touch(path).load();
        assert_eq!(found.touched.len(), 1, "{path}");
    }
    for path in ["/q/src/api/a.ts", "../src/api/a.ts", ""] {
        assert_eq!(rule().touch(path).load().touched.len(), 0, "{path}");
    }
}

#[test]
fn a_root_behind_a_link_is_the_same_root() {
    let disk = map(&[
        ("/real/.claude/rules/api.md", "---\npaths: src/**\n---\nr"),
        ("/real/src/a.ts", ""),
    ])
    .link("/p", "/real");
    disk.touch("/real/src/a.ts").check(&["| /p/.claude/rules/api.md"], &[]);
}

#[test]
fn the_chain_is_the_same_whatever_is_touched() {
    let still = rule().load();
    let moved = rule().touch("/p/src/api/a.ts").load();
    assert_eq!(still.chain, moved.chain);
}

#[test]
fn a_rule_s_patterns_are_relative_to_its_directory() {
    let disk = |touched: &str| {
        map(&[("/p/a/.claude/rules/r.md", "---\npaths: /src/**\n---\nr"), ("/p/a/x", "")])
            .at("/p/a")
            .touch(touched)
            .load()
            .touched
            .len()
    };
    assert_eq!((disk("/p/a/src/x.ts"), disk("/p/src/x.ts")), (1, 0));
    let user = map(&[("/home/u/.claude/rules/r.md", "---\npaths: '*.ts'\n---\nr")]);
    user.touch("/p/src/x.ts").check(&["| /home/u/.claude/rules/r.md"], &[]);
}

#[test]
fn files_below_the_working_directory_load_when_one_there_is_touched() {
    let disk = map(&[
        ("/p/CLAUDE.md", "root"),
        ("/p/a/CLAUDE.md", "a @x.md"),
        ("/p/a/x.md", "x"),
        ("/p/a/b/AGENTS.md", "b"),
        ("/p/a/b/.claude/rules/on.md", "on"),
        ("/p/a/b/.claude/rules/off.md", "---\npaths: '*.rs'\n---\noff"),
        ("/p/a/b/CLAUDE.local.md", "b local"),
        ("/p/c/CLAUDE.md", "c"),
    ]);
    disk.check(&["/p/CLAUDE.md"], &[]);
    let found = disk.touch("/p/a/b/y.ts").check(
        &[
            "/p/CLAUDE.md",
            "| /p/a/CLAUDE.md",
            "| /p/a/x.md",
            "| /p/a/b/AGENTS.md",
            "| /p/a/b/.claude/rules/on.md",
            "| /p/a/b/CLAUDE.local.md",
        ],
        &["/p/a/b/.claude/rules/off.md waiting"],
    );
    assert_eq!(found.touched[1].why, SkipReason::Below { touched: "/p/a/b/y.ts".into() });
}

#[test]
fn a_rule_below_loads_with_its_directory_and_its_pattern() {
    map(&[("/p/a/.claude/rules/r.md", "---\npaths: '*.rs'\n---\nr")])
        .touch("/p/a/x.rs")
        .check(&["| /p/a/.claude/rules/r.md"], &[]);
}

#[test]
fn beside_and_above_the_working_directory_nothing_loads() {
    map(&[("/p/a/x", ""), ("/p/b/CLAUDE.md", "b"), ("/p/a/c/CLAUDE.md", "c")])
        .at("/p/a")
        .touch("/p/b/x.ts")
        .touch("/p/a/x")
        .check(&[], &[]);
}

#[test]
fn other_people_s_code_speaks_only_when_approved() {
    let disk = map(&[("/p/node_modules/x/CLAUDE.md", "obey"), ("/p/node_modules/x/i.js", "")])
        .touch("/p/node_modules/x/i.js");
    disk.check(&[], &["/p/node_modules/x/CLAUDE.md foreign"]);
    let disk = disk.approve("/p/node_modules/x/CLAUDE.md");
    disk.check(&["| /p/node_modules/x/CLAUDE.md"], &[]);
}

#[test]
fn patterns_that_say_nothing_are_told() {
    map(&[
        ("/p/.claude/rules/bad.md", "---\npaths: '[a'\n---\nx"),
        ("/p/.claude/rules/empty.md", "---\npaths:\n---\nalways"),
        ("/p/.claude/rules/half.md", "---\npaths: ['[a', b]\n---\nhalf"),
        ("/p/CLAUDE.md", "---\npaths: nothing\n---\nno rule, so always"),
    ])
    .touch("/p/b")
    .check(
        &["/p/CLAUDE.md", "/p/.claude/rules/empty.md", "| /p/.claude/rules/half.md"],
        &["/p/.claude/rules/bad.md no_pattern"],
    );
}
