use crate::error::StoreFuture;

/// The projects of sessions, named by their keys.
pub trait ProjectStore {
    /// Returns the project of the newest session in this directory, if it is known.
    fn project_of_directory(&self, dir: String) -> StoreFuture<'_, Option<String>>;
    /// Returns the directories of sessions whose project is not known.
    fn directories_without_project(&self) -> StoreFuture<'_, Vec<String>>;
    /// Sets the project of this directory's sessions whose project is not known.
    fn set_project_of_directory(&self, dir: String, project: String) -> StoreFuture<'_, ()>;
}
