//! Tests `@path` in instruction files.

use std::path::PathBuf;

use bethink_instructions::{InstructionKind, Reason, SkipReason};

use crate::disk::map;

#[test]
fn imports_follow_their_importer_in_order() {
    let found = map(&[
        ("/p/CLAUDE.md", "See @docs/a.md and @b.md."),
        ("/p/docs/a.md", "@../c.md @d.md"),
        ("/p/b.md", "b"),
        ("/p/c.md", "c"),
        ("/p/docs/d.md", "d"),
        ("/p/CLAUDE.local.md", "last"),
    ])
    .check(
        &[
            "/p/CLAUDE.md",
            "/p/docs/a.md",
            "/p/c.md",
            "/p/docs/d.md",
            "/p/b.md",
            "/p/CLAUDE.local.md",
        ],
        &[],
    );
    let a = &found.chain[1];
    assert_eq!((a.kind, &a.why), (InstructionKind::Import, &SkipReason::Imported));
    assert_eq!(a.imported_by, Some(PathBuf::from("/p/CLAUDE.md")));
}

#[test]
fn absolute_home_and_relative_paths() {
    map(&[
        ("/p/a/CLAUDE.md", "@/p/x.md\n@./y.md\n@../z.md"),
        ("/p/x.md", "x"),
        ("/p/a/y.md", "y"),
        ("/p/z.md", "z"),
        ("/home/u/.claude/CLAUDE.md", "@~/h.md"),
        ("/home/u/h.md", "h"),
    ])
    .at("/p/a")
    .check(
        &[
            "/home/u/.claude/CLAUDE.md",
            "/home/u/h.md",
            "/p/a/CLAUDE.md",
            "/p/x.md",
            "/p/a/y.md",
            "/p/z.md",
        ],
        &[],
    );
}

#[test]
fn comments_import_nothing() {
    map(&[("/p/CLAUDE.md", "<!-- @a.md -->\nx\n```\n@a.md\n```\n"), ("/p/a.md", "a")])
        .check(&["/p/CLAUDE.md"], &[]);
}

#[test]
fn mentions_of_nothing_are_told_only_when_a_file_was_meant() {
    let text = "@team, @scope/package, @param x, @docs and @src: ask jane@x.org; see @lost.md and @./gone.";
    let found = map(&[("/p/CLAUDE.md", text), ("/p/docs/x", "")])
        .check(&["/p/CLAUDE.md"], &["/p/lost.md no_such_file", "/p/gone no_such_file"]);
    assert_eq!(found.skipped[0].imported_by, Some(PathBuf::from("/p/CLAUDE.md")));
}

#[test]
fn a_mention_that_is_a_file_is_an_import() {
    map(&[("/p/CLAUDE.md", "See @README, and @docs."), ("/p/README", "r"), ("/p/docs/x", "")])
        .check(&["/p/CLAUDE.md", "/p/README"], &[]);
    map(&[("/p/CLAUDE.md", "See @./docs"), ("/p/docs/x", "")])
        .check(&["/p/CLAUDE.md"], &["/p/docs directory"]);
}

#[test]
fn five_deep_and_no_deeper() {
    let disk = map(&[
        ("/p/CLAUDE.md", "@1.md"),
        ("/p/1.md", "one @2.md"),
        ("/p/2.md", "two @3.md"),
        ("/p/3.md", "three @4.md"),
        ("/p/4.md", "four @5.md"),
        ("/p/5.md", "five @6.md"),
        ("/p/6.md", "six"),
    ]);
    let five = ["/p/CLAUDE.md", "/p/1.md", "/p/2.md", "/p/3.md", "/p/4.md", "/p/5.md"];
    disk.check(&five, &["/p/6.md too_deep"]);
}

#[test]
fn cycles_are_cut_and_told() {
    map(&[("/p/CLAUDE.md", "a @b.md"), ("/p/b.md", "b @CLAUDE.md @b.md")])
        .check(&["/p/CLAUDE.md", "/p/b.md"], &["/p/CLAUDE.md cycle", "/p/b.md cycle"]);
    map(&[("/p/CLAUDE.md", "a @b.md"), ("/p/b.md", "b @l/CLAUDE.md")])
        .link("/p/l", ".")
        .check(&["/p/CLAUDE.md", "/p/b.md"], &["/p/l/CLAUDE.md cycle"]);
}

#[test]
fn a_diamond_is_loaded_once() {
    map(&[
        ("/p/CLAUDE.md", "@a.md @b.md"),
        ("/p/a.md", "a @c.md"),
        ("/p/b.md", "b @c.md"),
        ("/p/c.md", "c"),
    ])
    .check(&["/p/CLAUDE.md", "/p/a.md", "/p/c.md", "/p/b.md"], &["/p/c.md already_loaded"]);
}

#[test]
fn a_file_outside_the_project_waits_for_its_approval() {
    let files =
        [("/p/CLAUDE.md", "@../q/x.md and @~/y.md"), ("/q/x.md", "x"), ("/home/u/y.md", "y")];
    let found = map(&files).check(&["/p/CLAUDE.md"], &["/q/x.md outside", "/home/u/y.md outside"]);
    assert!(found.skipped.iter().all(|skipped| skipped.reason.may_approve()));
    map(&files).approve("/q/x.md").check(&["/p/CLAUDE.md", "/q/x.md"], &["/home/u/y.md outside"]);
}

#[test]
fn an_approval_is_for_the_file_itself_and_not_for_what_it_imports() {
    let files = [("/p/CLAUDE.md", "@../q/x.md"), ("/q/x.md", "x @y.md"), ("/q/y.md", "y")];
    map(&files).approve("/q/x.md").check(&["/p/CLAUDE.md", "/q/x.md"], &["/q/y.md outside"]);
}

#[test]
fn an_approval_does_not_go_along_with_a_link() {
    let disk = map(&[("/p/CLAUDE.md", "@../q/x.md"), ("/r/z.md", "z")]).link("/q/x.md", "/r/z.md");
    disk.approve("/q/x.md").check(&["/p/CLAUDE.md"], &["/q/x.md outside"]);
}

#[test]
fn links_out_of_the_project_are_outside() {
    let disk = map(&[("/p/CLAUDE.md", "@in.md @dir/x.md"), ("/q/x.md", "x"), ("/q/d/x.md", "dx")])
        .link("/p/in.md", "/q/x.md")
        .link("/p/dir", "../q/d");
    let found = disk.check(&["/p/CLAUDE.md"], &["/p/in.md outside", "/p/dir/x.md outside"]);
    assert_eq!(found.skipped[1].reason, Reason::Outside { real: "/q/d/x.md".into() });
    assert_eq!(*disk.reads.borrow(), [PathBuf::from("/p/CLAUDE.md")]);
}

#[test]
fn the_user_s_own_files_import_freely_until_the_project_speaks() {
    map(&[
        ("/home/u/.claude/CLAUDE.md", "@~/notes.md @/p/team.md"),
        ("/home/u/notes.md", "n"),
        ("/p/team.md", "t @/q/x.md"),
        ("/q/x.md", "x"),
    ])
    .check(&["/home/u/.claude/CLAUDE.md", "/home/u/notes.md", "/p/team.md"], &["/q/x.md outside"]);
}

#[test]
fn a_rule_that_is_imported_counts_at_once() {
    map(&[
        ("/p/CLAUDE.md", "@.claude/rules/r.md"),
        ("/p/.claude/rules/r.md", "---\npaths: x\n---\nr"),
    ])
    .check(&["/p/CLAUDE.md", "/p/.claude/rules/r.md"], &["/p/.claude/rules/r.md already_loaded"]);
}
