//! Topics: written, read, listed, removed, put back; by the API and by other programs alike.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use bethink_harness::wait::{PATIENCE, until};
use bethink_harness::{Home, Request};
use serde_json::json;

use crate::memory::Desk;

const FOG: &str = "---\nname: fog\ndescription: How the fog is made\ntype: project\n---\n\nExponential, not linear.\n";

#[test]
fn a_topic_is_written_listed_changed_and_put_back() {
    let desk = Desk::new();
    let made = desk.put("fog", FOG, &[]);
    assert_eq!(made.ok()["outcome"], "created");
    let page = desk.daemon.client().get(&desk.path("")).ok();
    let fog = &page["memories"][0];
    assert_eq!((&fog["name"], &fog["type"]), (&json!("fog"), &json!("project")));
    assert_eq!(fog["description"], "How the fog is made");
    let dir = desk.dir();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&dir.join("fog.md"))), (0o700, 0o600));
    let index = desk.daemon.client().get(&desk.path("/index")).ok();
    assert_eq!(index["content"], "- [Fog](fog.md) — How the fog is made\n");

    let read = desk.get("fog");
    assert_eq!(read.text(), FOG);
    let tag = read.header("etag").unwrap().to_owned();
    assert_eq!(made.header("etag"), Some(tag.as_str()));
    let changed = FOG.replace("linear", "squared");
    assert_eq!(desk.put("fog", &changed, &[("If-Match", &tag)]).ok()["outcome"], "changed");
    // Who read the first version does not overwrite the second, and is given both.
    let problem = desk.put("fog", "mine\n", &[("If-Match", &tag)]).problem();
    assert_eq!(
        (problem["status"].as_u64(), problem["type"].as_str()),
        (Some(409), Some("conflict"))
    );
    assert_eq!(problem["versions"]["current"], changed);
    assert_eq!(problem["versions"]["yours"], "mine\n");
    // The same text again is a success.
    assert_eq!(desk.put("fog", &changed, &[("If-Match", &tag)]).ok()["outcome"], "same");
    assert_eq!(desk.put("fog", "x", &[("If-None-Match", "*")]).problem()["status"], 409);

    let history = desk.daemon.client().get(&desk.path("/private/fog/history")).ok();
    let versions = history["versions"].as_array().unwrap();
    assert_eq!(versions.len(), 2, "{history}");
    assert_eq!(versions[0]["current"], true);
    let first = versions[1]["version"].as_i64().unwrap();
    let text =
        desk.daemon.client().get(&desk.path(&format!("/private/fog/history?version={first}")));
    assert_eq!(text.text(), FOG);
    let restored = desk.daemon.client().post(&desk.path("/private/fog/restore"), &json!({}));
    assert_eq!(restored.ok()["outcome"], "changed");
    assert_eq!(desk.get("fog").text(), FOG);

    let gone = desk.daemon.client().delete(&desk.path("/private/fog"));
    assert_eq!(gone.ok()["outcome"], "removed");
    assert_eq!(desk.get("fog").problem()["status"], 404);
    assert_eq!(desk.daemon.client().get(&desk.path("/index")).ok()["content"], "");
    let back = desk.daemon.client().post(&desk.path("/private/fog/restore"), &json!({}));
    assert_eq!(back.ok()["outcome"], "created");
    assert_eq!(desk.get("fog").text(), FOG);
}

#[test]
fn what_other_programs_save_is_seen_and_never_overwritten_unseen() {
    let desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    let tag = desk.get("fog").header("etag").unwrap().to_owned();
    let file = desk.dir().join("fog.md");
    std::fs::write(&file, "an editor's text\n").unwrap();
    std::fs::write(desk.dir().join("sky.md"), "Blue.\n").unwrap();
    let seen = until(PATIENCE, || (desk.names() == ["fog", "sky"]).then_some(()));
    assert!(seen.is_some(), "{:?}", desk.names());
    let problem = desk.put("fog", "over it\n", &[("If-Match", &tag)]).problem();
    assert_eq!(problem["versions"]["current"], "an editor's text\n");
    // Without a wish the last word wins, and the editor's text is a version.
    desk.put("fog", "the last word\n", &[]).ok();
    let history = desk.daemon.client().get(&desk.path("/private/fog/history")).ok();
    let authors: Vec<_> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v["author"].as_str().unwrap())
        .collect();
    assert_eq!(authors, ["person", "found", "person"], "{history}");
    std::fs::remove_file(desk.dir().join("sky.md")).unwrap();
    assert!(until(PATIENCE, || (desk.names() == ["fog"]).then_some(())).is_some());
}

#[test]
fn versions_and_topics_survive_a_kill() {
    let mut desk = Desk::new();
    for n in 0..5 {
        desk.put("fog", &format!("version {n}\n"), &[]).ok();
    }
    desk.daemon.kill9();
    desk.daemon.start();
    assert_eq!(desk.get("fog").text(), "version 4\n");
    let history = desk.daemon.client().get(&desk.path("/private/fog/history")).ok();
    assert_eq!(history["versions"].as_array().unwrap().len(), 5, "{history}");
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let desk = Desk::new();
    for name in ["..%2Fx", "%2Fetc%2Fpasswd", ".hidden", "a%2F..%2Fb", "a%00b", "a%5Cb", "x%20"] {
        let problem = desk.put(name, "x", &[]).problem();
        assert_eq!(
            (problem["status"].as_u64(), problem["field"].as_str()),
            (Some(422), Some("name")),
            "{name}"
        );
    }
    desk.put("plans%2Ffog", "deep\n", &[]).ok();
    assert_eq!(std::fs::read_to_string(desk.dir().join("plans/fog.md")).unwrap(), "deep\n");
    assert_eq!(desk.names(), ["plans/fog"]);
    let bad = desk.daemon.client().get("/v1/memories?project_dir=relative").problem();
    assert_eq!(bad["field"], "project_dir");
    let scope = desk.daemon.client().get(&desk.path("/public/fog")).problem();
    assert_eq!(scope["field"], "scope");
}

#[test]
fn a_cap_that_is_passed_is_told_to_who_writes() {
    let desk = Desk::new();
    let index: String = (0..205).map(|n| format!("- [t{n}](t{n}.md) — one of many\n")).collect();
    desk.lay(&[("MEMORY.md", &index)]);
    let done = desk.put("fog", FOG, &[]).ok();
    let warnings = done["warnings"].to_string();
    assert!(warnings.contains("206 lines") && warnings.contains("200"), "{warnings}");
    let shown = desk.daemon.client().get(&desk.path("/index")).ok();
    assert_eq!((shown["cut_by"].as_str(), shown["lines"].as_u64()), (Some("lines"), Some(206)));
    assert_eq!(shown["content"].as_str().unwrap().lines().count(), 200);
    let large = desk.put("large", &"x".repeat((1 << 20) + 1), &[]).problem();
    assert_eq!((large["status"].as_u64(), large["limit"].as_u64()), (Some(413), Some(1 << 20)));
}

#[test]
fn a_sentence_to_remember_gets_a_name_that_is_free() {
    let desk = Desk::new();
    let remember = |text: &str| {
        let body = json!({ "project_dir": desk.project(), "text": text, "type": "feedback" });
        desk.daemon.client().post("/v1/memories", &body)
    };
    let first = remember("Never deploy on Fridays.").ok();
    let second = remember("Never deploy on Fridays!").ok();
    assert_ne!(first["name"], second["name"]);
    let again = remember("Never deploy on Fridays.").ok();
    assert_eq!((&again["name"], &again["outcome"]), (&first["name"], &json!("same")));
    let text = desk.get(first["name"].as_str().unwrap()).text();
    assert!(text.starts_with("---\n") && text.contains("type: feedback"), "{text}");
    assert!(text.contains("Never deploy on Fridays."), "{text}");
    assert_eq!(remember("  \n").problem()["field"], "text");
}

#[test]
fn worktrees_share_one_memory() {
    let desk = Desk::new();
    let tree = desk.project.with_file_name("app-fix");
    let git = |words: &[&str]| {
        let done = Command::new("git").args(words).current_dir(&desk.project).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    };
    git(&["init", "-q"]);
    git(&[
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "first",
    ]);
    git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    desk.put("fog", FOG, &[]).ok();
    let path = format!("/v1/memories/private/fog?project_dir={}", tree.display());
    assert_eq!(desk.daemon.client().get(&path).text(), FOG);
}

/// Other agents' directories are shared as they are: served, and not a byte changed.
#[test]
fn a_directory_that_is_adopted_stays_as_it_was() {
    let desk = Desk::with(Home::new().with("BETHINK_MEMORY__LAYOUT", "claude"));
    let dir = desk.dir();
    assert!(
        dir.ends_with("memory") && dir.to_str().unwrap().contains("/.claude/projects/-"),
        "{dir:?}"
    );
    desk.lay(&[
        ("MEMORY.md", "# Index\r\n\r\n* [Fog](<fog.md> \"weather\") - and see [[sky]]\r\n"),
        ("fog.md", "---\nname: The Fog\nmetadata:\n  type: project\n---\nThick.\n"),
        ("sky.md", "\u{feff}No front matter at all.\r\n"),
        ("odd.md", "---\nname: [unclosed\n---\nBroken front matter.\n"),
    ]);
    std::os::unix::fs::symlink("fog.md", dir.join("mist.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", dir.join("leak.md")).unwrap();
    let git = |words: &[&str]| {
        let done = Command::new("git").args(words).current_dir(&dir).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "as found"]);

    let seen = until(PATIENCE, || (desk.names() == ["fog", "mist", "odd", "sky"]).then_some(()));
    assert!(seen.is_some(), "{:?}", desk.names());
    let page = desk.daemon.client().get(&desk.path("")).ok();
    assert_eq!(page["memories"][0]["type"], "project");
    assert_eq!(page["memories"][0]["title"], "The Fog");
    for name in ["fog", "mist", "odd", "sky"] {
        assert_eq!(desk.get(name).status, 200, "{name}");
    }
    assert_eq!(desk.get("leak").problem()["status"], 409);
    let index = desk.daemon.client().get(&desk.path("/index")).ok();
    assert!(index["strange"][0].as_str().unwrap().contains("points outside"), "{index}");
    let session = desk.session();
    desk.say(&session, "user", "Is the fog thick?");
    desk.context(&session, &json!({}));
    let status = git(&["status", "--porcelain", "--ignored"]);
    assert_eq!(status, "", "the daemon changed something");
    // A newcomer's request to the same place needs no header of ours.
    let request = Request::new("GET", &desk.path("/private/fog"));
    assert_eq!(desk.daemon.client().send(&request).unwrap().status, 200);
}

#[test]
fn pages_cover_the_topics_once() {
    let desk = Desk::new();
    let files: Vec<_> = (0..23).map(|n| (format!("t{n:02}.md"), format!("Topic {n}.\n"))).collect();
    desk.lay(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>());
    let team: Vec<_> = (0..5).map(|n| (format!("team/s{n}.md"), "Shared.\n")).collect();
    desk.lay(&team.iter().map(|(name, text)| (name.as_str(), *text)).collect::<Vec<_>>());
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = desk.daemon.client().get(&desk.path(&format!("?limit=4&cursor={cursor}"))).ok();
        let memories = page["memories"].as_array().unwrap();
        seen.extend(
            memories.iter().map(|m| {
                format!("{}/{}", m["scope"].as_str().unwrap(), m["name"].as_str().unwrap())
            }),
        );
        let Some(next) = page["next_cursor"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    let mut expect: Vec<_> = (0..23).map(|n| format!("private/t{n:02}")).collect();
    expect.extend((0..5).map(|n| format!("team/s{n}")));
    assert_eq!(seen, expect);
    let bad = desk.daemon.client().get(&desk.path("?cursor=nonsense")).problem();
    assert_eq!(bad["field"], "cursor");
}

#[test]
fn a_text_that_is_too_large_is_refused_and_the_topic_stays() {
    let desk = Desk::new();
    desk.put("fog", FOG, &[]).ok();
    let problem = desk.put("fog", &"fog ".repeat(10 << 18), &[]).problem();
    assert_eq!(
        (&problem["status"], &problem["limit"]),
        (&json!(413), &json!(1 << 20)),
        "{problem}"
    );
    assert_eq!(desk.get("fog").text(), FOG);
    let history = desk.daemon.client().get(&desk.path("/private/fog/history")).ok();
    assert_eq!(history["versions"].as_array().unwrap().len(), 1, "{history}");
    desk.daemon.is_well();
}

/// What is no memory is named, costs nothing, and never hangs; a directory that goes, comes back or turns
/// into something else is told.
#[test]
fn odd_files_and_odd_directories_are_named() {
    let desk = Desk::new();
    let dir = desk.dir();
    desk.lay(&[("a.md", "One.\n")]);
    assert_eq!(desk.names(), ["a"]);
    std::fs::write(dir.join("large.md"), vec![b'x'; 2 << 20]).unwrap();
    std::fs::write(dir.join("binary.md"), b"\xff\xfe\x00\x80").unwrap();
    assert!(Command::new("mkfifo").arg(dir.join("pipe.md")).status().unwrap().success());
    std::os::unix::fs::symlink("/dev/zero", dir.join("zero.md")).unwrap();
    let index = || desk.daemon.client().get(&desk.path("/index")).ok();
    let named = until(PATIENCE, || (index()["strange"].as_array()?.len() == 3).then_some(()));
    assert!(named.is_some(), "{}", index());
    let strange = index()["strange"].to_string();
    assert!(
        strange.contains("large.md is 2097152 bytes") && strange.contains("pipe.md"),
        "{strange}"
    );
    assert_eq!(desk.names(), ["a", "binary"]);
    for name in ["large", "binary", "pipe", "zero"] {
        assert_eq!(desk.get(name).problem()["status"], 409, "{name}");
    }
    std::fs::remove_file(dir.join("pipe.md")).unwrap();
    assert!(
        until(PATIENCE, || (index()["strange"].as_array()?.len() == 2).then_some(())).is_some()
    );

    let aside = dir.with_extension("aside");
    std::fs::rename(&dir, &aside).unwrap();
    assert!(desk.names().is_empty());
    std::os::unix::fs::symlink(&aside, &dir).unwrap();
    let fault = index()["fault"].as_str().unwrap().to_owned();
    assert!(fault.contains("symbolic link"), "{fault}");
    assert_eq!(desk.put("b", "x", &[]).problem()["status"], 409);
    assert!(!aside.join("b.md").exists(), "written through the link");
    std::fs::remove_file(&dir).unwrap();
    std::fs::write(&dir, "a file").unwrap();
    assert!(index()["fault"].as_str().unwrap().contains("not a directory"));
    std::fs::remove_file(&dir).unwrap();
    std::fs::rename(&aside, &dir).unwrap();
    assert!(index().get("fault").is_none());
    assert_eq!(desk.names(), ["a", "binary"]);
    desk.daemon.is_well();
}

#[test]
fn a_project_with_memories_is_listed_before_it_has_a_session() {
    let desk = Desk::new();
    let listed = || desk.daemon.client().get("/v1/projects").ok()["projects"].clone();
    assert_eq!(listed(), json!([]));
    desk.put("gate", "---\ntype: project\n---\nThe gate opens at noon.\n", &[]).ok();
    let root = std::fs::canonicalize(&desk.project).unwrap();
    assert_eq!(listed(), json!([{ "project_dir": root, "sessions": 0 }]));
    desk.session();
    assert_eq!(listed(), json!([{ "project_dir": desk.project(), "sessions": 1 }]));
}
