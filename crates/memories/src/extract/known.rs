//! Existing topics, and statements that a person removed from them.

use std::collections::{BTreeMap, HashMap};

use bethink_api::MemoryAuthor;
use bethink_extractor::Meaning;
use bethink_extractor::embedded::KnownTopic;
use bethink_extractor::unwanted::{By, Version, unwanted};
use bethink_memdir::{Name, Scope, header};
use bethink_service::{Result, at_low_priority};
use bethink_store::{RefusedStatement, VersionRecord};

use crate::directory::MemoryDirectory;
use crate::dream::OURS;
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Maximum number of versions that are searched for removed statements, newest first.
const VERSIONS: usize = 4_000;

impl MemoryService {
    /// Reads the topics of all scopes from disk. Unreadable topics are skipped.
    pub(super) async fn known_topics(&self, project: &MemoryProject) -> Result<Vec<KnownTopic>> {
        let mut known = Vec::new();
        for scope in Scope::ALL {
            let directory = project.directory(scope);
            let shown = self.snapshot(directory).await?;
            for name in shown.topics.keys() {
                match directory.read(name).await {
                    Ok(Some((text, hash))) => {
                        known.push(KnownTopic { name: name.clone(), hash, text, scope });
                    }
                    Ok(None) => {}
                    Err(error) => {
                        tracing::debug!(topic = %name, reason = %error.detail, "could not read a topic");
                    }
                }
            }
        }
        Ok(known)
    }

    /// Returns statements that must not be learned again.
    pub(super) async fn unwanted(
        &self,
        project: &MemoryProject,
        known: &[KnownTopic],
    ) -> Result<Vec<Meaning>> {
        let refused = self.cx.store().refused_statements(project.key.clone()).await?;
        let mut found: Vec<Meaning> = refused
            .into_iter()
            .map(|RefusedStatement { words, negative }| Meaning::from_stored(words, negative))
            .collect();
        let mut topics = self.histories(project.directory(Scope::Private), known).await?;
        topics.extend(self.histories(project.directory(Scope::Person), known).await?);
        let taken_out = at_low_priority(move || {
            topics.iter().flat_map(|held| unwanted(held)).collect::<Vec<_>>()
        });
        found.extend(taken_out.await?);
        Ok(found)
    }

    /// Records that a statement must never be learned again, in any wording.
    pub(crate) async fn refuse_statement(
        &self,
        project: &MemoryProject,
        statement: &str,
    ) -> Result<()> {
        let meaning = Meaning::of(statement);
        if meaning.words.is_empty() {
            return Ok(());
        }
        let (words, negative) = meaning.into_stored();
        let refused = RefusedStatement { words, negative };
        Ok(self.cx.store().refuse_statement(project.key.clone(), refused, self.cx.now()).await?)
    }

    /// Returns the topics that a person or an agent wrote or edited, as far as the last versions show it.
    pub(super) async fn persons_topics(
        &self,
        directory: &MemoryDirectory,
        known: &[KnownTopic],
    ) -> Result<Vec<Name>> {
        let mut ours: HashMap<String, (String, bool)> = HashMap::new();
        for version in self.cx.store().memory_versions(directory.versions(VERSIONS)).await? {
            let is_ours = OURS.contains(&version.author);
            let newest = || (version.hash.clone(), true);
            ours.entry(version.file.clone()).or_insert_with(newest).1 &= is_ours;
        }
        let is_ours = |known: &&KnownTopic| {
            let newest = ours.get(&known.name.file());
            newest.is_some_and(|(hash, ours)| *ours && *hash == known.hash.to_string())
        };
        let known = known.iter().filter(|known| known.scope == directory.scope);
        Ok(known.filter(|known| !is_ours(known)).map(|known| known.name.clone()).collect())
    }

    /// Returns all versions of each topic in the person's own memory that an extraction wrote, here or on another machine, oldest first,
    /// then the current text if it differs.
    async fn histories(
        &self,
        directory: &MemoryDirectory,
        known: &[KnownTopic],
    ) -> Result<Vec<Vec<Version>>> {
        let mut files: BTreeMap<String, Vec<VersionRecord>> = BTreeMap::new();
        for version in self.cx.store().memory_versions(directory.versions(VERSIONS)).await? {
            files.entry(version.file.clone()).or_default().push(version);
        }
        files.retain(|_, versions| {
            let mut authors = versions.iter().map(|version| version.author);
            authors.any(|author| matches!(author, MemoryAuthor::Extraction | MemoryAuthor::Sync))
        });
        let mut all = Vec::new();
        for (file, versions) in files {
            let newest = versions.first().map(|version| version.hash.clone()).unwrap_or_default();
            let mut held = Vec::new();
            for version in versions.iter().rev() {
                let text = self.text_of_version(version).await?;
                held.push(Version { by: by(version.author, text.as_deref()), text });
            }
            let is_there =
                |known: &&KnownTopic| known.scope == directory.scope && known.name.file() == file;
            let now = known.iter().find(is_there);
            if now.map_or_else(String::new, |known| known.hash.to_string()) != newest {
                held.push(Version { by: By::Person, text: now.map(|known| known.text.clone()) });
            }
            all.push(held);
        }
        Ok(all)
    }
}

fn by(author: MemoryAuthor, text: Option<&str>) -> By {
    match author {
        MemoryAuthor::Extraction => By::Extraction,
        MemoryAuthor::Person | MemoryAuthor::Restore | MemoryAuthor::Found => By::Person,
        MemoryAuthor::Agent | MemoryAuthor::Dream => By::Other,
        // From another machine. What was learned there says where it comes from.
        MemoryAuthor::Sync => match text.map(|text| header::read(text).header.source.is_some()) {
            Some(true) => By::Extraction,
            Some(false) | None => By::Person,
        },
    }
}
