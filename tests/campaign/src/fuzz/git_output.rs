//! Git's output. A program that prints the input replaces git.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

use bethink_git::{Git, GitLimits, Oid, Repo};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Maximum number of bytes of a blob that are read.
const MOST_BLOB: u64 = 1 << 20;

struct FakeGit {
    _dir: TempDir,
    output: PathBuf,
    repo: Repo,
    runtime: Runtime,
}

static FAKE: LazyLock<Mutex<FakeGit>> = LazyLock::new(|| Mutex::new(FakeGit::new()));

impl FakeGit {
    fn new() -> Self {
        let dir = TempDir::with_prefix("bethink-git-").expect("a temporary directory");
        let of = |name: &str| dir.path().join(name);
        fs::create_dir_all(of("work/.git")).expect("a repository");
        fs::write(of("work/.git/HEAD"), "ref: refs/heads/main\n").expect("a HEAD");
        let (output, program) = (of("output"), of("git"));
        fs::write(&program, format!("#!/bin/sh\nexec cat {}\n", output.display()))
            .expect("a script");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
        let git = Git::new(std::env::vars_os(), GitLimits::default()).with_program(program);
        let repo = Repo::open(&git, &of("work"), &of("view")).expect("a repository");
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { _dir: dir, output, repo, runtime }
    }
}

/// Whatever git prints, the result is a value or an error.
pub(super) fn check(input: &[u8]) {
    let fake = FAKE.lock().unwrap_or_else(PoisonError::into_inner);
    fs::write(&fake.output, input).expect("the output");
    let Ok(oid) = "0123456789abcdef0123456789abcdef01234567".parse::<Oid>() else { return };
    fake.runtime.block_on(async {
        for entry in fake.repo.tree(&oid).await.unwrap_or_default() {
            assert!(!entry.path.contains('\0'));
        }
        drop(fake.repo.blobs(std::slice::from_ref(&oid), MOST_BLOB).await);
        let change = fake.repo.last_change(&oid, "a.md").await.ok().flatten();
        assert!(!change.is_some_and(|change| change.author.contains(char::is_control)));
    });
}
