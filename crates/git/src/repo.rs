//! A repository, opened so that git does not use its settings.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::error::{GitError, GitTrouble};
use crate::oid::Oid;
use crate::run::{Git, GitCall};

/// The branch of a new repository.
pub const BRANCH: &str = "main";
/// Maximum size of a HEAD file that is read, in bytes. A branch name has at most 250 bytes.
const MOST_HEAD: u64 = 1_024;

/// A working directory's repository. Its objects, refs and index are used, but not its settings, hooks or attributes.
#[derive(Clone, Debug)]
pub struct Repo {
    pub(crate) git: Git,
    /// The `.git` directory.
    pub(crate) own: PathBuf,
    /// A directory that belongs to bethink and that git uses as the repository.
    pub(crate) view: PathBuf,
    pub(crate) branch: String,
}

impl Git {
    /// Returns the URL of the remote `origin` in the repository of a main working tree. Not applied, and not checked.
    pub async fn origin(&self, tree: &Path) -> Result<Option<String>, GitError> {
        self.setting(&tree.join(".git"), "remote.origin.url").await
    }

    /// Returns the value of a setting in the configuration of a `.git` directory. The setting is not applied.
    async fn setting(&self, own: &Path, name: &str) -> Result<Option<String>, GitError> {
        let args = ["config", "--no-includes", "--file"];
        let mut call = GitCall::nowhere("read a repository setting", args, self);
        call.args.push(own.join("config").into());
        call.args.extend(["--get", name].map(OsString::from));
        Ok(self.run(call).await?.value())
    }
}

impl Repo {
    /// Returns whether the directory itself is the root of a working tree, not just a directory inside one.
    pub fn is_in(dir: &Path) -> bool {
        fs::symlink_metadata(dir.join(".git")).is_ok()
    }

    /// Creates a repository in a directory. An existing repository is not changed; one without `HEAD` or objects, which an
    /// interrupted call left, is completed. Returns whether this call created it. If it fails, it leaves no new `.git`.
    pub async fn init(git: &Git, dir: &Path, branch: &str) -> Result<bool, GitError> {
        let own = dir.join(".git");
        let is_whole = own.join("objects").exists() && own.join("HEAD").exists();
        let is_new = !Self::is_in(dir);
        if is_whole || !is_new && !own.is_dir() {
            return Ok(false);
        }
        let args = ["init", "--quiet", "--template=", "--initial-branch", branch, "--"];
        let mut call = GitCall::local("create a repository", args, git);
        call.args.push(dir.into());
        let made = git.succeed(call).await;
        if made.is_err() && is_new {
            fs::remove_dir_all(&own).ok();
        }
        made.map(|_| is_new)
    }

    /// Opens the repository of `dir` through `view`, a directory that belongs to bethink and is created if it is missing.
    /// Several processes may use the same view at the same time.
    pub fn open(git: &Git, dir: &Path, view: &Path) -> Result<Self, GitError> {
        let doing = "open the repository";
        let own = dir.join(".git");
        let unsuitable = |why| GitError::Failed { doing, why, said: String::new() };
        let kind = fs::symlink_metadata(&own).map_err(|_| unsuitable(GitTrouble::NoRepository))?;
        if !kind.is_dir() {
            return Err(unsuitable(GitTrouble::Worktree));
        }
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => unsuitable(GitTrouble::NoRepository),
            _ => GitError::Io { doing, source },
        };
        let own = fs::canonicalize(&own).map_err(failed)?;
        let branch = branch_of(&read_head(&own).map_err(failed)?).ok_or_else(|| {
            let rebases = ["rebase-merge", "rebase-apply"];
            match rebases.iter().any(|state| own.join(state).is_dir()) {
                true => unsuitable(GitTrouble::Rebase),
                false => unsuitable(GitTrouble::NoBranch),
            }
        })?;
        look_through(&own, view, &branch).map_err(|source| GitError::Io { doing, source })?;
        Ok(Self { git: git.clone(), own, view: view.to_owned(), branch })
    }

    pub fn branch(&self) -> &str {
        &self.branch
    }

    /// Returns the path of the lock file that all daemons use.
    pub fn lock_file(&self) -> PathBuf {
        self.own.join("bethink.lock")
    }

    /// Excludes files from `git status` and `git add`, in this clone only.
    pub fn leave_alone(&self, pattern: &str) -> Result<(), GitError> {
        let failed = |source| GitError::Io { doing: "write .git/info/exclude", source };
        let folder = self.own.join("info");
        fs::create_dir_all(&folder).map_err(failed)?;
        let path = folder.join("exclude");
        let said = fs::read_to_string(&path).unwrap_or_default();
        if said.lines().any(|line| line.trim() == pattern) {
            return Ok(());
        }
        let end = if said.is_empty() || said.ends_with('\n') { "" } else { "\n" };
        write(&path, &format!("{said}{end}{pattern}\n")).map_err(failed)
    }

    pub(crate) fn call<S: Into<OsString>>(
        &self,
        doing: &'static str,
        args: impl IntoIterator<Item = S>,
    ) -> GitCall<'_> {
        let mut call = GitCall::local(doing, args, &self.git);
        call.env.push(("GIT_DIR", self.view.clone().into()));
        call.dir = Some(&self.view);
        call
    }

    /// Returns the value of a setting in the repository's own configuration. The setting is not applied.
    pub async fn own_setting(&self, name: &str) -> Result<Option<String>, GitError> {
        self.git.setting(&self.own, name).await
    }

    pub async fn set_own_setting(&self, name: &str, value: &str) -> Result<(), GitError> {
        let mut call = self.call("write a repository setting", ["config", "--file"]);
        call.args.push(self.own.join("config").into());
        call.args.extend([name, value].map(OsString::from));
        self.git.succeed(call).await.map(drop)
    }

    /// Returns the commit of a ref, if it exists.
    pub async fn tip(&self, name: &str) -> Result<Option<Oid>, GitError> {
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", name];
        self.git.run(self.call("read a ref", args)).await?.oid("read a ref")
    }

    pub async fn head(&self) -> Result<Option<Oid>, GitError> {
        self.tip(&format!("refs/heads/{}", self.branch)).await
    }
}

fn read_head(own: &Path) -> io::Result<String> {
    let path = own.join("HEAD");
    let kind = fs::symlink_metadata(&path)?;
    if !kind.is_file() || kind.len() > MOST_HEAD {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "HEAD is not a regular file, or is too large",
        ));
    }
    fs::read_to_string(path)
}

/// Parses `ref: refs/heads/<branch>`. The branch name may contain only safe characters.
pub(crate) fn branch_of(head: &str) -> Option<String> {
    let branch = head.trim_end().strip_prefix("ref: refs/heads/")?;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let fine = !branch.is_empty() && branch.chars().all(plain) && !branch.contains("..");
    (fine && !branch.starts_with(['-', '/', '.'])).then(|| branch.to_owned())
}

/// Creates or corrects the view. Files that are already correct are not written again, because a git process may be
/// using them. Only the settings for the format of objects and refs are taken from the repository.
pub(crate) fn look_through(own: &Path, view: &Path, branch: &str) -> io::Result<()> {
    fs::create_dir_all(view)?;
    let own_config = fs::read_to_string(own.join("config")).unwrap_or_default().to_lowercase();
    let says = |name: &str, value: &str| {
        let mut settings = own_config.lines().filter_map(|line| line.split_once('='));
        settings.any(|(key, said)| key.trim() == name && said.trim() == value)
    };
    let reftable = says("refstorage", "reftable");
    let tables = reftable.then_some("reftable");
    for part in ["objects", "refs", "packed-refs", "shallow"].into_iter().chain(tables) {
        link(&own.join(part), &view.join(part))?;
    }
    write(&view.join("HEAD"), &format!("ref: refs/heads/{branch}\n"))?;
    let mut config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n\tlogAllRefUpdates = false\n[extensions]\n".to_owned();
    if says("objectformat", "sha256") {
        config.push_str("\tobjectFormat = sha256\n");
    }
    if reftable {
        config.push_str("\trefStorage = reftable\n");
    }
    write(&view.join("config"), &config)
}

fn link(target: &Path, at: &Path) -> io::Result<()> {
    if fs::read_link(at).is_ok_and(|found| found == target) {
        return Ok(());
    }
    if fs::symlink_metadata(at).is_ok() {
        fs::remove_file(at)?;
    }
    match symlink(target, at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Writes a file atomically.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|found| found == text) {
        return Ok(());
    }
    let draft = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&draft, text)?;
    fs::rename(&draft, path)
}
