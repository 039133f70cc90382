//! Resolves conflicts: topics that have several versions in the directory. One version or a merged text is kept under
//! the topic's name. The others are removed from the directory and remain in the history.

use bethink_api as api;
use bethink_git::{CommittedChange, Oid, Repo};
use bethink_memdir::{Hash, Name, Scope, conflict};
use bethink_memdir_fs::DirectoryFile;
use bethink_memories::{Author, Expected, MemoryProject, MemoryWrite};
use bethink_service::{Result, ServiceError};

use crate::errors::git_error;
use crate::service::TeamService;

/// Author name of commits that were made without a user name.
const NOBODY: &str = "bethink";

/// A version of a topic as it was read.
struct ReadVersion {
    name: Name,
    text: String,
    hash: Hash,
    mine: bool,
}

impl TeamService {
    pub(crate) async fn open_conflicts(
        &self,
        project: &MemoryProject,
    ) -> Result<Vec<api::OpenConflict>> {
        let shown = self.memories.snapshot(project.directory(Scope::Team)).await?;
        let mut open = Vec::new();
        for (topic, others) in shown.conflicts() {
            let there = shown.topics.contains_key(&topic).then(|| topic.clone());
            let names: Vec<Name> = there.into_iter().chain(others).collect();
            let versions = self.versions(project, &names).await?;
            open.push(api::OpenConflict { name: topic.to_string(), versions });
        }
        Ok(open)
    }

    async fn versions(
        &self,
        project: &MemoryProject,
        names: &[Name],
    ) -> Result<Vec<api::ConflictVersion>> {
        let dir = &project.directory(Scope::Team).dir;
        let repo = Repo::is_in(dir).then(|| self.team_repo(project)).transpose()?;
        let mut authors = Vec::with_capacity(names.len());
        let mut me = None;
        if let Some(repo) = &repo {
            me = Some(repo.person().await.map_err(git_error)?.name);
            let head = repo.head().await.map_err(git_error)?;
            for name in names {
                let file = DirectoryFile::Topic(name.clone());
                authors.push(last_change(repo, head.as_ref(), &file).await);
            }
        }
        authors.resize(names.len(), None);
        // If several versions have this author, it is unclear which one belongs to the user.
        let is_mine = |change: &CommittedChange| Some(&change.author) == me.as_ref();
        let mine = authors.iter().flatten().filter(|change| is_mine(change)).count();
        let version = |(name, change): (&Name, &Option<CommittedChange>)| api::ConflictVersion {
            name: name.to_string(),
            by: change.as_ref().map(person),
            mine: mine == 1 && change.as_ref().is_some_and(is_mine),
        };
        Ok(names.iter().zip(&authors).map(version).collect())
    }

    /// Keeps one version of a topic, or a merged text, and removes the others.
    pub async fn resolve_conflict(
        &self,
        request: api::ResolveConflict,
    ) -> Result<api::ConflictResolved> {
        let project = self.memories.project(&request.project_dir).await?;
        let _one = project.turns.syncing.lock().await;
        let named = Name::parse(&request.name)
            .map_err(|error| ServiceError::invalid("name", error.to_string()))?;
        let topic = conflict::topic_of(&named).unwrap_or(named);
        let versions = self.read_versions(&project, &topic).await?;
        let (text, kept) = match (&request.keep, request.text) {
            (Some(keep), None) => {
                let version = chosen(&topic, &versions, keep)?;
                (version.text.clone(), Some(version.name.to_string()))
            }
            (None, Some(text)) => (text, None),
            _ => {
                return Err(ServiceError::invalid("keep", "set either `keep` or `text`"));
            }
        };
        let there = versions.iter().find(|version| version.name == topic);
        let expected = there.map(|version| version.hash).into();
        self.put_version(&project, &topic, Some(text), expected).await?;
        let mut removed = Vec::new();
        for version in versions.iter().filter(|version| version.name != topic) {
            let expected = Expected::Hash(version.hash);
            self.put_version(&project, &version.name, None, expected).await?;
            removed.push(version.name.to_string());
        }
        Ok(api::ConflictResolved { name: topic.to_string(), kept, removed })
    }

    async fn read_versions(
        &self,
        project: &MemoryProject,
        topic: &Name,
    ) -> Result<Vec<ReadVersion>> {
        let directory = project.directory(Scope::Team);
        directory.doubt();
        let shown = self.memories.snapshot(directory).await?;
        let Some(others) = shown.conflicts().remove(topic) else {
            let detail = format!("could not resolve {topic}: there is only one version of it");
            return Err(
                ServiceError::not_found(detail).hint("`bethink team status` lists the conflicts")
            );
        };
        let names: Vec<Name> = std::iter::once(topic.clone()).chain(others).collect();
        let mut read = Vec::new();
        for version in self.versions(project, &names).await? {
            let name = Name::parse(&version.name).map_err(ServiceError::internal)?;
            let file = DirectoryFile::Topic(name.clone());
            let Some(content) = directory.read_file(&file).await? else { continue };
            let text = content.text().map(str::to_owned).ok_or_else(|| {
                ServiceError::conflict(format!("could not read {file}: it is not UTF-8"))
                    .hint("fix or remove the file")
            })?;
            read.push(ReadVersion { name, text, hash: content.hash, mine: version.mine });
        }
        Ok(read)
    }

    async fn put_version(
        &self,
        project: &MemoryProject,
        name: &Name,
        text: Option<String>,
        expected: Expected,
    ) -> Result<()> {
        let file = DirectoryFile::Topic(name.clone());
        let author = Author {
            by: api::MemoryAuthor::Person,
            session: None,
            note: "resolved a conflict".to_owned(),
        };
        let write = MemoryWrite { scope: Scope::Team, file, text, expected, author };
        self.memories.write_memory(project, write).await.map(drop)
    }
}

/// Returns the version that `keep` selects: `mine`, `theirs` or a version's name.
fn chosen<'a>(topic: &Name, versions: &'a [ReadVersion], keep: &str) -> Result<&'a ReadVersion> {
    let names: Vec<String> = versions.iter().map(|version| version.name.to_string()).collect();
    let unclear = |why: &str| {
        let detail =
            format!("could not resolve {topic}: {why}; the versions are {}", names.join(", "));
        ServiceError::conflict(detail)
            .hint("name the version to keep: `bethink team resolve TOPIC --keep-version VERSION`")
    };
    let (mine, theirs): (Vec<&ReadVersion>, Vec<&ReadVersion>) =
        versions.iter().partition(|version| version.mine);
    match keep {
        "mine" | "theirs" if mine.len() != 1 => {
            Err(unclear("it is unclear which version is yours"))
        }
        "mine" => Ok(mine[0]),
        "theirs" if theirs.len() == 1 => Ok(theirs[0]),
        "theirs" => Err(unclear("there are several versions by others")),
        name => {
            let name = name.strip_suffix(".md").unwrap_or(name);
            let named = versions.iter().find(|version| version.name.as_str() == name);
            named.ok_or_else(|| unclear(&format!("there is no version {name:?}")))
        }
    }
}

/// Returns the name of the person who made a change.
pub(crate) fn person(change: &CommittedChange) -> String {
    match change.author.as_str() {
        "" | NOBODY => "someone without a git user name".to_owned(),
        name => name.to_owned(),
    }
}

async fn last_change(
    repo: &Repo,
    head: Option<&Oid>,
    file: &DirectoryFile,
) -> Option<CommittedChange> {
    repo.last_change(head?, &file.path()).await.ok()?
}

/// Returns who changed a file last, and in which commit.
pub(crate) async fn changed_by(
    repo: &Repo,
    head: Option<&Oid>,
    file: &DirectoryFile,
) -> Option<String> {
    let change = last_change(repo, head, file).await?;
    Some(format!("{}, {}", person(&change), change.commit.short()))
}
