//! One round of a sync: compare, write here, and then write to the database.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bethink_config::Home;
use bethink_memdir::Hash;
use bethink_memdir::merge::{Content, FileChange, PlanStep, Side, plan, with_asides};
use bethink_memdir::name::fold;
use bethink_memdir_fs::DirectoryFile;
use bethink_secrets::{ScannedText, scan};
use bethink_service::{ErrorKind, Result, ServiceError};
use bethink_store::SyncedChange;
use bytes::Bytes;

use crate::directory::{DirectorySnapshot, MemoryDirectory};
use crate::held_back::listed;
use crate::memory_write::MAX_MEMORY_BYTES;
use crate::project::MemoryProject;
use crate::service::MemoryService;
use crate::sync::base::{FileHashes, SyncBase, hashes};
use crate::sync::incoming::{IncomingFile, SyncObstacle};
use crate::sync::state::SyncProgress;

/// For the history of a file that was changed on another machine.
const NOTE: &str = "from another machine";

/// How long to wait while files disappear.
const REMOVAL_TIME: Duration = Duration::from_millis(500);

/// Maximum number of files of a round, so that each of its statements takes seconds at most even over a slow line.
const MOST_FILES: usize = 100;

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

/// What a round does.
struct Applied<'a> {
    /// What both sides have in common, so far.
    base: SyncBase,
    /// What the database gets.
    out: Vec<(DirectoryFile, Content)>,
    held: &'a mut BTreeMap<DirectoryFile, String>,
}

/// How a round ended.
pub(super) enum RoundEnd {
    Done,
    /// There are more files that differ.
    More,
    /// A file has changed meanwhile on one of the sides.
    Moved,
}

enum StepOutcome {
    Done,
    /// The file is not synced.
    Held,
    /// The file has changed since it was read.
    Moved,
}

impl MemoryService {
    /// Syncs up to [`MOST_FILES`] files, except those that are `held`. What both sides then have in common is stored even if the
    /// round fails.
    pub(super) async fn sync_round(
        &self,
        synced: Synced<'_>,
        progress: &mut SyncProgress,
        held: &mut BTreeMap<DirectoryFile, String>,
    ) -> Result<RoundEnd> {
        let path = self.base_path(synced.directory);
        let last = match progress.base.take() {
            Some(base) => base,
            None => SyncBase::read(path.clone()).await?,
        };
        let mut applied = Applied { base: last.clone(), out: Vec::new(), held };
        let ended = self.compare_and_apply(synced, &mut applied).await;
        if applied.base != last {
            applied.base.write(path).await?;
        }
        progress.base = Some(applied.base);
        ended
    }

    async fn compare_and_apply(
        &self,
        synced: Synced<'_>,
        applied: &mut Applied<'_>,
    ) -> Result<RoundEnd> {
        let Synced { directory, name, .. } = synced;
        let shown = self.snapshot_to_sync(directory, &applied.base).await?;
        let there = self.cx.store().synced_directory(name.to_owned()).await?;
        let (ours, theirs) = (hashes_of(&shown), hashes(&there));
        applied.base = applied.base.for_sync(name, &ours, &there);
        applied.held.extend(unreadable(&shown));
        applied.held.extend(twins(&ours, &theirs, &applied.base.files));
        let all = ours.keys().chain(theirs.keys()).chain(applied.base.files.keys());
        let (equal, differing): (BTreeSet<_>, BTreeSet<_>) =
            all.cloned().partition(|file| ours.get(file) == theirs.get(file));
        for file in equal {
            set(&mut applied.base.files, &file, ours.get(&file).copied());
        }
        if let Some(index) = &shown.index {
            applied.base.note_index(&index.text, index.hash);
        }
        let mut differing =
            differing.into_iter().filter(|file| !applied.held.contains_key(file)).peekable();
        if differing.peek().is_none() {
            return Ok(RoundEnd::Done);
        }
        let mut files: BTreeSet<DirectoryFile> = differing.by_ref().take(MOST_FILES).collect();
        let has_more = differing.peek().is_some();
        files.insert(DirectoryFile::Index);
        let Some(sides) = self.sides(synced, &files, [&ours, &theirs], applied).await? else {
            return Ok(RoundEnd::Moved);
        };
        if !self.apply(synced, &sides, applied).await? {
            return Ok(RoundEnd::Moved);
        }
        let out = std::mem::take(&mut applied.out);
        if !out.is_empty() {
            let change =
                |(file, new): &(DirectoryFile, Content)| change(&sides, file, new.as_ref());
            let changes = out.iter().map(change).collect();
            let changed = self.cx.store().change_synced_files(name.to_owned(), changes).await?;
            let Some(version) = changed else { return Ok(RoundEnd::Moved) };
            applied.base.version = Some(version);
            for (file, content) in out {
                applied.agree(&file, content.as_ref());
            }
            // Other clones of the repository on this machine.
            self.wake_directories(|other| {
                other.sync.has_name(name) && !Arc::ptr_eq(other, directory)
            });
        }
        Ok(if has_more { RoundEnd::More } else { RoundEnd::Done })
    }

    /// Returns the directory's current state. A directory that cannot be read must not be mistaken for an empty one.
    async fn snapshot_to_sync(
        &self,
        directory: &Arc<MemoryDirectory>,
        base: &SyncBase,
    ) -> Result<Arc<DirectorySnapshot>> {
        let missing = |shown: &DirectorySnapshot| {
            let ours = hashes_of(shown);
            base.files.keys().filter(|file| !ours.contains_key(file)).count()
        };
        let (mut shown, mut known) = (self.snapshot(directory).await?, 0);
        // Removing a whole directory takes a moment, in which some of its files still exist, or it cannot be read.
        while missing(&shown) > known || (shown.fault.is_some() && known == 0) {
            known = missing(&shown).max(1);
            tokio::time::sleep(REMOVAL_TIME).await;
            shown = self.snapshot_anew(directory).await?;
        }
        match &shown.fault {
            Some(fault) => Err(ServiceError::conflict(fault.clone())),
            None => Ok(shown),
        }
    }

    fn base_path(&self, directory: &MemoryDirectory) -> PathBuf {
        let file = format!("{}.json", directory.key.replace('/', "."));
        Home::new(&self.cx.settings().home).memory_sync().join(file)
    }

    /// Reads the contents of these files on all sides. Returns `None` if one of them is not what was listed.
    async fn sides(
        &self,
        Synced { directory, name, .. }: Synced<'_>,
        files: &BTreeSet<DirectoryFile>,
        [ours, theirs]: [&FileHashes; 2],
        applied: &mut Applied<'_>,
    ) -> Result<Option<Sides>> {
        let mut sides = Sides::default();
        let paths = files.iter().map(DirectoryFile::path).collect();
        for found in self.cx.store().synced_files(name.to_owned(), paths).await? {
            if let Ok(file) = DirectoryFile::parse(&found.file) {
                sides.theirs.insert(file, Arc::from(&*found.content));
            }
        }
        for file in files {
            let found = sides.theirs.get(file).map(|content| Hash::of(content));
            if found.as_ref() != theirs.get(file) {
                return Ok(None);
            }
            if let Some(listed) = ours.get(file) {
                match directory.read_file(file).await {
                    Ok(Some(content)) if content.hash == *listed => {
                        sides.ours.insert(file.clone(), Arc::from(content.bytes));
                    }
                    Ok(_) => return Ok(None),
                    Err(error)
                        if error.kind.is_of_the_disk() && error.kind != ErrorKind::ReadOnly =>
                    {
                        return Err(error);
                    }
                    Err(error) => {
                        sides.theirs.remove(file);
                        applied.held.insert(file.clone(), error.detail);
                        continue;
                    }
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
        Ok(Some(sides))
    }

    /// Returns `false` if a file has changed since it was read.
    async fn apply(
        &self,
        synced: Synced<'_>,
        sides: &Sides,
        applied: &mut Applied<'_>,
    ) -> Result<bool> {
        let steps = plan(&sides.base, &sides.ours, &sides.theirs);
        // The index is last, because it lists the topics.
        let (index, topics): (Vec<PlanStep>, Vec<PlanStep>) =
            steps.into_iter().partition(|step| step.file == DirectoryFile::Index);
        let (mut asides, mut has_moved) = (Vec::new(), false);
        for step in topics {
            let (file, aside) = (step.file.clone(), step.aside().cloned());
            match self.try_step(synced, sides, step, applied).await? {
                StepOutcome::Done => asides.extend(aside.map(|aside| (file, aside))),
                StepOutcome::Held => {}
                StepOutcome::Moved => {
                    has_moved = true;
                    break;
                }
            }
        }
        let says = |_: &str| "in conflict: run `bethink memory lint`".to_owned();
        let here = sides.ours.get(&DirectoryFile::Index);
        let index = with_asides(index.into_iter().next(), here, &asides, says);
        let Some(step) = index.filter(|step| !applied.held.contains_key(&step.file)) else {
            return Ok(!has_moved);
        };
        let tried = self.try_step(synced, sides, step, applied).await?;
        Ok(!has_moved && !matches!(tried, StepOutcome::Moved))
    }

    async fn try_step(
        &self,
        synced: Synced<'_>,
        sides: &Sides,
        step: PlanStep,
        applied: &mut Applied<'_>,
    ) -> Result<StepOutcome> {
        let file = step.file.clone();
        match self.apply_step(synced, sides, step, applied).await {
            Ok(()) => Ok(StepOutcome::Done),
            Err(SyncObstacle::Moved) => Ok(StepOutcome::Moved),
            Err(SyncObstacle::Refused(why)) => {
                applied.held.insert(file, why);
                Ok(StepOutcome::Held)
            }
            Err(SyncObstacle::Failed(error)) if error.kind == ErrorKind::ReadOnly => {
                applied.held.insert(file, error.detail);
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
        applied: &mut Applied<'_>,
    ) -> std::result::Result<(), SyncObstacle> {
        let leaves = match &what {
            FileChange::In(_) => None,
            FileChange::Out(content) => content.as_ref(),
            FileChange::Merged(merged) => Some(merged),
            FileChange::Apart { ours, .. } => Some(ours),
        };
        if let Some(why) = leaves.and_then(|content| obstacle(&file, content)) {
            return Err(SyncObstacle::Refused(why));
        }
        let directory = synced.directory;
        match what {
            FileChange::In(content) => {
                self.put_here(synced, sides, &file, content.as_ref()).await?;
                applied.agree(&file, content.as_ref());
            }
            FileChange::Out(content) => applied.plan_change(sides, &file, content.as_ref()),
            FileChange::Merged(merged) => {
                self.put_here(synced, sides, &file, Some(&merged)).await?;
                applied.plan_change(sides, &file, Some(&merged));
            }
            FileChange::Apart { theirs, ours, aside } => {
                // Our version is saved under its new name before theirs replaces it. It may be there from an earlier sync.
                let known = directory.read_file(&aside).await.map_err(SyncObstacle::Failed)?;
                if known.is_some_and(|known| *known.bytes != *ours) {
                    let why =
                        format!("its other version would replace {aside}, which has another text");
                    return Err(SyncObstacle::Refused(why));
                }
                self.put_here(synced, sides, &aside, Some(&ours)).await?;
                self.put_here(synced, sides, &file, Some(&theirs)).await?;
                applied.agree(&file, Some(&theirs));
                applied.plan_change(sides, &aside, Some(&ours));
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

impl Applied<'_> {
    /// Notes that both sides have this content.
    fn agree(&mut self, file: &DirectoryFile, content: Option<&Arc<[u8]>>) {
        let hash = content.map(|content| Hash::of(content));
        set(&mut self.base.files, file, hash);
        if let (DirectoryFile::Index, Some(content), Some(hash)) = (file, content, hash) {
            self.base.note_index(&String::from_utf8_lossy(content), hash);
        }
    }

    /// Plans to give the database this content, unless it has it.
    fn plan_change(&mut self, sides: &Sides, file: &DirectoryFile, content: Option<&Arc<[u8]>>) {
        match sides.theirs.get(file) == content {
            true => self.agree(file, content),
            false => self.out.push((file.clone(), content.cloned())),
        }
    }
}

/// Returns the change that gives the database this content.
fn change(sides: &Sides, file: &DirectoryFile, new: Option<&Arc<[u8]>>) -> SyncedChange {
    let hash = |content: &Arc<[u8]>| Hash::of(content).to_string();
    SyncedChange {
        file: file.path(),
        expected: sides.theirs.get(file).map(hash),
        new: new.map(|content| (Bytes::copy_from_slice(content), hash(content))),
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

/// Returns files whose names some file systems cannot tell apart, and why they are not synced.
fn twins(
    ours: &FileHashes,
    theirs: &FileHashes,
    base: &FileHashes,
) -> BTreeMap<DirectoryFile, String> {
    let mut known: BTreeMap<String, BTreeSet<&DirectoryFile>> = BTreeMap::new();
    for (side, other) in [(ours, theirs), (theirs, ours)] {
        for (file, hash) in side {
            // Otherwise, the other side has removed it, perhaps to give it another name.
            if other.contains_key(file) || base.get(file) != Some(hash) {
                known.entry(fold(&file.path())).or_default().insert(file);
            }
        }
    }
    let alike = known.into_values().filter(|files| files.len() > 1).flatten();
    alike
        .map(|file| (file.clone(), "on some systems, its name is that of another file".to_owned()))
        .collect()
}

/// Returns why a content must not be copied to other machines.
fn obstacle(file: &DirectoryFile, content: &[u8]) -> Option<String> {
    if content.len() as u64 > MAX_MEMORY_BYTES {
        return Some(format!("it has more than {MAX_MEMORY_BYTES} bytes"));
    }
    let Ok(text) = std::str::from_utf8(content) else { return Some("it is not UTF-8".to_owned()) };
    let findings = scan(&ScannedText { name: &file.path(), text });
    (!findings.is_empty())
        .then(|| format!("it contains what looks like a secret: {}", listed(&findings)))
}
