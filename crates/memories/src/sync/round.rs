//! One round of a sync: compare, write here, and then write to the database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bethink_config::Home;
use bethink_memdir::Hash;
use bethink_memdir::merge::{
    FileChange, FileSet, NewContent, PlanStep, needed_lines, plan, with_lines,
};
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
use crate::sync::base::{FileHashes, SyncBase, base_path, hashes};
use crate::sync::incoming::{IncomingChange, WriteRefusal};
use crate::sync::state::SyncProgress;

/// For the history of a file that a sync changed.
const NOTE: &str = "memory sync";

/// How long to wait while files disappear.
const REMOVAL_TIME: Duration = Duration::from_millis(500);

/// Maximum number of files of a round, so that each of its statements takes seconds at most even over a slow line.
const MOST_FILES: usize = 100;

/// A directory that is synced.
#[derive(Clone, Copy)]
pub(super) struct SyncTarget<'a> {
    pub(super) project: &'a MemoryProject,
    pub(super) directory: &'a Arc<MemoryDirectory>,
    /// The directory's name on all machines.
    pub(super) name: &'a str,
}

/// The contents of files that differ, and of the index.
#[derive(Default)]
struct Sides {
    base: FileSet,
    ours: FileSet,
    theirs: FileSet,
}

/// What a round does.
struct RoundResult<'a> {
    /// What both sides have in common, so far.
    base: SyncBase,
    /// What the database gets.
    out: Vec<(DirectoryFile, NewContent)>,
    skipped: &'a mut BTreeMap<DirectoryFile, String>,
}

/// How a round ended.
pub(super) enum RoundEnd {
    Done,
    /// There are more files that differ.
    More,
    /// A file has changed meanwhile on one of the sides.
    Changed,
}

enum StepOutcome {
    Done,
    /// The file is not synced.
    Skipped,
    /// The file has changed since it was read.
    Changed,
}

impl MemoryService {
    /// Syncs up to [`MOST_FILES`] files, except those that are `skipped`. What both sides then have in common is stored even if the
    /// round fails.
    pub(super) async fn sync_round(
        &self,
        target: SyncTarget<'_>,
        progress: &mut SyncProgress,
        skipped: &mut BTreeMap<DirectoryFile, String>,
    ) -> Result<RoundEnd> {
        let path = base_path(&Home::new(&self.cx.settings().home), &target.directory.key);
        let last = match progress.base.take() {
            Some(base) => base,
            None => SyncBase::read(path.clone()).await?,
        };
        let mut result = RoundResult { base: last.clone(), out: Vec::new(), skipped };
        let ended = self.compare_and_apply(target, &mut result).await;
        if result.base != last {
            result.base.write(path).await?;
        }
        progress.base = Some(result.base);
        ended
    }

    async fn compare_and_apply(
        &self,
        target: SyncTarget<'_>,
        result: &mut RoundResult<'_>,
    ) -> Result<RoundEnd> {
        let SyncTarget { directory, name, .. } = target;
        let shown = self.snapshot_to_sync(directory, &result.base).await?;
        let there = self.cx.store().synced_directory(name.to_owned()).await?;
        let (ours, theirs) = (hashes_of(&shown), hashes(&there));
        result.base = result.base.for_sync(name, &ours, &there);
        result.skipped.extend(unreadable(&shown));
        result.skipped.extend(case_collisions(&ours, &theirs, &result.base.files));
        let all = ours.keys().chain(theirs.keys()).chain(result.base.files.keys());
        let (equal, differing): (BTreeSet<_>, BTreeSet<_>) =
            all.cloned().partition(|file| ours.get(file) == theirs.get(file));
        for file in equal {
            set(&mut result.base.files, &file, ours.get(&file).copied());
        }
        if let Some(index) = &shown.index {
            result.base.note_index(&index.text, index.hash);
        }
        let mut differing =
            differing.into_iter().filter(|file| !result.skipped.contains_key(file)).peekable();
        if differing.peek().is_none() {
            return Ok(RoundEnd::Done);
        }
        let mut files: BTreeSet<DirectoryFile> = differing.by_ref().take(MOST_FILES).collect();
        let has_more = differing.peek().is_some();
        files.insert(DirectoryFile::Index);
        let Some(sides) = self.sides(target, &files, [&ours, &theirs], result).await? else {
            return Ok(RoundEnd::Changed);
        };
        if !self.apply(target, &sides, result).await? {
            return Ok(RoundEnd::Changed);
        }
        let out = std::mem::take(&mut result.out);
        if !out.is_empty() {
            let change =
                |(file, new): &(DirectoryFile, NewContent)| change(&sides, file, new.as_ref());
            let changes = out.iter().map(change).collect();
            let changed = self.cx.store().change_synced_files(name.to_owned(), changes).await?;
            let Some(version) = changed else { return Ok(RoundEnd::Changed) };
            result.base.version = Some(version);
            for (file, content) in out {
                result.agree(&file, content.as_ref());
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

    /// Reads the contents of these files on all sides. Returns `None` if one of them is not what was listed.
    async fn sides(
        &self,
        SyncTarget { directory, name, .. }: SyncTarget<'_>,
        files: &BTreeSet<DirectoryFile>,
        [ours, theirs]: [&FileHashes; 2],
        result: &mut RoundResult<'_>,
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
                        result.skipped.insert(file.clone(), error.detail);
                        continue;
                    }
                }
            }
            let Some(known) = result.base.files.get(file) else { continue };
            let both = [sides.ours.get(file), sides.theirs.get(file)].into_iter().flatten();
            let mut same = both.filter(|content| Hash::of(content) == *known);
            let base = match (same.next(), &result.base.index) {
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
        target: SyncTarget<'_>,
        sides: &Sides,
        result: &mut RoundResult<'_>,
    ) -> Result<bool> {
        let steps = plan(&sides.base, &sides.ours, &sides.theirs);
        // The index is last, because it lists the topics.
        let (index, topics): (Vec<PlanStep>, Vec<PlanStep>) =
            steps.into_iter().partition(|step| step.file == DirectoryFile::Index);
        let says =
            |topic: &str| format!("conflicting version of {topic}; a person must resolve it");
        let was_known = |file: &DirectoryFile| result.base.files.contains_key(file);
        let known = [&sides.base, &sides.ours, &sides.theirs];
        let mut needed = needed_lines(&topics, was_known, known, says);
        let (mut lines, mut has_changed) = (Vec::new(), false);
        for step in topics {
            let file = step.file.clone();
            match self.try_step(target, sides, step, result).await? {
                StepOutcome::Done => lines.extend(needed.remove(&file).into_iter().flatten()),
                StepOutcome::Skipped => {}
                StepOutcome::Changed => {
                    has_changed = true;
                    break;
                }
            }
        }
        let here = sides.ours.get(&DirectoryFile::Index);
        let index = with_lines(index.into_iter().next(), here, &lines);
        let Some(step) = index.filter(|step| !result.skipped.contains_key(&step.file)) else {
            return Ok(!has_changed);
        };
        let tried = self.try_step(target, sides, step, result).await?;
        Ok(!has_changed && !matches!(tried, StepOutcome::Changed))
    }

    async fn try_step(
        &self,
        target: SyncTarget<'_>,
        sides: &Sides,
        step: PlanStep,
        result: &mut RoundResult<'_>,
    ) -> Result<StepOutcome> {
        let file = step.file.clone();
        match self.apply_step(target, sides, step, result).await {
            Ok(()) => Ok(StepOutcome::Done),
            Err(WriteRefusal::Changed) => Ok(StepOutcome::Changed),
            Err(WriteRefusal::Refused(why)) => {
                result.skipped.insert(file, why);
                Ok(StepOutcome::Skipped)
            }
            Err(WriteRefusal::Failed(error)) if error.kind == ErrorKind::ReadOnly => {
                result.skipped.insert(file, error.detail);
                Ok(StepOutcome::Skipped)
            }
            Err(WriteRefusal::Failed(error)) => Err(error),
        }
    }

    async fn apply_step(
        &self,
        target: SyncTarget<'_>,
        sides: &Sides,
        PlanStep { file, what }: PlanStep,
        result: &mut RoundResult<'_>,
    ) -> std::result::Result<(), WriteRefusal> {
        let leaves = match &what {
            FileChange::Pull(_) => None,
            FileChange::Push(content) => content.as_ref(),
            FileChange::Merged(merged) => Some(merged),
            FileChange::KeepBoth { ours, .. } => Some(ours),
        };
        if let Some(why) = leaves.and_then(|content| why_not_synced(&file, content)) {
            return Err(WriteRefusal::Refused(why));
        }
        let directory = target.directory;
        match what {
            FileChange::Pull(content) => {
                self.put_here(target, sides, &file, content.as_ref()).await?;
                result.agree(&file, content.as_ref());
            }
            FileChange::Push(content) => result.plan_change(sides, &file, content.as_ref()),
            FileChange::Merged(merged) => {
                self.put_here(target, sides, &file, Some(&merged)).await?;
                result.plan_change(sides, &file, Some(&merged));
            }
            FileChange::KeepBoth { theirs, ours, conflict_file } => {
                // Our version is saved under its new name before theirs replaces it. It may be there from an earlier sync.
                let known =
                    directory.read_file(&conflict_file).await.map_err(WriteRefusal::Failed)?;
                if known.is_some_and(|known| *known.bytes != *ours) {
                    let why = format!(
                        "could not save the local version as {conflict_file}: that file already exists with different content"
                    );
                    return Err(WriteRefusal::Refused(why));
                }
                self.put_here(target, sides, &conflict_file, Some(&ours)).await?;
                self.put_here(target, sides, &file, Some(&theirs)).await?;
                result.agree(&file, Some(&theirs));
                result.plan_change(sides, &conflict_file, Some(&ours));
            }
        }
        Ok(())
    }

    async fn put_here(
        &self,
        SyncTarget { project, directory, .. }: SyncTarget<'_>,
        sides: &Sides,
        file: &DirectoryFile,
        content: Option<&Arc<[u8]>>,
    ) -> std::result::Result<(), WriteRefusal> {
        let ours = sides.ours.get(file);
        if ours == content {
            return Ok(());
        }
        let expected = ours.map(|ours| Hash::of(ours)).into();
        let content = content.map(|content| &**content);
        let incoming =
            IncomingChange { scope: directory.scope, file, content, expected, note: NOTE };
        self.write_incoming(project, incoming).await
    }
}

impl RoundResult<'_> {
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

/// Returns files whose names some file systems cannot tell apart, and why they are not target.
fn case_collisions(
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
        .map(|file| (file.clone(), "its name differs from another file's only in case, and some file systems cannot store both".to_owned()))
        .collect()
}

/// Returns why a content must not be copied to other machines.
fn why_not_synced(file: &DirectoryFile, content: &[u8]) -> Option<String> {
    if content.len() as u64 > MAX_MEMORY_BYTES {
        return Some(format!("it has more than {MAX_MEMORY_BYTES} bytes"));
    }
    let Ok(text) = std::str::from_utf8(content) else { return Some("it is not UTF-8".to_owned()) };
    let findings = scan(&ScannedText { name: &file.path(), text });
    (!findings.is_empty())
        .then(|| format!("it contains what looks like a secret: {}", listed(&findings)))
}
