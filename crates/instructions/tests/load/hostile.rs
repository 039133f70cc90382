//! Tests files that try to make loading hang, leak data or never end.

use std::path::PathBuf;

use bethink_instructions::Reason;

use crate::disk::{Entry, map};

#[test]
fn devices_and_the_running_system_are_never_read() {
    let mut disk = map(&[
        ("/p/CLAUDE.md", "@pipe.md @link.md @/dev/zero @/proc/self/environ"),
        ("/proc/self/environ", "SECRET=1"),
    ])
    .link("/p/link.md", "/dev/tty.md")
    .approve("/p/pipe.md")
    .approve("/dev/zero")
    .approve("/proc/self/environ");
    disk.put("/p/pipe.md", Entry::Device);
    disk.put("/dev/zero", Entry::Device);
    disk.put("/dev/tty.md", Entry::Device);
    let found = disk.check(
        &["/p/CLAUDE.md"],
        &[
            "/p/pipe.md not_a_file",
            "/p/link.md of_the_system",
            "/dev/zero of_the_system",
            "/proc/self/environ of_the_system",
        ],
    );
    assert!(found.skipped.iter().all(|skipped| !skipped.reason.may_approve()));
    assert_eq!(*disk.reads.borrow(), [PathBuf::from("/p/CLAUDE.md")]);
}

#[test]
fn a_device_in_the_chain_is_skipped_too() {
    let mut disk = map(&[("/p/AGENTS.md", "a")]);
    disk.put("/p/CLAUDE.md", Entry::Device);
    disk.put("/p/.claude/rules/x.md", Entry::Device);
    disk.check(&["/p/AGENTS.md"], &["/p/CLAUDE.md not_a_file", "/p/.claude/rules/x.md not_a_file"]);
}

#[test]
fn secrets_are_refused_inside_and_outside_and_through_links() {
    let disk = map(&[
        ("/p/CLAUDE.md", "@.env @deploy.pem @~/.ssh/id_rsa @notes.md"),
        ("/p/.env", "KEY=1"),
        ("/p/deploy.pem", "key"),
        ("/home/u/.ssh/id_rsa", "key"),
        ("/home/u/.aws/credentials", "key"),
    ])
    .link("/p/notes.md", "/home/u/.aws/credentials");
    let found = disk.check(
        &["/p/CLAUDE.md"],
        &[
            "/p/.env secret",
            "/p/deploy.pem secret",
            "/home/u/.ssh/id_rsa secret",
            "/p/notes.md secret",
        ],
    );
    assert_eq!(*disk.reads.borrow(), [PathBuf::from("/p/CLAUDE.md")]);
    assert_eq!(found.skipped[0].reason, Reason::Secret { what: ".env".into() });
    disk.approve("/p/.env").check(
        &["/p/CLAUDE.md", "/p/.env"],
        &["/p/deploy.pem secret", "/home/u/.ssh/id_rsa secret", "/p/notes.md secret"],
    );
}

#[test]
fn the_user_s_own_file_does_not_load_a_secret_either() {
    map(&[
        ("/home/u/.claude/CLAUDE.md", "@~/.netrc @~/.ssh/notes.md"),
        ("/home/u/.netrc", "x"),
        ("/home/u/.ssh/notes.md", "y"),
    ])
    .check(
        &["/home/u/.claude/CLAUDE.md"],
        &["/home/u/.netrc secret", "/home/u/.ssh/notes.md secret"],
    );
}

#[test]
fn loops_of_links_end() {
    let disk = map(&[("/p/CLAUDE.md", "@loop.md"), ("/p/.claude/rules/a.md", "a")])
        .link("/p/loop.md", "loop.md")
        .link("/p/.claude/rules/up", "..")
        .link("/p/.claude/rules/self", ".");
    let found = disk.check(&["/p/CLAUDE.md", "/p/.claude/rules/a.md"], &["/p/loop.md unreadable"]);
    assert_eq!(found.unlisted, 0);
}

#[test]
fn ten_thousand_imports_are_bounded_and_told() {
    let mut disk = map(&[]);
    let mut text = String::new();
    for n in 0..10_000 {
        disk.put(&format!("/p/d/{n}.md"), Entry::Text(format!("file {n}").into_bytes()));
        text.push_str(&format!("@d/{n}.md\n"));
    }
    disk.put("/p/CLAUDE.md", Entry::Text(text.into_bytes()));
    let found = disk.load();
    assert_eq!(found.chain.len(), 500);
    assert_eq!(found.skipped.len() + found.unlisted, 2_000 - 499 + 1);
    assert_eq!(found.skipped.len(), 500);
    assert_eq!(found.skipped[0].reason, Reason::TooManyFiles);
}

#[test]
fn imports_of_nothing_are_bounded_too() {
    let text: String = (0..10_000).map(|n| format!("@gone{n}\n")).collect();
    map(&[("/p/CLAUDE.md", &text)]).check(&["/p/CLAUDE.md"], &["/p/CLAUDE.md too_many"]);
}

#[test]
fn imports_of_imports_count_together() {
    let gone = |name: &str| (0..5_000).map(|n| format!("@{name}{n}\n")).collect::<String>();
    let all = format!("@a.md\n@b.md\n{}", gone("x"));
    let disk = map(&[("/p/CLAUDE.md", &all), ("/p/a.md", &gone("y")), ("/p/b.md", "b")]);
    disk.check(&["/p/CLAUDE.md", "/p/a.md"], &["/p/a.md too_many", "/p/CLAUDE.md too_many"]);
    assert!(*disk.looks.borrow() < 2_100, "{:?}", disk.looks);
}

#[test]
fn all_files_together_are_bounded() {
    let mut disk = map(&[("/p/CLAUDE.md", "@1.md @2.md @3.md @4.md")]);
    for n in 1..5 {
        disk.put(&format!("/p/{n}.md"), Entry::Text(vec![b'0' + n; 4 << 20]));
    }
    let all = ["/p/CLAUDE.md", "/p/1.md", "/p/2.md", "/p/3.md"];
    disk.check(&all, &["/p/4.md too_many"]);
}

#[test]
fn many_and_deep_rule_directories_are_bounded() {
    let mut disk = map(&[]);
    let deep: String = (0..20).map(|n| format!("d{n}/")).collect();
    disk.put(&format!("/p/.claude/rules/{deep}x.md"), Entry::Text(b"x".to_vec()));
    let found = disk.load();
    assert_eq!((found.chain.len(), found.skipped.len()), (0, 1));
    assert_eq!(found.skipped[0].reason, Reason::TooManyFiles);
}

#[test]
fn wide_rule_directories_and_touched_paths_are_bounded() {
    let mut disk = map(&[("/p/.claude/rules/x.md", "---\npaths: '*.last'\n---\nx")]);
    for n in 0..300 {
        disk.put(&format!("/p/.claude/rules/{n}/a.md"), Entry::Text(format!("{n}").into_bytes()));
    }
    disk.touched = (0..2_000).map(|n| PathBuf::from(format!("{n}.first"))).collect();
    let disk = disk.touch("a.last");
    let found = disk.load();
    assert_eq!(found.chain.len(), 199, "200 together with the rules directory itself");
    let told = |reason| found.skipped.iter().filter(|skipped| skipped.reason == reason).count();
    assert_eq!(told(Reason::TooManyFiles), 101);
    assert_eq!(found.touched.len(), 0, "only the first 2,000 paths are matched");
}

#[test]
fn binary_directories_and_odd_names() {
    let mut disk = map(&[
        ("/p/CLAUDE.md", "@x.md @dir.md @a\\ b.md"),
        ("/p/dir.md/x", ""),
        ("/p/a b.md", "ab"),
    ]);
    disk.put("/p/x.md", Entry::Text(vec![0xff, 0, 1]));
    disk.put("/p/.claude/CLAUDE.md/x", Entry::Text(vec![]));
    disk.check(
        &["/p/CLAUDE.md", "/p/a b.md"],
        &["/p/x.md not_text", "/p/dir.md directory", "/p/.claude/CLAUDE.md directory"],
    );
}

proptest::proptest! {
    /// Whatever a file contains, loading ends, and every file is loaded or reported at most once.
    #[test]
    fn any_text_is_loaded_or_told(text in "[-@`~<>!# a.md/\n\t{}\\\\\u{200b}\u{e0041}]{0,200}") {
        let found = map(&[("/p/CLAUDE.md", &text), ("/p/a", "a"), ("/p/d/m", "m"), ("/p/.claude/rules/a.md", &text)])
            .touch("/p/d/m")
            .load();
        let mut paths: Vec<_> = found.chain.iter().chain(&found.touched).map(|f| &f.real).collect();
        let all = paths.len();
        paths.sort();
        paths.dedup();
        proptest::prop_assert_eq!(all, paths.len());
    }
}
