//! What one person learns, another has; what both change, both keep.

use std::fs;

use serde_json::json;

use crate::people::{Between, Person, git, names, topic};

#[test]
fn what_each_adds_both_have() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    let mut bob = Person::sharing("bob", &between);
    ada.write("fog", &topic("fog", "how fog is drawn", "Fog is linear."));
    bob.write("tides", &topic("tides", "when tides are computed", "At night."));
    let first = ada.sync();
    assert_eq!((&first["pulled"], &first["pushed"]), (&json!(0), &json!(2)), "{first}");
    let second = bob.sync();
    assert_eq!(names(&second["pulled_files"]), ["MEMORY.md", "fog.md"], "{second}");
    assert_eq!(names(&second["pushed_files"]), ["MEMORY.md", "tides.md"], "{second}");
    assert_eq!(second["conflicts"], json!([]));
    let third = ada.sync();
    assert_eq!(names(&third["pulled_files"]), ["MEMORY.md", "tides.md"], "{third}");
    assert_eq!(ada.files(), bob.files());
    let index = ada.reads("MEMORY.md").unwrap();
    assert!(index.contains("fog.md") && index.contains("tides.md"), "{index}");
    let again = ada.sync();
    assert_eq!((&again["pulled"], &again["pushed"]), (&json!(0), &json!(0)), "{again}");
    let authors = git(&between.path(), &["log", "--format=%an", "main"]);
    assert_eq!(authors.lines().collect::<Vec<_>>(), ["bob", "ada"]);
    // By hand there is nothing to see either.
    assert_eq!(git(&ada.team(), &["status", "--porcelain"]), "");
}

#[test]
fn a_topic_that_both_changed_is_kept_twice_and_told() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "how fog is drawn", "Fog is linear."));
    ada.sync();
    let mut bob = Person::sharing("bob", &between);
    assert!(bob.reads("fog.md").unwrap().contains("linear"));
    ada.write("fog", &topic("fog", "how fog is drawn", "Fog is exponential, says Ada."));
    bob.write("fog", &topic("fog", "how fog is drawn", "Fog is squared, says Bob."));
    ada.sync();
    let told = bob.sync();
    let conflict = &told["conflicts"][0];
    assert_eq!(conflict["name"], "fog.md", "{told}");
    assert!(conflict["theirs_by"].as_str().unwrap().starts_with("ada, "), "{told}");
    let kept = conflict["kept_as"].as_str().unwrap().to_owned();
    assert!(bob.reads("fog.md").unwrap().contains("says Ada"));
    assert!(bob.reads(&kept).unwrap().contains("says Bob"));
    let third = ada.sync();
    assert_eq!(third["conflicts"], json!([]), "one merges, the other is told nothing new");
    assert_eq!(ada.files(), bob.files());
    assert!(ada.reads("MEMORY.md").unwrap().contains(&kept), "the index names the other version");
    // What stood there is among Bob's versions.
    let history = bob.http.get(&format!("/v1/memories/team/fog/history?project_dir={}", bob.dir()));
    let history = history.ok();
    let authors: Vec<&str> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|v| v["author"].as_str())
        .collect();
    assert_eq!(authors, ["sync", "person", "sync"], "{history}");
    for person in [&mut ada, &mut bob] {
        let again = person.sync();
        assert_eq!((&again["pulled"], &again["pushed"]), (&json!(0), &json!(0)), "{again}");
    }
}

#[test]
fn an_edit_wins_over_a_deletion_and_a_deletion_spreads() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    for name in ["fog", "sky", "sea"] {
        ada.write(name, &topic(name, "weather", "First."));
    }
    ada.sync();
    let mut bob = Person::sharing("bob", &between);
    ada.remove("fog");
    ada.remove("sky");
    ada.sync();
    bob.write("sky", &topic("sky", "weather", "Still needed."));
    let told = bob.sync();
    assert_eq!(bob.reads("fog.md"), None, "{told}");
    assert!(bob.reads("sky.md").unwrap().contains("Still needed"));
    let kept = "kept sky.md: it was changed here and removed on the remote";
    assert!(names(&told["notes"]).contains(&kept), "{told}");
    ada.sync();
    assert_eq!(ada.files(), bob.files());
    assert!(ada.reads("sky.md").unwrap().contains("Still needed"));
}

#[test]
fn a_directory_that_was_emptied_empties_nobody_elses() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    for file in ["fog.md", "MEMORY.md"] {
        fs::remove_file(ada.team().join(file)).unwrap();
    }
    let refused = ada.try_sync();
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("git checkout"), "{}", refused.text());
    git(&ada.team(), &["checkout", "."]);
    let told = ada.sync();
    assert_eq!((&told["pulled"], &told["pushed"]), (&json!(0), &json!(0)), "{told}");
    // Most of the files are enough, but not if bethink removed them.
    for name in ["a", "b", "c", "plans%2Fd"] {
        ada.write(name, &topic(name, "weather", "First."));
    }
    ada.sync();
    for file in ["a.md", "b.md", "c.md", "MEMORY.md"] {
        fs::remove_file(ada.team().join(file)).unwrap();
    }
    let refused = ada.try_sync();
    assert!(refused.text().contains("4 of the 6 files"), "{}", refused.text());
    git(&ada.team(), &["checkout", "."]);
    for name in ["a", "b", "c", "fog"] {
        ada.remove(name);
    }
    let told = ada.sync();
    assert_eq!(names(&told["removed_files"]), ["a.md", "b.md", "c.md", "fog.md"], "{told}");
    let mut bob = Person::new("bob");
    bob.init(&between.url());
    ada.remove("plans%2Fd");
    ada.sync();
    let told = bob.sync();
    assert_eq!(names(&told["removed_files"]), ["plans/d.md"], "{told}");
}

#[test]
fn who_works_with_git_by_hand_is_understood() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    let hand = between.clone_by_hand("hand");
    fs::write(hand.join("fog.md"), topic("fog", "weather", "By hand.")).unwrap();
    fs::write(hand.join("README.txt"), "how we share\n").unwrap();
    git(&hand, &["add", "."]);
    git(&hand, &["commit", "--quiet", "-m", "by hand"]);
    git(&hand, &["push", "--quiet"]);
    assert_eq!(names(&ada.sync()["pulled_files"]), ["fog.md"]);
    assert!(ada.reads("fog.md").unwrap().contains("By hand"));
    assert_eq!(ada.reads("README.txt"), None, "what is no memory stays in the repository");
    // And in Ada's own directory, while somebody else pushes.
    let team = ada.team();
    fs::write(team.join("sky.md"), topic("sky", "weather", "Committed here.")).unwrap();
    git(&team, &["add", "sky.md"]);
    git(&team, &["commit", "--quiet", "-m", "here"]);
    fs::write(hand.join("sea.md"), topic("sea", "weather", "Pushed there.")).unwrap();
    git(&hand, &["add", "."]);
    git(&hand, &["commit", "--quiet", "-m", "there"]);
    git(&hand, &["push", "--quiet"]);
    let told = ada.sync();
    assert_eq!(names(&told["pulled_files"]), ["sea.md"], "{told}");
    git(&hand, &["pull", "--quiet"]);
    assert!(hand.join("sky.md").exists() && hand.join("README.txt").exists());
}

#[test]
fn many_syncs_at_once_lose_nothing() {
    let between = Between::new();
    let people: Vec<Person> =
        ["ada", "bob", "eve"].into_iter().map(|name| Person::sharing(name, &between)).collect();
    let mut people: Vec<Person> = std::thread::scope(|scope| {
        let running: Vec<_> = people
            .into_iter()
            .enumerate()
            .map(|(who, mut person)| {
                scope.spawn(move || {
                    for n in 0..4 {
                        person.write(
                            &format!("p{who}-{n}"),
                            &topic("x", "weather", &format!("{who} {n}")),
                        );
                        person.write("shared", &topic("shared", "all", &format!("by {who}, {n}")));
                        // Others may be faster eight times in a row; then it is asked for again.
                        while person.try_sync().status == 409 {}
                    }
                    person
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for _ in 0..2 {
        people.iter_mut().for_each(|person| drop(person.sync()));
    }
    let first = people[0].files();
    for person in &mut people {
        assert_eq!(person.files(), first);
    }
    for (who, n) in (0..3).flat_map(|who| (0..4).map(move |n| (who, n))) {
        assert!(first.iter().any(|(name, _)| *name == format!("p{who}-{n}.md")), "{who} {n}");
    }
    // The last word of each is in a file or, where its own author went on from another's, in history.
    assert!(first.iter().any(|(_, text)| text.contains(", 3")));
}

#[test]
fn a_folder_that_others_sync_is_looked_at() {
    let mut ada = Person::new("ada");
    let shared = ada.daemon.home.scratch().join("synced/app");
    let body = json!({ "project_dir": ada.dir(), "dir": shared.display().to_string() });
    ada.http.post("/v1/team/init", &body).ok();
    assert_eq!(ada.team(), shared);
    ada.write("fog", &topic("fog", "weather", "First."));
    assert!(shared.join("fog.md").exists());
    fs::write(shared.join("fog.sync-conflict-20261122-ABC.md"), "other").unwrap();
    fs::write(shared.join("leak.md"), format!("key {}\n", crate::people::key())).unwrap();
    let told = ada.sync();
    assert_eq!(told["blocked"][0]["file"], "leak.md", "{told}");
    assert!(told["notes"][0].as_str().unwrap().contains("bethink team resolve fog"), "{told}");
    let versions = &ada.status(false)["conflicts"][0]["versions"];
    assert_eq!(versions[1]["name"], "fog.sync-conflict-20261122-ABC", "{versions}");
    assert_eq!(ada.status(false)["kind"], "folder");
}

#[test]
fn without_a_team_a_sync_fails_and_nothing_is_called_shared() {
    let mut ada = Person::new("ada");
    ada.write("fog", &topic("fog", "weather", "First."));
    let refused = ada.try_sync();
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("no team memory"), "{}", refused.text());
    let status = ada.status(false);
    assert_eq!((&status["kind"], &status["topics"]), (&json!("none"), &json!(1)), "{status}");
    // What was written before the team existed is shared once it does.
    let between = Between::new();
    ada.init(&between.url());
    assert!(between.holds("First."));
    fs::remove_dir_all(ada.team()).unwrap();
    assert_eq!(ada.try_sync().status, 409);
}

#[test]
fn a_repository_that_a_full_disk_left_half_made_is_completed() {
    let between = Between::new();
    let mut ada = Person::new("ada");
    ada.write("fog", &topic("fog", "weather", "First."));
    fs::create_dir(ada.team().join(".git")).unwrap();
    let refused = ada.try_sync();
    assert!(refused.text().contains("bethink team init"), "{}", refused.text());
    ada.init(&between.url());
    assert!(between.holds("First."));
}

#[test]
fn a_branch_that_the_team_does_not_use_is_not_pushed() {
    let between = Between::new();
    let mut ada = Person::sharing("ada", &between);
    ada.write("fog", &topic("fog", "weather", "First."));
    ada.sync();
    git(&ada.team(), &["checkout", "--quiet", "-b", "mine"]);
    let accept = json!({ "project_dir": ada.dir(), "accept_rewrite": true });
    let refused = ada.http.post("/v1/team/sync", &accept);
    assert!(refused.text().contains("git switch main"), "{}", refused.text());
    assert_eq!(git(&between.path(), &["branch", "--format=%(refname:short)"]).trim(), "main");
    git(&ada.team(), &["checkout", "--quiet", "--detach"]);
    fs::create_dir(ada.team().join(".git/rebase-merge")).unwrap();
    let refused = ada.try_sync();
    assert!(refused.text().contains("git rebase --abort"), "{}", refused.text());
}
