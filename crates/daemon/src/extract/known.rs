//! What is in the memory already, and what a person took out of it.

use std::collections::BTreeMap;

use bethink_extractor::Meaning;
use bethink_extractor::unwanted::{By, Version, unwanted};
use bethink_memdir::{Hash, Name, Scope};
use bethink_store::{Kept, MemoryVersion, MemoryVersionFilter};

use super::REFUSED;
use crate::memory::{Project, Shelf};
use crate::quiet::quietly;
use crate::{Daemon, Refusal, Result};

/// Versions that are looked through for what was taken out, newest first.
const VERSIONS: usize = 4_000;

/// A topic with its text.
pub(super) struct Known {
    pub(super) name: Name,
    pub(super) hash: Hash,
    pub(super) text: String,
    pub(super) scope: Scope,
}

/// A version as text, of which the disk may be the last.
struct Held {
    by: By,
    text: Option<String>,
}

impl Daemon {
    /// Topics of both scopes, as they stand on disk. One that can't be read is passed over.
    pub(super) async fn known_topics(&self, project: &Project) -> Result<Vec<Known>> {
        let mut known = Vec::new();
        for scope in [Scope::Private, Scope::Team] {
            let shelf = project.shelf(scope);
            let shown = shelf.snapshot(self).await?;
            for name in shown.topics.keys() {
                match shelf.read(self, name).await {
                    Ok(Some((text, hash))) => {
                        known.push(Known { name: name.clone(), hash, text, scope });
                    }
                    Ok(None) => {}
                    Err(refusal) => {
                        tracing::debug!(topic = %name, reason = %refusal.detail, "not read");
                    }
                }
            }
        }
        Ok(known)
    }

    /// Statements that are not learnt again.
    pub(super) async fn unwanted(
        &self,
        project: &Project,
        known: &[Known],
    ) -> Result<Vec<Meaning>> {
        let kept = self.store().kept(REFUSED.to_owned(), project.key.clone()).await?;
        let mut found: Vec<Meaning> =
            kept.iter().filter_map(|kept| serde_json::from_str(&kept.value).ok()).collect();
        let topics = self.histories(project.shelf(Scope::Private), known).await?;
        let taken_out = quietly(move || {
            topics.iter().flat_map(|held| unwanted(&versions(held))).collect::<Vec<_>>()
        });
        found.extend(taken_out.await?);
        Ok(found)
    }

    /// For good: in other words it is refused, too.
    pub(super) async fn refuse_statement(&self, project: &Project, statement: &str) -> Result<()> {
        let meaning = Meaning::of(statement);
        if meaning.words.is_empty() {
            return Ok(());
        }
        let value = serde_json::to_string(&meaning).map_err(Refusal::internal)?;
        let key = Hash::of(value.as_bytes()).to_string();
        let (space, owner, at) = (REFUSED.to_owned(), project.key.clone(), self.now());
        Ok(self.store().keep(Kept { space, owner, key, value, at }).await?)
    }

    /// All versions of each topic that an extraction wrote, oldest first, and what stands there now.
    async fn histories(&self, shelf: &Shelf, known: &[Known]) -> Result<Vec<Vec<Held>>> {
        let filter = MemoryVersionFilter {
            directory: shelf.key.clone(),
            limit: VERSIONS,
            ..MemoryVersionFilter::default()
        };
        let mut files: BTreeMap<String, Vec<MemoryVersion>> = BTreeMap::new();
        for version in self.store().memory_versions(filter).await? {
            files.entry(version.file.clone()).or_default().push(version);
        }
        files.retain(|_, versions| {
            versions.iter().any(|version| by(&version.author) == By::Extraction)
        });
        let mut all = Vec::new();
        for (file, versions) in files {
            let newest = versions.first().map(|version| version.hash.clone()).unwrap_or_default();
            let mut held = Vec::new();
            for version in versions.iter().rev() {
                let content = self.store().memory_content(version.number).await?;
                let text = content.and_then(|kept| kept.content);
                let text = text.and_then(|bytes| String::from_utf8(bytes.into()).ok());
                held.push(Held { by: by(&version.author), text });
            }
            let is_there =
                |known: &&Known| known.scope == Scope::Private && known.name.file() == file;
            let now = known.iter().find(is_there);
            if now.map_or_else(String::new, |known| known.hash.to_string()) != newest {
                held.push(Held { by: By::Person, text: now.map(|known| known.text.clone()) });
            }
            all.push(held);
        }
        Ok(all)
    }
}

fn versions(held: &[Held]) -> Vec<Version<'_>> {
    held.iter().map(|held| Version { by: held.by, text: held.text.as_deref() }).collect()
}

fn by(author: &str) -> By {
    match author {
        "extraction" => By::Extraction,
        "person" | "restore" | "found" => By::Person,
        _ => By::Other,
    }
}
