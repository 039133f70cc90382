//! Carries out a plan in the directory, and determines the next commit, except for files that must not be shared.

use bethink_api::{self as api, BlockedWay};
use bethink_memdir::Scope;
use bethink_memdir_fs::DirectoryFile;
use bethink_memories::{IncomingChange, WriteRefusal};
use bethink_service::{Result, ServiceError};

use crate::errors::git_error;
use crate::resolve::changed_by;
use crate::round::{AppliedPlan, SyncRound, blocked, unfit};
use crate::service::TeamService;
use bethink_memdir::merge::{FileChange, PlanStep, needed_lines, with_lines};

/// Refs of versions that were not pulled because of their contents and have been reported.
const WITHHELD: &str = "refs/bethink/withheld";

enum SkippedStep {
    /// The file has changed in the meantime and must be read again.
    Moved,
    Blocked(api::TeamBlocked),
    /// An error that concerns all files.
    Failed(ServiceError),
}

type StepOutcome = std::result::Result<(), SkippedStep>;

impl TeamService {
    /// Carries out the steps: topics first, because the index lists them. Returns `false` if a file has changed since
    /// it was read; then the files must be read again.
    pub(crate) async fn apply_plan(
        &self,
        round: &SyncRound<'_>,
        steps: Vec<PlanStep>,
        applied: &mut AppliedPlan,
        report: &mut api::TeamSync,
    ) -> Result<bool> {
        for (file, why) in &round.theirs.withheld {
            applied.left_out.insert(file.clone());
            let by = made_by(round, file).await;
            let why = blocked(file, BlockedWay::Incoming, vec![(*why).to_owned()], by);
            self.report_blocked(round, file, why, applied, report).await?;
        }
        let (index, topics): (Vec<PlanStep>, Vec<PlanStep>) =
            steps.into_iter().partition(|step| step.file == DirectoryFile::Index);
        let says = |topic: &str| format!("in conflict: run `bethink team resolve {topic}`");
        let was_known = |file: &DirectoryFile| round.base.files.contains_key(file);
        let sides = [&round.base.files, &round.here.files, &round.theirs.files];
        let mut needed = needed_lines(&topics, was_known, sides, says);
        let (mut lines, mut has_moved) = (Vec::new(), false);
        for step in topics {
            let file = step.file.clone();
            if !self.try_step(round, step, applied, report).await? {
                // The index still needs the lines of the steps before.
                has_moved = true;
                break;
            }
            if !applied.left_out.contains(&file) {
                lines.extend(needed.remove(&file).into_iter().flatten());
            }
        }
        let here = round.here.files.get(&DirectoryFile::Index);
        match with_lines(index.into_iter().next(), here, &lines) {
            Some(step) => Ok(self.try_step(round, step, applied, report).await? && !has_moved),
            None => Ok(!has_moved),
        }
    }

    /// Carries out a step. Returns `false` if the file has changed since it was read.
    async fn try_step(
        &self,
        round: &SyncRound<'_>,
        step: PlanStep,
        applied: &mut AppliedPlan,
        report: &mut api::TeamSync,
    ) -> Result<bool> {
        let file = step.file.clone();
        if applied.left_out.contains(&file) {
            return Ok(true);
        }
        let done = match round.here.unread.get(&file) {
            Some(why) => {
                Err(SkippedStep::Blocked(blocked(&file, BlockedWay::Here, vec![why.clone()], None)))
            }
            None => self.sync_step(round, step, applied, report).await,
        };
        match done {
            Ok(()) => Ok(true),
            Err(SkippedStep::Moved) => Ok(false),
            Err(SkippedStep::Blocked(why)) => {
                applied.left_out.insert(file.clone());
                self.report_blocked(round, &file, why, applied, report).await?;
                Ok(true)
            }
            Err(SkippedStep::Failed(error)) => Err(error),
        }
    }

    /// Reports a file that must not be shared. Another person's file is reported only once, because the user cannot
    /// change it. At the user's request, the file is removed for everybody.
    async fn report_blocked(
        &self,
        round: &SyncRound<'_>,
        file: &DirectoryFile,
        why: api::TeamBlocked,
        applied: &mut AppliedPlan,
        report: &mut api::TeamSync,
    ) -> Result<()> {
        if why.way != BlockedWay::Incoming {
            report.blocked.push(why);
            return Ok(());
        }
        if round.drop.contains(file) {
            applied.dropped.insert(file.clone());
            return Ok(());
        }
        let Some(oid) = round.theirs.oid(file) else {
            report.blocked.push(why);
            return Ok(());
        };
        let known = format!("{WITHHELD}/{oid}");
        if round.repo.tip(&known).await.map_err(git_error)?.is_none() {
            round.repo.set_ref(&known, oid, None).await.map_err(git_error)?;
            applied.withheld.insert(file.clone(), why.clone());
        }
        if applied.withheld.contains_key(file) {
            report.blocked.push(why);
        }
        Ok(())
    }

    async fn sync_step(
        &self,
        round: &SyncRound<'_>,
        PlanStep { file, what }: PlanStep,
        applied: &mut AppliedPlan,
        report: &mut api::TeamSync,
    ) -> StepOutcome {
        if let Some(why) = self.unfit_step(round, &file, &what).await {
            return Err(SkippedStep::Blocked(why));
        }
        let removed = match what {
            FileChange::Pull(None) | FileChange::Push(None) => Some(file.clone()),
            _ => None,
        };
        let kept = match what {
            FileChange::Pull(Some(_)) | FileChange::Push(Some(_)) => kept_note(round, &file),
            _ => None,
        };
        match what {
            FileChange::Pull(content) => {
                self.put_here(round, &file, content.as_deref()).await?;
                applied.pulled.insert(file);
            }
            FileChange::Push(content) => {
                applied.pushed.insert(file.clone());
                applied.out.insert(file, content);
            }
            FileChange::Merged(bytes) => {
                self.put_here(round, &file, Some(&bytes)).await?;
                if round.here.files.get(&file) != Some(&bytes) {
                    applied.pulled.insert(file.clone());
                }
                if round.theirs.files.get(&file) != Some(&bytes) {
                    applied.pushed.insert(file.clone());
                    applied.out.insert(file, Some(bytes));
                }
            }
            FileChange::KeepBoth { theirs, ours, conflict_file } => {
                // Save the local version under its new name before the remote's version replaces it.
                self.put_here(round, &conflict_file, Some(&ours)).await?;
                self.put_here(round, &file, Some(&theirs)).await?;
                report.conflicts.push(api::TeamConflict {
                    name: file.to_string(),
                    kept_as: conflict_file.to_string(),
                    theirs_by: made_by(round, &file).await.unwrap_or_default(),
                });
                applied.pulled.insert(file);
                applied.pushed.insert(conflict_file.clone());
                applied.out.insert(conflict_file, Some(ours));
            }
        }
        applied.removed.extend(removed);
        report.notes.extend(kept.filter(|note| !report.notes.contains(note)));
        Ok(())
    }

    /// Returns the reason if the incoming or outgoing text of a step must not be shared.
    async fn unfit_step(
        &self,
        round: &SyncRound<'_>,
        file: &DirectoryFile,
        what: &FileChange,
    ) -> Option<api::TeamBlocked> {
        let (incoming, outgoing) = match what {
            FileChange::Pull(content) => (content.as_ref(), None),
            FileChange::Push(content) => (None, content.as_ref()),
            FileChange::Merged(merged) => (round.theirs.files.get(file), Some(merged)),
            FileChange::KeepBoth { theirs, ours, .. } => (Some(theirs), Some(ours)),
        };
        if let Some(reasons) = unfit(file, incoming) {
            let by = made_by(round, file).await;
            return Some(blocked(file, BlockedWay::Incoming, reasons, by));
        }
        unfit(file, outgoing).map(|reasons| blocked(file, BlockedWay::Here, reasons, None))
    }

    /// Writes a file here, if it still has the text that was read.
    async fn put_here(
        &self,
        round: &SyncRound<'_>,
        file: &DirectoryFile,
        content: Option<&[u8]>,
    ) -> StepOutcome {
        let expected = round.here.hashes.get(file).copied().into();
        let incoming =
            IncomingChange { scope: Scope::Team, file, content, expected, note: "team sync" };
        let written = self.memories.write_incoming(round.project, incoming).await;
        written.map_err(|obstacle| match obstacle {
            WriteRefusal::Changed => SkippedStep::Moved,
            WriteRefusal::Failed(error) => SkippedStep::Failed(error),
            WriteRefusal::Refused(why) => {
                SkippedStep::Blocked(blocked(file, BlockedWay::Incoming, vec![why], None))
            }
        })
    }
}

/// Returns who changed a file last on the remote, and in which commit.
async fn made_by(round: &SyncRound<'_>, file: &DirectoryFile) -> Option<String> {
    changed_by(round.repo, round.tips.theirs.as_ref(), file).await
}

/// Returns a note if one side removed the file and the other side's change won.
fn kept_note(round: &SyncRound<'_>, file: &DirectoryFile) -> Option<String> {
    round.base.files.get(file)?;
    let how = match (round.here.files.get(file), round.theirs.files.get(file)) {
        (None, Some(_)) => "removed here and changed on the remote",
        (Some(_), None) => "changed here and removed on the remote",
        _ => return None,
    };
    Some(format!("kept {file}: it was {how}"))
}
