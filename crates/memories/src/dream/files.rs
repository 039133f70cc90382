//! Reads a directory's files for the engine: their texts, and whether only the daemon has written them.

use std::sync::Arc;

use bethink_api::MemoryAuthor;
use bethink_dream::{DreamDirectory, DreamTopic};
use bethink_memdir::{Hash, Name};
use bethink_memdir_fs::{DirectoryFile, FileError, MemoryRoot};
use bethink_service::{ErrorKind, Result, ServiceError, blocking};
use bethink_store::MemoryVersionFilter;
use bethink_transcript::UnixMicros;

use crate::directory::MemoryDirectory;
use crate::refused::refused;
use crate::service::MemoryService;

/// Maximum size of all topics together, in bytes: a hundred thousand topics of the usual size. They are held in memory.
const MOST_BYTES: usize = 256 << 20;
/// Maximum number of versions of a file that are checked. A file with more versions is treated as a person's.
const VERSIONS: usize = 200;
/// Authors that stand for the daemon itself. A file with any other author belongs to a person.
pub(crate) const OURS: [MemoryAuthor; 2] = [MemoryAuthor::Extraction, MemoryAuthor::Dream];

struct ReadDirectory {
    index: Option<String>,
    topics: Vec<(Name, String, UnixMicros, Hash)>,
    unread: Vec<Name>,
}

impl MemoryService {
    pub(super) async fn dream_directory(
        &self,
        directory: &Arc<MemoryDirectory>,
        root: &Arc<MemoryRoot>,
    ) -> Result<DreamDirectory> {
        let held = Arc::clone(root);
        let read = blocking(move || read(&held)).await?;
        let mut topics = Vec::with_capacity(read.topics.len());
        for (name, text, modified, hash) in read.topics {
            let learned = bethink_memdir::header::read(&text).header.source.is_some();
            let limit = if learned { VERSIONS } else { 1 };
            let past = self.authors_of(directory, name.file(), hash, limit).await?;
            let (untouched, put_back) = (learned && past.all_ours, past.put_back);
            topics.push(DreamTopic { name, text, modified, untouched, put_back });
        }
        let hash = read.index.as_ref().map(|text| Hash::of(text.as_bytes()));
        let index_put_back = match hash {
            Some(hash) => {
                self.authors_of(directory, DirectoryFile::Index.path(), hash, 1).await?.put_back
            }
            None => false,
        };
        let (index, unread) = (read.index, read.unread);
        Ok(DreamDirectory { scope: directory.scope, index, index_put_back, topics, unread })
    }

    /// Finds out who wrote a file.
    async fn authors_of(
        &self,
        directory: &MemoryDirectory,
        file: String,
        hash: Hash,
        limit: usize,
    ) -> Result<FileAuthors> {
        let filter = MemoryVersionFilter { file: Some(file), ..directory.versions(limit) };
        let versions = self.cx.store().memory_versions(filter).await?;
        let newest = versions.first().filter(|version| version.hash == hash.to_string());
        let ours = versions.iter().all(|version| OURS.contains(&version.author));
        Ok(FileAuthors {
            all_ours: newest.is_some() && ours && versions.len() < VERSIONS,
            put_back: newest.is_some_and(|version| version.author == MemoryAuthor::Restore),
        })
    }
}

struct FileAuthors {
    /// Whether the daemon wrote every version, and the newest version is the current text.
    all_ours: bool,
    /// Whether a person restored the current text.
    put_back: bool,
}

fn read(root: &MemoryRoot) -> Result<ReadDirectory> {
    let listing = root.list().map_err(refused)?;
    let strange = listing.strange.iter().filter_map(|strange| Name::parse(&strange.path).ok());
    let mut read = ReadDirectory { index: None, topics: Vec::new(), unread: strange.collect() };
    let mut bytes = 0;
    for (file, _) in listing.files() {
        let content = match root.read(&file) {
            Ok(Some(content)) => content,
            Ok(None) => continue,
            Err(FileError::Strange { .. }) => {
                if let DirectoryFile::Topic(name) = file {
                    read.unread.push(name);
                }
                continue;
            }
            Err(error) => return Err(refused(error)),
        };
        bytes += content.bytes.len();
        if bytes > MOST_BYTES {
            let detail = format!(
                "the memory has more than {MOST_BYTES} bytes, which is too much to consolidate at once"
            );
            return Err(ServiceError::new(ErrorKind::TooLarge, detail)
                .bounded(MOST_BYTES as u64, bytes as u64));
        }
        let (hash, modified) = (content.hash, content.stat.modified);
        match (String::from_utf8(content.bytes), file) {
            (Ok(text), DirectoryFile::Index) => read.index = Some(text),
            (Ok(text), DirectoryFile::Topic(name)) => {
                read.topics.push((name, text, modified, hash));
            }
            (_, DirectoryFile::Rejections) => {}
            (Err(_), DirectoryFile::Topic(name)) => read.unread.push(name),
            (Err(_), DirectoryFile::Index) => {
                return Err(
                    ServiceError::conflict("MEMORY.md is not UTF-8").hint("fix or remove the file")
                );
            }
        }
    }
    Ok(read)
}
