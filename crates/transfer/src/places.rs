//! Follows the directories and databases from which an agent's sessions were imported.
//!
//! Not every agent has hooks that say when a transcript has grown. The places of an import are therefore watched, and
//! what is added to them is read. What an agent wrote while no daemon was running is read at the next start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bethink_agent_transcript::{StorageForm, TranscriptAgent};
use bethink_service::{Result, blocking, locked};
use bethink_store::TranscriptPlace;
use bethink_transcript::UnixMicros;
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use crate::TransferService;
use crate::source::TranscriptSource;

/// How long to wait for further changes after a change, because agents write several times in one turn.
const DEBOUNCE: Duration = Duration::from_secs(1);
/// A file is read again if it has changed since this many microseconds before the last reading, because some file
/// systems store times in whole seconds.
const MARGIN: i64 = 2_000_000;

/// Paths that have changed since this list was last taken.
#[derive(Debug, Default)]
struct ChangedPaths {
    paths: Mutex<BTreeSet<PathBuf>>,
    bell: Notify,
}

impl TransferService {
    /// Starts following the places of earlier imports.
    pub async fn follow_places(&self) -> Result<()> {
        for place in self.cx.store().transcript_places().await? {
            self.watch_place(place);
        }
        Ok(())
    }

    /// Follows a place from now on. Places of Claude Code are not followed, because its hooks say when a transcript has grown.
    pub(crate) async fn add_place(&self, agent: TranscriptAgent, path: &Path) -> Result<()> {
        let is_place = agent.storage() == StorageForm::Database || path.is_dir();
        let Some(path) = path.to_str().filter(|_| is_place && agent != TranscriptAgent::ClaudeCode)
        else {
            return Ok(());
        };
        let (agent, path) = (agent.as_str().to_owned(), path.to_owned());
        let place = TranscriptPlace { agent, path, read_at: self.cx.now() };
        self.cx.store().put_transcript_place(place.clone()).await?;
        self.watch_place(place);
        Ok(())
    }

    /// Follows a place in a task of its own, unless it is followed already.
    fn watch_place(&self, place: TranscriptPlace) {
        let Some(agent) = TranscriptAgent::named(&place.agent) else { return };
        if !locked(&self.places).insert((agent, PathBuf::from(&place.path))) {
            return;
        }
        let transfer = self.clone();
        self.cx.spawn(async move {
            let stopping = transfer.cx.stopping().clone();
            tokio::select! {
                () = stopping.cancelled() => {}
                () = transfer.keep_up(agent, place) => {}
            }
        });
    }

    async fn keep_up(&self, agent: TranscriptAgent, place: TranscriptPlace) {
        let changed = Arc::new(ChangedPaths::default());
        // Watched first, so that no change is missed while older ones are read.
        let _watcher = watch(agent, Path::new(&place.path), &changed).inspect_err(|error| {
            tracing::warn!(%error, place = place.path, "could not watch an agent's transcripts; new messages in them will be read at the next start");
        });
        let missed = changed_since(agent, PathBuf::from(&place.path), place.read_at).await;
        locked(&changed.paths).extend(missed);
        let mut read_at = place.read_at;
        loop {
            let begun = self.cx.now();
            let paths = std::mem::take(&mut *locked(&changed.paths));
            let is_read = self.read_changed(agent, paths, read_at).await;
            if is_read {
                read_at = begun;
                let place = TranscriptPlace { read_at, ..place.clone() };
                if let Err(error) = self.cx.store().put_transcript_place(place).await {
                    tracing::warn!(reason = %error, "could not store when an agent's transcripts were last read");
                }
            }
            changed.bell.notified().await;
            tokio::time::sleep(DEBOUNCE).await;
        }
    }

    /// Reads the new parts of changed transcripts. Returns whether all of them could be read.
    async fn read_changed(
        &self,
        agent: TranscriptAgent,
        paths: BTreeSet<PathBuf>,
        read_at: UnixMicros,
    ) -> bool {
        let mut is_read = true;
        for path in paths {
            if path.to_str().is_some_and(|path| self.cx.recording().excluded(path).is_some()) {
                continue;
            }
            if let Err(error) = self.follow_since(agent, path.clone(), read_at).await {
                is_read = false;
                tracing::warn!(reason = %error.detail, transcript = %path.display(), "could not read the new part of a transcript");
            }
        }
        is_read
    }
}

/// Starts a watch, which ends when it is dropped.
fn watch(
    agent: TranscriptAgent,
    place: &Path,
    changed: &Arc<ChangedPaths>,
) -> notify::Result<RecommendedWatcher> {
    let is_database = agent.storage() == StorageForm::Database;
    let (dir, mode) = match is_database {
        // Its log is a file beside it.
        true => (place.parent().unwrap_or(place), RecursiveMode::NonRecursive),
        false => (place, RecursiveMode::Recursive),
    };
    let (changed, place) = (Arc::clone(changed), place.to_owned());
    let took = move |event: notify::Result<Event>| {
        let Ok(event) = event else { return };
        if matches!(event.kind, EventKind::Access(_) | EventKind::Remove(_)) {
            return;
        }
        let paths = event.paths.into_iter();
        let mut paths = match is_database {
            true => {
                paths.filter(|path| is_of_database(&place, path)).map(|_| place.clone()).collect()
            }
            false => paths.filter(|path| agent.is_session(path)).collect::<BTreeSet<_>>(),
        };
        if !paths.is_empty() {
            locked(&changed.paths).append(&mut paths);
            changed.bell.notify_one();
        }
    };
    let config = Config::default().with_follow_symlinks(false);
    let mut watcher = RecommendedWatcher::new(took, config)?;
    watcher.watch(dir, mode)?;
    Ok(watcher)
}

/// Whether a file is the database, or its log.
fn is_of_database(database: &Path, path: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let (Some(database), Some(name)) = (name(database), name(path)) else { return false };
    name == database || name == format!("{database}-wal")
}

/// Returns the transcripts that may have changed since the given time: the database, or files.
async fn changed_since(agent: TranscriptAgent, place: PathBuf, since: UnixMicros) -> Vec<PathBuf> {
    if agent.storage() == StorageForm::Database {
        return vec![place];
    }
    let Ok(sources) = TranscriptSource::all(agent, place).await else { return Vec::new() };
    let is_new = move |path: &PathBuf| {
        let changed = std::fs::metadata(path).and_then(|file| file.modified());
        let since_epoch = changed.ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let micros = since_epoch.and_then(|at| i64::try_from(at.as_micros()).ok());
        micros.is_some_and(|at| at >= since.0 - MARGIN)
    };
    let paths = sources.into_iter().map(|source| source.path);
    blocking(move || Ok(paths.filter(is_new).collect())).await.unwrap_or_default()
}
