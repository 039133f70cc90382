//! Tests against the real git: two people with a bare repository, hostile repositories, silent remotes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::{
    Checkout, Commit, Git, GitError, GitLimits, GitTrouble, Oid, Person, PushOutcome, Remote, Repo,
    TreeChange,
};

/// A directory with one bare repository, and a working directory for each person.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { dir: tempfile::tempdir().unwrap() };
        place.by_hand(place.dir.path(), &["init", "--quiet", "--bare", "-b", "main", "shared.git"]);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn remote(&self) -> Remote {
        Remote::parse(self.path("shared.git").to_str().unwrap()).unwrap()
    }

    fn git(&self) -> Git {
        Git::new(std::env::vars_os(), GitLimits::default())
    }

    async fn repo(&self, who: &str) -> Repo {
        fs::create_dir_all(self.path(who)).unwrap();
        Repo::init(&self.git(), &self.path(who), "main").await.unwrap();
        self.open(who)
    }

    fn open(&self, who: &str) -> Repo {
        Repo::open(&self.git(), &self.path(who), &self.path(&format!("{who}-view"))).unwrap()
    }

    /// Runs git as a person would, without our settings.
    fn by_hand(&self, dir: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=hand", "-c", "user.email=hand@h"])
            .args(args)
            .current_dir(dir)
            .env("HOME", self.dir.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn commit(parents: &[&Oid], changes: &[(&str, &str)]) -> Commit {
    let write = |(path, text): &(&str, &str)| {
        ((*path).to_owned(), TreeChange::Write(text.as_bytes().to_vec()))
    };
    Commit {
        parents: parents.iter().map(|oid| (*oid).clone()).collect(),
        changes: changes.iter().map(write).collect(),
        message: "notes\n".to_owned(),
        person: Person { name: "Ada".to_owned(), email: "ada@h".to_owned() },
        at: 1_700_000_000,
    }
}

#[tokio::test]
async fn what_one_person_pushes_another_fetches() {
    let place = Place::new();
    let ada = place.repo("ada").await;
    assert_eq!(ada.head().await.unwrap(), None);
    assert_eq!(ada.fetch(&place.remote()).await.unwrap(), None, "an empty remote is not an error");
    let odd = "o\"d \\ ünd\n.md";
    let first = ada.commit(&commit(&[], &[("fog.md", "fog\n"), (odd, "x\0y")])).await.unwrap();
    assert_eq!(ada.push(&place.remote(), &first).await.unwrap(), PushOutcome::Done);

    let bob = place.repo("bob").await;
    let seen = bob.fetch(&place.remote()).await.unwrap().unwrap();
    assert_eq!(seen, first);
    let tree = bob.tree(&seen).await.unwrap();
    let paths: Vec<&str> = tree.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["fog.md", odd]);
    let oids: Vec<Oid> = tree.iter().map(|entry| entry.oid.clone()).collect();
    let blobs = bob.blobs(&oids, 1_000).await.unwrap();
    assert_eq!(blobs, [Some(b"fog\n".to_vec()), Some(b"x\0y".to_vec())]);
    assert_eq!(bob.blobs(&oids, 3).await.unwrap(), [None, Some(b"x\0y".to_vec())]);
    let change = bob.last_change(&seen, "fog.md").await.unwrap().unwrap();
    assert_eq!((change.author.as_str(), &change.commit), ("Ada", &seen));
    assert_eq!(bob.last_change(&seen, "*").await.unwrap(), None, "a path is not a pattern");
    assert!(!place.path("bob").join("fog.md").exists(), "no file is touched");
}

#[tokio::test]
async fn who_is_slower_is_told_and_no_history_is_rewritten() {
    let place = Place::new();
    let (ada, bob) = (place.repo("ada").await, place.repo("bob").await);
    let base = ada.commit(&commit(&[], &[("a.md", "1")])).await.unwrap();
    ada.push(&place.remote(), &base).await.unwrap();
    let base = bob.fetch(&place.remote()).await.unwrap().unwrap();
    let hers = ada.commit(&commit(&[&base], &[("a.md", "2")])).await.unwrap();
    let his = bob.commit(&commit(&[&base], &[("b.md", "3")])).await.unwrap();
    assert_eq!(ada.push(&place.remote(), &hers).await.unwrap(), PushOutcome::Done);
    assert_eq!(bob.push(&place.remote(), &his).await.unwrap(), PushOutcome::Behind);
    let hers = bob.fetch(&place.remote()).await.unwrap().unwrap();
    assert_eq!(bob.merge_base(&hers, &his).await.unwrap(), Some(base.clone()));
    assert!(bob.is_ancestor(&base, &hers).await.unwrap());
    assert!(!bob.is_ancestor(&his, &hers).await.unwrap());
    let theirs = bob.tree(&hers).await.unwrap().remove(0);
    let mut merge = commit(&[&his, &hers], &[]);
    merge
        .changes
        .push(("a.md".to_owned(), TreeChange::Take { oid: theirs.oid, mode: theirs.mode }));
    let merged = bob.commit(&merge).await.unwrap();
    assert_eq!(bob.push(&place.remote(), &merged).await.unwrap(), PushOutcome::Done);
    let log = place.by_hand(&place.path("shared.git"), &["log", "--format=%H", "main"]);
    assert_eq!(log.lines().count(), 4);
}

#[tokio::test]
async fn what_commits_brought_includes_what_they_took_away_again() {
    let place = Place::new();
    let ada = place.repo("ada").await;
    let base = ada.commit(&commit(&[], &[("a.md", "1")])).await.unwrap();
    let leak = ada.commit(&commit(&[&base], &[("b.md", "leaked")])).await.unwrap();
    let mut gone = commit(&[&leak], &[]);
    gone.changes.push(("b.md".to_owned(), TreeChange::Remove));
    let tip = ada.commit(&gone).await.unwrap();
    let brought = ada.brought(&tip, Some(&base), 10).await.unwrap().unwrap();
    let brought: Vec<(&str, &str)> =
        brought.iter().map(|(at, entry)| (at.as_str(), entry.path.as_str())).collect();
    assert_eq!(brought, [(leak.as_str(), "b.md")]);
    assert_eq!(ada.brought(&tip, None, 2).await.unwrap(), None, "too many commits to look at");
}

#[tokio::test]
async fn a_branch_moves_only_from_where_it_was_believed_to_be() {
    let place = Place::new();
    let ada = place.repo("ada").await;
    let one = ada.commit(&commit(&[], &[("a.md", "1")])).await.unwrap();
    let two = ada.commit(&commit(&[&one], &[("a.md", "2")])).await.unwrap();
    ada.set_ref("refs/heads/main", &one, None).await.unwrap();
    assert!(ada.set_ref("refs/heads/main", &two, None).await.is_err());
    ada.set_ref("refs/heads/main", &two, Some(&one)).await.unwrap();
    ada.reset_index(&two).await.unwrap();
    fs::write(place.path("ada").join("a.md"), "2").unwrap();
    assert_eq!(place.by_hand(&place.path("ada"), &["status", "--porcelain"]), "");
}

/// Plants every setting and file of a repository that can make git run a program.
fn trap(place: &Place, dir: &Path, git_dir: &Path) -> PathBuf {
    let canary = place.path("canary");
    let program = place.path("trap.sh");
    fs::write(&program, format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", canary.display()))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let mut config = fs::read_to_string(git_dir.join("config")).unwrap();
    for line in [
        "[core]",
        "fsmonitor = P",
        "sshCommand = P",
        "pager = P",
        "editor = P",
        "askPass = P",
        "gitProxy = P",
        "alternateRefsCommand = P",
        "hooksPath = H",
        "attributesFile = A",
        "[credential]",
        "helper = !P",
        "[filter \"t\"]",
        "clean = P",
        "smudge = P",
        "process = P",
        "required = true",
        "[diff]",
        "external = P",
        "[diff \"t\"]",
        "command = P",
        "textconv = P",
        "[merge \"t\"]",
        "driver = P",
        "[gpg]",
        "program = P",
        "[commit]",
        "gpgSign = true",
        "[push]",
        "gpgSign = true",
        "[uploadpack]",
        "packObjectsHook = P",
        "[protocol \"ext\"]",
        "allow = always",
        "[receive]",
        "denyCurrentBranch = updateInstead",
        "[url \"ext::P \"]",
        "insteadOf = /",
        "[remote \"origin\"]",
        "uploadpack = P",
        "receivepack = P",
        "vcs = t",
        "[interactive]",
        "diffFilter = P",
        "[sequence]",
        "editor = P",
        "[alias]",
        "fetch = !P",
        "push = !P",
        "[trailer \"t\"]",
        "command = P",
        "[maintenance]",
        "auto = true",
    ] {
        let hooks = place.path("hooks").display().to_string();
        let line = match line {
            "hooksPath = H" => format!("hooksPath = {hooks}"),
            "attributesFile = A" => {
                format!("attributesFile = {}", dir.join(".gitattributes").display())
            }
            line => line
                .replace("= P", &format!("= {program}"))
                .replace("!P", &format!("!{program}"))
                .replace("::P", &format!("::{program}")),
        };
        config.push_str(&format!("{line}\n"));
    }
    fs::write(git_dir.join("config"), config).unwrap();
    let attributes = "* filter=t diff=t merge=t\n";
    fs::create_dir_all(git_dir.join("info")).unwrap();
    fs::write(git_dir.join("info/attributes"), attributes).unwrap();
    fs::write(dir.join(".gitattributes"), attributes).unwrap();
    for hooks in [git_dir.join("hooks"), place.path("hooks")] {
        fs::create_dir_all(&hooks).unwrap();
        for hook in [
            "pre-commit",
            "post-commit",
            "commit-msg",
            "pre-push",
            "post-merge",
            "post-checkout",
            "pre-receive",
            "update",
            "post-receive",
            "post-update",
            "reference-transaction",
            "push-to-checkout",
            "proc-receive",
            "fsmonitor-watchman",
            "pre-auto-gc",
            "post-index-change",
            "post-rewrite",
        ] {
            fs::copy(program, hooks.join(hook)).unwrap();
        }
    }
    canary
}

#[tokio::test]
async fn a_hostile_repository_runs_nothing() {
    let place = Place::new();
    let ada = place.repo("ada").await;
    let shared = place.path("shared.git");
    let base = ada
        .commit(&commit(&[], &[("a.md", "1"), (".gitattributes", "* filter=t\n")]))
        .await
        .unwrap();
    ada.set_ref("refs/heads/main", &base, None).await.unwrap();
    ada.push(&place.remote(), &base).await.unwrap();
    let canary = trap(&place, &place.path("ada"), &place.path("ada/.git"));
    trap(&place, &shared, &shared);
    // Open it again, as after a restart, with the traps in place.
    let ada = place.open("ada");
    place.git().default_branch(&place.remote()).await.unwrap();
    let tip = ada.fetch(&place.remote()).await.unwrap().unwrap();
    let tree = ada.tree(&tip).await.unwrap();
    let oids: Vec<Oid> = tree.into_iter().map(|entry| entry.oid).collect();
    ada.blobs(&oids, 1_000).await.unwrap();
    ada.brought(&tip, None, 10).await.unwrap();
    ada.last_change(&tip, "fog.md").await.unwrap();
    let person = ada.person().await.unwrap();
    let next = Commit { person, ..commit(&[&tip], &[("a.md", "2")]) };
    let next = ada.commit(&next).await.unwrap();
    ada.set_ref("refs/heads/main", &next, Some(&base)).await.unwrap();
    ada.reset_index(&next).await.unwrap();
    assert_eq!(ada.push(&place.remote(), &next).await.unwrap(), PushOutcome::Done);
    assert!(!canary.exists(), "{}", fs::read_to_string(&canary).unwrap());
    // The traps are real: when git runs without our settings, they run.
    let _ = Command::new("git").args(["status"]).current_dir(place.path("ada")).output().unwrap();
    assert!(canary.exists(), "the test proves nothing");
}

#[tokio::test]
async fn a_remote_that_says_nothing_ends_in_time_with_all_its_helpers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let place = Place::new();
    let limits = GitLimits { remote: Duration::from_millis(400), ..GitLimits::default() };
    let git = Git::new(std::env::vars_os(), limits);
    fs::create_dir_all(place.path("ada")).unwrap();
    Repo::init(&git, &place.path("ada"), "main").await.unwrap();
    let ada = Repo::open(&git, &place.path("ada"), &place.path("view")).unwrap();
    for scheme in ["git", "http"] {
        let remote = Remote::parse(&format!("{scheme}://127.0.0.1:{port}/x.git")).unwrap();
        let began = Instant::now();
        let error = ada.fetch(&remote).await.unwrap_err();
        assert!(matches!(error, GitError::TooSlow { .. }), "{error}");
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    // The HTTP helper is a separate process; when it exits, its connection ends.
    let (_first, _) = listener.accept().await.unwrap();
    let (mut helper, _) = listener.accept().await.unwrap();
    let mut said = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(5), helper.read_to_end(&mut said)).await;
    assert!(ended.is_ok(), "a helper is still running");
}

#[tokio::test]
async fn a_remote_that_wants_a_password_asks_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4_096];
            let _ = stream.read(&mut buffer).await;
            let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let place = Place::new();
    let ada = place.repo("ada").await;
    let remote = Remote::parse(&format!("http://127.0.0.1:{port}/x.git")).unwrap();
    let error = ada.fetch(&remote).await.unwrap_err();
    assert_eq!(error.trouble(), Some(GitTrouble::Password), "{error}");
}

#[tokio::test]
async fn failures_are_told_apart() {
    let place = Place::new();
    let ada = place.repo("ada").await;
    let nowhere = Remote::parse(place.path("nowhere.git").to_str().unwrap()).unwrap();
    let error = ada.fetch(&nowhere).await.unwrap_err();
    assert_eq!(error.trouble(), Some(GitTrouble::NotFound), "{error}");
    let none = Git::new(std::env::vars_os(), GitLimits::default()).with_program("/no/such/git");
    assert!(matches!(none.version().await, Err(GitError::NoGit)));
    let error = Repo::open(&place.git(), &place.path(""), &place.path("view")).unwrap_err();
    assert_eq!(error.trouble(), Some(GitTrouble::NoRepository), "{error}");

    let tip = ada.commit(&commit(&[], &[("a.md", "1")])).await.unwrap();
    ada.push(&place.remote(), &tip).await.unwrap();
    let (folder, file) = tip.as_str().split_at(2);
    let object = place.path("shared.git").join("objects").join(folder).join(file);
    fs::set_permissions(&object, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&object, "rubbish").unwrap();
    let bob = place.repo("bob").await;
    let error = bob.fetch(&place.remote()).await.unwrap_err();
    assert_eq!(error.trouble(), Some(GitTrouble::Corrupt), "{error}");
}

#[tokio::test]
async fn output_has_a_bound() {
    let place = Place::new();
    let limits = GitLimits { output: 100, ..GitLimits::default() };
    let ada = place.repo("ada").await;
    let tip = ada.commit(&commit(&[], &[("a.md", &"x".repeat(10_000))])).await.unwrap();
    let entry = ada.tree(&tip).await.unwrap().remove(0);
    let git = Git::new(std::env::vars_os(), limits);
    let ada = Repo::open(&git, &place.path("ada"), &place.path("view")).unwrap();
    let error = ada.blobs(&[entry.oid], 1 << 20).await.unwrap_err();
    assert!(matches!(error, GitError::TooMuch { .. }), "{error}");
}

#[tokio::test]
async fn git_gets_no_variable_that_it_does_not_need() {
    let place = Place::new();
    let program = place.path("print-environment");
    fs::write(&program, "#!/bin/sh\nexec env\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let git = Git::new(std::env::vars_os(), GitLimits::default()).with_program(program);
    let environment = git.version().await.unwrap();
    assert!(environment.contains("GIT_TERMINAL_PROMPT=0"), "{environment}");
    // Cargo sets it for tests.
    assert!(!environment.contains("CARGO_"), "{environment}");
}

#[tokio::test]
async fn a_checkout_knows_its_branch_and_what_it_contains() {
    let place = Place::new();
    let (dir, hand) = (place.path("app"), |args: &[&str]| place.by_hand(&place.path("app"), args));
    fs::create_dir_all(dir.join("src")).unwrap();
    hand(&["init", "--quiet", "-b", "main"]);
    assert_eq!(Checkout::of(&dir), None, "no commit yet");
    let commit = |what: &str| {
        hand(&["commit", "--quiet", "--allow-empty", "-m", what]);
        Checkout::of(&dir.join("src")).unwrap()
    };
    let first = commit("one");
    assert_eq!(first.branch.as_deref(), Some("main"));
    hand(&["switch", "--quiet", "-c", "feature/a+b"]);
    let feature = commit("two");
    assert_eq!(feature.branch.as_deref(), Some("feature/a+b"));
    hand(&["switch", "--quiet", "main"]);
    let main = Checkout::of(&dir).unwrap();
    let gone: Oid = "1".repeat(40).parse().unwrap();
    let all = [first.commit.clone(), feature.commit.clone(), gone];
    let view = place.path("view");
    let lacking = place.git().not_contained(&main, &view, &all).await.unwrap();
    assert_eq!(lacking.iter().collect::<Vec<_>>(), [&feature.commit]);
    // A linked working tree has a HEAD of its own.
    hand(&["worktree", "add", "--quiet", "../linked", "feature/a+b"]);
    let linked = Checkout::of(&place.path("linked")).unwrap();
    assert_eq!((&linked.branch, &linked.commit), (&feature.branch, &feature.commit));
    assert!(place.git().not_contained(&linked, &view, &all).await.unwrap().is_empty());
    // Packed refs, and a merge.
    hand(&["pack-refs", "--all"]);
    assert_eq!(Checkout::of(&dir), Some(main.clone()));
    assert!(main.has_branch("feature/a+b") && !main.has_branch("other"));
    hand(&["merge", "--quiet", "feature/a+b"]);
    let merged = Checkout::of(&dir).unwrap();
    assert!(place.git().not_contained(&merged, &view, &all).await.unwrap().is_empty());
    hand(&["switch", "--quiet", "--detach", "main"]);
    assert_eq!(Checkout::of(&dir).unwrap().branch, None);
}

#[test]
fn a_damaged_head_is_no_checkout() {
    let dir = tempfile::tempdir().unwrap();
    let git = dir.path().join(".git");
    fs::create_dir_all(git.join("refs/heads")).unwrap();
    fs::write(git.join("config"), "0".repeat(40)).unwrap();
    let long = format!("ref: refs/heads/{}", "b".repeat(4_096));
    for head in
        ["", "ref: ", "ref: refs/heads/../../config", "ref: refs/heads/a b", "zz", &long, "\0"]
    {
        fs::write(git.join("HEAD"), head).unwrap();
        assert_eq!(Checkout::of(dir.path()), None, "{head:?}");
    }
    fs::remove_file(git.join("HEAD")).unwrap();
    fs::create_dir(git.join("HEAD")).unwrap();
    assert_eq!(Checkout::of(dir.path()), None);
}
