//! Finds the directories whose sessions belong to a project: its working trees, the directories in them, and, if several machines use
//! one database, the clones of its repository on all of them.

use std::path::Path;

use bethink_service::{ErrorKind, Result, blocking};

use crate::place::{root_of, trees_of};
use crate::service::MemoryService;

impl MemoryService {
    /// Returns the directories with sessions that belong to the project of `dir`. Directories of other projects are not looked at: they
    /// may be on a disk that does not answer.
    pub async fn session_dirs(&self, dir: &str) -> Result<Vec<String>> {
        let project = match self.project(dir).await {
            Ok(project) => project,
            // An old session may have a relative directory.
            Err(error) if error.kind == ErrorKind::Invalid => return Ok(vec![dir.to_owned()]),
            Err(error) => return Err(error),
        };
        let known = self.cx.store().projects().await?.into_iter().map(|(dir, _)| dir);
        let known: Vec<String> = known.collect();
        let clones = self.cx.store().roots_of_name(project.key.clone()).await?;
        let (dir, root) = (dir.to_owned(), project.root.clone());
        blocking(move || {
            let trees = trees_of(&root);
            let is_in = |path: &Path| {
                let mut other = clones.iter().map(Path::new).filter(|clone| *clone != root);
                other.any(|clone| path.starts_with(clone))
                    || (trees.iter().any(|tree| path.starts_with(tree)) && root_of(path) == root)
            };
            let belongs = |known: &String| *known == dir || is_in(Path::new(known));
            Ok(known.into_iter().filter(belongs).collect())
        })
        .await
    }
}
