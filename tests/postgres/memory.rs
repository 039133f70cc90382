//! The person's memory and the private memory of projects on several machines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bethink_harness::wait::PATIENCE;
use bethink_harness::{Daemon, Home, Request, Rng, say, until};
use serde_json::json;

use crate::World;

/// A daemon with a directory for checkouts.
struct Machine {
    daemon: Daemon,
    disk: tempfile::TempDir,
}

impl Machine {
    fn new(home: Home) -> Self {
        Self { daemon: home.start(), disk: tempfile::tempdir().unwrap() }
    }

    /// Makes a repository that was cloned from this URL.
    fn clone_of(&self, url: &str, name: &str) -> PathBuf {
        let tree = self.disk.path().join(name);
        let git = |args: &[&str]| {
            let done = Command::new("git").arg("-C").arg(&tree).args(args).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        fs::create_dir_all(&tree).unwrap();
        git(&["init", "--quiet"]);
        git(&["remote", "add", "origin", url]);
        tree
    }

    fn at(&self, project: &Path, scope: &str, name: &str) -> String {
        format!("/v1/memories/{scope}/{name}?project_dir={}", project.display())
    }

    fn put(&self, project: &Path, scope: &str, name: &str, text: &str) {
        let put = Request::new("PUT", &self.at(project, scope, name));
        let answer = self.daemon.client().must(&put.bytes("text/markdown", text.as_bytes()));
        assert!(answer.status < 300, "{}", answer.brief());
    }

    fn text(&self, project: &Path, scope: &str, name: &str) -> Option<String> {
        let answer = self.daemon.client().get(&self.at(project, scope, name));
        (answer.status == 200).then(|| answer.text())
    }

    /// Waits until a file has this text.
    fn has(&self, project: &Path, scope: &str, name: &str, text: Option<&str>) {
        let found = || (self.text(project, scope, name).as_deref() == text).then_some(());
        if until(PATIENCE, found).is_none() {
            let found = self.text(project, scope, name);
            panic!("{scope}/{name} is {found:?}, not {text:?}\n{}", self.daemon.home.log());
        }
    }

    fn names(&self, project: &Path, scope: &str) -> Vec<String> {
        let path = format!("/v1/memories?project_dir={}&scope={scope}", project.display());
        let listed = self.daemon.client().get(&path).ok();
        let listed = listed["memories"].as_array().unwrap();
        listed.iter().map(|memory| memory["name"].as_str().unwrap().to_owned()).collect()
    }

    fn index(&self, project: &Path, scope: &str) -> String {
        let path = format!("/v1/memories/index?project_dir={}&scope={scope}", project.display());
        self.daemon.client().get(&path).ok()["content"].as_str().unwrap().to_owned()
    }

    fn dir(&self, project: &Path, scope: &str) -> PathBuf {
        let path = format!("/v1/memories/index?project_dir={}&scope={scope}", project.display());
        PathBuf::from(self.daemon.client().get(&path).ok()["dir"].as_str().unwrap())
    }
}

fn topic(text: &str) -> String {
    format!("---\ndescription: {text}\n---\n\n{text}\n")
}

/// The repository.
const URL: &str = "https://github.com/ann/mill.git";

#[test]
fn memory_follows_the_person_to_another_machine() {
    let world = World::shared();
    let database = world.database();
    let ant = Machine::new(world.home(&database));
    let at_ant = ant.clone_of(URL, "mill");
    let told = json!({ "project_dir": at_ant, "text": "All answers in German.", "type": "user", "name": "language" });
    ant.daemon.client().post("/v1/memories", &told).ok();
    ant.put(&at_ant, "private", "wheel", &topic("the wheel turns left"));

    // The other machine begins later, has the repository elsewhere, and knows it by another URL.
    let bee = Machine::new(world.home(&database));
    let at_bee = bee.clone_of("git@github.com:ann/mill", "src/mill-2");
    assert_eq!(bee.names(&at_bee, "private"), ["wheel"]);
    assert_eq!(bee.names(&at_bee, "person"), ["language"]);
    assert_eq!(bee.index(&at_bee, "private"), ant.index(&at_ant, "private"));
    assert!(bee.index(&at_bee, "person").contains("language.md"));
    // A session that began at the ant's has a directory that the bee does not have.
    assert_eq!(bee.names(&at_ant, "private"), ["wheel"]);
    // Another project has the person's memory only.
    let other = bee.clone_of("git@github.com:ann/sail", "sail");
    assert_eq!((bee.names(&other, "private").len(), bee.names(&other, "person").len()), (0, 1));

    // Changes go both ways, through the API and by hand, and so do removals.
    bee.put(&at_bee, "private", "wheel", &topic("the wheel turns right"));
    ant.has(&at_ant, "private", "wheel", Some(&topic("the wheel turns right")));
    bee.has(&at_ant, "private", "wheel", Some(&topic("the wheel turns right")));
    fs::write(ant.dir(&at_ant, "private").join("dam.md"), topic("the dam leaks")).unwrap();
    bee.has(&at_bee, "private", "dam", Some(&topic("the dam leaks")));
    let dir = ant.dir(&at_ant, "private");
    fs::rename(dir.join("dam.md"), dir.join("Dam.md")).unwrap();
    bee.has(&at_bee, "private", "Dam", Some(&topic("the dam leaks")));
    bee.has(&at_bee, "private", "dam", None);
    assert_eq!(bee.daemon.client().delete(&bee.at(&at_bee, "person", "language")).status, 200);
    ant.has(&at_ant, "person", "language", None);
    let is_removed = || (!ant.index(&at_ant, "person").contains("language.md")).then_some(());
    until(PATIENCE, is_removed).expect("the index line is removed, too");

    let history = bee
        .daemon
        .client()
        .get(&format!("/v1/memories/private/Dam/history?project_dir={}", at_bee.display()));
    let newest = &history.ok()["versions"][0];
    assert_eq!((&newest["author"], &newest["note"]), (&json!("sync"), &json!("memory sync")));
    ant.daemon.is_well();
    bee.daemon.is_well();
}

#[test]
fn the_sessions_of_all_clones_are_listed_and_searched_together() {
    let world = World::shared();
    let database = world.database();
    let [ant, bee] = [(); 2].map(|()| Machine::new(world.home(&database)));
    let at_ant = ant.clone_of(URL, "mill");
    let at_bee = bee.clone_of("git@github.com:ann/mill", "src/mill-2");
    let other = bee.clone_of("git@github.com:ann/sail", "sail");
    let begin = |machine: &Machine, dir: &Path| {
        let body = json!({ "project_dir": dir });
        let session = machine.daemon.client().post("/v1/sessions", &body).ok();
        let session = session["id"].as_str().unwrap().to_owned();
        machine.daemon.append(&session, &[say::user("mend the wheel")]);
        session
    };
    let listed = |machine: &Machine, dir: &Path| {
        let path = format!("/v1/sessions?project_dir={}", dir.display());
        let listed = machine.daemon.client().get(&path).ok();
        let ids = listed["sessions"].as_array().unwrap().iter();
        ids.map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let sessions = [begin(&ant, &at_ant), begin(&bee, &at_bee.join("src")), begin(&bee, &at_bee)];
    let apart = begin(&bee, &other);
    // Each machine learns of a clone when somebody uses it there.
    let context = format!("/v1/sessions/{}/context", sessions[0]);
    ant.daemon.client().post(&context, &json!({})).ok();
    assert_eq!(listed(&bee, &at_bee).len(), 3);
    for (machine, dir) in [(&ant, &at_ant), (&bee, &at_bee), (&ant, &at_bee)] {
        let mut found = listed(machine, dir);
        found.reverse();
        assert_eq!(found, sessions);
        let path = format!("/v1/search?q=wheel&limit=9&project_dir={}", dir.display());
        let is_complete = || {
            let found = machine.daemon.client().get(&path).ok();
            (found["hits"].as_array().unwrap().len() == 3).then_some(())
        };
        assert!(
            until(PATIENCE, is_complete).is_some(),
            "{}",
            machine.daemon.client().get(&path).ok()
        );
    }
    assert_eq!(listed(&bee, &other), [apart]);
    let exact = format!("/v1/sessions?exact_dir=true&project_dir={}", at_ant.display());
    assert_eq!(bee.daemon.client().get(&exact).ok()["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn both_versions_of_a_conflict_are_kept() {
    let world = World::shared();
    let database = world.database();
    let ant = Machine::new(world.home(&database));
    let mut bee = Machine::new(world.home(&database));
    let (at_ant, at_bee) = (ant.clone_of(URL, "mill"), bee.clone_of(URL, "mill"));
    for name in ["dam", "weir", "wheel"] {
        ant.put(&at_ant, "private", name, &topic("as it was"));
        bee.has(&at_bee, "private", name, Some(&topic("as it was")));
    }
    let dir = bee.dir(&at_bee, "private");
    bee.daemon.kill9();
    for name in ["wheel", "weir"] {
        fs::write(dir.join(format!("{name}.md")), topic("changed at the bee")).unwrap();
    }
    fs::remove_file(dir.join("dam.md")).unwrap();
    for name in ["wheel", "dam"] {
        ant.put(&at_ant, "private", name, &topic("changed at the ant"));
    }
    bee.daemon.start();

    // A directory is synced when it is used.
    bee.names(&at_bee, "private");
    // Only one side changed it.
    ant.has(&at_ant, "private", "weir", Some(&topic("changed at the bee")));
    // One side changed it, and the other one removed it.
    bee.has(&at_bee, "private", "dam", Some(&topic("changed at the ant")));
    // Both sides changed it.
    for (machine, project) in [(&ant, &at_ant), (&bee, &at_bee)] {
        machine.has(project, "private", "wheel", Some(&topic("changed at the ant")));
        let aside = || {
            let mut names = machine.names(project, "private").into_iter();
            let aside = names.find(|name| name.starts_with("wheel.conflict-"))?;
            let index = machine.index(project, "private");
            (index.contains(&format!("{aside}.md"))
                && index.contains("conflicting version of wheel"))
            .then_some(aside)
        };
        let aside = until(PATIENCE, aside).expect("the other version is in the index");
        machine.has(project, "private", &aside, Some(&topic("changed at the bee")));
    }
}

#[test]
fn a_secret_stays_on_its_machine() {
    let world = World::shared();
    let database = world.database();
    let ant = Machine::new(world.home(&database));
    let at_ant = ant.clone_of(URL, "mill");
    let secret = format!("deploy with ghp_{}", "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5");
    ant.put(&at_ant, "private", "wheel", &topic("the wheel turns left"));
    fs::write(ant.dir(&at_ant, "private").join("deploy.md"), topic(&secret)).unwrap();
    let bee = Machine::new(world.home(&database));
    let at_bee = bee.clone_of(URL, "mill");
    bee.has(&at_bee, "private", "wheel", Some(&topic("the wheel turns left")));
    assert_eq!(bee.names(&at_bee, "private"), ["wheel"]);
    let lint = format!("/v1/memories/lint?project_dir={}&scope=private", at_ant.display());
    let lint = ant.daemon.client().get(&lint).ok();
    let findings = lint["shelves"][0]["findings"].as_array().unwrap();
    let held = findings.iter().find(|finding| finding["rule"] == "not-synced").unwrap();
    assert_eq!(held["file"], "deploy.md");
    assert!(held["what"].as_str().unwrap().contains("secret"), "{held}");
    // Without the secret, it is synced.
    ant.put(&at_ant, "private", "deploy", &topic("deploy with a token"));
    bee.has(&at_bee, "private", "deploy", Some(&topic("deploy with a token")));
}

#[test]
fn offline_changes_are_synced_after_reconnect() {
    let world = World::new();
    let database = world.database();
    let ant = Machine::new(world.home(&database));
    let bee = Machine::new(world.home(&database));
    let (at_ant, at_bee) = (ant.clone_of(URL, "mill"), bee.clone_of(URL, "mill"));
    for name in ["wheel", "dam"] {
        ant.put(&at_ant, "private", name, &topic("as it was"));
        bee.has(&at_bee, "private", name, Some(&topic("as it was")));
    }
    let [dir_of_ant, dir_of_bee] = [ant.dir(&at_ant, "private"), bee.dir(&at_bee, "private")];
    world.server.stop();
    // What cannot be recorded is not done.
    let told = json!({ "project_dir": at_ant, "text": "The weir is new.", "type": "project" });
    let refused = ant.daemon.client().post("/v1/memories", &told);
    assert_eq!(refused.problem()["type"], "storage_failed");
    let new = Request::new("PUT", &ant.at(&at_ant, "private", "mist"));
    assert!(ant.daemon.client().must(&new.bytes("text/markdown", b"Mist.")).status >= 500);
    let files = || {
        let entries = fs::read_dir(&dir_of_ant).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let is_undone = || (files() == ["MEMORY.md", "dam.md", "wheel.md"]).then_some(());
    assert!(until(PATIENCE, is_undone).is_some(), "{:?}", files());
    fs::write(dir_of_ant.join("wheel.md"), topic("changed by hand")).unwrap();
    fs::write(dir_of_bee.join("weir.md"), topic("new")).unwrap();
    world.server.resume();
    bee.has(&at_bee, "private", "wheel", Some(&topic("changed by hand")));
    ant.has(&at_ant, "private", "weir", Some(&topic("new")));

    // The directory was removed by mistake: its topics are not removed everywhere.
    // A sync may still write to it.
    until(PATIENCE, || fs::remove_dir_all(&dir_of_bee).ok()).expect("it can be removed");
    for name in ["wheel", "dam", "weir"] {
        let is_back = || bee.text(&at_bee, "private", name);
        until(PATIENCE, is_back).expect("what is gone at once comes back");
        assert!(ant.text(&at_ant, "private", name).is_some());
    }
}

#[test]
fn what_was_edited_at_one_machine_and_deleted_at_another_stays_in_the_index() {
    let world = World::shared();
    let database = world.database();
    let ant = Machine::new(world.home(&database));
    let mut bee = Machine::new(world.home(&database));
    let (at_ant, at_bee) = (ant.clone_of(URL, "mill"), bee.clone_of(URL, "mill"));
    ant.put(&at_ant, "private", "dam", &topic("the dam leaks"));
    bee.has(&at_bee, "private", "dam", Some(&topic("the dam leaks")));
    // Its next change shows that the sync that brought the topic has ended.
    bee.put(&at_bee, "private", "dam", &topic("the dam leaks at night"));
    ant.has(&at_ant, "private", "dam", Some(&topic("the dam leaks at night")));
    let dir = bee.dir(&at_bee, "private");
    assert!(bee.daemon.terminate().success());
    fs::write(dir.join("dam.md"), topic("the dam leaks a lot")).unwrap();
    assert_eq!(ant.daemon.client().delete(&ant.at(&at_ant, "private", "dam")).status, 200);

    // Nobody uses the project at the bee's: its daemon brings the edit.
    bee.daemon.start();
    ant.has(&at_ant, "private", "dam", Some(&topic("the dam leaks a lot")));
    let is_listed = || {
        let indexes = [ant.index(&at_ant, "private"), bee.index(&at_bee, "private")];
        indexes.iter().all(|index| index.contains("(dam.md) — the dam leaks a lot")).then_some(())
    };
    until(PATIENCE, is_listed).expect("the topic that stays is in both indexes");
    ant.daemon.is_well();
    bee.daemon.is_well();
}

/// Daemons that are killed at any time, and a person at each of them.
#[test]
fn kills_during_syncs_lose_nothing_and_all_machines_agree() {
    const STEPS: usize = 60;
    let world = World::shared();
    let database = world.database();
    let mut machines = [(); 3].map(|()| Machine::new(world.home(&database)));
    let trees = machines.each_ref().map(|machine| machine.clone_of(URL, "mill"));
    let mut rng = Rng::new(20);
    let mut said = Vec::new();
    for step in 0..STEPS {
        let at = rng.below(machines.len());
        let text = topic(&format!("said in step {step}"));
        // Some topics are those of all machines.
        let name = match rng.below(3) {
            0 => "common".to_owned(),
            _ => format!("step-{step}"),
        };
        machines[at].put(&trees[at], "private", &name, &text);
        said.push((name, text));
        if rng.below(4) == 0 {
            machines[at].daemon.kill9();
            machines[at].daemon.start();
        }
    }
    let files = |at: usize| {
        let mut files = Vec::new();
        for name in machines[at].names(&trees[at], "private") {
            let text = machines[at].text(&trees[at], "private", &name)?;
            files.push((name, text));
        }
        Some((files, machines[at].index(&trees[at], "private")))
    };
    let agree = || {
        let [first, second, third] = [0, 1, 2].map(files);
        (first.is_some() && first == second && second == third).then(|| first.unwrap())
    };
    let (files, index) = until(PATIENCE, agree).expect("all machines have the same memory");
    for (name, text) in said.iter().filter(|(name, _)| name != "common") {
        assert!(files.contains(&(name.clone(), text.clone())), "{name} is lost: {files:?}");
        assert!(index.contains(&format!("({name}.md)")), "{name} is not in the index: {index}");
    }
    // The newest text is there, under its name or as another version.
    let common: Vec<&String> =
        files.iter().filter(|(name, _)| name.starts_with("common")).map(|(_, text)| text).collect();
    let newest = said.iter().rev().find(|(name, _)| name == "common");
    assert!(newest.is_none_or(|(_, text)| common.contains(&text)), "{common:?}");
    for machine in &machines {
        machine.daemon.is_well();
    }
}

#[test]
fn notes_follow_their_session() {
    let world = World::shared();
    let database = world.database();
    let [ant, bee] = [(); 2].map(|()| world.home(&database).start());
    let session = ant.session(200_000);
    ant.append(&session, &[say::user("mend the wheel"), say::assistant("it is mended")]);
    let path = format!("/v1/sessions/{session}/notes");
    let notes = |daemon: &Daemon| daemon.client().get(&path).text();
    let put = |daemon: &Daemon, text: &str| {
        let put = Request::new("PUT", &path).bytes("text/markdown", text.as_bytes());
        assert!(daemon.client().must(&put).status < 300);
    };
    let by_ant = format!("{}\n- the dam leaks\n", notes(&ant).trim_end());
    put(&ant, &by_ant);
    assert_eq!(notes(&bee), by_ant);
    bee.append(&session, &[say::user("and the dam?"), say::assistant("mended, too")]);
    let by_bee = by_ant.replace("the dam leaks", "the dam is tight");
    put(&bee, &by_bee);
    assert_eq!(notes(&ant), by_bee);
    let file = |daemon: &Daemon| {
        fs::read_to_string(daemon.home.path().join(format!("session-memory/{session}.md"))).unwrap()
    };
    assert_eq!((file(&ant), file(&bee)), (by_bee.clone(), by_bee));
}

#[test]
fn a_large_memory_is_synced_in_several_rounds() {
    const TOPICS: usize = 250;
    let world = World::shared();
    let database = world.database();
    let ant = Machine::new(world.home(&database));
    let at_ant = ant.clone_of(URL, "mill");
    ant.put(&at_ant, "private", "topic-0", &topic("number 0"));
    let dir = ant.dir(&at_ant, "private");
    for n in 1..TOPICS {
        fs::write(dir.join(format!("topic-{n}.md")), topic(&format!("number {n}"))).unwrap();
    }
    let bee = Machine::new(world.home(&database));
    let at_bee = bee.clone_of(URL, "mill");
    let all = || (bee.names(&at_bee, "private").len() == TOPICS).then_some(());
    until(PATIENCE, all).expect("all topics arrive");
    bee.has(&at_bee, "private", "topic-249", Some(&topic("number 249")));
}
