//! What a question would find if some topics were changed. Nothing is stored.

use std::collections::HashMap;
use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::{Hash, Name, Scope};
use bethink_service::{Result, ServiceError, blocking};

use super::Key;
use super::library::Library;
use crate::directory::{DirectorySnapshot, MemoryTopic};
use crate::project::MemoryProject;
use crate::service::MemoryService;

/// Maximum number of changes in one request, and maximum size of their texts together, in bytes.
const MOST_CHANGES: usize = 20;
const MOST_CHANGE_BYTES: usize = 1024 * 1024;

/// The changes to try: each topic's new text, or `None` if it is deleted.
pub(super) type TriedChanges = HashMap<Key, Option<String>>;

/// The topics that a question is answered from: those of the project, or a changed copy of them.
#[derive(Debug)]
pub(super) struct RecallSource {
    pub(super) library: Arc<Library>,
    shown: [Arc<DirectorySnapshot>; 3],
    changes: TriedChanges,
}

impl RecallSource {
    pub(super) fn of(project: &MemoryProject) -> Self {
        let shown = project.directories().map(|directory| directory.shown());
        Self { library: Arc::clone(&project.library), shown, changes: TriedChanges::new() }
    }

    pub(super) fn shown(&self, scope: Scope) -> &DirectorySnapshot {
        &self.shown[scope as usize]
    }

    /// Returns a topic's text, or `None` if its file no longer exists.
    pub(super) async fn text(&self, project: &MemoryProject, key: &Key) -> Option<String> {
        match self.changes.get(key) {
            Some(text) => text.clone(),
            None => Some(project.directory(key.0).read(&key.1).await.ok()??.0),
        }
    }
}

/// Checks the changes of a request.
pub(super) fn tried_changes(changes: &[api::RecallChange]) -> Result<TriedChanges> {
    if changes.len() > MOST_CHANGES {
        let detail = format!("has {} changes; at most {MOST_CHANGES} are allowed", changes.len());
        return Err(ServiceError::invalid("changes", detail).hint("try fewer changes at a time"));
    }
    let bytes: usize =
        changes.iter().filter_map(|change| change.text.as_ref()).map(String::len).sum();
    if bytes > MOST_CHANGE_BYTES {
        let detail = format!("has {bytes} bytes of text; at most {MOST_CHANGE_BYTES} are allowed");
        return Err(ServiceError::invalid("changes", detail).hint("try fewer changes at a time"));
    }
    let mut tried = TriedChanges::new();
    for (at, change) in changes.iter().enumerate() {
        let wrong = |detail: String| ServiceError::invalid(format!("changes[{at}].name"), detail);
        let name = Name::parse(&change.name).map_err(|error| wrong(error.to_string()))?;
        if tried.insert((change.scope, name), change.text.clone()).is_some() {
            let detail = format!("is changed twice: {}/{}", change.scope, change.name);
            return Err(wrong(detail).hint("send one change for each topic"));
        }
    }
    Ok(tried)
}

impl MemoryService {
    /// Returns a copy of the project's topics with these changes.
    pub(super) async fn what_if(
        &self,
        project: &Arc<MemoryProject>,
        changes: TriedChanges,
    ) -> Result<RecallSource> {
        let (project, now) = (Arc::clone(project), self.cx.now());
        // Copying a large library takes a while, and a changed text may be long.
        blocking(move || {
            let mut source = RecallSource::of(&project);
            for ((scope, name), text) in &changes {
                let topics = &mut Arc::make_mut(&mut source.shown[*scope as usize]).topics;
                match text {
                    Some(text) => {
                        let topic = MemoryTopic::read(name, text, Hash::of(text.as_bytes()), now);
                        topics.insert(name.clone(), Arc::new(topic));
                    }
                    None => drop(topics.remove(name)),
                }
            }
            let library = Arc::new(project.library.copied());
            library.follow(&source.shown, |key| match changes.get(key) {
                Some(text) => text.as_ref().map(|text| (text.clone(), Hash::of(text.as_bytes()))),
                None => project.text_of(key),
            });
            library.meanings.forget_outdated(&library);
            Ok(RecallSource { library, changes, ..source })
        })
        .await
    }
}
