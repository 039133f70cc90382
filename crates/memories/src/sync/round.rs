//! One round of a sync: compare, write here, and then write to the database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bethink_config::Home;
use bethink_memdir::Hash;
use bethink_memdir::merge::{FileChange, PlanStep, Side, plan, with_asides};
use bethink_memdir_fs::DirectoryFile;
use bethink_secrets::{ScannedText, scan};
use bethink_service::{Result, ServiceError, locked};
use bethink_store::SyncedChange;
use bytes::Bytes;

use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::held_back::listed;
use crate::memory_write::MAX_MEMORY_BYTES;
use crate::project::MemoryProject;
use crate::service::MemoryService;
use crate::sync::base::{FileHashes, SyncBase, hashes};
use crate::sync::incoming::{IncomingFile, SyncObstacle};

/// For the history of a file that was changed on another machine.
const NOTE: &str = "from another machine";

/// How long it takes to remove a directory with many files.
const REMOVAL_TIME: Duration = Duration::from_millis(500);

/// A directory that is synced.
#[derive(Clone, Copy)]
pub(super) struct Synced<'a> {
    pub(super) project: &'a MemoryProject,
    pub(super) directory: &'a Arc<MemoryDirectory>,
    /// The directory's name on all machines.
    pub(super) name: &'a str,
}

/// The contents of files that differ, and of the index.
#[derive(Default)]
struct Sides {
    base: Side,
    ours: Side,
    theirs: Side,
}

/// What a round has done here, and what it has to do in the database.
struct Applied {
    /// What both sides have in common after the round.
    base: SyncBase,
    changes: Vec<SyncedChange>,
    held: BTreeMap<DirectoryFile, String>,
}

enum StepOutcome {
    Done,
    /// The file is not synced.
    Held,
    /// The file has changed since it was read.
    Moved,
}

impl MemoryService {
    /// Returns `false` if a file has changed meanwhile on either side.
    pub(super) async fn sync_round(
        &self,
        synced: Synced<'_>,
        stored: &mut Option<SyncBase>,
    ) -> Result<bool> {
        let Synced { directory, name, .. } = synced;
        let path = self.base_path(directory);
        let last = match stored.take() {
            Some(base) => base,
            None => SyncBase::read(path.clone()).await?,
        };
        let last = stored.insert(last);
        let mut shown = self.snapshot(directory).await?;
        if last.files.keys().any(|file| !shown.has(file)) {
            // Removing a whole directory takes a moment, in which some of its files still exist.
            tokio::time::sleep(REMOVAL_TIME).await;
            shown = self.snapshot_anew(directory).await?;
        }
        if let Some(fault) = &shown.fault {
            // A directory that cannot be read must not be mistaken for an empty one.
            return Err(ServiceError::conflict(fault.clone()));
        }
        let there = self.cx.store().synced_directory(name.to_owned()).await?;
        let (ours, theirs, held) = (hashes_of(&shown), hashes(&there), unreadable(&shown));
        let mut base = last.for_sync(name, &ours, &there);
        let all = ours.keys().chain(theirs.keys()).chain(base.files.keys());
        let all: BTreeSet<DirectoryFile> =
            all.filter(|file| !held.contains_key(file)).cloned().collect();
        let (equal, mut differing): (BTreeSet<_>, BTreeSet<_>) =
            all.into_iter().partition(|file| ours.get(file) == theirs.get(file));
        for file in equal {
            set(&mut base.files, &file, ours.get(&file).copied());
        }
        let mut applied = Applied { base, changes: Vec::new(), held };
        if !differing.is_empty() {
            differing.insert(DirectoryFile::Index);
            let sides = self.sides(synced, &differing, &mut applied).await?;
            if !self.apply(synced, &sides, &mut applied).await? {
                return Ok(false);
            }
        }
        let Applied { mut base, changes, held } = applied;
        if !changes.is_empty() {
            let changed = self.cx.store().change_synced_files(name.to_owned(), changes).await?;
            let Some(version) = changed else { return Ok(false) };
            base.version = Some(version);
            // Other clones of the repository on this machine.
            self.wake_directories(|other| {
                other.sync.has_name(name) && !Arc::ptr_eq(other, directory)
            });
        }
        *locked(&directory.sync.held) = held;
        if let Some(index) = shown.index.as_ref() {
            base.note_index(&index.text, index.hash);
        }
        if base != *last {
            base.write(path).await?;
            *last = base;
        }
        Ok(true)
    }

    fn base_path(&self, directory: &MemoryDirectory) -> PathBuf {
        let file = format!("{}.json", directory.key.replace('/', "."));
        Home::new(&self.cx.settings().home).memory_sync().join(file)
    }

    /// Reads the contents of these files on all sides.
    async fn sides(
        &self,
        Synced { directory, name, .. }: Synced<'_>,
        files: &BTreeSet<DirectoryFile>,
        applied: &mut Applied,
    ) -> Result<Sides> {
        let mut sides = Sides::default();
        let paths = files.iter().map(DirectoryFile::path).collect();
        for found in self.cx.store().synced_files(name.to_owned(), paths).await? {
            if let Ok(file) = DirectoryFile::parse(&found.file) {
                sides.theirs.insert(file, Arc::from(&*found.content));
            }
        }
        for file in files {
            match directory.read_file(file).await {
                Ok(Some(content)) => {
                    drop(sides.ours.insert(file.clone(), Arc::from(content.bytes)));
                }
                Ok(None) => {}
                Err(error) => {
                    sides.theirs.remove(file);
                    applied.held.insert(file.clone(), error.detail);
                    continue;
                }
            }
            let Some(known) = applied.base.files.get(file) else { continue };
            let both = [sides.ours.get(file), sides.theirs.get(file)].into_iter().flatten();
            let mut same = both.filter(|content| Hash::of(content) == *known);
            let base = match (same.next(), &applied.base.index) {
                (Some(content), _) => Some(Arc::clone(content)),
                (None, Some(index)) if *file == DirectoryFile::Index => {
                    Some(Arc::from(index.as_bytes()))
                }
                // Both sides have changed it. Then its content does not matter.
                (None, _) => None,
            };
            sides.base.extend(base.map(|base| (file.clone(), base)));
        }
        Ok(sides)
    }

    /// Returns `false` if a file has changed since it was read.
    async fn apply(
        &self,
        synced: Synced<'_>,
        sides: &Sides,
        applied: &mut Applied,
    ) -> Result<bool> {
        let steps = plan(&sides.base, &sides.ours, &sides.theirs);
        // The index is last, because it lists the topics.
        let (index, topics): (Vec<PlanStep>, Vec<PlanStep>) =
            steps.into_iter().partition(|step| step.file == DirectoryFile::Index);
        let mut asides = Vec::new();
        for step in topics {
            let (file, aside) = (step.file.clone(), step.aside().cloned());
            match self.try_step(synced, sides, step, applied).await? {
                StepOutcome::Done => asides.extend(aside.map(|aside| (file, aside))),
                StepOutcome::Held => {}
                StepOutcome::Moved => return Ok(false),
            }
        }
        let says = |_: &str| "in conflict: run `bethink memory lint`".to_owned();
        let here = sides.ours.get(&DirectoryFile::Index);
        let index = with_asides(index.into_iter().next(), here, &asides, says);
        let Some(step) = index.filter(|step| !applied.held.contains_key(&step.file)) else {
            return Ok(true);
        };
        let tried = self.try_step(synced, sides, step, applied).await?;
        Ok(!matches!(tried, StepOutcome::Moved))
    }

    async fn try_step(
        &self,
        synced: Synced<'_>,
        sides: &Sides,
        step: PlanStep,
        applied: &mut Applied,
    ) -> Result<StepOutcome> {
        let file = step.file.clone();
        match self.apply_step(synced, sides, step, applied).await {
            Ok(()) => Ok(StepOutcome::Done),
            Err(SyncObstacle::Moved) => Ok(StepOutcome::Moved),
            Err(SyncObstacle::Refused(why)) => {
                applied.held.insert(file, why);
                Ok(StepOutcome::Held)
            }
            Err(SyncObstacle::Failed(error)) => Err(error),
        }
    }

    async fn apply_step(
        &self,
        synced: Synced<'_>,
        sides: &Sides,
        PlanStep { file, what }: PlanStep,
        applied: &mut Applied,
    ) -> std::result::Result<(), SyncObstacle> {
        let leaves = match &what {
            FileChange::In(_) => None,
            FileChange::Out(content) => content.as_ref(),
            FileChange::Merged(merged) => Some(merged),
            FileChange::Apart { ours, .. } => Some(ours),
        };
        if let Some(why) = leaves.and_then(|content| obstacle(content)) {
            return Err(SyncObstacle::Refused(why));
        }
        match what {
            FileChange::In(content) => {
                self.put_here(synced, sides, &file, content.as_ref()).await?;
                applied.agree(&file, content.as_ref());
            }
            FileChange::Out(content) => applied.put_there(sides, &file, content.as_ref()),
            FileChange::Merged(merged) => {
                self.put_here(synced, sides, &file, Some(&merged)).await?;
                applied.put_there(sides, &file, Some(&merged));
            }
            FileChange::Apart { theirs, ours, aside } => {
                // Our version is saved under its new name before theirs replaces it.
                self.put_here(synced, sides, &aside, Some(&ours)).await?;
                self.put_here(synced, sides, &file, Some(&theirs)).await?;
                applied.put_there(sides, &aside, Some(&ours));
                applied.agree(&file, Some(&theirs));
            }
        }
        Ok(())
    }

    async fn put_here(
        &self,
        Synced { project, directory, .. }: Synced<'_>,
        sides: &Sides,
        file: &DirectoryFile,
        content: Option<&Arc<[u8]>>,
    ) -> std::result::Result<(), SyncObstacle> {
        let ours = sides.ours.get(file);
        if ours == content {
            return Ok(());
        }
        let expected = ours.map(|ours| Hash::of(ours)).into();
        let content = content.map(|content| &**content);
        let incoming = IncomingFile { scope: directory.scope, file, content, expected, note: NOTE };
        self.write_incoming(project, incoming).await
    }
}

impl Applied {
    /// Notes that both sides have this content.
    fn agree(&mut self, file: &DirectoryFile, content: Option<&Arc<[u8]>>) {
        let hash = content.map(|content| Hash::of(content));
        set(&mut self.base.files, file, hash);
        if let (DirectoryFile::Index, Some(content), Some(hash)) = (file, content, hash) {
            self.base.note_index(&String::from_utf8_lossy(content), hash);
        }
    }

    fn put_there(&mut self, sides: &Sides, file: &DirectoryFile, content: Option<&Arc<[u8]>>) {
        self.agree(file, content);
        let theirs = sides.theirs.get(file);
        if theirs != content {
            self.changes.push(SyncedChange {
                file: file.path(),
                expected: theirs.map(|theirs| Hash::of(theirs).to_string()),
                new: content.map(|content| {
                    (Bytes::copy_from_slice(content), Hash::of(content).to_string())
                }),
            });
        }
    }
}

fn set(files: &mut FileHashes, file: &DirectoryFile, hash: Option<Hash>) {
    match hash {
        Some(hash) => drop(files.insert(file.clone(), hash)),
        None => drop(files.remove(file)),
    }
}

/// Returns the hashes of the local files. Only a team has a list of rejections.
fn hashes_of(shown: &DirectorySnapshot) -> FileHashes {
    let topics = shown.topics.iter();
    let topics = topics.map(|(name, topic)| (DirectoryFile::Topic(name.clone()), topic.hash));
    let index = shown.index.as_ref().map(|index| (DirectoryFile::Index, index.hash));
    topics.chain(index).collect()
}

/// Returns the local files that have the name of a memory but cannot be read as one, and why.
fn unreadable(shown: &DirectorySnapshot) -> BTreeMap<DirectoryFile, String> {
    let strange = shown.strange.iter().filter_map(|strange| {
        Some((DirectoryFile::parse(&strange.path).ok()?, strange.why.to_string()))
    });
    strange.collect()
}

/// Returns why a content must not leave this machine.
fn obstacle(content: &[u8]) -> Option<String> {
    if content.len() as u64 > MAX_MEMORY_BYTES {
        return Some(format!("it has more than {MAX_MEMORY_BYTES} bytes"));
    }
    let Ok(text) = std::str::from_utf8(content) else { return Some("it is not UTF-8".to_owned()) };
    let findings = scan(&ScannedText { name: "", text });
    (!findings.is_empty())
        .then(|| format!("it contains what looks like a secret: {}", listed(&findings)))
}
