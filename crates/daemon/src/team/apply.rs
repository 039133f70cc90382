//! Carries a plan out in the directory, and says what the next commit holds. What may not be shared is left
//! out of both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bethink_api as api;
use bethink_memdir::{Scope, index};
use bethink_memdir_fs::File;

use super::plan::{Content, Step, What};
use super::sync::Round;
use crate::memory::{Author, MemoryWish, MemoryWrite};
use crate::{Daemon, Kind, Refusal, Result};

/// What was done, and what is to be shared.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// Files that changed here.
    pub(super) pulled: BTreeSet<File>,
    /// Files on which the remote's tip is to change.
    pub(super) out: BTreeMap<File, Content>,
    /// The same, as they are told.
    pub(super) pushed: BTreeSet<File>,
    /// Files that were neither taken nor sent, and still come from what they came from.
    pub(super) left_out: BTreeSet<File>,
}

/// Why a step was not done.
enum Miss {
    /// The file changed meanwhile: look again.
    Moved,
    Blocked(api::TeamBlocked),
}

type Done = std::result::Result<(), Miss>;

impl Daemon {
    /// Topics first, since the index names what became of them. Whether all was as it was looked at; if not,
    /// it has to be looked at again.
    pub(super) async fn apply_plan(
        &self,
        round: &Round<'_>,
        steps: Vec<Step>,
        applied: &mut Applied,
        told: &mut api::TeamSync,
    ) -> Result<bool> {
        let by = self.made_by(round).await;
        for (file, why) in &round.theirs.withheld {
            told.blocked.push(blocked(file, "incoming", vec![(*why).to_owned()], by.clone()));
            applied.left_out.insert(file.clone());
        }
        let (index, topics): (Vec<Step>, Vec<Step>) =
            steps.into_iter().partition(|step| step.file == File::Index);
        let mut asides = Vec::new();
        for step in topics {
            if let What::Apart { aside, .. } = &step.what {
                asides.push((step.file.clone(), aside.clone()));
            }
            let file = step.file.clone();
            if !self.try_step(round, step, applied, told).await? {
                return Ok(false);
            }
            asides.retain(|(apart, _)| *apart != file || !applied.left_out.contains(&file));
        }
        let index = index.into_iter().next();
        let index = if asides.is_empty() { index } else { with_asides(round, index, &asides) };
        match index {
            Some(step) => self.try_step(round, step, applied, told).await,
            None => Ok(true),
        }
    }

    /// Whether the file was as it was looked at.
    async fn try_step(
        &self,
        round: &Round<'_>,
        step: Step,
        applied: &mut Applied,
        told: &mut api::TeamSync,
    ) -> Result<bool> {
        let file = step.file.clone();
        if applied.left_out.contains(&file) {
            return Ok(true);
        }
        let missed = match round.here.unread.get(&file) {
            Some(why) => Err(Miss::Blocked(blocked(&file, "here", vec![why.clone()], None))),
            None => self.sync_step(round, step, applied, told).await?,
        };
        match missed {
            Ok(()) => Ok(true),
            Err(Miss::Moved) => Ok(false),
            Err(Miss::Blocked(why)) => {
                told.blocked.push(why);
                applied.left_out.insert(file);
                Ok(true)
            }
        }
    }

    async fn sync_step(
        &self,
        round: &Round<'_>,
        Step { file, what }: Step,
        applied: &mut Applied,
        told: &mut api::TeamSync,
    ) -> Result<Done> {
        if let Some(why) = self.unfit_step(round, &file, &what).await {
            return Ok(Err(Miss::Blocked(why)));
        }
        match what {
            What::In(content) => {
                let done = self.put_here(round, &file, content.as_deref()).await?;
                if done.is_ok() {
                    applied.pulled.insert(file);
                }
                return Ok(done);
            }
            What::Out(content) => {
                applied.pushed.insert(file.clone());
                applied.out.insert(file, content);
            }
            What::Merged(bytes) => {
                if let Err(miss) = self.put_here(round, &file, Some(&bytes)).await? {
                    return Ok(Err(miss));
                }
                if round.here.files.get(&file) != Some(&bytes) {
                    applied.pulled.insert(file.clone());
                }
                if round.theirs.files.get(&file) != Some(&bytes) {
                    applied.pushed.insert(file.clone());
                    applied.out.insert(file, Some(bytes));
                }
            }
            What::Apart { theirs, ours, aside } => {
                // Ours is safe under its other name before theirs takes its place.
                for (name, bytes) in [(&aside, &ours), (&file, &theirs)] {
                    if let Err(miss) = self.put_here(round, name, Some(bytes)).await? {
                        return Ok(Err(miss));
                    }
                }
                told.conflicts.push(api::TeamConflict {
                    name: file.to_string(),
                    kept_as: aside.to_string(),
                    theirs_by: self.made_by(round).await.unwrap_or_default(),
                });
                applied.pulled.insert(file);
                applied.pushed.insert(aside.clone());
                applied.out.insert(aside, Some(ours));
            }
        }
        Ok(Ok(()))
    }

    /// Why a step may not be done: what comes is looked at before it is here, what goes before it is there.
    async fn unfit_step(
        &self,
        round: &Round<'_>,
        file: &File,
        what: &What,
    ) -> Option<api::TeamBlocked> {
        let (incoming, outgoing) = match what {
            What::In(content) => (content.as_ref(), None),
            What::Out(content) => (None, content.as_ref()),
            What::Merged(merged) => (round.theirs.files.get(file), Some(merged)),
            What::Apart { theirs, ours, .. } => (Some(theirs), Some(ours)),
        };
        if let Some(reasons) = unfit(file, incoming) {
            return Some(blocked(file, "incoming", reasons, self.made_by(round).await));
        }
        unfit(file, outgoing).map(|reasons| blocked(file, "here", reasons, None))
    }

    /// Over what was read, and nothing else. The index is brought in as a file of its own: no line is added
    /// that is in nobody's.
    async fn put_here(
        &self,
        round: &Round<'_>,
        file: &File,
        content: Option<&[u8]>,
    ) -> Result<Done> {
        let text = match content.map(std::str::from_utf8).transpose() {
            Ok(text) => text.map(str::to_owned),
            Err(_) => {
                let why = vec!["it is not UTF-8".to_owned()];
                return Ok(Err(Miss::Blocked(blocked(file, "incoming", why, None))));
            }
        };
        let wish =
            round.here.hashes.get(file).map_or(MemoryWish::Absent, |hash| MemoryWish::Hash(*hash));
        let author = Author { by: "sync", session: None, note: "team sync".to_owned() };
        let write = MemoryWrite { scope: Scope::Team, file: file.clone(), text, wish, author };
        match self.write_memory(round.project, write).await {
            Ok(_) => Ok(Ok(())),
            Err(Refusal { kind: Kind::Conflict | Kind::Stale, versions: Some(_), .. }) => {
                Ok(Err(Miss::Moved))
            }
            Err(refusal) if matters(refusal.kind) => Err(refusal),
            Err(refusal) => {
                Ok(Err(Miss::Blocked(blocked(file, "incoming", vec![refusal.detail], None))))
            }
        }
    }

    /// Who made the remote's tip.
    async fn made_by(&self, round: &Round<'_>) -> Option<String> {
        let tip = round.tips.theirs.as_ref()?;
        let author = round.repo.author(tip).await.ok().filter(|author| !author.is_empty());
        author.map(|author| format!("{author}, {}", tip.short()))
    }
}

/// What concerns all files, and not one.
fn matters(kind: Kind) -> bool {
    matches!(kind, Kind::StorageFull | Kind::ReadOnly | Kind::ShuttingDown | Kind::Internal)
}

/// Why a content may not be shared.
pub(super) fn unfit(file: &File, content: Option<&Arc<[u8]>>) -> Option<Vec<String>> {
    let text = String::from_utf8_lossy(content?);
    bethink_secrets::gate(&file.path(), &text).err().map(|refusal| refusal.reasons())
}

pub(super) fn blocked(
    file: &File,
    way: &str,
    reasons: Vec<String>,
    by: Option<String>,
) -> api::TeamBlocked {
    api::TeamBlocked { file: file.to_string(), way: way.to_owned(), reasons, by }
}

/// The index with a line for each other version, so that somebody sees that there are two.
fn with_asides(round: &Round<'_>, step: Option<Step>, asides: &[(File, File)]) -> Option<Step> {
    let planned = match step.map(|step| step.what) {
        Some(What::In(content) | What::Out(content)) => content,
        Some(What::Merged(bytes)) => Some(bytes),
        Some(What::Apart { .. }) => return None,
        None => round.here.files.get(&File::Index).cloned(),
    };
    let planned = planned?;
    let mut text = std::str::from_utf8(&planned).ok()?.to_owned();
    for (file, aside) in asides {
        if let File::Topic(name) = aside {
            let says = format!("another version of {file}: make them one, and remove this");
            text = index::add(&text, name, name.as_str(), &says);
        }
    }
    Some(Step { file: File::Index, what: What::Merged(text.into_bytes().into()) })
}
