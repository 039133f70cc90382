//! Objects of a git repository, read through git.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};

use bethink_git::{Git, GitLimits, Oid, Repo};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Maximum number of bytes of a blob that are read.
const MOST_BLOB: u64 = 1 << 20;
/// Maximum number of commits that are read.
const MOST_COMMITS: usize = 10;

struct FuzzRepo {
    _dir: TempDir,
    work: PathBuf,
    repo: Repo,
    runtime: Runtime,
}

static REPO: LazyLock<Mutex<FuzzRepo>> = LazyLock::new(|| Mutex::new(FuzzRepo::new()));

impl FuzzRepo {
    fn new() -> Self {
        let dir = TempDir::with_prefix("bethink-objects-").expect("a temporary directory");
        let work = dir.path().join("work");
        let made = Command::new("git").args(["init", "-q"]).arg(&work).status();
        assert!(made.is_ok_and(|status| status.success()), "git makes a repository");
        let git = Git::new(std::env::vars_os(), GitLimits::default());
        let repo = Repo::open(&git, &work, &dir.path().join("view")).expect("a repository");
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let fuzz = Self { _dir: dir, work, repo, runtime };
        // The examples name these two.
        for kind in ["blob", "tree"] {
            assert!(write_object(&fuzz.work, kind, b"").is_some(), "git writes a {kind}");
        }
        fuzz
    }
}

/// The input's first line is the kind of object; the rest is its content. In any case, the result is a value or an
/// error, and a blob is read as it was written.
pub(super) fn check(input: &[u8]) {
    let fuzz = REPO.lock().unwrap_or_else(PoisonError::into_inner);
    let line = input.iter().position(|byte| *byte == b'\n').map_or(input.len(), |at| at + 1);
    let (kind, content) = input.split_at(line);
    let kind = match kind.first() {
        Some(b't') => "tree",
        Some(b'c') => "commit",
        _ => "blob",
    };
    let Some(oid) = write_object(&fuzz.work, kind, content) else { return };
    fuzz.runtime.block_on(async {
        if kind == "blob" {
            let read = fuzz.repo.blobs(std::slice::from_ref(&oid), MOST_BLOB).await;
            assert!(read.is_ok_and(|blobs| blobs == [Some(content.to_vec())]), "another blob");
            return;
        }
        for entry in fuzz.repo.tree(&oid).await.unwrap_or_default() {
            assert!(!entry.path.contains('\0'));
        }
        if kind == "commit" {
            let change = fuzz.repo.last_change(&oid, "a.md").await.ok().flatten();
            assert!(!change.is_some_and(|change| change.author.contains(char::is_control)));
            drop(fuzz.repo.brought(&oid, None, MOST_COMMITS).await);
        }
    });
}

/// Writes an object as it is, valid or not. `None` if git refuses it.
fn write_object(work: &Path, kind: &str, content: &[u8]) -> Option<Oid> {
    let mut git = Command::new("git");
    git.arg("-C").arg(work).args(["hash-object", "-w", "--literally", "--stdin", "-t", kind]);
    let git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = git.spawn().ok()?;
    child.stdin.take()?.write_all(content).ok()?;
    let output = child.wait_with_output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
